"""The distribution: its name, what it declares, and what the documents tell people to install."""

import re
from importlib.metadata import metadata, requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NAME = "distributional-deq"


def documents():
    """Every text that could tell someone what to install."""
    return [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/ddeq/**/*.py")]


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_nobody_is_told_to_install_another_project(path):
    """The registry's ``ddeq`` is not this package."""
    assert not re.search(r"pip install [^`\n]*\bddeq\b", path.read_text())


def test_the_distribution_has_its_own_name():
    assert metadata(NAME)["Name"] == NAME


@pytest.mark.parametrize("package", ["pyyaml", "safetensors", "huggingface-hub", "torch", "numpy"])
def test_what_the_package_imports_is_declared(package):
    declared = [line for line in requires(NAME) if "extra ==" not in line]
    names = {re.match(r"[\w.-]+", line).group().lower() for line in declared}
    assert package in names
