"""The rules of docs/contribute.md that a program can check: lengths of files and functions."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PLACES = ("src", "benchmarks", "docs", "examples", "experiments", "tests")
PATHS = sorted(path for place in PLACES for path in (ROOT / place).rglob("*.py"))
SCRIPTS = sorted((ROOT / "src").rglob("*.js"))
FILE, FUNCTION = 300, 40  # lines at the most


def functions(tree: ast.AST):
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def length(function: ast.FunctionDef) -> int:
    """Lines from ``def`` to the end, the docstring left out."""
    first = function.body[0]
    text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = first.end_lineno - first.lineno + 1 if text else 0
    return function.end_lineno - function.lineno + 1 - docstring


@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_are_short(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= FILE
    lengths = {function.name: length(function) for function in functions(ast.parse(text))}
    assert {name: count for name, count in lengths.items() if count > FUNCTION} == {}


def script_functions(text: str):
    """Name and lines of the functions and methods of a script, by its indentation."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        head = re.fullmatch(r"( *)(?:export )?(?:async )?(?:function )?(\w+)\(.*\) \{", line)
        if head and head[2] not in ("if", "for", "while", "switch"):
            yield head[2], lines.index(f"{head[1]}}}", start) - start + 1


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_short(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= FILE
    found = list(script_functions(text))
    assert found
    assert [(name, count) for name, count in found if count > FUNCTION] == []
