"""Films: their colours, their length, an encoder that may be missing, where the viewer stands."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ddeq.cli import main
from ddeq.errors import DdeqError
from ddeq.io.files import write_cloud
from ddeq.viz import moving, pictures, turning
from ddeq.viz.drawing import INPUT, RESULT, project


def rgb(color: str) -> tuple[int, ...]:
    return tuple(int(color[i : i + 2], 16) for i in (1, 3, 5))


def plain(*dots: tuple[int, int, str]) -> Image.Image:
    """A white picture with some dots."""
    picture = Image.new("RGB", (61, 40), "white")
    for x, y, color in dots:
        picture.putpixel((x, y), rgb(color))
    return picture


def test_a_colour_of_few_points_is_not_lost(tmp_path: Path) -> None:
    grey = [(x, y, INPUT) for x in range(5, 55) for y in range(5, 30)]
    moving.write_pictures(
        tmp_path / "a.gif", [plain(*grey), plain(*grey, (2, 3, RESULT))], [70, 90]
    )
    with Image.open(tmp_path / "a.gif") as film:
        film.seek(1)
        shown = film.convert("RGB")
        assert shown.getpixel((2, 3)) == rgb(RESULT)
        assert shown.getpixel((9, 9)) == rgb(INPUT)
        assert shown.getpixel((0, 0)) == (255, 255, 255)


def test_an_mp4_lasts_as_long_as_its_pauses(tmp_path: Path) -> None:
    program = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    path = tmp_path / "a.mp4"
    moving.write_pictures(path, [plain(), plain((2, 3, RESULT))] * 10, [70] * 19 + [670])
    said = subprocess.run([program, "-i", str(path)], capture_output=True, text=True, check=False)
    seconds = re.search(r"Duration: 00:00:(\d+\.\d+)", said.stderr)
    assert seconds is not None
    assert float(seconds.group(1)) == pytest.approx(2.0, abs=0.05)
    assert "62x40" in said.stderr  # even


def test_an_mp4_without_an_encoder_is_one_line_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(moving.shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(DdeqError, match="pip install imageio-ffmpeg"):
        moving.check_moving("a.mp4")
    moving.check_moving("a.gif")
    write_cloud(tmp_path / "a.ply", np.eye(3))
    argv = ["complete", str(tmp_path / "a.ply"), "-o", str(tmp_path / "b.ply")]
    assert main([*argv, "--trajectory", str(tmp_path / "b.mp4")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "b.ply").exists()


def test_a_failed_encoder_is_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving.shutil, "which", lambda name: "/bin/false")
    with pytest.raises(DdeqError, match="ffmpeg failed"):
        moving.write_pictures(tmp_path / "a.mp4", [plain()], [70])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("side", [[1.0, 0.0, 0.3], [-0.6, 0.8, 0.0], [0.0, -1.0, 0.0]])
def test_holes_face_the_viewer_while_particles_flow(
    side: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, float]] = []

    def draw(ax, still, new, view) -> None:
        seen.append((len(new), float(project(new, view)[1].mean()) if len(new) else -np.inf))

    for name, value in (("_FRAMES", 24), ("_BEFORE", 4), ("_AFTER", 8), ("_draw", draw)):
        monkeypatch.setattr(turning, name, value)
    ball = np.random.default_rng(0).normal(size=(200, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    new = np.array(side) + 0.05 * ball[:20]
    still = ball[ball @ np.array(side) < 0.7]
    turning.write_turning(tmp_path / "a.gif", turning.Film(still, [0 * new, 0.5 * new, new]))
    nearest = max(range(len(seen)), key=lambda k: seen[k][1])
    assert seen[0][0] == 0
    assert 0.2 * len(seen) < nearest < 0.65 * len(seen)  # between the two captions


def test_a_picture_of_some_points_counts_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ddeq

    small = {"features": 16, "head_size": 4, "cross_layers": 1}
    ddeq.Completer(dim=2, **small).save_pretrained(tmp_path / "weights")
    write_cloud(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(20_500, 2)))
    titles, drawn = [], []
    real = pictures.completion_picture

    def keep(*args):
        figure = real(*args)
        titles.extend(ax.get_title() for ax in figure.axes)
        drawn.append(len(args[0]))
        return figure

    monkeypatch.setattr(pictures, "completion_picture", keep)
    words = f"complete a.npy -o b.npy --show b.png --points 21000 --weights {tmp_path / 'weights'}"
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 0
    assert drawn == [20_000]
    assert titles[0] == "input, 20,500 points"
    assert titles[1].startswith("21,000 points added")


def test_surer_points_are_deeper() -> None:
    points = np.random.default_rng(0).normal(size=(2, 2))
    figure = pictures.completion_picture(points, points + 9, np.array([0.0, 1.0]))
    _, _, unsure, sure = figure.axes[1].collections[0].get_facecolors()[:, :3]
    assert np.allclose(255 * sure, rgb(RESULT), atol=1)
    assert unsure.sum() > sure.sum() + 0.4
