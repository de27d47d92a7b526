"""The demo's server: what it answers."""

import json
from typing import Any

import numpy as np
import pytest
from demo_requests import ask, call, refusal

from ddeq.demo import engine, server
from ddeq.demo.engine import Engine
from ddeq.demo.server import DemoServer
from ddeq.demo.strokes import CANVAS, rasterize

SEVEN = [[[7, 23], [21, 23], [12, 4]]]


def test_every_part_of_the_page_is_served_and_asks_nobody_else(demo: DemoServer) -> None:
    for path, (name, _) in server._PARTS.items():
        status, body = ask(demo, path)
        assert status == 200
        text = body.decode().replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert "://" not in text, name
    assert ask(demo, "/../pyproject.toml")[0] == 404
    assert ask(demo, "/engine.py")[0] == 404


def test_about_says_which_models_are_there(demo: DemoServer) -> None:
    about = json.loads(ask(demo, "/api/about")[1])
    assert about["completer"] == [2, 3]
    assert 2 in about["classifier"]
    assert len(about["digits"]) == 10
    assert 4 <= len(about["scans"]) == len(set(about["scans"]))


def test_a_drawn_seven_is_a_seven(demo: DemoServer) -> None:
    drawn = call(demo, "draw", {"strokes": SEVEN})
    assert len(drawn["points"]) == len(drawn["stroke"]) > 50
    classes = call(demo, "classify", {"points": drawn["points"]})["classes"]
    best = max(classes, key=lambda c: c["probability"])
    assert best["name"] == "7"
    assert best["probability"] > 0.9


@pytest.mark.parametrize("size", [1.0, 0.3])
def test_a_drawing_has_pixels_as_fine_as_it_is_small(size: float) -> None:
    line = np.array([[4.0, 24.0], [24.0, 24.0], [24.0, 4.0]])
    points, last = rasterize([14 + size * (line - 14), np.array([[14.0, 14.0]])])
    assert {*last.tolist()} == {0, 1}
    assert len(np.unique(points, axis=0)) == len(points)
    low, high = points.min(0), points.max(0)
    assert (abs(0.5 * (low + high) - 14) < 1).all()
    assert 100 < len(points) < 160
    assert (low >= -2).all()
    assert (high <= CANVAS + 2).all()


def test_a_single_touch_is_a_dot() -> None:
    points, _ = rasterize([np.array([[3.0, 3.0]])])
    assert 1 <= len(points) < 20


@pytest.mark.parametrize(("kind", "dim"), [("digit", 2), ("scan", 3)])
def test_a_sample_completes(demo: DemoServer, kind: str, dim: int) -> None:
    name = "4" if kind == "digit" else json.loads(ask(demo, "/api/about")[1])["scans"][0]
    points = call(demo, "sample", {"kind": kind, "class": name})["points"]
    assert {len(p) for p in points} == {dim}
    gone = set(call(demo, "cut", {"points": points, "cut": "balls"})["gone"])
    kept = [p for i, p in enumerate(points) if i not in gone]
    result = call(demo, "complete", {"points": kept})
    count = len(result["new"])
    assert count > 0
    assert {len(frame) for frame in result["frames"]} == {dim * count}
    assert len(result["frames"]) == len(result["steps"])
    assert len(result["residuals"]) == len(result["spread"]) == result["steps"][-1] + 1
    extent = np.ptp(points)
    assert np.allclose(result["frames"][-1], np.ravel(result["new"]), atol=1e-3 * extent)
    assert result["confidence"] is None or len(result["confidence"]) == count
    assert result == {
        **call(demo, "complete", {"points": kept}),
        **{"seconds": result["seconds"]},
    }


def test_a_scan_is_real_in_metres_and_has_its_name(demo: DemoServer) -> None:
    first = json.loads(ask(demo, "/api/about")[1])["scans"][0]
    scan = call(demo, "sample", {"kind": "scan", "class": first})
    assert scan == call(demo, "sample", {"kind": "scan", "class": first})
    assert len(scan["points"]) == 1024
    assert 0.01 < np.ptp(scan["points"], axis=0).max() < 2.0
    assert first.split()[0].lower() in scan["title"].lower()
    assert len(call(demo, "sample", {"kind": "scan"})["points"]) == 1024
    refusal(demo, "/api/sample", {"kind": "scan", "class": "nothing"}, 400)


@pytest.mark.parametrize("cut", ["brush", "balls", "half", "view"])
def test_cuts_take_some_and_leave_some(demo: DemoServer, cut: str) -> None:
    points = call(demo, "sample", {"kind": "scan"})["points"]
    gone = call(demo, "cut", {"points": points, "cut": cut})["gone"]
    assert 0 < len(gone) == len(set(gone)) < len(points)
    assert set(gone) <= set(range(len(points)))


def test_a_camera_sees_the_side_it_looks_at(demo: DemoServer) -> None:
    ball = np.random.default_rng(0).normal(size=(600, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    gone = call(demo, "cut", {"points": ball.tolist(), "camera": [0, 0, 5]})["gone"]
    assert 200 < len(gone) < 500
    assert ball[gone, 2].mean() < -0.3


@pytest.mark.parametrize(
    "request_",
    [
        {"cut": "nothing"},
        {},
        {"camera": [0, 0, 0]},
        {"camera": [1, 2]},
        {"camera": "north"},
        {"camera": [1, None, 2]},
        {"cut": "view", "points": [[0, 1], [1, 2]]},
        {"camera": [1, 0, 0], "points": [[0, 1], [1, 2]]},
    ],
)
def test_cuts_that_are_none_are_refused(demo: DemoServer, request_: dict[str, Any]) -> None:
    refusal(demo, "/api/cut", {"points": [[0, 0, 1], [1, 2, 3]], **request_}, 400)


def test_confidence_is_passed_on_where_there_is_one(
    demo: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = engine.complete_cloud

    def sure(*args: Any, **options: Any) -> Any:
        result = plain(*args, **options)
        object.__setattr__(result, "confidence", np.linspace(0, 1, len(result.new)))
        return result

    points = call(demo, "sample", {"kind": "digit", "class": "4"})["points"]
    monkeypatch.setattr(engine, "complete_cloud", sure)
    result = call(demo, "complete", {"points": points[20:]})
    assert result["confidence"][0] == 0
    assert result["confidence"][-1] == 1
    assert len(result["confidence"]) == len(result["new"])


@pytest.mark.parametrize("unlike", [True, None, False])
def test_a_solid_has_a_class_only_where_the_classifier_knows_it(
    demo: DemoServer, monkeypatch: pytest.MonkeyPatch, unlike: bool | None
) -> None:
    class Found(dict):
        pass

    def found(points: np.ndarray, *rest: Any) -> Found:
        names = engine.classifier_for(points.shape[1]).classes
        classes = Found({name: 1 / len(names) for name in names})
        classes.unlike = unlike
        return classes

    monkeypatch.setattr(engine, "classify", found)
    solid = call(demo, "classify", {"points": [[0, 0, 1], [1, 2, 3], [2, 0, 0]]})["classes"]
    assert (solid is not None) == (unlike is False)
    assert len(call(demo, "classify", {"points": [[0, 0], [1, 2]]})["classes"]) == 10


def test_the_same_seed_gives_the_same_samples() -> None:
    request = {"kind": "scan"}
    assert Engine(3).sample(request) == Engine(3).sample(request)
    assert Engine(3).sample(request) != Engine(4).sample(request)
    assert Engine(3).samples.offered != Engine(4).samples.offered
