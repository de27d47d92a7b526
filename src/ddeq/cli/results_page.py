"""The shipped models in ``RESULTS.md`` and the README, from the files that ``ddeq eval`` wrote.

A model's figures are those of ``results/eval/*.json``, one file per command, and of
``results/completion-*.json``, which ``ddeq eval --protocol`` wrote. Measuring again and
``ddeq reproduce report`` change every figure that is shown.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["readme", "shipped"]

_HEAD = """## Shipped models

Whole test sets, unless the command says `--limit`; mean ± standard error over clouds. Each row
is one file of `results/eval/`, written by its command with `-o`. Measured on CPU cores, with
the data of `ddeq data`."""
_CLASSES = """### Classes

The paper gives every coordinate unit variance, as `--even` does: only those rows are in its
setting. Its ModelNet40-s are mesh vertices (`modelnet40-s`), which are harder than points of
surfaces (`modelnet40`): figures of the one are never to be compared with the other's. Weights
were trained with augmentation, of which the paper says nothing."""
_TOLD = """### Completion, told the frame of the whole

The paper's protocol: clouds are normalised whole and then cut, so that the frame gives away mean
and variance of what is missing; the Gaussian of these moments and retrieval stand beside a network
under `completion-baselines` and `table-6` below. The paper always adds 27.5 % (`--ratio 0.275`);
other rows add as many points as the model estimates, which is not the paper's setting. The balls
remove a smaller share of a surface than of the paper's vertices, so rows of `modelnet8` are not the
paper's task, and `paper-modelnet8-completion`, which always adds 27.5 %, adds twice what is missing
of such surfaces. The form of the loss of
`mnist-pc` was chosen by 96 of its test clouds, those of `docs/experiments.md`; its epoch by
held-out training clouds."""
_OWN = """### Completion, in the frame of what is visible

Nothing is told: the task that a user has."""
_PAPER = """### What the paper reports

From `results/paper.json`. Whether its W2 is squared is not said."""
_PROTOCOL = """### Completion as a user has it, beside completers without a network

Files `results/completion-*.json`, each by `ddeq eval RECIPE --protocol --cut CUT -o FILE`: in
the frame of what is visible, unless it is said that the frame is told."""
_ACCURACY = ("accuracy", "cross entropy", "solver steps")
_DISTANCES = ("mmd2 whole", "W2 free", "W2^2 free", "OT free", "W2 whole", "OT whole")
_PROTOCOLLED = ("OT new", "W2 new", "distance", "Chamfer", "better", "unchanged")


def shipped(results: Path) -> str:
    """The section on shipped models of ``RESULTS.md``.

    Args:
        results: The folder of results.
    """
    files = [_read(path) for path in sorted((results / "eval").glob("*.json"))]
    classes = [one for one in files if "accuracy" in one["metrics"]]
    wholes = [one for one in files if "mmd2 whole" in one["metrics"]]
    own = [one for one in wholes if one["frame"].startswith("each")]
    told = [one for one in wholes if one not in own]
    parts = [_HEAD]
    for about, rows, columns in (
        (_CLASSES, classes, _ACCURACY),
        (_TOLD, told, _DISTANCES),
        (_OWN, own, _DISTANCES),
    ):
        if rows:
            parts += [about, _evaluated(rows, columns)]
    protocolled = _compared(results)
    parts += [_PROTOCOL, protocolled] if protocolled else []
    paper = results / "paper.json"
    parts += [_PAPER, _reported(_read(paper))] if paper.is_file() else []
    return "\n\n".join(parts) if len(parts) > 1 else ""


def readme(results: Path) -> dict[str, str]:
    """Tables of the README by the name of their mark; those whose files are absent are left out."""
    found = {}
    for name, make in (("scans", _scans), ("classes", _recognised)):
        try:
            found[name] = make(results)
        except FileNotFoundError:
            continue
    return found


def _evaluated(files: Sequence[dict[str, Any]], names: Sequence[str]) -> str:
    heads = ["weights", "data", "clouds", *names, "parameters", "command"]
    rows = [
        [
            f"{one['model']} `{one['weights']}`",
            one["data"],
            f"{one['clouds']:,}",
            *[_mean(one["metrics"].get(name), name == "accuracy") for name in names],
            f"{one['parameters']:,}",
            f"`{one['command']}`",
        ]
        for one in files
    ]
    return _table(heads, rows)


def _compared(results: Path) -> str:
    """A row per file, cut and completer of the comparisons."""
    rows = []
    for path in sorted(results.glob("completion-*.json")):
        for cut, completers in _read(path).items():
            if not isinstance(completers, dict) or not all(
                isinstance(one, dict) and "metrics" in one for one in completers.values()
            ):
                break  # not a comparison
            for name, one in completers.items():
                told = ", told" if one["settings"]["frame"].startswith("told") else ""
                metrics = [_mean(one["metrics"].get(metric)) for metric in _PROTOCOLLED]
                about = f"{one['settings']['clouds']:,} of {one['settings']['data']}"
                rows.append([about, f"{cut}{told}", name, *metrics])
    return _table(["data", "cut", "completer", *_PROTOCOLLED], rows) if rows else ""


def _reported(paper: dict[str, Any]) -> str:
    rows = []
    for what, values in paper.items():
        if isinstance(values, dict):
            for name, value in values.items():
                shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
                rows.append([what, name, shown])
    return _table(["what", "model", "value"], rows)


def _scans(results: Path) -> str:
    """Completed scans: the model beside completers without a network, two cuts."""
    found = {cut: _read(results / f"completion-scans-{cut}.json")[cut] for cut in ("balls", "view")}
    whole = _read(results / "completion-scans-whole.json")["whole"]["scans"]["metrics"]
    names = {
        "scans": "shipped `scans`",
        "mirror": "mirror",
        "retrieval": "the best fitting training object",
        "copy": "copy of visible points",
    }
    rows = []
    for name, shown in names.items():
        cells = []
        for cut in found.values():
            metrics = cut[name]["metrics"]
            far, better = metrics["OT new"], metrics["better"]
            cells += [f"{far['value']:.3f} ± {far['error']:.3f}", _percent(better)]
        rows.append([shown, *(_bold(cells) if name == "scans" else cells)])
    heads = ["", "two balls cut out: OT", "better", "what one camera does not see: OT", "better"]
    kept = _percent(whole["unchanged"]).partition(" ±")[0].removesuffix(" %")
    return f"{_table(heads, rows)}\n\nTo whole objects it adds nothing in {kept} % of the cases."


def _recognised(results: Path) -> str:
    """Accuracies: whole test sets, any azimuth, a user's own folder."""
    even, own = (
        _whole(results / "eval" / f"classifier-mnist-pc{end}.json") for end in ("-even", "")
    )
    shapes = _whole(results / "eval" / "classifier-modelnet40.json")
    turned = _read(results / "recognition-modelnet40.json")["azimuths"]
    mine = _read(results / "own-folder.json")
    paper = _read(results / "paper.json")
    digits = paper["accuracy on MNIST-pc, %"]
    vertices = paper["accuracy on ModelNet40-s, %"]["DDEQ, 1.2M"]
    tuned = next(one for key, one in mine.items() if key.startswith("from the shipped weights"))
    rows = [
        [
            "MNIST digits, unit variance per coordinate as in the paper",
            _accuracy(even),
            f"{digits['DDEQ, 776k']} %, its Point Transformer "
            f"{digits['Point Transformer, 3.5M']} %",
        ],
        ["the same in their own proportions", _accuracy(own), ""],
        [
            "ModelNet40, 800 points of the surface",
            _accuracy(shapes),
            f"{vertices} %, of mesh vertices, which are harder",
        ],
        ["the same turned by any azimuth", f"{turned['mean']:.1f} %", ""],
        [
            f"your own folder: {len(mine['held out'])} classes of scans, "
            f"{mine['objects per class']} objects each, {tuned['seconds of one core']} seconds "
            "of training",
            f"{100 * tuned['accuracy']:.1f} %, from scratch "
            f"{100 * mine['from scratch']['accuracy']:.1f} %",
            "",
        ],
    ]
    return _table(["", "here", "paper"], rows)


def _accuracy(file: dict[str, Any]) -> str:
    return f"{100 * file['metrics']['accuracy']['value']:.1f} %"


def _mean(mean: dict[str, float] | None, percent: bool = False) -> str:
    """A mean with its standard error; nothing where there is none."""
    if mean is None or mean["value"] is None or not math.isfinite(mean["value"]):
        return ""
    if percent:
        return f"{100 * mean['value']:.2f} ± {100 * mean['error']:.2f} %"
    digits = 1 if abs(mean["value"]) >= 10 else 3 if abs(mean["value"]) >= 0.1 else 5
    return f"{mean['value']:.{digits}f} ± {mean['error']:.{digits}f}"


def _percent(mean: dict[str, float]) -> str:
    value, error = 100 * mean["value"], 100 * mean["error"]
    return f"{value:.0f} ± {error:.0f} %" if value else "0 %"


def _bold(cells: Sequence[str]) -> list[str]:
    return [f"**{cell}**" for cell in cells]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _whole(path: Path) -> dict[str, Any]:
    """A file of ``ddeq eval`` on a whole test set; one of a part of it counts as absent."""
    file = _read(path)
    if "--limit" in file["command"]:
        raise FileNotFoundError(path)
    return file


def _read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value
