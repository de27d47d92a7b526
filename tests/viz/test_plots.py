"""Pictures, animations and the progress line."""

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from ddeq.cli import progress as progress_module
from ddeq.cli.progress import progress
from ddeq.viz import animation, plots
from ddeq.viz.drawing import project


def cloud(count: int, dim: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, dim))


def embedded(path: Path) -> dict:
    text = path.read_text("utf-8")
    return json.loads(text.split("const data = ")[1].split(";\n")[0])


@pytest.mark.parametrize("dim", [2, 3])
def test_completion_grid(dim: int, tmp_path: Path) -> None:
    clouds = [torch.from_numpy(cloud(n, dim)) for n in (30, 8, 8, 40)]
    rows = [plots.Completion(*clouds, "first"), plots.Completion(*clouds)]
    figure = plots.completion_grid(rows)
    assert len(figure.axes) == 8
    counts = [len(ax.collections[0].get_offsets()) for ax in figure.axes[:4]]
    assert counts == [30, 38, 38, 40]
    assert {ax.get_xlim() for ax in figure.axes[:4]} == {figure.axes[0].get_xlim()}
    plots.save(figure, tmp_path / "new/grid.png")
    assert (tmp_path / "new/grid.png").stat().st_size > 5000


def test_completion_picture_and_tour() -> None:
    figure = plots.completion_picture(cloud(20, 2), cloud(5, 2, 1))
    assert [len(ax.collections[0].get_offsets()) for ax in figure.axes] == [20, 25]
    whole = [cloud(20, 2, i) for i in range(3)]
    figure = plots.tour(whole, [0, 1, 0], [c[:12] for c in whole], [c[:17] for c in whole])
    assert len(figure.axes) == 9
    assert figure.axes[2].get_title() == "it is a 0"
    assert figure.axes[2].title.get_color() == plots.ROTATED


def test_classification_grid_marks_what_is_wrong() -> None:
    clouds = [cloud(9, 3), cloud(7, 2), cloud(1, 2)]
    figure = plots.classification_grid(clouds, ["a", "b", "c"], [True, False, True], columns=2)
    titles = [ax.title for ax in figure.axes]
    assert [t.get_text() for t in titles] == ["a", "b", "c", ""]
    assert [t.get_color() == plots.ROTATED for t in titles[:3]] == [False, True, False]
    with pytest.raises(ValueError, match="as many"):
        plots.classification_grid(clouds, ["a"])


def test_nearer_points_are_drawn_later_and_darker() -> None:
    toward = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # near, middle, far
    _, near = project(toward)
    assert near[0] > near[1] > near[2]
    _, axes = plots.panels(1, 1)
    plots.overlay(axes[0, 0], [(toward[:1], plots.RESULT), (toward[1:], plots.RESULT)])
    drawn = axes[0, 0].collections[0]
    assert np.allclose(drawn.get_offsets(), project(toward[::-1])[0])
    assert (np.diff(drawn.get_facecolors()[:, 2]) < 0).all()


def test_view_has_z_up_and_keeps_lengths() -> None:
    flat, _ = project(np.array([[0.0, 0.0, 1.0]]))
    assert flat[0, 0] == pytest.approx(0)
    assert flat[0, 1] > 0.9
    points = cloud(20, 3)
    flat, near = project(points)
    assert (flat**2).sum(1) + near**2 == pytest.approx((points**2).sum(1))


def test_curves() -> None:
    figure = plots.curves({"a": [1.0, 0.1, 0.0], "b": [(0, 2.0), (10, 1.0)]}, log=True)
    a, b = figure.axes[0].lines
    assert np.isnan(a.get_ydata()[-1])  # 0 has no logarithm
    assert list(b.get_xdata()) == [0, 10]
    assert figure.axes[0].get_yscale() == "log"


def test_bad_clouds_are_refused() -> None:
    _, axes = plots.panels(1, 1)
    with pytest.raises(ValueError, match=r"\(N, 2\) or \(N, 3\)"):
        plots.scatter(axes[0, 0], np.zeros((4, 5)))
    with pytest.raises(ValueError, match="at least one"):
        plots.completion_grid([])


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
    animation.write_gif(
        path, [cloud(5, dim, i) for i in range(3)], cloud(4, dim), "flow", [0, 5, 9]
    )
    with Image.open(path) as image:
        assert image.n_frames == 3
        assert min(image.size) > 200


def test_import_does_not_load_matplotlib() -> None:
    code = "import sys, ddeq.viz.plots, ddeq.viz.animation; sys.exit('matplotlib' in sys.modules)"
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
