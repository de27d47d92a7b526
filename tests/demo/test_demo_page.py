"""The demo's page in a real browser, driven as a person would."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from visitor import PHONE

from ddeq.demo import engine
from ddeq.demo.server import DemoServer
from ddeq.io.files import read_cloud


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
    assert person.count("new") > 0
    assert person.picture("#residual") != empty
    last = person.text("#step").split()[-1]
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
    page.locator("#restore:enabled").wait_for()
    assert person.count("gone") > 0
    page.click("#restore")
    assert person.count("kept") == before
    person.stroke((0.5, 0.5))
    page.click("[data-tool=pen]")
    person.stroke((0.5, 0.6), (0.5, 0.4))
    person.wait("#gone", "0")
    assert person.errors == []


def test_a_scan_is_on_the_stage_turns_loses_a_ball_and_completes(visit: Any) -> None:
    person = visit(color_scheme="dark")
    page = person.page
    assert page.get_attribute("[data-source=scan]", "aria-pressed") == "true"
    assert person.count("kept") + person.count("gone") == 1024
    assert person.count("gone") > 0
    before = person.picture("#scene")
    person.stroke((0.3, 0.5), (0.7, 0.6))
    assert person.picture("#scene") != before
    page.click("#restore")
    page.click("[data-tool=ball]")
    person.stroke((0.5, 0.5))
    assert 0 < person.count("gone") < 1024
    page.click("#complete")
    person.wait("#summary", "new points in")
    assert person.count("new") > 0
    assert person.errors == []


def test_a_camera_cuts_a_brush_cuts_and_the_truth_hides(visit: Any) -> None:
    person = visit()
    page = person.page
    page.click("#restore")
    page.click("#camera")
    page.locator("#restore:enabled").wait_for()
    hidden = person.count("gone")
    assert 200 < hidden < 900
    shown = person.picture("#scene")
    page.click("#truth")
    assert page.get_attribute("#truth", "aria-pressed") == "false"
    assert person.picture("#scene") != shown
    page.click("#truth")
    page.click("#undo")
    assert person.count("gone") == 0
    page.click("[data-tool=rub]")
    person.stroke((0.35, 0.5), (0.6, 0.55))
    assert person.count("gone") > 0
    page.click("[data-source=digit]")
    person.wait("#verdict", "input:")
    assert not page.locator("#camera").is_visible()
    assert person.errors == []


def test_confidence_shows_where_there_is_one(visit: Any, monkeypatch: Any) -> None:
    plain = engine.complete_cloud

    def sure(*args: Any, **options: Any) -> Any:
        result = plain(*args, **options)
        object.__setattr__(result, "confidence", np.linspace(0, 1, len(result.new)))
        return result

    monkeypatch.setattr(engine, "complete_cloud", sure)
    person = visit(reduced_motion="reduce")
    assert not person.page.locator("#sure").is_visible()
    person.page.click("#complete")
    person.wait("#summary", "Confidence 50.0 %")
    assert person.page.locator("#sure").is_visible()
    person.page.click("#restore")
    assert not person.page.locator("#sure").is_visible()
    assert person.errors == []


def test_a_phone_shows_it_all_without_scrolling_sideways(visit: Any) -> None:
    person = visit(PHONE, has_touch=True, is_mobile=True, device_scale_factor=2)
    for source in ("draw", "file", "scan", "guess", "digit"):
        person.page.tap(f"[data-source={source}]")
        person.page.wait_for_timeout(100)
        assert person.overflow() <= 0
    person.wait("#verdict", "input:")
    person.page.tap("#random")
    person.page.locator("#restore:enabled").wait_for()
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


def test_half_a_digit_what_was_it(visit: Any) -> None:
    person = visit(reduced_motion="reduce")
    page = person.page
    page.click("[data-source=guess]")
    person.wait("#message", "what was it?")
    assert person.text("#gone") == "?"
    assert not page.locator("#tools").is_visible()
    assert page.locator("#complete").is_disabled()
    kept, half = person.count("kept"), person.picture("#scene")
    person.wait("#bars", "First say")
    page.click("#choices [data-name='3']")
    person.wait("#message", "It was a")
    assert person.text("#message").endswith("of 1.")
    assert person.count("gone") > 0
    assert person.count("kept") == kept
    assert person.picture("#scene") != half
    page.click("#choices button:has-text('Next')")
    person.wait("#message", "what was it?")
    page.click("[data-source=digit]")
    person.wait("#verdict", "input:")
    assert page.locator("#tools").is_visible()
    assert person.errors == []


def test_a_link_holds_the_cloud(visit: Any, demo: DemoServer) -> None:
    person = visit(reduced_motion="reduce")
    page = person.page
    kept, gone = person.count("kept"), person.count("gone")
    page.click("#share")
    person.wait("#message", "ink")
    link = page.url
    assert len(link) < 10_000
    page.goto("about:blank")
    page.goto(link)
    person.wait("#summary", "new point")
    assert (person.count("kept"), person.count("gone")) == (kept, gone)
    person.wait("#choices", "from a link")
    page.goto("about:blank")
    page.goto(f"{demo.url}#nonsense")
    person.wait("#message", "does not hold a cloud")
    assert person.count("kept") == 1024
    assert person.errors == []


@pytest.mark.parametrize("ending", ["gif", "html"])
def test_a_film_of_the_flow(visit: Any, tmp_path: Path, ending: str) -> None:
    person = visit(reduced_motion="reduce")
    page = person.page
    page.click("[data-source=digit]")
    person.wait("#verdict", "input:")
    page.select_option("#format", ending)
    page.click("#download")
    person.wait("#message", "press Complete first")
    page.click("#random")
    page.locator("#restore:enabled").wait_for()
    page.click("#complete")
    person.wait("#summary", "new point")
    with page.expect_download() as saved:
        page.click("#download")
    target = tmp_path / saved.value.suggested_filename
    saved.value.save_as(target)
    assert target.name == f"flow.{ending}"
    assert target.stat().st_size > 5000
    assert person.errors == []
