"""The distribution: its name, what it declares, and what the documents tell people to install."""

import re
import subprocess
import sys
from importlib.metadata import metadata, requires
from pathlib import Path

import pytest
import yaml
from check_wheel import lowest

import ddeq

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


# --- what a public project has -----------------------------------------------------------------


def test_the_citation_names_the_paper_and_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == ddeq.__version__
    paper = citation["preferred-citation"]
    names = [author["family-names"] for author in paper["authors"]]
    assert names == ["Geuter", "Bonet", "Korba", "Alvarez-Melis"]
    readme = (ROOT / "README.md").read_text()
    assert paper["title"] in " ".join(readme.split())
    assert f"## {ddeq.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_workflow_runs_what_the_makefile_runs():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    assert set(workflow["jobs"]) == {"lint", "tests", "experiments", "docs", "wheel"}
    versions = workflow["jobs"]["tests"]["strategy"]["matrix"]["python"]
    said = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert versions == said
    wheel = workflow["jobs"]["wheel"]["strategy"]["matrix"]
    assert wheel["python"] == said
    low = [case for case in wheel["include"] if case["versions"] == "lowest"]
    assert {case["python"] for case in low} >= {said[0]}
    assert {case["torch"] for case in low} == {pin for pin in lowest() if "torch" in pin}
    (run,) = (step["run"] for step in workflow["jobs"]["tests"]["steps"] if "pytest" in str(step))
    assert int(re.search(r"--cov-fail-under=(\d+)", run).group(1)) >= 85


def test_no_room_imports_one_above_it():
    """The rules are in pyproject.toml; see docs/contribute.md."""
    pytest.importorskip("importlinter")
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    result = subprocess.run([*command, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
