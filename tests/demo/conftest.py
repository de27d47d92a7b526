"""The demo's server, and a browser that visits it."""

import os
import shutil
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from demo_requests import SMALL
from visitor import LAPTOP, PATIENCE, Visitor

import ddeq
from ddeq.demo.engine import Engine
from ddeq.demo.server import DemoServer

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """A server with the shipped weights in 2-D and small random ones in 3-D."""
    folder = tmp_path_factory.mktemp("completer")
    ddeq.Completer(dim=3, **SMALL).save_pretrained(folder)
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
