"""Hostile requests to the demo: each is answered or refused with a sentence, none stops it."""

import http.client
import json
import socket
import threading

import numpy as np
import pytest
from maps import SMALL
from mutations import REFUSED, WORDS, damaged_bytes, damaged_value

import ddeq
from ddeq.demo.engine import Engine
from ddeq.demo.server import DemoServer
from ddeq.solvers import Weiszfeld

CASES = {"short": 60, "long": 1500}
CLOUD = [[0.1 * i, float(i % 7), 1.0] for i in range(30)]
GOOD = {
    "draw": {"strokes": [[[7, 23], [21, 23], [12, 4]]]},
    "classify": {"points": [p[:2] for p in CLOUD]},
    "complete": {"points": CLOUD, "size": 30, "seed": 1},
    "cut": {"points": CLOUD, "cut": "balls", "seed": 1},
    "sample": {"kind": "digit", "class": "4", "seed": 1},
    "download": {"points": CLOUD, "new": CLOUD[:4], "format": "ply"},
}
HEADER = b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
RAW = b"POST /api/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A server with small random models."""
    weights = {}
    for dim in (2, 3):
        for kind, model in (
            ("completer", ddeq.Completer(dim, solver=Weiszfeld(2), **SMALL)),
            ("classifier", ddeq.Classifier(dim, 3, solver=Weiszfeld(2), **SMALL)),
        ):
            weights[kind, dim] = str(tmp_path_factory.mktemp(f"{kind}{dim}"))
            model.save_pretrained(weights[kind, dim])
    with DemoServer("127.0.0.1", 0, Engine(0, weights)) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def ask(demo, method: str, path: str, body: bytes | None = None, kind: str = "application/json"):
    connection = http.client.HTTPConnection("127.0.0.1", demo.server_port, timeout=120)
    try:
        connection.request(method, path, body, {"Content-Type": kind})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def judged(status: int, body: bytes) -> str:
    """A bug would be 500; a refusal is a sentence."""
    assert status != 500, body
    if status == 200:
        return "answered"
    sentence = json.loads(body)["error"]
    assert sentence.isprintable(), sentence
    return REFUSED


def test_damaged_requests(effort, demo, tally):
    rng = np.random.default_rng(4)
    for case in range(CASES[effort]):
        name = list(GOOD)[case % len(GOOD)]
        if case % 4 == 0:
            body = damaged_bytes(HEADER + b"end_header\n1 2\n3 4\n5 6\n", rng)
            answer = ask(demo, "POST", "/api/upload?name=a.ply", body, "application/octet-stream")
        elif case % 4 == 1:
            answer = ask(demo, "POST", f"/api/{name}", damaged_bytes(_text(GOOD[name]), rng))
        else:
            body = _text(damaged_value(GOOD[name], rng))
            answer = ask(demo, "POST", f"/api/{name}", body)
        tally[judged(*answer)] += 1
    assert ask(demo, "GET", "/api/about")[0] == 200


def test_raw_bytes(effort, demo, tally):
    """Whatever is sent, the next person is served."""
    rng = np.random.default_rng(5)
    for _ in range(CASES[effort] // 3):
        with socket.create_connection(("127.0.0.1", demo.server_port), timeout=60) as line:
            text = damaged_bytes(RAW + b"Content-Length: 2\r\n\r\n{}", rng)
            line.sendall(text + WORDS[rng.integers(len(WORDS))])
        tally["survived"] += 1
    assert ask(demo, "GET", "/api/about")[0] == 200


def _text(value) -> bytes:
    return json.dumps(value).encode()
