"""``ddeq flow``: the flow towards its own rotation, as a picture and an animation."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from ddeq.cli.errors import UsageError, film_path, output_path
from ddeq.cli.progress import print_line, progress
from ddeq.gallery.rotation import PARTICLES, RotationFlow, figure, rotation_flow
from ddeq.measures import kernels

__all__ = ["add_parser", "run"]

_FRAMES = 200  # of an animation
_BANDWIDTH = 10.0  # about the distance of the first particles from the origin
_SYMMETRIC = 0.02  # of the radius: what is nearer than this looks the same


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "flow",
        help="watch particles find a pattern with n-fold symmetry",
        description=(
            "Particles flow so as to look like themselves rotated by 2 pi / TURN. They start as a "
            "blob left of the origin, spread around it, and settle in a pattern with TURN-fold "
            "symmetry; another seed finds another pattern. The picture shows six moments and, in "
            "red, the last one rotated: it is the same pattern. The defaults are the paper's, but "
            "for the number of particles, which it does not give."
        ),
        epilog="Example: ddeq flow --turn 8 -o eight.png --animation eight.html",
    )
    parser.add_argument("--turn", type=float, default=5.0, help="rotation by 2 pi / TURN (5)")
    parser.add_argument("-o", "--out", default="flow.png", help="png, svg or pdf (flow.png)")
    parser.add_argument("--animation", help="also write an animation: html, gif or mp4")
    parser.add_argument("--particles", type=int, default=PARTICLES, help=f"how many ({PARTICLES})")
    parser.add_argument("--steps", type=int, default=2000, help="how many (2000)")
    parser.add_argument("--step-size", type=float, default=10.0, help="of the first step (10)")
    parser.add_argument("--decay", type=float, default=0.999, help="of the step size (0.999)")
    parser.add_argument(
        "--kernel",
        choices=("riesz", "gaussian", "laplace", "imq"),
        default="riesz",
        help="of the MMD (riesz)",
    )
    parser.add_argument(
        "--kernel-parameter",
        type=float,
        metavar="P",
        help=f"exponent of riesz (1), bandwidth of the others ({_BANDWIDTH:g})",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first particles (0)")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    picture = output_path(args.out, (".png", ".svg", ".pdf"), args.force)
    animation = args.animation and film_path(args.animation, args.force)
    flow = _flow(args)
    from ddeq.viz.drawing import save

    save(figure(flow), picture)
    print_line(f"picture: {picture}")
    if animation:
        _animate(animation, flow)
        print_line(f"animation: {animation}")
    _report(flow)
    return 0


def _report(flow: RotationFlow) -> None:
    """Says in numbers what the picture shows."""
    first, last = flow.residuals[0], flow.residuals[-1]
    print(
        f"residual MMD^2(z, Rz): {first:.3g} -> {last:.3g} in {len(flow.residuals) - 1} steps, "
        f"{flow.relative_residual:.1e} of the start"
    )
    print(
        "symmetry: each particle has a rotated one within "
        f"{100 * flow.asymmetry:.2g} % of the pattern's radius"
    )
    if flow.asymmetry > _SYMMETRIC:
        print("not symmetric yet: try more steps and a slower decay (--steps 4000 --decay 0.9995)")


def _flow(args: argparse.Namespace) -> RotationFlow:
    """The flow that was asked for."""
    count = args.steps + 1
    with closing(progress(range(count), count, "flow: step")) as ticks:
        try:
            return rotation_flow(
                turn=args.turn,
                particles=args.particles,
                steps=args.steps,
                step_size=args.step_size,
                decay=args.decay,
                kernel=_kernel(args.kernel, args.kernel_parameter),
                seed=args.seed,
                on_step=lambda: next(ticks, None),
            )
        except ValueError as error:
            raise UsageError(str(error)) from error


def _kernel(name: str, parameter: float | None) -> kernels.Kernel:
    """A kernel by its name, with its exponent or bandwidth."""
    if name == "riesz":
        return kernels.Riesz(1.0 if parameter is None else parameter)
    kinds: dict[str, Callable[[float], kernels.Kernel]] = {
        "gaussian": kernels.Gaussian,
        "laplace": kernels.Laplace,
        "imq": kernels.InverseMultiquadric,
    }
    return kinds[name](_BANDWIDTH if parameter is None else parameter)


def _animate(path: Path, flow: RotationFlow) -> None:
    """Writes the animation; frames are dense at the start, where the flow is fast."""
    from ddeq.viz.animation import write_animation, write_frames

    steps = len(flow.iterates) - 1
    shown = np.unique((steps * np.linspace(0, 1, _FRAMES + 1) ** 2).round().astype(int))
    frames, title = list(flow.iterates[shown]), f"Flow towards a rotation by 2π/{flow.turn:g}"
    if path.suffix.lower() != ".html":
        write_frames(path, frames, title=title, steps=shown.tolist())
        return
    write_animation(
        path,
        frames,
        residuals=flow.residuals[shown].tolist(),
        title=title,
        spread=np.sqrt(flow.iterates[shown].var(1).sum(1)).tolist(),
        steps=shown.tolist(),
    )
