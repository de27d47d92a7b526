"""``ddeq complete``: the new points alone, attributes that are kept, nothing that is missing."""

from pathlib import Path

import numpy as np
import pytest
import torch

import ddeq
from ddeq.cli import main
from ddeq.inference import complete, complete_cloud
from ddeq.io.files import read_cloud, write_cloud

SMALL = {"features": 16, "head_size": 4, "cross_layers": 1}
CLOUD = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32) * 10 + 500
ATTRIBUTES = {
    "red": np.arange(40, dtype=np.uint8),
    "green": np.arange(40, 80, dtype=np.uint8),
    "blue": np.full(40, 7, dtype=np.uint8),
    "nx": np.linspace(-1, 1, 40, dtype=np.float32),
    "intensity": np.linspace(0, 1e9, 40),
}


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("completer")
    ddeq.Completer(dim=3, **SMALL).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("suffix", [".ply", ".pcd"])
@pytest.mark.parametrize("only_new", [False, True])
def test_attributes_are_kept_and_new_points_take_their_neighbours(
    suffix: str, only_new: bool, weights: Path, tmp_path: Path
) -> None:
    source, target = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    write_cloud(source, CLOUD, attributes=ATTRIBUTES)
    argv = ["complete", str(source), "-o", str(target), "--weights", str(weights)]
    assert main([*argv, *(["--only-new"] if only_new else [])]) == 0
    back, full = read_cloud(target), complete(CLOUD, weights=weights)
    new = full[40:]
    assert back.points.tobytes() == (new if only_new else full).tobytes()
    near = np.linalg.norm(CLOUD[None].astype(float) - new[:, None], axis=2).argmin(1)
    for name, values in ATTRIBUTES.items():
        kept = values[:0] if only_new else values
        assert back.attributes[name].dtype == values.dtype
        assert back.attributes[name].tolist() == [*kept.tolist(), *values[near].tolist()]
    marks = [] if only_new else [0] * 40 + [1] * len(new)
    assert back.attributes.get("new", np.array([])).tolist() == marks


def test_a_cloud_without_colours_gets_some(weights: Path, tmp_path: Path) -> None:
    write_cloud(tmp_path / "a.ply", CLOUD)
    out = tmp_path / "b.ply"
    assert (
        main(["complete", str(tmp_path / "a.ply"), "-o", str(out), "--weights", str(weights)]) == 0
    )
    back = read_cloud(out).attributes
    assert set(back["red"][:40].tolist()) == {150}
    assert set(back["red"][40:].tolist()) == {255}


@pytest.fixture
def nothing_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def counts(self: object, x: ddeq.PointClouds, *_: object) -> torch.Tensor:
        return torch.zeros(len(x), dtype=torch.long)

    monkeypatch.setattr(ddeq.Completer, "counts", counts)


@pytest.mark.usefixtures("nothing_missing")
def test_nothing_is_missing(
    weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_cloud(tmp_path / "a.ply", CLOUD, attributes=ATTRIBUTES)
    out = tmp_path / "b.ply"
    argv = ["complete", str(tmp_path / "a.ply"), "-o", str(out), "--weights", str(weights)]
    assert main(argv) == 0
    assert "40 points kept, nothing seems to be missing" in capsys.readouterr().out
    assert read_cloud(out).points.tobytes() == CLOUD.tobytes()
    more = ["--show", str(tmp_path / "b.png"), "--trajectory", str(tmp_path / "b.html")]
    assert main([*argv, *more, "--force"]) == 0
    assert (tmp_path / "b.png").stat().st_size > 1000
    assert (tmp_path / "b.html").exists()
    out.unlink()
    capsys.readouterr()
    assert main([*argv, "--only-new"]) == 2
    assert "nothing seems to be missing" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.usefixtures("nothing_missing")
def test_nothing_is_missing_in_python(weights: Path) -> None:
    model = ddeq.Completer.from_pretrained(weights)
    for full in (complete(CLOUD, weights=weights), model.complete(CLOUD)):
        assert full.tobytes() == CLOUD.tobytes()
    result = complete_cloud(CLOUD, model, watch=True)
    assert result.new.shape == (0, 3)
    assert all(len(frame) == 0 for frame in result.frames)
    estimator = ddeq.PointCloudCompleter()
    estimator.model_, estimator.n_features_in_ = model, 3
    assert estimator.predict([CLOUD])[0].tobytes() == CLOUD.tobytes()


def test_some_clouds_of_a_batch_may_lack_nothing(weights: Path) -> None:
    model = ddeq.Completer.from_pretrained(weights)
    clouds = [CLOUD[:20], CLOUD[20:]]
    first, second = model.new_points(clouds, counts=torch.tensor([0, 4]))
    assert first.shape == (0, 3)
    (alone,) = model.new_points(clouds[1:], counts=torch.tensor([4]))
    np.testing.assert_allclose(second, alone, rtol=1e-4)
