"""Pictures, animations and the progress line."""

import io
import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from ddeq.cli import progress as progress_module
from ddeq.cli.progress import progress
from ddeq.viz import (
    animation,
    diagrams,
    drawing,
    films,
    gliding,
    pictures,
    posters,
    turning,
)
from ddeq.viz.drawing import project


def cloud(count: int, dim: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, dim))


def embedded(path: Path) -> dict:
    text = path.read_text("utf-8")
    return json.loads(text.split("const data = ")[1].split(";\n")[0])


@pytest.mark.parametrize("dim", [2, 3])
def test_completion_grid(dim: int, tmp_path: Path) -> None:
    clouds = [torch.from_numpy(cloud(n, dim)) for n in (30, 8, 8, 40)]
    rows = [pictures.CompletionRow(*clouds, "first"), pictures.CompletionRow(*clouds)]
    figure = pictures.completion_grid(rows)
    assert len(figure.axes) == 8
    counts = [len(ax.collections[0].get_offsets()) for ax in figure.axes[:4]]
    assert counts == [30, 38, 38, 40]
    assert {ax.get_xlim() for ax in figure.axes[:4]} == {figure.axes[0].get_xlim()}
    drawing.save(figure, tmp_path / "new/grid.png")
    assert (tmp_path / "new/grid.png").stat().st_size > 5000


def test_completion_picture() -> None:
    figure = pictures.completion_picture(cloud(20, 2), cloud(5, 2, 1))
    assert [len(ax.collections[0].get_offsets()) for ax in figure.axes] == [20, 25]


def test_tour_shows_digits_and_a_scan_in_proportion() -> None:
    whole = [cloud(20, 2, i) * [3.0, 1.0] for i in range(4)]
    digits = [
        posters.Completed(c[:12], c[12:17], c, f"it is a {i}", right=i != 2)
        for i, c in enumerate(whole)
    ]
    solid = cloud(30, 3)
    figure = posters.tour(digits, posters.Completed(solid[:20], solid[20:], solid, "a scan"))
    top, below = figure.subfigs
    assert len(top.axes) == 8
    assert [ax.title.get_color() == drawing.ROTATED for ax in top.axes[:4]] == [False] * 2 + [
        True,
        False,
    ]
    assert [len(ax.collections[0].get_offsets()) for ax in below.axes] == [20, 30, 30]
    assert {ax.get_aspect() for ax in (*top.axes, *below.axes)} == {1.0}
    assert min(text.get_fontsize() for text in (top.axes[0].title, below.axes[0].title)) >= 12


@pytest.mark.parametrize("count", [1, 3, 4])
def test_scan_sheet_has_input_result_and_truth(count: int, tmp_path: Path) -> None:
    whole = cloud(40, 3)
    items = [posters.Completed(whole[:30], whole[30:36], whole, f"scan {i}") for i in range(count)]
    figure = posters.scan_sheet(items)
    shown = [block for block in figure.subfigs if block.axes]
    assert len(shown) == count
    assert [len(ax.collections[0].get_offsets()) for ax in shown[-1].axes] == [30, 36, 40]
    drawing.save(figure, tmp_path / "sheet.png")
    with pytest.raises(ValueError, match="at least one"):
        posters.scan_sheet([])


def test_a_glide_neither_flies_out_nor_jumps() -> None:
    start, end = cloud(30, 2), 0.2 * cloud(30, 2, 1)
    solve = [start, 9 * start, 8 * end, 2 * end, end]  # as a solver's iterates go
    frames, steps = gliding.glide(solve, 50)
    assert len(frames) == len(steps) == 50
    assert (frames[0] == start).all()
    assert (frames[-1] == end).all()
    assert (np.diff(steps) >= 0).all()
    assert steps[[0, -1]].tolist() == [0, 4]
    reach = max(np.abs(start).max(), np.abs(end).max())
    assert max(np.abs(points).max() for points in frames) <= reach
    moves = [np.linalg.norm(b - a, axis=1).max() for a, b in itertools.pairwise(frames)]
    assert max(moves) < 0.1 * np.linalg.norm(end - start, axis=1).max()


@pytest.mark.parametrize(
    "solve", [[np.zeros((0, 3))] * 4, [np.ones((2, 2))], [np.ones((2, 2))] * 3]
)
def test_a_glide_of_nothing_stays(solve: list[np.ndarray]) -> None:
    frames, steps = gliding.glide(solve, 5)
    assert len(frames) == 5
    assert all((points == solve[-1]).all() for points in frames)
    assert steps[-1] == len(solve) - 1


def test_classification_grid_marks_what_is_wrong() -> None:
    clouds = [cloud(9, 3), cloud(7, 2), cloud(1, 2)]
    figure = pictures.classification_grid(clouds, ["a", "b", "c"], [True, False, True], columns=2)
    titles = [ax.title for ax in figure.axes]
    assert [t.get_text() for t in titles] == ["a", "b", "c", ""]
    assert [t.get_color() == drawing.ROTATED for t in titles[:3]] == [False, True, False]
    with pytest.raises(ValueError, match="as many"):
        pictures.classification_grid(clouds, ["a"])


def test_nearer_points_are_drawn_later_and_darker() -> None:
    toward = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # near, middle, far
    _, near = project(toward)
    assert near[0] > near[1] > near[2]
    _, axes = drawing.panels(1, 1)
    drawing.overlay(axes[0, 0], [(toward[:1], drawing.RESULT), (toward[1:], drawing.RESULT)])
    drawn = axes[0, 0].collections[0]
    assert np.allclose(drawn.get_offsets(), project(toward[::-1])[0])
    assert (np.diff(drawn.get_facecolors()[:, 2]) < 0).all()
    assert (np.diff(drawn.get_sizes()) > 0).all()


def test_view_has_z_up_and_keeps_lengths() -> None:
    flat, _ = project(np.array([[0.0, 0.0, 1.0]]))
    assert flat[0, 0] == pytest.approx(0)
    assert flat[0, 1] > 0.9
    points = cloud(20, 3)
    flat, near = project(points)
    assert (flat**2).sum(1) + near**2 == pytest.approx((points**2).sum(1))


def test_curves() -> None:
    figure = diagrams.curves({"a": [1.0, 0.1, 0.0], "b": [(0, 2.0), (10, 1.0)]}, log=True)
    a, b = figure.axes[0].lines
    assert np.isnan(a.get_ydata()[-1])  # 0 has no logarithm
    assert list(b.get_xdata()) == [0, 10]
    assert figure.axes[0].get_yscale() == "log"


def test_bad_clouds_are_refused() -> None:
    _, axes = drawing.panels(1, 1)
    with pytest.raises(ValueError, match=r"\(N, 2\) or \(N, 3\)"):
        drawing.scatter(axes[0, 0], np.zeros((4, 5)))
    with pytest.raises(ValueError, match="at least one"):
        pictures.completion_grid([])


@pytest.mark.parametrize("dim", [2, 3])
def test_animation_holds_its_data_and_asks_for_nothing(dim: int, tmp_path: Path) -> None:
    frames = [torch.from_numpy(cloud(6, dim, i)) for i in range(4)]
    path = tmp_path / "new/a.html"
    title = 'a </script><b> "title"'
    animation.write_animation(path, frames, cloud(3, dim), [1.0, 0.1, float("nan")], title)
    text = path.read_text("utf-8")
    assert "http://" not in text
    assert "https://" not in text
    assert "src=" not in text
    assert text.count("</script>") == 1
    data = embedded(path)
    assert data["title"] == title
    assert data["residuals"] == [1.0, 0.1, None, None]
    assert data["steps"] == [0, 1, 2, 3]
    assert np.reshape(data["frames"][2], (6, dim)) == pytest.approx(frames[2].numpy(), abs=1e-3)
    assert len(data["fixed"]) == 3 * dim


def test_animation_keeps_digits_at_any_scale(tmp_path: Path) -> None:
    for scale in (1e-4, 1e5):
        points = 7 * scale + scale * cloud(10, 2)
        animation.write_animation(tmp_path / "a.html", [points])
        shown = np.reshape(embedded(tmp_path / "a.html")["frames"][0], (10, 2))
        assert shown == pytest.approx(points, abs=2e-3 * scale)


def test_bad_animations_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    with pytest.raises(ValueError, match="at least one frame"):
        animation.write_animation(path, [])
    with pytest.raises(ValueError, match="NaN"):
        animation.write_animation(path, [np.full((2, 2), np.nan)])
    with pytest.raises(ValueError, match="one dimension"):
        animation.write_animation(path, [cloud(2, 2)], fixed=cloud(2, 3))
    with pytest.raises(ValueError, match="as many steps"):
        animation.write_animation(path, [cloud(2, 2)], steps=[0, 1])
    assert not path.exists()


@pytest.mark.parametrize("dim", [2, 3])
def test_gif_has_every_frame(dim: int, tmp_path: Path) -> None:
    from PIL import Image

    path = tmp_path / "a.gif"
    animation.write_frames(
        path, [cloud(5, dim, i) for i in range(3)], cloud(4, dim), "flow", [0, 5, 9]
    )
    with Image.open(path) as image:
        assert image.n_frames == 3
        assert min(image.size) > 200


def test_a_smooth_animation_glides(tmp_path: Path) -> None:
    start, end = cloud(6, 2), cloud(6, 2, 1)
    path = tmp_path / "a.html"
    animation.write_animation(path, [start, 30 * start, end], None, [4.0, 2.0, 1.0], smooth=True)
    data = embedded(path)
    assert len(data["frames"]) == len(data["residuals"]) == gliding.GLIDE_FRAMES
    assert data["radius"] < 2 * np.abs([start, end]).max()
    assert data["residuals"][0] == 4.0
    assert data["residuals"][-1] == 1.0
    assert sorted(set(data["steps"])) == [0, 1, 2]


def test_a_turning_film_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    for name, value in (("_FRAMES", 6), ("_BEFORE", 2), ("_AFTER", 2)):
        monkeypatch.setattr(turning, name, value)
    solid, flat = (
        turning.Film(cloud(30, dim), [cloud(9, dim, 1), 8 * cloud(9, dim, 1), cloud(9, dim, 2)])
        for dim in (3, 2)
    )
    path = tmp_path / "new" / "a.gif"
    turning.write_turning(path, solid, [flat, flat])
    with Image.open(path) as image:
        assert image.n_frames == 6
        assert image.size == (800, 370)
        assert image.info["loop"] == 0


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("count", [0, 9])
def test_the_name_of_a_film_says_its_format(
    dim: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from PIL import Image

    monkeypatch.setattr(turning, "_FRAMES", 42)
    film = turning.Film(cloud(30, dim), [cloud(count, dim, k) for k in range(3)])
    for ending in films.FILMS:
        films.write_film(tmp_path / f"a{ending}", film, "A film", [3.0, 2.0, 1.0])
    assert "A film" in (tmp_path / "a.html").read_text()
    with Image.open(tmp_path / "a.gif") as image:
        assert image.n_frames > 1 or not count
        assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def test_import_does_not_load_matplotlib() -> None:
    code = (
        "import sys, ddeq.viz.pictures, ddeq.viz.animation; sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "_PERIOD", 0.0)
    terminal, log = Terminal(), io.StringIO()
    for stream in (terminal, log):
        assert list(progress(iter("abc"), 3, "letters", stream)) == ["a", "b", "c"]
    assert log.getvalue() == ""
    assert "letters 2/3" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert "\n" not in terminal.getvalue()
