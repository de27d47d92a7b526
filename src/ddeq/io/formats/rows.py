"""Rows of numbers in text, read exactly and quickly, with the line number of any fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ddeq.io.formats.base import Source

_BLOCK = 65_536  # rows parsed at once: bounds the memory spent on text
_COMMENTS = ("#", "//")

Line = tuple[int, str]  # line number from 1, text


@dataclass(frozen=True)
class RowLayout:
    """Where the coordinates stand in a row.

    Attributes:
        columns: the fields that are coordinates.
        width: fields in every row; None accepts any row that has the coordinates.
        delimiter: the separator, None for white space.
        extra: further columns to read, where anything but a number becomes NaN.
    """

    columns: tuple[int, ...]
    width: int | None = None
    delimiter: str | None = None
    extra: tuple[int, ...] = ()

    @property
    def all(self) -> tuple[int, ...]:
        """The columns to read: coordinates, then the others."""
        return self.columns + self.extra


def significant(lines: Iterable[Line], comments: Sequence[str] = _COMMENTS) -> Iterator[Line]:
    """The lines that hold something once comments (``#``, ``//``) and blanks are gone."""
    for number, line in lines:
        for mark in comments:
            if mark in line:
                line = line.split(mark, 1)[0]
        line = line.strip()
        if line:
            yield number, line


def split_fields(line: str, delimiter: str | None) -> list[str]:
    """The fields of a row, without quotes and surrounding blanks."""
    return [field.strip().strip("\"'").strip() for field in line.split(delimiter)]


def is_number(field: str) -> bool:
    """Whether a field reads as a number (Python's ``1_000`` does not count)."""
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field


def read_rows(
    source: Source, lines: Iterator[Line], layout: RowLayout, count: int | None = None
) -> np.ndarray:
    """The coordinates of the next rows, float64 (rows, len(layout.all)).

    Args:
        source: the file, for limits and messages.
        lines: significant lines; exactly the rows read are consumed.
        layout: where the coordinates stand.
        count: how many rows to read; None reads to the end.
    """
    blocks: list[np.ndarray] = []
    total = 0
    while count is None or total < count:
        block = list(islice(lines, _BLOCK if count is None else min(_BLOCK, count - total)))
        if not block:
            break
        total += len(block)
        source.check_count(total)
        blocks.append(_parse_block(source, block, layout))
    if count is not None and total < count:
        raise source.error(
            f"is cut off: its header promises {count:,} points, but only {total:,} rows follow"
        )
    if not blocks:
        return np.empty((0, len(layout.all)))
    return np.concatenate(blocks)


def _parse_block(source: Source, block: list[Line], layout: RowLayout) -> np.ndarray:
    texts = [text for _, text in block]
    if not all(texts):
        return _parse_slowly(source, block, layout)  # names the empty row; loadtxt skips it
    try:
        table = np.loadtxt(
            texts, dtype=np.float64, delimiter=layout.delimiter, comments=None, ndmin=2
        )
    except ValueError:
        # Quoted numbers, words in other columns, ragged rows or a real fault: look closer.
        return _parse_slowly(source, block, layout)
    rows, width = table.shape
    if rows != len(block) or layout.width not in (None, width) or width <= max(layout.all):
        return _parse_slowly(source, block, layout)
    return table[:, layout.all]


def _parse_slowly(source: Source, block: list[Line], layout: RowLayout) -> np.ndarray:
    table = np.full((len(block), len(layout.all)), np.nan)
    needed = layout.width or max(layout.columns) + 1
    for row, (number, line) in enumerate(block):
        fields = split_fields(line, layout.delimiter)
        if len(fields) < needed or layout.width not in (None, len(fields)):
            raise source.error(
                f"line {number} has {len(fields)} columns where {needed} are expected; "
                "every row needs the same columns"
            )
        for i, column in enumerate(layout.all):
            text = fields[column] if column < len(fields) else ""
            if is_number(text):
                table[row, i] = float(text)
            elif column in layout.columns:
                raise source.error(_not_a_number(number, text))
    return table


def typed(columns: np.ndarray, dtypes: Sequence[tuple[str, np.dtype]]) -> dict[str, np.ndarray]:
    """Columns of text as attributes of their own types; one with a gap is left out.

    Args:
        columns: (N, k) float64, NaN where there was no number.
        dtypes: name and type of each column.
    """
    found: dict[str, np.ndarray] = {}
    for i, (name, dtype) in enumerate(dtypes):
        column = columns[:, i]
        if dtype.kind == "f" or np.isfinite(column).all():
            with np.errstate(all="ignore"):  # a value beyond its type is the file's mistake
                found[name] = column.astype(dtype)
    return found


def _not_a_number(number: int, field: str) -> str:
    shown = field if len(field) <= 24 else field[:24] + "..."
    hint = "; write decimals with a point" if "," in field else ""
    return f"line {number}: {shown!r} is not a number{hint}"
