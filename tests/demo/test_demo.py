"""The demo's server: what it answers, what it refuses, and whom."""

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ddeq
from ddeq.cli import main, weights
from ddeq.demo import checks, engine, server
from ddeq.demo.engine import Engine
from ddeq.demo.server import DemoServer
from ddeq.demo.strokes import CANVAS, rasterize
from ddeq.io.files import read_cloud, write_cloud

SEVEN = [[[7, 23], [21, 23], [12, 4]]]
SMALL = {"features": 16, "head_size": 4, "cross_layers": 1}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """A server with the shipped weights in 2-D and small random ones in 3-D."""
    folder = tmp_path_factory.mktemp("completer")
    ddeq.Completer(dim=3, **SMALL).save_pretrained(folder)
    with DemoServer("127.0.0.1", 0, Engine(0, {("completer", 3): str(folder)})) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


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


def test_every_part_of_the_page_is_served_and_asks_nobody_else(demo: DemoServer) -> None:
    for path, (name, _) in server._PARTS.items():
        status, body = ask(demo, path)
        assert status == 200
        text = body.decode().replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert "://" not in text, name
    assert ask(demo, "/../pyproject.toml")[0] == 404
    assert ask(demo, "/engine.py")[0] == 404


def test_about_says_which_models_are_there(demo: DemoServer) -> None:
    about = json.loads(ask(demo, "/api/about")[1])
    assert about["completer"] == [2, 3]
    assert 2 in about["classifier"]
    assert len(about["digits"]) == 10
    assert len(about["shapes"]) == 8


def test_a_drawn_seven_is_a_seven(demo: DemoServer) -> None:
    drawn = call(demo, "draw", {"strokes": SEVEN})
    assert len(drawn["points"]) == len(drawn["stroke"]) > 50
    classes = call(demo, "classify", {"points": drawn["points"]})["classes"]
    best = max(classes, key=lambda c: c["probability"])
    assert best["name"] == "7"
    assert best["probability"] > 0.9


@pytest.mark.parametrize("size", [1.0, 0.3])
def test_a_drawing_has_pixels_as_fine_as_it_is_small(size: float) -> None:
    line = np.array([[4.0, 24.0], [24.0, 24.0], [24.0, 4.0]])
    points, last = rasterize([14 + size * (line - 14), np.array([[14.0, 14.0]])])
    assert {*last.tolist()} == {0, 1}
    assert len(np.unique(points, axis=0)) == len(points)
    low, high = points.min(0), points.max(0)
    assert (abs(0.5 * (low + high) - 14) < 1).all()
    assert 100 < len(points) < 160
    assert (low >= -2).all()
    assert (high <= CANVAS + 2).all()


def test_a_single_touch_is_a_dot() -> None:
    points, _ = rasterize([np.array([[3.0, 3.0]])])
    assert 1 <= len(points) < 20


@pytest.mark.parametrize(("kind", "name", "dim"), [("digit", "4", 2), ("shape", "vase", 3)])
def test_a_sample_completes(demo: DemoServer, kind: str, name: str, dim: int) -> None:
    points = call(demo, "sample", {"kind": kind, "class": name})["points"]
    assert {len(p) for p in points} == {dim}
    kept, removed = points[20:], points[:20]
    result = call(demo, "complete", {"points": kept, "removed": removed})
    count = len(result["new"])
    assert count == 20
    assert {len(frame) for frame in result["frames"]} == {dim * count}
    assert len(result["frames"]) == len(result["residuals"]) == len(result["spread"])
    assert np.allclose(result["frames"][-1], np.ravel(result["new"]), atol=1e-2)
    assert (result["classes"] is None) == (dim == 3 and not engine.available("classifier", 3))
    assert result == {
        **call(demo, "complete", {"points": kept, "removed": removed}),
        **{"seconds": result["seconds"]},
    }


def test_points_that_were_taken_away_are_not_seen(demo: DemoServer) -> None:
    points = call(demo, "sample", {"kind": "digit", "class": "0"})["points"]
    moved = [[27 - x, y] for x, y in points[:6]]
    centre = np.mean(points, 0)
    twins = [(2 * centre - p).tolist() for p in np.array(points[:6])]
    plain = call(demo, "complete", {"points": points})
    known = call(demo, "complete", {"points": points, "removed": moved + twins})
    assert len(known["new"]) == 12
    assert plain["new"] != known["new"]  # another frame


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
    refusal(demo, "/api/complete", {"points": many[1:], "removed": many[1:]}, 413)
    refusal(demo, "/api/draw", {"strokes": [[[1, 1]]] * 501}, 413)
    refusal(demo, "/api/complete", b" " * (server.MAX_JSON + 1), 413)
    too_large = b"0" * (engine.MAX_UPLOAD + 1)
    kind = "application/octet-stream"
    assert "32 MB" in refusal(demo, "/api/upload?name=a.xyz", too_large, 413, kind=kind)


@pytest.mark.parametrize("ending", ["ply", "csv", "npy", "xyz", "pcd"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_files_go_in_and_come_out_bit_for_bit(
    demo: DemoServer, tmp_path: Path, ending: str, dtype: type
) -> None:
    points = (np.random.default_rng(0).normal(size=(30, 3)) * 100 + 5e4).astype(dtype)
    write_cloud(tmp_path / f"in.{ending}", points)
    body = (tmp_path / f"in.{ending}").read_bytes()
    kind = "application/octet-stream"
    status, answer = ask(demo, f"/api/upload?name=in.{ending}", body, kind)
    assert status == 200
    sent = json.loads(answer)
    request = {"points": sent["points"], "new": [[0, 0, 0]], "format": ending}
    status, body = ask(demo, "/api/download", request)
    assert status == 200
    (tmp_path / f"out.{ending}").write_bytes(body)
    back = read_cloud(tmp_path / f"out.{ending}").points
    assert (back[:30] == points).all()
    assert len(back) == 31


def test_a_mesh_is_sampled_and_a_large_cloud_thinned(demo: DemoServer) -> None:
    mesh = b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
    kind = "application/octet-stream"
    status, answer = ask(demo, "/api/upload?name=a.off", mesh, kind)
    assert status == 200
    assert len(json.loads(answer)["points"]) == checks.MAX_POINTS
    rows = np.random.default_rng(0).normal(size=(5000, 2))
    text = "\n".join(f"{x} {y}" for x, y in rows).encode()
    answer = json.loads(ask(demo, "/api/upload?name=big.xyz", text, kind)[1])
    assert 500 < len(answer["points"]) <= checks.MAX_POINTS
    assert "thinned" in answer["note"]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("a.ply", b"this is not a cloud"),
        ("a.ply", b""),
        ("a.npy", b"\x93NUMPY\x01\x00garbage"),
        ("a.exe", b"MZ"),
        ("", b"1 2"),
        ("../../etc/passwd", b"1 2"),
        ("a.xyz", b"nan nan\n"),
        ("a.csv", b"1,1e200\n2,3\n"),
        ("a.x%00yz", b"1 2"),
    ],
)
def test_garbage_files_are_a_sentence(demo: DemoServer, name: str, body: bytes) -> None:
    path = f"/api/upload?name={name}"
    sentence = refusal(demo, path, body, 400, kind="application/octet-stream")
    assert "/tmp" not in sentence


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
    monkeypatch.setattr("ddeq.cli.weights.shipped", lambda kind: [])
    weights.classifier_for.cache_clear()
    weights.completer_for.cache_clear()
    bare = Engine()
    assert bare.about()["completer"] == []
    assert bare.classify({"points": [[0, 0, 1]]}) == {"classes": None}
    with pytest.raises(checks.RefusedError, match="No completer for 3-D clouds") as caught:
        bare.complete({"points": [[0, 0, 1]]})
    assert caught.value.status == 501


def test_the_same_seed_gives_the_same_samples() -> None:
    request = {"kind": "shape", "class": "vase"}
    assert Engine(3).sample(request) == Engine(3).sample(request)
    assert Engine(3).sample(request) != Engine(4).sample(request)


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
    assert child.returncode == 0
    assert error == ""
