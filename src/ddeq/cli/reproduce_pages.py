"""What ``ddeq reproduce report`` writes: tables, plots and settings of all stored results."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ddeq.cli.results_page import readme, shipped
from ddeq.io.atomic import atomic_path

__all__ = ["DATA", "overview", "page", "report", "result_path", "results_text", "table"]

DATA = ("full", "mini")
"""Results on whole data sets, which are shown where there are any, and on the embedded data."""

_RESULTS = """# Results

Written by `ddeq reproduce report` from the files in `results/`: nothing on this page is typed
by hand.
"""
_BY_COMMAND = """## Tables and figures of the paper, by command

Two protocols. **Equal time**: every model of a table gets the same CPU time on the same clouds, its
own recipe, the learning rate and the best weights by held-out training clouds; the test set is
opened once. **Paper**: its settings to the letter (`ddeq train paper-mnist-completion` and the
like); they take days on a CPU, so no table here is by them. Where a column is named "paper", it is
what [arXiv 2503.01140](https://arxiv.org/abs/2503.01140) reports after whole trainings on a GPU.
Results with `--data mini` are on the data in the package, small enough to run anywhere.
"""
_OVERVIEW = """# The paper's tables and figures

Written by `ddeq reproduce report` from the files in `results/`. A page for each table and
figure has the plot, the table, what both show, and the command with all settings.

`--budget` is CPU seconds for all trainings of a table. A run that is killed goes on where it was
when the same command is given again: trainings and rows that are done are kept in `runs/reproduce`.
The shipped models are measured again by `make results`.
"""


def result_path(results: Path, name: str, data: str) -> Path:
    """Where a result is kept."""
    return results / f"{name}.json" if data == "full" else results / data / f"{name}.json"


def table(rows: Sequence[dict[str, Any]], markdown: bool = False) -> str:
    """Rows of a result in columns; numbers with four digits that count."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [columns, *([_cell(row.get(column)) for column in columns] for row in rows)]
    if markdown:
        cells.insert(1, ["---"] * len(columns))
        return "\n".join("| " + " | ".join(map(_escape, line)) + " |" for line in cells)
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def results_text(about: Mapping[str, str], clone: Path) -> str:
    """``RESULTS.md``: the shipped models, then the table of every stored result.

    Args:
        about: What each experiment is, by name, in the order of the page.
        clone: Folder of the clone.
    """
    parts = [_RESULTS.rstrip(), shipped(clone / "results"), _BY_COMMAND.rstrip()]
    for name, path in _stored(about, clone):
        result = json.loads(path.read_text(encoding="utf-8"))
        parts.append(f"### {name}: {_escape(about[name])}\n\n{_body(result, path)}")
    return "\n\n".join(part for part in parts if part) + "\n"


def overview(about: Mapping[str, str], clone: Path) -> str:
    """The page with all plots as a gallery, and a line for each experiment."""
    stored = _stored(about, clone)
    cells = [
        f"[![{name}]({_image(name)}){{ width=300 }}](paper/{name}.md)"
        for name, path in stored
        if path.with_suffix(".png").is_file()
    ]
    lines = ["| | what | data |", "| --- | --- | --- |"]
    for name, path in stored:
        where = "in the package, small" if path.parent.name == "mini" else "whole data sets"
        lines.append(f"| [{name}](paper/{name}.md) | {_escape(about[name])} | {where} |")
    return "\n\n".join([_OVERVIEW.rstrip(), " ".join(cells), "\n".join(lines)]) + "\n"


def page(name: str, about: str, path: Path) -> str:
    """The page of one experiment: plot, table, what both show, how they were made."""
    result = json.loads(path.read_text(encoding="utf-8"))
    parts = [f"# {_escape(about)}"]
    if path.with_suffix(".png").is_file():
        parts.append(f"![{_escape(about)}](../{_image(name)})")
    parts += [_body(result, path), "[All tables and figures](../paper.md)"]
    return "\n\n".join(parts) + "\n"


def report(about: Mapping[str, str], clone: Path) -> list[Path]:
    """Writes ``RESULTS.md``, the tables of the README, and the pages of the documentation.

    Args:
        about: See :func:`results_text`.
        clone: Folder of the clone.
    """
    written = {clone / "RESULTS.md": results_text(about, clone)}
    if (clone / "README.md").is_file():
        text = (clone / "README.md").read_text(encoding="utf-8")
        for name, lines in readme(clone / "results").items():
            text = _put(text, name, lines)
        written[clone / "README.md"] = text
    if (clone / "docs").is_dir():
        written[clone / "docs" / "paper.md"] = overview(about, clone)
        for name, path in _stored(about, clone):
            written[clone / "docs" / "paper" / f"{name}.md"] = page(name, about[name], path)
            _copy_plot(name, path, clone)
        _clear(clone / "docs", [name for name, _ in _stored(about, clone)])
    for path, text in written.items():
        path.parent.mkdir(exist_ok=True)
        with atomic_path(path) as draft:
            draft.write_text(text, encoding="utf-8")
    return list(written)


def _put(text: str, name: str, lines: str) -> str:
    """Text with other lines between the marks of that name, if it has them."""
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    before, mark, rest = text.partition(begin)
    if not mark or end not in rest:
        return text
    return f"{before}{begin}\n\n{lines}\n\n{end}{rest.partition(end)[2]}"


def _clear(docs: Path, names: Sequence[str]) -> None:
    """Removes the pages and plots of experiments that have no result."""
    for path in (*docs.glob("paper/*.md"), *docs.glob("images/results/*.png")):
        if path.stem not in names:
            path.unlink()


def _copy_plot(name: str, path: Path, clone: Path) -> None:
    """The plot of a result, if there is one, where the documentation shows it."""
    if path.with_suffix(".png").is_file():
        copy = clone / "docs" / _image(name)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path.with_suffix(".png"), copy)


def _stored(about: Mapping[str, str], clone: Path) -> list[tuple[str, Path]]:
    """Each experiment that has a result, and the file: that of the whole data set, if there is."""
    found = []
    for name in about:
        paths = [result_path(clone / "results", name, data) for data in DATA]
        found += [(name, path) for path in paths if path.is_file()][:1]
    return found


def _image(name: str) -> str:
    """Where the documentation keeps a plot."""
    return f"images/results/{name}.png"


def _body(result: Mapping[str, Any], path: Path) -> str:
    """Table, what it shows and how it was made."""
    where = "Small, on the data in the package: " if path.parent.name == "mini" else ""
    settings = "; ".join(f"{key}: {value}" for key, value in result["settings"].items())
    made = f"{where}`{result['command']}`. {_escape(settings)}; seed: {result['seed']}."
    return "\n\n".join([table(result["rows"], markdown=True), _escape(result["shows"]), made])


def _escape(text: str) -> str:
    """Text whose stars and bars Markdown leaves alone."""
    return text.replace("*", r"\*").replace("|", r"\|")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
