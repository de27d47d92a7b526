"""The demo's server: what it refuses, and whom."""

import http.client
import json
import signal
import socket
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from demo_requests import ask, call, refusal

import ddeq
from ddeq.cli import main
from ddeq.demo import checks, engine, server
from ddeq.demo.engine import Engine
from ddeq.demo.server import DemoServer
from ddeq.viz import turning


def test_health_is_told_and_connections_are_capped(demo: DemoServer) -> None:
    assert json.loads(ask(demo, "/api/health")[1]) == {"status": "ok"}
    for _ in range(server.MAX_CONNECTIONS):
        assert demo.places.acquire(timeout=10)  # waits for connections that are about to end
    try:
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            ask(demo, "/api/health")
    finally:
        demo.places.release(server.MAX_CONNECTIONS)
    assert json.loads(ask(demo, "/api/health")[1]) == {"status": "ok"}


def test_a_request_does_not_wait_for_ever(
    demo: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PATIENCE", 0.05)
    with demo.engine.lock:
        assert "busy" in refusal(demo, "/api/complete", {"points": [[0, 0], [1, 2]]}, 503)
        assert ask(demo, "/api/health")[0] == 200
    assert ask(demo, "/api/complete", {"points": [[0, 0], [1, 2]]})[0] == 200


@pytest.mark.parametrize(
    ("dim", "ending"), [(2, "gif"), (2, "html"), (3, "gif"), (3, "html"), (3, "mp4")]
)
def test_a_film_shows_the_last_completion(
    demo: DemoServer, monkeypatch: pytest.MonkeyPatch, dim: int, ending: str
) -> None:
    monkeypatch.setattr(turning, "_FRAMES", 42)
    request = {"points": np.random.default_rng(dim).normal(size=(40, dim)).tolist()}
    assert call(demo, "complete", request)["new"]
    monkeypatch.setattr(engine, "complete_cloud", None)  # it is not asked again
    status, body = ask(demo, "/api/film", {**request, "format": ending})
    assert status == 200
    heads = {"gif": b"GIF8", "html": b"<!doctype html>", "mp4": b"ftyp"}
    assert heads[ending] in body[:16]


def test_films_that_are_none_are_refused(demo: DemoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    request = {"points": [[0, 0], [1, 1], [2, 0]], "format": "gif"}
    assert "gif" in refusal(demo, "/api/film", {**request, "format": "avi"}, 400)
    plain = engine.complete_cloud

    def whole(*args: Any, **options: Any) -> Any:
        found = plain(*args, **options)
        object.__setattr__(found, "new", found.new[:0])
        return found

    monkeypatch.setattr(engine, "complete_cloud", whole)
    assert "Nothing is missing" in refusal(demo, "/api/film", request, 422)


def test_nothing_may_be_missing(demo: DemoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        ddeq.Completer, "counts", lambda self, x, sizes, f=None: sizes.new_zeros(len(x))
    )
    points = call(demo, "sample", {"kind": "digit", "class": "4"})["points"]
    result = call(demo, "complete", {"points": points})
    assert result["new"] == []
    assert all(frame == [] for frame in result["frames"])
    assert result["classes"] == call(demo, "classify", {"points": points})["classes"]


@pytest.mark.parametrize("size", [0, -1, 10**12, 2.5, "9", True])
def test_a_size_that_is_none_is_refused(demo: DemoServer, size: Any) -> None:
    refusal(demo, "/api/complete", {"points": [[0, 0], [1, 2]], "size": size}, 400)


def test_nothing_is_told_but_the_points(demo: DemoServer) -> None:
    points = call(demo, "sample", {"kind": "digit", "class": "0"})["points"]
    plain = call(demo, "complete", {"points": points[20:]})
    told = call(demo, "complete", {"points": points[20:], "removed": points[:20]})
    assert plain["new"] == told["new"]


@pytest.mark.parametrize("points", [[[5, 5]], [[5, 5]] * 9, [[0, 0], [1, 0]], [[0, 0, 0]]])
def test_degenerate_clouds_complete(demo: DemoServer, points: list[list[float]]) -> None:
    result = call(demo, "complete", {"points": points})
    assert np.isfinite(result["new"]).all()
    assert "NaN" not in json.dumps(result)


@pytest.mark.parametrize(
    "points",
    [
        None,
        [],
        "points",
        [[1, 2], [3]],
        [[1, 2, 3, 4]],
        [["a", "b"]],
        [[True, False]],
        [1, 2],
        [[1e300, 0]],
        [[]],
        [[10**400, 1]],
        {"0": 1},
    ],
)
@pytest.mark.parametrize("name", ["classify", "complete", "download"])
def test_clouds_that_are_none_are_refused(demo: DemoServer, name: str, points: Any) -> None:
    refusal(demo, f"/api/{name}", {"points": points, "format": "ply"}, 400)


@pytest.mark.parametrize(
    "strokes", [None, [], [[]], [1], [[[1]]], [[["a", 1]]], [[[1, 2, 3]]], "digit"]
)
def test_drawings_that_are_none_are_refused(demo: DemoServer, strokes: Any) -> None:
    refusal(demo, "/api/draw", {"strokes": strokes}, 400)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"[1]", b"null"])
def test_malformed_json_is_a_sentence(demo: DemoServer, body: bytes) -> None:
    refusal(demo, "/api/complete", body, 400)


def test_nan_in_json_is_a_sentence(demo: DemoServer) -> None:
    assert "finite" in refusal(demo, "/api/classify", b'{"points": [[NaN, 1]]}', 400)
    assert "finite" in refusal(demo, "/api/draw", b'{"strokes": [[[Infinity, 1]]]}', 400)


def test_too_much_is_413(demo: DemoServer) -> None:
    many = [[0.5, 1.5]] * (checks.MAX_POINTS + 1)
    refusal(demo, "/api/classify", {"points": many}, 413)
    refusal(demo, "/api/complete", {"points": many}, 413)
    refusal(demo, "/api/draw", {"strokes": [[[1, 1]]] * 501}, 413)
    refusal(demo, "/api/complete", b" " * (server.MAX_JSON + 1), 413)
    too_large = b"0" * (engine.MAX_UPLOAD + 1)
    kind = "application/octet-stream"
    assert "32 MB" in refusal(demo, "/api/upload?name=a.xyz", too_large, 413, kind=kind)


def test_only_its_own_page_is_answered(demo: DemoServer) -> None:
    port = demo.server_port
    request = {"points": [[1, 2]]}
    for headers in (
        {"Host": "evil.example"},
        {"Host": f"evil.example:{port}"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ):
        refusal(demo, "/api/classify", request, 403, headers=headers)
        assert ask(demo, "/api/about", headers=headers)[0] == 403
    own = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}
    assert ask(demo, "/api/classify", request, headers=own)[0] == 200
    refusal(demo, "/api/classify", request, 415, kind="text/plain")


def test_what_is_not_there_is_404_and_length_is_needed(demo: DemoServer) -> None:
    refusal(demo, "/api/nothing", {}, 404)
    with socket.create_connection(("127.0.0.1", demo.server_port), timeout=30) as line:
        host = f"127.0.0.1:{demo.server_port}"
        line.sendall(f"POST /api/draw HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        assert line.recv(100).startswith(b"HTTP/1.1 411")


def test_a_dimension_without_weights_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ddeq.inference.weights.shipped", lambda kind: [])
    bare = Engine()
    assert bare.about()["completer"] == []
    assert bare.classify({"points": [[0, 0, 1]]}) == {"classes": None}
    with pytest.raises(checks.RefusedError, match="No completer for 3-D clouds") as caught:
        bare.complete({"points": [[0, 0, 1]]})
    assert caught.value.status == 501


def test_a_taken_port_is_one_line(demo: DemoServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--no-browser", "--port", str(demo.server_port)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "in use" in error
    assert main(["demo", "--no-browser", "--port", "70000"]) == 2
    assert main(["demo", "--no-browser", "--seed", "-1"]) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a child")
def test_an_interrupt_ends_it_cleanly() -> None:
    command = [sys.executable, "-m", "ddeq.cli", "demo", "--no-browser", "--port", "0"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a job in the background of a shell ignores interrupts, and so would its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as child:
        assert child.stdout is not None
        assert "http://127.0.0.1:" in child.stdout.readline()
        child.send_signal(signal.SIGINT)
        _, error = child.communicate(timeout=60)
    assert child.returncode == 130
    assert error == "ddeq: interrupted\n"
