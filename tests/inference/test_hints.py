"""What a user knows of a scan: regions, frames, the up axis and symmetry, in any units."""

from pathlib import Path

import numpy as np
import pytest
import torch
from maps import SMALL

from ddeq import Completer
from ddeq.cli import main
from ddeq.errors import DdeqError
from ddeq.inference import Hints, complete_cloud
from ddeq.inference.hints import mirrored_points
from ddeq.io.files import read_cloud, write_cloud
from ddeq.models.sampling import Sampling
from ddeq.nn import Network
from ddeq.solvers import Picard


@pytest.fixture(scope="module")
def model() -> Completer:
    torch.manual_seed(0)
    network = Network(**SMALL, marks=3, radii=(0.5,), rims=True, proposals=2, edges=True)
    return Completer(
        3,
        network=network,
        solver=Picard(3, 1e-4),
        estimate=True,
        empty=True,
        proportions=True,
        trust=True,
        sampling=Sampling(reads=100, group=20, solved=60),
    )


def sphere(count: int = 600, seed: int = 0) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    return 50.0 + 10.0 * points / np.linalg.norm(points, axis=1, keepdims=True)


def test_new_points_lie_in_the_box_or_the_hole(model: Completer) -> None:
    cloud = sphere()
    box = Hints(box=(40.0, 40.0, 50.0, 60.0, 60.0, 70.0))
    inside = complete_cloud(cloud, model, count=200, hints=box).new
    assert len(inside) == 200
    assert (inside[:, 2] >= 50.0).all()
    hole = Hints(hole=(50.0, 50.0, 60.0, 6.0))
    found = complete_cloud(cloud, model, hints=hole).new
    assert len(found) > 0
    assert (np.linalg.norm(found - [50.0, 50.0, 60.0], axis=1) <= 6.0 + 1e-9).all()


def test_a_hole_gets_as_many_points_as_its_surroundings_suggest() -> None:
    cloud = sphere(20_000)
    centre, radius = np.array([50.0, 50.0, 60.0]), 2.0
    gone = np.linalg.norm(cloud - centre, axis=1) <= radius
    wanted = Hints(hole=(*centre, radius)).wanted(cloud[~gone], int((~gone).sum()))
    assert wanted == pytest.approx(gone.sum(), rel=0.15)
    assert Hints().wanted(cloud, 5) is None


def test_the_up_axis_turns_the_answer_with_the_cloud(model: Completer) -> None:
    cloud = sphere() * [1.0, 0.5, 2.0]
    expected = complete_cloud(cloud, model, count=30).new
    x, y, z = cloud.T  # a cloud with y up, of which the network sees the same
    turned = complete_cloud(np.stack([x, z, -y], 1), model, count=30, hints=Hints(up="y")).new
    a, b, c = turned.T
    np.testing.assert_allclose(np.stack([a, -c, b], 1), expected, rtol=1e-4, atol=1e-3)


def test_a_known_frame_is_what_the_network_sees(model: Completer) -> None:
    cloud = sphere()
    own = complete_cloud(cloud, model, count=20).new
    size = float(np.sqrt(cloud.var(0).mean()))
    same = complete_cloud(cloud, model, count=20, hints=Hints(frame=(*cloud.mean(0), size))).new
    np.testing.assert_allclose(same, own, atol=1e-2)
    other = complete_cloud(cloud, model, count=20, hints=Hints(frame=(50, 50, 50, 20.0))).new
    assert np.abs(other - own).max() > 0.1


def test_a_symmetric_object_gets_its_other_side(model: Completer) -> None:
    cloud = sphere(2000)
    kept = cloud[cloud[:, 0] < 55.0]
    mirrored = mirrored_points(kept)
    assert len(mirrored) > 0
    gaps = np.abs(np.linalg.norm(mirrored - 50.0, axis=1) - 10.0)
    assert np.median(gaps) < 1.0
    result = complete_cloud(kept, model, count=10, hints=Hints(symmetry=True))
    np.testing.assert_array_equal(result.new[: len(mirrored)], mirrored)
    assert len(result.confidence) == len(result.new)


@pytest.mark.parametrize(
    ("hints", "words"),
    [
        (Hints(up="x"), "up"),
        (Hints(box=(0, 0, 0, 1, 1)), "box needs 6"),
        (Hints(box=(0, 0, 0, 1, 1, -1)), "least"),
        (Hints(hole=(0, 0, 0, 0)), "radius"),
        (Hints(frame=(0, 0, float("nan"), 1)), "frame"),
    ],
)
def test_hints_that_do_not_fit_are_refused(hints: Hints, words: str, model: Completer) -> None:
    with pytest.raises(DdeqError, match=words):
        complete_cloud(sphere(50), model, hints=hints)


def test_on_the_command_line(
    model: Completer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model.save_pretrained(tmp_path / "weights")
    cloud = sphere(300).astype(np.float32)
    given = {"confidence": np.linspace(0.0, 1.0, 300).astype(np.float32)}
    write_cloud(tmp_path / "a.ply", cloud, attributes=given)
    argv = ["complete", str(tmp_path / "a.ply"), "-o", str(tmp_path / "b.ply"), "--force"]
    argv += ["--weights", str(tmp_path / "weights"), "--show", str(tmp_path / "b.png")]
    assert main([*argv, "--hole", "50,50,60,6", "--up", "y", "--points", "40"]) == 0
    full = read_cloud(tmp_path / "b.ply")
    assert full.points[:300].tobytes() == cloud.tobytes()
    confidence = full.attributes["confidence"]
    assert confidence[:300].tobytes() == given["confidence"].tobytes()
    assert ((confidence[300:] >= 0) & (confidence[300:] <= 1)).all()
    assert (tmp_path / "b.png").stat().st_size > 0
    assert main([*argv, "--hole", "here"]) == 2
    assert "--hole takes numbers" in capsys.readouterr().err
    assert main([*argv, "--box", "0,0,1,1"]) == 2
