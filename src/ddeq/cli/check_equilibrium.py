"""``ddeq check-equilibrium``: is a model's answer a fixed point, or where its solver stopped?"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ddeq.cli.errors import UsageError, output_path

if TYPE_CHECKING:
    from ddeq.models.base import EquilibriumModel

__all__ = ["add_parser", "run"]

_INSTEAD = {"mnist-pc": "mnist-mini"}  # what is always there, for a set that is not
_MEANT = {"digits": "mnist-pc"}  # the data of weights that are called otherwise

_DEFINITIONS = """
Is the answer of a model a fixed point z = F(z), and the only one near? On held-out clouds:

  drift        W2 between the answer and what F makes of it in 100 times as many evaluations,
               over the model's own error (bar: 5 %)
  metric       the model's metric there, against that of the answer (bar: 1 %)
  AA-MMD       1 - MMD^2(z_a, z_b) / MMD^2(z, z of another cloud), for answers from two starts
               with the same marks: other seeds, a wider start, another cloud's answer, the
               answer perturbed; the least of them (bar: 0.995)
  spectral     largest |eigenvalue| of dF/dz at the answer, by Arnoldi's method (bar: below
    radius     0.97 for 95 % of the clouds)
  residual     MMD^2(z, F(z)) / E|z - z'|: over the cloud's own spread, not over the residual
               of a far start (bar: 1e-6 within 40 evaluations, for 95 % of the clouds);
               of particles in one place, over the distance of clouds
  distinct     spread of the particles over the distance of clouds: 0 if all are one point

and without a bar: the metric with the solver bypassed (1, 2, 4 applications of F), the rank
correlation of residual and error, a classifier's accuracy by number of particles.
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "check-equilibrium",
        help="measure whether a model's answers are fixed points",
        description=_DEFINITIONS,
        epilog=(
            "Example: ddeq check-equilibrium completer-digits --picture check.png. "
            "The exit status is 0 whether or not the bars are met."
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", help="shipped weights, such as completer-digits, or a folder")
    parser.add_argument("--data", help="a data set's name or a folder (default: the model's own)")
    parser.add_argument("--data-root", help="folder with data you have (default: $DDEQ_DATA)")
    parser.add_argument("--clouds", type=int, default=64, help="held-out clouds, at least 2 (64)")
    parser.add_argument("--seed", type=int, default=0, help="of clouds, particles and starts (0)")
    parser.add_argument("--json", metavar="OUT", help="also write the report as JSON")
    parser.add_argument("--picture", metavar="OUT", help="also draw it: png, svg or pdf")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    if args.clouds < 2:
        raise UsageError(f"--clouds must be at least 2, got {args.clouds}")
    record = args.json and output_path(args.json, (".json",), args.force)
    drawing = args.picture and output_path(args.picture, (".png", ".svg", ".pdf"), args.force)
    from ddeq.data import load
    from ddeq.diagnostics import check_equilibrium, pose
    from ddeq.io.atomic import atomic_path

    model, name = _model(args.model)
    data = load(_data(args, name), "test", args.data_root)
    problem = pose(model.double(), data, args.clouds, args.seed)  # not to measure rounding
    report = check_equilibrium(problem, args.seed, _show)
    _show("")
    print(f"{args.model} on {data.name}: " + "\n".join(report.lines()))
    values = {"model": args.model, "data": data.name, **report.to_json()}
    if record:
        with atomic_path(record) as draft:
            draft.write_text(json.dumps(values, indent=1) + "\n")
    if drawing:
        from ddeq.diagnostics.picture import picture
        from ddeq.viz.drawing import save

        save(picture(report, problem, args.seed), drawing)
    return 0


def _model(given: str) -> tuple[EquilibriumModel, str]:
    """The model, and what its data are called if it is shipped."""
    from ddeq.models.base import EquilibriumModel
    from ddeq.models.pretrained import CONFIG, SHIPPED
    from ddeq.registry import known
    from ddeq.tasks import Task

    folder = SHIPPED / given if (SHIPPED / given / CONFIG).exists() else Path(given)
    if not (folder / CONFIG).exists():
        names = ", ".join(sorted(path.name for path in SHIPPED.glob("*-*")))
        raise UsageError(f"no model {given!r}: neither a folder of weights nor shipped ({names})")
    kind = json.loads((folder / CONFIG).read_text()).get("kind")
    models = [task.model_type for task in known(Task).values()]
    types: dict[str, Any] = {m.kind: m for m in models if issubclass(m, EquilibriumModel)}
    if kind not in types:
        raise UsageError(f"{given} is a {kind}: it has no equilibrium to check")
    name = folder.name.split("-", 1)[1] if folder.parent == SHIPPED else ""
    return types[kind].from_pretrained(folder), name


def _data(args: argparse.Namespace, name: str) -> str:
    """The data that were asked for, or those of a shipped model."""
    from ddeq.data import DATASETS
    from ddeq.data.cache import data_root

    if args.data is not None:
        return str(args.data)
    name = _MEANT.get(name, name)
    if name not in DATASETS:
        raise UsageError(f"which clouds shall {args.model} be checked on? Name them with --data")
    present = DATASETS[name].present(data_root(args.data_root))
    return name if present else _INSTEAD.get(name, name)


def _show(text: str) -> None:
    """What is measured now, on a terminal; an empty text wipes the line."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()
