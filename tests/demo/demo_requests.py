"""Requests to the demo's server, and what a refusal looks like."""

import http.client
import json
from typing import Any

from ddeq.demo.server import DemoServer

SMALL = {"features": 16, "head_size": 4, "cross_layers": 1}


def ask(
    demo: DemoServer,
    path: str,
    body: Any = None,
    kind: str = "application/json",
    headers: dict[str, str] | None = None,
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", demo.server_port, timeout=120)
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    sent = {**({} if body is None else {"Content-Type": kind}), **(headers or {})}
    connection.request("GET" if body is None else "POST", path, body, sent)
    response = connection.getresponse()
    answer = response.status, response.read()
    connection.close()
    return answer


def call(demo: DemoServer, name: str, request: Any) -> dict[str, Any]:
    status, body = ask(demo, f"/api/{name}", request)
    assert status == 200, body
    return json.loads(body)


def refusal(demo: DemoServer, path: str, body: Any, status: int, **options: Any) -> str:
    """The sentence of a request that must be refused with this status."""
    got, answer = ask(demo, path, body, **options)
    assert got == status, answer
    sentence = json.loads(answer)["error"]
    assert "Traceback" not in sentence
    assert "\n" not in sentence
    assert sentence.endswith((".", ")."))
    return sentence
