"""The flow towards its own rotation, and the command that shows it."""

import argparse
import inspect
from pathlib import Path

import numpy as np
import pytest
import torch

import ddeq
from ddeq.cli import flow as command
from ddeq.cli import main
from ddeq.cli.errors import UsageError, output_path
from ddeq.gallery.rotation import RotationFlow, figure, rotation, rotation_flow

PNG = b"\x89PNG"
SMALL = ["--particles", "6", "--steps", "20"]


@pytest.fixture(scope="module")
def flow() -> RotationFlow:
    return rotation_flow(turn=5, particles=25, steps=400, decay=0.987)


def parse(*argv: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    return parser.parse_args(["flow", *argv])


def test_flow_ends_symmetric(flow: RotationFlow) -> None:
    assert flow.iterates.shape == (401, 25, 2)
    assert flow.relative_residual < 1e-4
    assert flow.asymmetry < 0.01
    start = RotationFlow(5, flow.iterates[:1], flow.residuals[:1])
    assert start.asymmetry > 0.3
    radii = np.linalg.norm(flow.iterates[-1], axis=1)
    assert radii.max() > 5  # spread around the origin, not collapsed on it


def test_residuals_are_those_of_the_iterates(flow: RotationFlow) -> None:
    for k in (0, 7, 400):
        z = ddeq.PointClouds.from_list([flow.iterates[k]])
        image = z.map(lambda points: points @ torch.from_numpy(rotation(5)).T)
        assert float(ddeq.mmd2(z, image)) == pytest.approx(flow.residuals[k], abs=1e-9)


def test_first_particles_are_the_papers() -> None:
    start = rotation_flow(particles=1000, steps=1).iterates[0]
    assert start.mean(0) == pytest.approx([-10, 0], abs=0.35)
    assert start.var(0) == pytest.approx([1, 12], rel=0.15)


def test_first_step_is_the_gradient_of_corollary_2() -> None:
    flow = rotation_flow(particles=9, steps=1, step_size=2.0)
    matrix = torch.from_numpy(rotation(5))
    z = ddeq.PointClouds.from_list([flow.iterates[0]])
    gradient = ddeq.corollary2_gradient(lambda points: points @ matrix.T, z)[0].numpy()
    assert flow.iterates[1] == pytest.approx(flow.iterates[0] - 2.0 * gradient)


def test_defaults_are_the_papers() -> None:
    args = parse()
    defaults = {k: v.default for k, v in inspect.signature(rotation_flow).parameters.items()}
    for options in (vars(args), defaults):
        assert (options["turn"], options["steps"]) == (5, 2000)
        assert (options["step_size"], options["decay"], options["seed"]) == (10, 0.999, 0)
    assert args.particles == defaults["particles"]
    assert command._kernel(args.kernel, args.kernel_parameter) == ddeq.measures.kernels.Riesz(1.0)


def test_snapshots_are_the_papers() -> None:
    flow = RotationFlow(5, np.zeros((2001, 3, 2)), np.zeros(2001))
    assert list(flow.snapshots) == [0, 10, 50, 200, 1000, 2000]


def test_figure_has_seven_panels_a_row(flow: RotationFlow) -> None:
    axes = figure(flow, flow).axes
    assert len(axes) == 14
    assert [ax.get_title() for ax in axes[:7]] == [
        *(f"step {k}" for k in (0, 2, 10, 40, 200, 400)),
        "last, rotated",
    ]
    assert np.allclose(axes[6].collections[0].get_offsets(), flow.image)


def test_seed_decides() -> None:
    a, b, c = (rotation_flow(particles=5, steps=3, seed=seed).iterates for seed in (1, 1, 2))
    assert (a == b).all()
    assert (a != c).any()


@pytest.mark.parametrize("name", ["riesz", "gaussian", "laplace", "imq"])
def test_every_kernel_flows(name: str) -> None:
    kernel = command._kernel(name, None)
    flow = rotation_flow(particles=12, steps=60, kernel=kernel)
    assert flow.relative_residual < 0.2


def test_identity_stands_still() -> None:
    flow = rotation_flow(turn=1, particles=4, steps=5)
    assert flow.iterates.shape == (6, 4, 2)
    assert flow.iterates[-1] == pytest.approx(flow.iterates[0], abs=1e-6)


@pytest.mark.parametrize(
    "options",
    [{"turn": 0}, {"turn": float("nan")}, {"particles": 0}, {"steps": 0}, {"decay": 1.5}],
)
def test_bad_options_are_refused(options: dict) -> None:
    with pytest.raises(ValueError, match="must be"):
        rotation_flow(**{"particles": 3, "steps": 2, **options})


def test_divergence_is_said() -> None:
    with pytest.raises(ValueError, match="smaller step size"):
        rotation_flow(particles=3, steps=5, step_size=1e300)


def test_command_writes_picture_and_animation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture, page, gif = (tmp_path / f"deep/flow.{end}" for end in ("png", "html", "gif"))
    argv = ["flow", *SMALL, "-o", str(picture)]
    assert main([*argv, "--animation", str(page)]) == 0
    output = capsys.readouterr()
    assert output.err == ""  # no progress line where there is no terminal
    assert all(word in output.out for word in (str(picture), str(page), "residual", "symmetry"))
    assert picture.read_bytes().startswith(PNG)
    assert "2π/5" in page.read_text("utf-8") or "2\\u03c0/5" in page.read_text("utf-8")
    assert main([*argv, "--force", "--animation", str(gif)]) == 0
    assert gif.read_bytes().startswith(b"GIF89a")


def test_command_overwrites_nothing_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture, page = tmp_path / "flow.png", tmp_path / "flow.html"
    page.write_text("mine")
    argv = ["flow", *SMALL, "-o", str(picture), "--animation", str(page)]
    assert main(argv) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "--force" in error
    assert page.read_text() == "mine"
    assert not picture.exists()  # refused before any work
    assert main([*argv, "--force"]) == 0
    assert page.read_text("utf-8") != "mine"


@pytest.mark.parametrize(
    "argv",
    [
        ["-o", "flow.xyz"],
        ["--animation", "flow.avi"],
        ["--turn", "0"],
        ["--particles", "0"],
        ["--kernel-parameter", "3"],
        ["--step-size", "1e300"],
    ],
)
def test_bad_input_is_one_line(
    argv: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["flow", *SMALL, *argv]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_output_path_refuses_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a.png"
    folder.mkdir()
    with pytest.raises(UsageError, match="folder"):
        output_path(str(folder), (".png",), force=True)
