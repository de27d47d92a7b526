"""The command line on files as people have them: other programs' formats, many files, bad ones."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ddeq
from ddeq.cli import COMMANDS, main
from ddeq.data.view import NETWORK_POINTS, NetworkView
from ddeq.io import files
from ddeq.io.files import read_cloud, write_cloud

SMALL = {"features": 16, "head_size": 4, "cross_layers": 1}


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders of small models by kind and dimension."""
    root = tmp_path_factory.mktemp("weights")
    for dim in (2, 3):
        ddeq.Completer(dim, **SMALL).save_pretrained(root / f"completer{dim}")
        ddeq.Classifier(dim, 3, **SMALL).save_pretrained(root / f"classifier{dim}")
    return {path.name: str(path) for path in root.iterdir()}


def error_line(capsys: pytest.CaptureFixture[str]) -> str:
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    assert "Traceback" not in error
    return error


PLY = (
    b"ply\nformat binary_little_endian 1.0\nelement vertex 9\nproperty float x\nproperty float y\n"
)
BAD = {
    "empty.ply": b"",
    "single.xyz": b"1 2 3\n",
    "nan.xyz": b"1 2\nnan 3\n4 5\n",
    "wide.csv": b"1\n2\n3\n",
    "cut.ply": PLY + b"end_header\n" + bytes(40),
    "text.ply": b"Dear reader,\nthis is a letter.\n",
    "huge.xyz": b"1e200 0\n-1e200 1\n0 0\n",
    "photo.jpg": b"\xff\xd8\xff\xe0",
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["complete", "classify"])
def test_bad_input_is_one_line_and_status_2(
    command: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(BAD[name])
    out = ["-o", str(tmp_path / "full.ply")] if command == "complete" else []
    assert main([command, str(tmp_path / name), *out]) == 2
    assert name in error_line(capsys)
    assert not (tmp_path / "full.ply").exists()


def test_too_many_points_are_refused_before_they_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    count = 20_000_001
    path = tmp_path / "large.ply"
    with open(path, "wb") as out:  # sparse: takes no room on the disk
        out.write(PLY.replace(b"vertex 9", b"vertex %d" % count) + b"end_header\n")
        out.truncate(out.tell() + 8 * count)
    assert main(["complete", str(path), "-o", str(tmp_path / "full.ply")]) == 2
    assert "limit of 20,000,000" in error_line(capsys)


def test_the_network_sees_few_of_many_points() -> None:
    many = np.random.default_rng(0).normal(size=(300_000, 3)) * 5 + 1e6
    view = NetworkView(many)
    x = view.for_network()
    assert 200 < int(x.lengths) <= NETWORK_POINTS
    back = view.from_network(x.points[0])
    assert np.abs(back - view.subsample).max() < 1e-3
    assert np.abs(back.mean(0) - many.mean(0)).max() < 2


def test_new_points_come_at_the_density_of_the_input_and_are_bounded(
    weights: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    points = np.random.default_rng(0).normal(size=(2000, 2))
    write_cloud(tmp_path / "a.npy", points)
    monkeypatch.setattr("ddeq.models.completer.MOST_ADDED", 20)
    argv = ["complete", str(tmp_path / "a.npy"), "-o", str(tmp_path / "b.npy")]
    assert main([*argv, "--weights", weights["completer2"]]) == 0
    full = np.load(tmp_path / "b.npy")
    assert full[:2000].tobytes() == points.tobytes()
    assert len(full) == 2020
    assert "2,000 points kept, 20 added" in capsys.readouterr().out
    for count in ("0", "1000000000"):
        assert main([*argv, "--points", count]) == 2
        assert "--points" in error_line(capsys)


@pytest.mark.parametrize("suffix", [".ply", "-ascii.ply", ".off", ".obj", ".stl"])
def test_meshes_of_another_program_say_what_was_taken(
    suffix: str, weights: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trimesh = pytest.importorskip("trimesh")
    path = tmp_path / f"ball{suffix}"
    options = {"encoding": "ascii"} if suffix == "-ascii.ply" else {}
    trimesh.creation.icosphere(subdivisions=1).export(path, **options)
    argv = ["complete", str(path), "-o", str(tmp_path / "full.ply"), "--points", "5"]
    argv += ["--weights", weights["completer3"]]
    assert main(argv) == 0
    assert "mesh vertices, 42 points, 3-D" in capsys.readouterr().out
    before, after = read_cloud(path).points, trimesh.load(tmp_path / "full.ply")
    assert np.array_equal(np.asarray(after.vertices)[:42], before)
    assert main([*argv, "--surface", "60", "--force"]) == 0
    assert "sampled surface, 60 points, 3-D" in capsys.readouterr().out
    assert len(read_cloud(tmp_path / "full.ply").points) == 65
    model = weights["classifier3"]
    assert main(["classify", str(path), "--weights", model, "--surface", "50", "--json"]) == 0
    assert "sampled surface" in json.loads(capsys.readouterr().out)[0]["read"]


HEADERS = {
    "meshlab.ply": "ply\nformat ascii 1.0\ncomment VCGLIB generated\nelement vertex {n}\n"
    "property double x\nproperty double y\nproperty double z\nproperty float nx\n"
    "property float ny\nproperty float nz\nproperty uchar red\nproperty uchar green\n"
    "property uchar blue\nproperty uchar alpha\nproperty float quality\nelement face 0\n"
    "property list uchar int vertex_indices\nend_header\n",
    "cloudcompare.ply": "ply\nformat ascii 1.0\ncomment Created by CloudCompare v2.13\n"
    "obj_info Generated by CloudCompare!\nelement vertex {n}\nproperty double x\n"
    "property double y\nproperty double z\nproperty float nx\nproperty float ny\n"
    "property float nz\nproperty uchar red\nproperty uchar green\nproperty uchar blue\n"
    "property float scalar_Intensity\nproperty float scalar_GPS_time\nend_header\n",
    "cloudcompare.pcd": "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\n"
    "FIELDS x y z normal_x normal_y normal_z r g b Scalar_field Original_cloud_index\n"
    "SIZE 8 8 8 4 4 4 1 1 1 4 4\nTYPE F F F F F F U U U F F\n"
    "COUNT 1 1 1 1 1 1 1 1 1 1 1\nWIDTH {n}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\n"
    "POINTS {n}\nDATA ascii\n",
}


@pytest.mark.parametrize("name", HEADERS)
def test_extra_properties_are_read_past(name: str, weights: dict[str, str], tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(30, 3)) * 100 + 4.5e6
    rows = [" ".join(map(repr, p)) + " 0 0 1 255 128 0 0.5 17.25" for p in points.tolist()]
    (tmp_path / name).write_text(HEADERS[name].format(n=30) + "\n".join(rows) + "\n")
    out = tmp_path / "full.npz"
    argv = ["complete", str(tmp_path / name), "-o", str(out), "--weights", weights["completer3"]]
    assert main(argv) == 0
    with np.load(out) as arrays:
        assert arrays["points"][:30].tobytes() == points.tobytes()
        assert arrays["new"].tolist() == [False] * 30 + [True] * 8
        assert np.abs(arrays["points"] - 4.5e6).max() < 1e5


def test_a_folder_with_a_bad_file_and_formats_that_are_not_written(
    weights: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scans = tmp_path / "scans"
    scans.mkdir()
    cloud = np.random.default_rng(0).normal(size=(20, 2))
    for name in ("a.csv", "c.npy"):
        write_cloud(scans / name, cloud)
    (scans / "b.ply").write_text("nonsense")
    (scans / "d.asc").write_text("1 2\n3 4\n5 7\n")
    (scans / "notes.md").write_text("not a cloud")
    argv = ["complete", str(scans), "-o", str(tmp_path / "out"), "--weights", weights["completer2"]]
    assert main(argv) == 1
    assert "b.ply" in error_line(capsys)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["a.csv", "c.npy", "d.ply"]
    before = (tmp_path / "out" / "a.csv").read_bytes()
    assert main([*argv, "--seed", "1"]) == 2  # all there already
    assert capsys.readouterr().err.count("--force") == 3
    assert (tmp_path / "out" / "a.csv").read_bytes() == before
    write_cloud(scans / "d.ply", cloud)
    assert main([*argv, "--force"]) == 2  # two files for one name
    assert "d.ply" in error_line(capsys)


def test_one_file_of_another_dimension_does_not_stop_the_others(
    weights: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for dim in (2, 3):
        np.save(tmp_path / f"{dim}.npy", np.random.default_rng(0).normal(size=(9, dim)))
    names = [str(tmp_path / "3.npy"), str(tmp_path / "2.npy")]
    assert main(["classify", *names, "--weights", weights["classifier2"]]) == 1
    said = capsys.readouterr()
    assert "3-D" in said.err
    assert said.out.startswith(names[1])


def test_a_bar_over_several_files_on_a_terminal(
    weights: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("ddeq.cli.progress._PERIOD", 0.0)
    for name in ("a.npy", "b.npy"):
        np.save(tmp_path / name, np.random.default_rng(0).normal(size=(9, 2)))
    argv = ["complete", str(tmp_path), "-o", str(tmp_path / "out")]
    assert main([*argv, "--weights", weights["completer2"]]) == 0
    said = capsys.readouterr()
    assert "[##########          ] files 1/2" in said.err
    assert said.out.count("added") == 2


def test_bad_weights_are_one_line_for_any_number_of_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [str(tmp_path / f"{i}.npy") for i in range(3)]
    for name in names:
        np.save(name, np.zeros((4, 2)))
    for argv in (["classify", *names], ["complete", *names, "-o", str(tmp_path / "out")]):
        assert main([*argv, "--weights", "no-such"]) == 2
        assert "no-such" in error_line(capsys)


def test_a_result_that_cannot_be_kept_is_not_computed(
    weights: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.save(tmp_path / "a.npy", np.zeros((4, 2)))
    monkeypatch.setattr(NetworkView, "for_network", lambda *_: pytest.fail("computed"))
    (tmp_path / "there.ply").touch()
    for out in ("there.ply", "full.stl", "none/full.ply", ""):
        argv = ["complete", str(tmp_path / "a.npy"), "-o", str(tmp_path / out)]
        assert main([*argv, "--weights", weights["completer2"]]) == 2
        error_line(capsys)


def test_an_interrupted_picture_leaves_the_old_one(
    weights: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(9, 2)))
    (tmp_path / "a.png").write_text("old")

    def stopped(figure: object, path: Path, **options: object) -> None:
        Path(path).write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", stopped)
    argv = ["complete", str(tmp_path / "a.npy"), "-o", str(tmp_path / "b.npy"), "--force"]
    argv += ["--show", str(tmp_path / "a.png"), "--weights", weights["completer2"]]
    assert main(argv) == 130
    assert (tmp_path / "a.png").read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.npy", "a.png", "b.npy"]


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_the_shell_learns_every_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shell", name]) == 0
    script = capsys.readouterr().out
    for command in COMMANDS:
        assert command in script
    assert "trajectory" in script
    if shutil.which(name):
        subprocess.run([name, "-n"], input=script, text=True, check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["shell", "bash"])
    script = capsys.readouterr().out
    (tmp_path / "scan one.ply").touch()
    for words, expected in [
        (["comp"], ["complete"]),
        (["complete", "--tra"], ["--trajectory"]),
        (["complete", "sc"], ["scan one.ply"]),
        (["shell", "fi"], ["fish"]),
    ]:
        listed = " ".join(f"'{word}'" for word in ["ddeq", *words])
        line = f"COMP_WORDS=({listed}); COMP_CWORD={len(words)}; _ddeq"
        show = 'printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(
            ["bash"], input=f"{script}{line}; {show}", text=True, cwd=tmp_path, capture_output=True
        )
        assert done.stdout.splitlines() == expected, done.stderr


def test_every_readable_format_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "complete.md").read_text()
    assert all(f"`{suffix}`" in page for suffix in files.READABLE)
