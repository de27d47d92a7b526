"""Makes the pictures of the README and of these pages from the shipped weights: ``make pictures``.

``python docs/pictures.py tour demo`` makes some of them. Pictures of measurements are written with
their figures, by what :data:`MEASURED` says; a test finds any picture that nothing makes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ddeq.cli import main as ddeq

IMAGES = Path(__file__).parent / "images"
LAPTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
_THUMBNAIL = 900  # pixels


def command(*words: str) -> Callable[[], None]:
    """A command of the library that must succeed; its pictures go to the folder of the pages."""

    def run() -> None:
        named = [str(IMAGES / word) if word.endswith((".png", ".gif")) else word for word in words]
        if ddeq([*named, "--force"]) != 0:
            raise SystemExit(f"failed: ddeq {' '.join(words)}")

    return run


def demo() -> None:
    """The page on a laptop with a scanned object, and on a phone with a digit."""
    from playwright.sync_api import sync_playwright

    from ddeq.demo.engine import Engine
    from ddeq.demo.server import DemoServer

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with DemoServer("127.0.0.1", 0, Engine()) as server, sync_playwright() as play:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, source, chosen, device in (
            ("demo", "scan", "Simon swipe", LAPTOP),
            ("demo-phone", "digit", "3", PHONE),
        ):
            page = browser.new_page(reduced_motion="reduce", color_scheme="light", **device)
            page.set_default_timeout(600_000)
            page.goto(server.url, timeout=600_000)
            page.locator("body[data-ready]").wait_for()
            page.click(f"[data-source={source}]")
            page.click(f"#choices [data-name='{chosen}']")
            page.locator("#restore:disabled").wait_for()
            page.click("[data-tool=ball]")
            page.click("#random")
            page.locator("#restore:enabled").wait_for()
            page.click("#complete")
            page.locator("#summary").filter(has_text="new point").wait_for()
            page.evaluate("scrollTo(0, 0)")
            page.mouse.move(5, 5)
            page.screenshot(path=IMAGES / f"{name}.png")
        browser.close()
        server.shutdown()


def answers() -> None:
    """What ``ddeq complete`` writes for the sample scan: all, new points alone, as many as said."""
    import numpy as np

    from ddeq.io.files import read_cloud
    from ddeq.viz.drawing import INPUT, RESULT, TEXT, frame, overlay, panels, project, save

    with tempfile.TemporaryDirectory() as folder:
        scan, *written = (f"{folder}/{name}.ply" for name in ("scan", "full", "new", "many"))
        asked = ([], ["--only-new"], ["--points", "300"])
        commands = [["samples", folder]]
        commands += [
            ["complete", scan, "-o", out, *more] for out, more in zip(written, asked, strict=True)
        ]
        if any(ddeq(words) != 0 for words in commands):
            raise SystemExit("failed: ddeq samples, ddeq complete")
        given, full, new, many = (read_cloud(path).points for path in (scan, *written))
    size = len(given)
    shown = [
        ("scan.ply", given, full[:0]),
        ("-o full.ply", full[:size], full[size:]),
        ("--only-new", given[:0], new),
        ("--points 300", many[:size], many[size:]),
    ]
    figure, axes = panels(1, len(shown), size=2.3)
    for ax, (title, kept, added) in zip(axes[0], shown, strict=True):
        overlay(ax, [(kept, INPUT), (added, RESULT)], size=3.5)
        ax.set_title(title, fontsize=11, color=TEXT, family="monospace")
        counts = {"kept": len(kept), "new": len(added)}
        said = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
        ax.set_xlabel(said, fontsize=11, color=TEXT)
    frame(axes, [given, full, many])
    tall = np.ptp(project(full)[0][:, 1])
    figure.supxlabel(f"in metres, as the file has it: {tall:.2f} from top to bottom", fontsize=10)
    save(figure, IMAGES / "answers.png")


def examples() -> None:
    """The pictures of the examples, made smaller."""
    from PIL import Image

    for script in sorted((IMAGES.parent.parent / "examples").glob("*.py")):
        if script.stem == "notebooks":
            continue
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, str(script)], cwd=folder, check=True)
            with Image.open(Path(folder) / f"{script.stem}.png") as picture:
                picture.thumbnail((_THUMBNAIL, _THUMBNAIL))
                picture.save(IMAGES / f"example-{script.stem}.png", optimize=True)


PICTURES: dict[str, tuple[str, Callable[[], None]]] = {
    "turning": ("turning.gif", command("plot", "turning", "-o", "turning.gif")),
    "tour": ("tour.png", command("tour", "-o", "tour.png")),
    "scans": ("scans.png", command("plot", "scans", "-o", "scans.png")),
    "views": (
        "views.png",
        command("plot", "scans", "--cut", "view", "--count", "4", "-o", "views.png"),
    ),
    "digits": ("digit-flow.png", command("plot", "flow", "--seed", "3", "-o", "digit-flow.png")),
    "flow": ("flow*", command("flow", "--turn", "5", "-o", "flow5.png", "--animation", "flow.gif")),
    "answers": ("answers.png", answers),
    "demo": ("demo*.png", demo),
    "examples": ("example-*.png", examples),
}
"""By name: the files, and what makes them."""

MEASURED = {
    "equilibrium-*.png": "experiments/equilibria.py",
    "gallery-*.png": "experiments/gallery.py",
    "recognition-*.png": "experiments/recognition.py",
    "results/*.png": "ddeq reproduce",
    "convergence.png": "ddeq bench",
    "growth.png": "ddeq bench",
}
"""Pictures of figures, and what writes both."""


def main() -> None:
    """Makes those that are named, or all."""
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name][1]()


if __name__ == "__main__":
    main()
