"""``ddeq bench``: what a solver step, a training step and a cloud cost, and beside what."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ddeq.cli.errors import UsageError, output_path
from ddeq.cli.progress import print_line, progress
from ddeq.io.atomic import atomic_path

if TYPE_CHECKING:
    from ddeq.bench import Settings

__all__ = ["add_parser", "run"]

_SECTIONS = ("step", "convergence", "growth", "baselines")
_ABOUT = """
sections (all by default):
  step         one solver step and one training step of three tasks, beside a reference that
               follows the paper to the letter (in a source checkout); memory; latency
  convergence  every solver on the shipped weights: residual, spread and metric by evaluations
  growth       time and memory by points, particles, solver steps and clouds; fitted powers
  baselines    an epoch and a cloud, beside PointNet and PCN

Run it alone on the machine: other jobs ruin the timings. Ratios of one run can be compared.
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "bench",
        help="measure cost and convergence",
        description="Measures what things cost on this machine." + _ABOUT,
        epilog="Example: ddeq bench step convergence --quick --json bench.json -o plots",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(_SECTIONS))
    parser.add_argument("--quick", action="store_true", help="a look at all, in a minute")
    parser.add_argument("--json", metavar="FILE", help="also write all figures to this file")
    parser.add_argument("-o", "--out", metavar="FOLDER", help="also write plots to this folder")
    parser.add_argument("--force", action="store_true", help="overwrite files that exist")
    parser.add_argument("--threads", type=int, default=0, help="of torch (its own choice)")
    parser.add_argument("--seed", type=int, default=0, help="of batches, weights, particles (0)")
    parser.add_argument("--data-root", help="folder with data you have (default: $DDEQ_DATA)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    sections = [name for name in _SECTIONS if name in args.sections or not args.sections]
    unknown = [name for name in args.sections if name not in _SECTIONS]
    if unknown:
        raise UsageError(f"no section {unknown[0]!r}: choose from {', '.join(_SECTIONS)}")
    if args.threads < 0 or args.seed < 0:
        raise UsageError("--threads and --seed must not be negative")
    report = output_path(args.json, (".json",), args.force) if args.json else None
    pictures = _pictures(args.out, sections, args.force) if args.out else None

    from ddeq.bench.machine import describe, machine

    settings = _settings(args)
    results: dict[str, Any] = {"machine": machine(args.threads), "quick": args.quick}
    print(describe(results["machine"]), flush=True)
    for name in sections:
        section = importlib.import_module(f"ddeq.bench.{name}")
        results[name] = section.run(settings, progress)
        print(f"\n=== {name} ===\n\n{section.table(results[name])}", flush=True)
        if report is not None:  # after each section: what was measured is not lost
            with atomic_path(report) as draft:
                draft.write_text(json.dumps(results, indent=2) + "\n")
        if pictures is not None:
            _draw(name, results[name], pictures)
    return 0


def _settings(args: argparse.Namespace) -> Settings:
    from dataclasses import replace

    from ddeq import bench as benchmarks

    chosen = benchmarks.QUICK if args.quick else benchmarks.FULL
    return replace(chosen, threads=args.threads, seed=args.seed, root=args.data_root)


def _pictures(name: str, sections: list[str], force: bool) -> Path:
    """The folder for pictures, if those of the sections may be written there."""
    from ddeq.bench.figures import FILES

    folder = Path(name)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{name} is a file: -o takes a folder")
    for file in (file for section in sections for file in FILES.get(section, ())):
        output_path(str(folder / file), (".png",), force)
    return folder


def _draw(section: str, result: dict[str, Any], folder: Path) -> None:
    from ddeq.bench.figures import figures
    from ddeq.viz.drawing import save

    for name, figure in figures(section, result).items():
        save(figure, folder / name)
        print_line(f"picture: {folder / name}")
