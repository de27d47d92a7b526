"""Small changes of meaning in a source file: another operator, number, comparison or name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

__all__ = ["Mutant", "count", "mutant"]

_SWAPS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Sub,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_NAMES = {
    "amax": "amin", "amin": "amax", "max": "min", "min": "max", "maximum": "minimum",
    "minimum": "maximum", "sum": "mean", "mean": "sum", "any": "all", "all": "any",
    "zeros_like": "ones_like", "ones_like": "zeros_like", "new_zeros": "new_ones",
    "new_ones": "new_zeros", "argmax": "argmin", "argmin": "argmax", "sqrt": "square",
    "square": "sqrt", "cos": "sin", "sin": "cos", "exp": "log1p",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One changed file.

    Attributes:
        path: Of the file.
        line: Where it was changed.
        change: The changed expression, before and after.
        code: The whole module after the change, compiled.
    """

    path: Path
    line: int
    change: str
    code: CodeType


def count(path: Path) -> int:
    """How many mutants a file has."""
    return sum(1 for _ in _places(ast.parse(path.read_text())))


def mutant(path: Path, number: int) -> Mutant:
    """One of them."""
    tree = ast.parse(path.read_text())
    node, change = list(_places(tree))[number]
    before = ast.unparse(node)
    change(node)
    ast.fix_missing_locations(tree)
    shown = f"{before}  ->  {ast.unparse(node)}"
    return Mutant(path, node.lineno, shown, compile(tree, str(path), "exec"))


def _places(tree: ast.AST):
    """Nodes inside functions that can be changed, each with what changes it."""
    skipped = {id(part) for node in ast.walk(tree) for part in _without_meaning(node)}
    seen: set[int] = set()
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for node in (part for line in function.body for part in ast.walk(line)):
            if id(node) in skipped or id(node) in seen or not hasattr(node, "lineno"):
                continue
            seen.add(id(node))
            yield from ((node, change) for change in _changes(node))


def _without_meaning(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a tree whose change nobody would notice: annotations, messages, lists of names."""
    parts: list[ast.AST | None] = []
    if isinstance(node, (ast.Raise, ast.JoinedStr)):
        parts = [node]
    elif isinstance(node, (ast.arg, ast.AnnAssign)):
        parts = [node.annotation]
    elif isinstance(node, ast.FunctionDef):
        parts = [node.returns, node.args, *node.decorator_list]
    elif isinstance(node, ast.ClassDef):
        parts = [*node.decorator_list]
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        alias = isinstance(node.value, ast.Subscript) and node.targets[0].id[:1].isupper()
        parts = [node] if node.targets[0].id == "__all__" or alias else []
    elif isinstance(node, ast.Assert) or (isinstance(node, ast.keyword) and node.arg == "strict"):
        parts = [node]  # strict=True of zip asserts equal lengths
    for part in parts:
        if part is not None:
            yield from ast.walk(part)


def _changes(node: ast.AST):
    op = type(getattr(node, "op", None))
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and op in _SWAPS:
        yield lambda n: setattr(n, "op", _SWAPS[type(n.op)]())
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
        yield lambda n: n.ops.__setitem__(0, _SWAPS[type(n.ops[0])]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield lambda n: setattr(n, "op", ast.UAdd())
    elif isinstance(node, ast.IfExp):
        yield _exchange
    elif isinstance(node, ast.Constant):
        yield from _of_constant(node)
    elif isinstance(node, ast.Attribute) and node.attr in _NAMES:
        yield lambda n: setattr(n, "attr", _NAMES[n.attr])


def _exchange(node: ast.AST) -> None:
    assert isinstance(node, ast.IfExp)
    node.body, node.orelse = node.orelse, node.body


def _of_constant(node: ast.Constant):
    if isinstance(node.value, bool):
        yield lambda n: setattr(n, "value", not n.value)
    elif isinstance(node.value, int):
        yield lambda n: setattr(n, "value", n.value + 1)
    elif isinstance(node.value, float) and not 0 < abs(node.value) < 1e-3:  # of rounding size
        yield lambda n: setattr(n, "value", 2.0 * n.value if n.value else 1.0)
