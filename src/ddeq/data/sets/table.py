"""A user's own clouds by a CSV file: one row per cloud, with its class or a number to predict."""

from __future__ import annotations

import csv
from pathlib import Path

from ddeq.data.dataset import CloudDataset
from ddeq.data.sets.folder import held_out, read_clouds
from ddeq.errors import DdeqError

__all__ = ["load_table"]

_LABEL, _TARGET = "label", "target"


def load_table(path: str | Path, split: str = "train", surface: int | None = None) -> CloudDataset:
    """The clouds that a CSV file lists.

    The first line names the columns: ``file``, relative to the CSV file; ``label``, a class, or
    ``target``, a number; and, if the rows are divided already, ``split``, ``train`` or ``test``.
    Otherwise a fixed random fifth is the test set.

    Args:
        path: The CSV file.
        split: ``"train"``, ``"test"``, or ``"all"`` for both together.
        surface: See :func:`ddeq.data.sets.folder.load_folder`.

    Raises:
        DdeqError: naming the row or the file that cannot be used.
    """
    path = Path(path)
    rows = _rows(path)
    column = _TARGET if _TARGET in rows[0] else _LABEL
    values = [row[column] for row in rows]
    classes = () if column == _TARGET else tuple(sorted(set(values)))
    wanted = list(range(len(rows)))
    if "split" in rows[0] and split != "all":
        wanted = [i for i in wanted if rows[i]["split"] == split]
    elif split != "all":
        wanted = held_out(wanted, split)
    if not wanted:
        raise DdeqError(f"{path}: no {split} clouds")
    labels = [classes.index(values[i]) if classes else _number(path, i, values[i]) for i in wanted]
    clouds = read_clouds([path.parent / rows[i]["file"] for i in wanted], surface)
    return CloudDataset.from_list(clouds, labels, classes, f"{path.stem}/{split}")


def _rows(path: Path) -> list[dict[str, str]]:
    """The rows, each with a file and a class or a number."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file, strict=True))
    except (csv.Error, UnicodeDecodeError) as error:
        raise DdeqError(f"{path}: it is not a CSV file: {error}") from error
    names = list(rows[0]) if rows else []
    if "file" not in names or (_LABEL in names) == (_TARGET in names):
        raise DdeqError(f"{path}: the first line must name the columns file and label, or target")
    for i, row in enumerate(rows):
        if None in row or not all(row.values()):
            raise DdeqError(f"{path}: row {i + 2} does not have {len(names)} values")
    return rows


def _number(path: Path, row: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DdeqError(f"{path}: row {row + 2}: {text!r} is not a number") from None
