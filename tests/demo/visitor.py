"""A person at the demo's page."""

from typing import Any

from ddeq.demo.server import DemoServer

PATIENCE = 120_000  # milliseconds, for machines that are busy
LAPTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


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
        self.page.locator("body[data-ready]").wait_for()

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
