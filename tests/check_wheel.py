"""Builds wheel and sdist, installs the wheel alone in a fresh environment, completes a scan there.

Run by ``make wheel-test``. It needs the network, or wheels at hand, and some minutes: torch is
large. Nothing of the source tree may be read while the installed command runs.
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST = 30 * 2**20  # bytes of the wheel

COMMAND = """
import sys

opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from ddeq.cli import main

status = main(sys.argv[2:])
ours = [path for path in opened if path.startswith(sys.argv[1])]
sys.exit(f"the source tree was read: {ours[:3]}" if ours else status)
"""


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel and the sdist."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def check_archives(wheel: Path, sdist: Path) -> None:
    """The wheel is small, the sdist can run its tests."""
    for archive in (wheel, sdist):
        print(f"{archive.name}: {archive.stat().st_size / 2**20:.1f} MB")
    assert wheel.stat().st_size < MOST, "the wheel is too large"
    with tarfile.open(sdist) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    for needed in ("tests/conftest.py", "constraints.txt", "docs/contribute.md", "Makefile"):
        assert needed in names, f"the sdist lacks {needed}"


def install(folder: Path, wheel: Path, versions: str, with_torch: str) -> Path:
    """The interpreter of a fresh environment with the wheel and what it declares, no extras.

    Args:
        folder: Of the environment.
        wheel: The wheel.
        versions: ``newest`` of the packages, or the ``lowest`` that it declares.
        with_torch: The torch to install first, such as ``torch==2.6``.
    """
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pins = [pin for pin in lowest() if not pin.startswith("torch==")]
    run(python, "-m", "pip", "install", "--quiet", with_torch)
    if versions == "lowest":
        run(python, "-m", "pip", "install", "--quiet", *pins)
    run(python, "-m", "pip", "install", "--quiet", wheel, *(pins if versions == "lowest" else []))
    run(python, "-m", "pip", "list")
    return python


def lowest() -> list[str]:
    """Each package that the project needs, at the lowest version that it declares."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    needed = re.search(r"^dependencies = \[(.*?)^\]", text, re.DOTALL | re.MULTILINE)
    assert needed is not None
    return [pin.replace(">=", "==") for pin in re.findall(r'"(.+?)"', needed[1])]


def tested_torch() -> str:
    """The torch that the project is developed with."""
    torch = re.search(r"^torch==\S+", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert torch is not None
    return torch.group()


def complete(python: Path, folder: Path) -> None:
    """The README's main job."""
    for words in (
        ("samples",),
        ("classify", "digit.ply"),
        ("complete", "scan.ply", "-o", "full.ply"),
        ("info", "full.ply"),
    ):
        run(python, "-c", COMMAND, ROOT, *words, cwd=folder)


def run(*words: object, cwd: Path | None = None) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([str(word) for word in words], check=True, cwd=cwd, env=environment)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--archives", action="store_true", help="build and look, install nothing")
    parser.add_argument("--versions", choices=["newest", "lowest"], default="newest")
    parser.add_argument("--torch", default=tested_torch(), help="which to install")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        here = Path(scratch)
        archives = build(here / "dist")
        check_archives(*archives)
        if not args.archives:
            (here / "work").mkdir()
            python = install(here / "venv", archives[0], args.versions, args.torch)
            complete(python, here / "work")
            print("the wheel alone completed a scan")
