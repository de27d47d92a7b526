"""Plain tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["duration", "megabytes", "render", "times"]

_GAP = "  "


def render(heads: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> str:
    """Columns as wide as they need to be; the first to the left, the others to the right.

    Example:
        >>> print(render(("solver", "steps"), [("flow", "200"), ("Weiszfeld", "12")]))
        solver     steps
        flow         200
        Weiszfeld     12
    """
    lines = [tuple(heads), *(tuple(row) for row in rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    text = [
        _GAP.join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([title, *text] if title else text)


def duration(seconds: float | None) -> str:
    """Seconds with the unit that suits them.

    Example:
        >>> duration(0.0123), duration(0.9996), duration(12.3), duration(1543), duration(None)
        ('12.3 ms', '1 s', '12.3 s', '26 min', '-')
    """
    if seconds is None:
        return "-"
    if seconds < 0.9995:  # else three digits are a second
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def megabytes(size: float | None) -> str:
    """Bytes in MB."""
    return "-" if size is None else f"{size / 1e6:,.0f} MB"


def times(ratio: float | None) -> str:
    """A ratio: how many times."""
    if ratio is None:
        return "-"
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.1f}x"
