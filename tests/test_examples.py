"""The examples run and leave a picture; their notebooks hold the same code and no outputs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "examples"))
from notebooks import examples, notebook  # noqa: E402

SLOW = {"train_on_arrays"}
SCRIPTS = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in SLOW else [])
    for path in examples()
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_example_runs(script: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONWARNINGS": "default"},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / f"{script.stem}.png").stat().st_size > 5000


@pytest.mark.parametrize("script", examples(), ids=lambda path: path.stem)
def test_its_notebook_is_the_same(script: Path) -> None:
    text = (ROOT / "notebooks" / f"{script.stem}.ipynb").read_text()
    assert text == notebook(script), "run python examples/notebooks.py"
    code = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    compile("\n".join("".join(cell["source"]) for cell in code), script.name, "exec")


def test_the_page_shows_every_example() -> None:
    page = (ROOT / "docs" / "examples.md").read_text()
    assert set(re.findall(r"images/example-(\w+)\.png", page)) == {p.stem for p in examples()}
