"""``ddeq reproduce``: the tables and figures of the paper, each by one command.

Experiments are files of a clone's ``experiments`` folder. Each has a docstring, a ``NAME``, what it
reproduces (``PAPER``) and ``run(data, budget)``, which returns JSON values: ``settings``, ``seed``,
``rows`` of a table, and what it ``shows``; or it yields them as they grow. ``plot(result)``, if
there is one, draws the figure; ``expect(result)``, if there is one, says in words what must come
out and whether it did.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ddeq.cli.errors import UsageError
from ddeq.cli.reproduce_pages import DATA, report, result_path, table

__all__ = ["Experiment", "add_parser", "find", "run", "titles"]

PAPER = {
    "table-1": "Table 1, accuracy of PointNet, Point Transformer and DDEQ, two data sets",
    "table-2": "Table 2, W2 at 0, 5, 20 and 80 % noisy points, DDEQ and PCN",
    "table-3": "Table 3, push-forward against full network, three tasks",
    "table-4": "Table 4, cost of training against solver steps",
    "table-5": "Table 5, cost of training against points",
    "table-6": "Table 6, OT distances on ModelNet40-s-partial, DDEQ and PCN",
    "deq": "DDEQ against DEQ: Broyden, Anderson, fixed-point iteration",
    "particles": "figure, accuracy against the number of particles, two data sets",
    "theory": "figures, Assumption PL, Assumption gradients and Theorem over training, four tasks",
    "fixed-points": "figures, fixed points Z* against F(Z*), two data sets",
    "class-embeddings": "figures, class embeddings, two data sets",
    "completed-samples": "figures, completed samples of both data sets, DDEQ beside PCN",
    "rotation-flows": "figures, flows towards a rotation by 2 pi / 5 and 2 pi / 8",
}
"""Every table and figure with results in it, by the name of its experiment."""


@dataclass(frozen=True)
class Experiment:
    """A runnable file.

    Attributes:
        name: What it is called.
        paper: Which table or figure it is, or that it is not in the paper.
        about: First line of its docstring.
        path: The file.
    """

    name: str
    paper: str
    about: str
    path: Path

    def load(self) -> ModuleType:
        """The module; it may import its neighbours in the folder."""
        folder = str(self.path.parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        spec = importlib.util.spec_from_file_location(f"experiment_{self.path.stem}", self.path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look for their module there
        spec.loader.exec_module(module)
        return module


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Adds the command's options."""
    parser = subparsers.add_parser(
        "reproduce",
        help="the tables and figures of the paper, each by one command",
        description=(
            "Runs the experiments of a clone. Each writes results/NAME.json (settings, seed, "
            "versions, CPU time, figures), prints its table and draws its plot; 'list' names every "
            "table and figure of the paper with its state, 'report' writes them into RESULTS.md "
            "and the documentation. A result that is not as expected makes the exit status 1."
        ),
        epilog="Examples: ddeq reproduce list; ddeq reproduce table-4; "
        "ddeq reproduce all --data mini",
    )
    parser.add_argument("name", nargs="+", help="names of experiments, or: list, all, report")
    parser.add_argument(
        "--data", choices=DATA, default="full", help="mini: small, on the data in the package"
    )
    parser.add_argument(
        "--budget", type=float, default=100.0, help="about how many seconds each may take (100)"
    )
    parser.add_argument("--clone", help="folder of the clone (default: found)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    if not args.budget > 0:
        raise UsageError(f"--budget must be positive, got {args.budget}")
    clone = find_clone(args.clone)
    found = find(clone / "experiments")
    results = clone / "results"
    if args.name == ["list"]:
        print(listing(found, results))
        return 0
    if args.name == ["report"]:
        for path in report(titles(found), clone):
            print(f"written: {path}")
        return 0
    names = sorted(found) if args.name == ["all"] else args.name
    for name in names:
        if name not in found:
            where = f"no experiment for {PAPER[name]} yet" if name in PAPER else f"unknown {name!r}"
            raise UsageError(f"{where}: one of {', '.join(sorted(found))}")
    failed = [
        f"{name}: {what}"
        for name in names
        for what in _run_one(found[name], results, args.data, args.budget)
    ]
    for line in failed:
        print(f"not as expected: {line}", file=sys.stderr)
    return 1 if failed else 0


def find_clone(named: str | None) -> Path:
    """The folder that has ``experiments``: the one named, this one, or that of the package."""
    places = [Path(named)] if named else [Path.cwd(), Path(__file__).resolve().parents[3]]
    for place in places:
        if (place / "experiments").is_dir():
            return place
    raise UsageError("no experiments folder: run this in a clone of the project, or name --clone")


def find(folder: Path) -> dict[str, Experiment]:
    """The experiments in a folder by name: files that have ``NAME`` and ``run``; none is run."""
    found = {}
    for path in sorted(folder.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        values = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        has_run = any(isinstance(n, ast.FunctionDef) and n.name == "run" for n in tree.body)
        if "NAME" in values and has_run:
            about = (ast.get_docstring(tree) or "").split("\n")[0]
            name, paper = str(values["NAME"]), str(values.get("PAPER", "not in the paper"))
            found[name] = Experiment(name, paper, about, path)
    return found


def titles(found: dict[str, Experiment]) -> dict[str, str]:
    """What each experiment is, by name: those of the paper in its order, then our own."""
    ours = {name: f"Not in the paper: {found[name].about.rstrip('.')}" for name in sorted(found)}
    return {**PAPER, **{name: about for name, about in ours.items() if name not in PAPER}}


def listing(found: dict[str, Experiment], results: Path) -> str:
    """Every table and figure of the paper, then our own experiments, each with its state."""
    lines = []
    for name, about in titles(found).items():
        done = [data for data in DATA if result_path(results, name, data).is_file()]
        state = f"done ({', '.join(done)})" if done else "not run"
        state = state if name in found or done else "no experiment yet"
        lines.append(f"{name:22}{state:20}{about}")
    return "\n".join(lines)


def _run_one(experiment: Experiment, results: Path, data: str, budget: float) -> list[str]:
    """Runs one, keeps what it found, and returns what is not as expected."""
    module = experiment.load()
    print(f"{experiment.name}: {experiment.about}", flush=True)
    begin = time.process_time()
    found = module.run(data, budget)
    record: dict[str, Any] = {}
    for result in found if isinstance(found, Iterator) else (found,):
        spent = time.process_time() - begin
        record = _keep(experiment, module, result, results, data, budget, spent)
    expected = module.expect(record) if hasattr(module, "expect") else {}
    print(table(record["rows"]))
    print(record["shows"])
    for what, holds in expected.items():
        print(f"{'as expected' if holds else 'NOT AS EXPECTED'}: {what}")
    path = result_path(results, experiment.name, data)
    print(f"written: {path} ({record['cpu_seconds']:.0f} s of CPU time)\n", flush=True)
    return [what for what, holds in expected.items() if not holds]


def _keep(
    experiment: Experiment,
    module: ModuleType,
    result: dict[str, Any],
    results: Path,
    data: str,
    budget: float,
    spent: float,
) -> dict[str, Any]:
    """Writes what is known so far, with its plot; what an experiment gives in parts grows."""
    from ddeq.io.atomic import atomic_path
    from ddeq.protocol import versions

    option = f" --budget {budget:g}" if data == "full" else f" --data {data}"
    record = {
        "name": experiment.name,
        "paper": experiment.paper,
        "command": f"ddeq reproduce {experiment.name}{option}",
        "budget": budget,
        "versions": versions(),
        "cpu_seconds": round(spent, 2),
        **result,
    }
    path = result_path(results, experiment.name, data)
    with atomic_path(path) as draft:
        draft.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if hasattr(module, "plot"):
        from ddeq.viz.drawing import save

        save(module.plot(record), path.with_suffix(".png"))
    return record
