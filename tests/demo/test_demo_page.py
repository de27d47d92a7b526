"""The demo's page in a real browser, driven as a person would."""

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ddeq
from ddeq.demo.engine import Engine
from ddeq.demo.server import DemoServer
from ddeq.io.files import read_cloud

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE = 120_000  # milliseconds, for machines that are busy
LAPTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """A server with the shipped weights in 2-D and small random ones in 3-D."""
    folder = tmp_path_factory.mktemp("completer")
    ddeq.Completer(dim=3, features=16, head_size=4, cross_layers=1).save_pretrained(folder)
    with DemoServer("127.0.0.1", 0, Engine(0, {("completer", 3): str(folder)})) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        assert os.environ.get("CI") != "true", "the page's tests need chromium"
        pytest.skip("no chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        launched = play.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE
        )
        yield launched
        launched.close()


class Visitor:
    """A person at the page, and what the browser said meanwhile."""

    def __init__(self, browser: Any, demo: DemoServer, viewport: dict, **options: Any) -> None:
        self.context = browser.new_context(viewport=viewport, accept_downloads=True, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))
        self.page.goto(demo.url, timeout=PATIENCE)
        self.wait("#verdict", "input:")

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def count(self, name: str) -> int:
        return int(self.text(f"#{name}"))

    def wait(self, selector: str, part: str) -> None:
        self.page.locator(selector).filter(has_text=part).wait_for()

    def stroke(self, *corners: tuple[float, float]) -> None:
        """Moves the pressed mouse over the stage, whose corners are (0, 0) and (1, 1), y up."""
        box = self.page.locator("#scene").bounding_box()
        mouse = self.page.mouse
        places = [(box["x"] + box["width"] * x, box["y"] + box["height"] * (1 - y))
                  for x, y in corners]  # fmt: skip
        mouse.move(*places[0])
        mouse.down()
        for place in places[1:]:
            mouse.move(*place, steps=5)
        mouse.up()

    def picture(self, selector: str) -> str:
        return self.page.locator(selector).evaluate("canvas => canvas.toDataURL()")

    def overflow(self) -> int:
        root = "document.documentElement"
        return self.page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")


@pytest.fixture
def visit(browser: Any, demo: DemoServer) -> Iterator[Any]:
    visitors: list[Visitor] = []

    def enter(viewport: dict = LAPTOP, **options: Any) -> Visitor:
        visitors.append(Visitor(browser, demo, viewport, **options))
        return visitors[-1]

    yield enter
    for visitor in visitors:
        assert visitor.hosts == {demo.url.split("/")[2]}
        visitor.context.close()


def test_draw_erase_complete_watch_download(visit: Any, tmp_path: Path) -> None:
    person = visit()
    page = person.page
    page.click("[data-source=draw]")
    person.wait("#hint", "Draw a digit")
    person.stroke((0.25, 0.82), (0.75, 0.82), (0.42, 0.15))
    person.wait("#verdict", "input: 7")
    drawn = person.count("kept")
    page.click("[data-tool=rub]")
    person.stroke((0.45, 0.22), (0.5, 0.32))
    assert person.count("gone") > 0
    assert person.count("kept") + person.count("gone") == drawn
    empty = person.picture("#residual")
    page.click("#complete")
    person.wait("#summary", "new points in")
    person.wait("#verdict", "completed:")
    assert person.count("new") == person.count("gone")
    assert person.picture("#residual") != empty
    last = page.locator("#time").get_attribute("max")
    person.wait("#step", f"step {last} of {last}")
    end, marked = person.picture("#scene"), person.picture("#spread")
    page.locator("#time").fill("0")
    person.wait("#step", f"step 0 of {last}")
    assert person.picture("#scene") != end
    assert person.picture("#spread") != marked
    page.select_option("#format", "ply")
    with page.expect_download() as saved:
        page.click("#download")
    target = tmp_path / saved.value.suggested_filename
    saved.value.save_as(target)
    assert target.name == "completed.ply"
    assert len(read_cloud(target).points) == person.count("kept") + person.count("new")
    assert person.errors == []


def test_undo_restore_and_a_stroke_over_a_gap(visit: Any) -> None:
    person = visit()
    page = person.page
    page.click("[data-source=draw]")
    person.stroke((0.5, 0.8), (0.5, 0.2))
    person.wait("#verdict", "input:")
    before = person.count("kept")
    page.click("[data-tool=ball]")
    person.stroke((0.5, 0.5))
    gone = person.count("gone")
    assert 0 < gone < before
    page.click("#undo")
    assert person.count("kept") == before
    page.click("#random")
    assert person.count("gone") > 0
    page.click("#restore")
    assert person.count("kept") == before
    person.stroke((0.5, 0.5))
    page.click("[data-tool=pen]")
    person.stroke((0.5, 0.6), (0.5, 0.4))
    person.wait("#gone", "0")
    assert person.errors == []


def test_a_shape_turns_loses_a_ball_and_completes(visit: Any) -> None:
    person = visit(color_scheme="dark")
    page = person.page
    page.click("[data-source=shape]")
    person.wait("#kept", "512")
    before = person.picture("#scene")
    person.stroke((0.3, 0.5), (0.7, 0.6))
    assert person.picture("#scene") != before
    page.click("[data-tool=ball]")
    person.stroke((0.5, 0.5))
    assert 0 < person.count("gone") < 512
    page.click("#complete")
    person.wait("#summary", "new points in")
    assert person.count("new") == person.count("gone")
    assert person.errors == []


def test_a_phone_shows_it_all_without_scrolling_sideways(visit: Any) -> None:
    person = visit(PHONE, has_touch=True, is_mobile=True, device_scale_factor=2)
    for source in ("draw", "file", "shape", "digit"):
        person.page.tap(f"[data-source={source}]")
        person.page.wait_for_timeout(100)
        assert person.overflow() <= 0
    person.wait("#verdict", "input:")
    person.page.tap("#random")
    person.page.tap("#complete")
    person.wait("#summary", "new point")
    assert person.overflow() <= 0
    assert person.errors == []


def test_nonsense_files_are_answered_with_a_sentence(visit: Any, tmp_path: Path) -> None:
    person = visit()
    bad, good = tmp_path / "bad.ply", tmp_path / "good.xyz"
    bad.write_text("this is not a cloud")
    good.write_text("0 0\n1 0\n1 1\n0 1\n")
    person.page.click("[data-source=file]")
    person.page.set_input_files("#file", bad)
    person.wait("#message", "bad.ply")
    assert "Traceback" not in person.text("#message")
    person.page.set_input_files("#file", good)
    person.wait("#kept", "4")
    person.page.click("#complete")
    person.wait("#summary", "new point")
    refused = [error for error in person.errors if "status of 400" not in error]
    assert refused == []
