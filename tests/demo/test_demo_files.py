"""The demo's server: files go in and come out."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from demo_requests import ask, refusal

from ddeq.demo import checks, reading
from ddeq.demo.engine import Engine
from ddeq.demo.server import DemoServer
from ddeq.io.files import read_cloud, write_cloud


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


def test_a_mesh_is_sampled_and_a_large_cloud_subsampled(demo: DemoServer) -> None:
    mesh = b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
    kind = "application/octet-stream"
    status, answer = ask(demo, "/api/upload?name=a.off", mesh, kind)
    assert status == 200
    assert len(json.loads(answer)["points"]) == checks.MAX_POINTS
    rows = np.random.default_rng(0).normal(size=(5000, 2))
    text = "\n".join(f"{x} {y}" for x, y in rows).encode()
    answer = json.loads(ask(demo, "/api/upload?name=big.xyz", text, kind)[1])
    assert 500 < len(answer["points"]) <= checks.MAX_POINTS
    assert "shown" in answer["note"]
    assert answer["size"] == 5000


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


@pytest.mark.parametrize(("name", "most"), [("SECONDS", 0.01), ("MEMORY", 2**20)])
def test_a_file_has_a_budget_of_time_and_memory(
    monkeypatch: pytest.MonkeyPatch, name: str, most: float
) -> None:
    if name == "MEMORY" and not Path("/proc/self/statm").exists():
        pytest.skip("memory cannot be bounded here")
    rows = b"1.5 2.5 3.5\n" * 400_000
    child = Engine().reader
    if name == "SECONDS":
        monkeypatch.setattr(reading, name, most)
    else:
        start = f"from ddeq.demo import reading; reading.{name} = {most}; reading.main()"
        monkeypatch.setattr(reading, "COMMAND", [sys.executable, "-c", start])
    said = r"^big.xyz: (takes more .* than the demo gives|does not fit in memory)"
    with pytest.raises(checks.RefusedError, match=said):
        child.read(rows, ".xyz", "big.xyz")
    monkeypatch.undo()
    child.close()
    assert len(child.read(b"1 2 3\n4 5 6\n", ".xyz", "small.xyz")[0]) == 2
    child.close()
