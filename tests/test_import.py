"""Importing the package is quick: what it does not need at once, it does not load."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ddeq

HEAVY = (
    "gradio",
    "h5py",
    "jsonargparse",
    "lightning",
    "matplotlib",
    "ot",
    "pandas",
    "plotly",
    "pytorch_lightning",
    "scipy",
    "sklearn",
    "tensorboard",
    "torchdeq",
    "trimesh",
    "umap",
)

SCRIPT = """
import json, random, sys
import numpy, torch

def state():
    drawn = torch.rand(1).item(), numpy.random.rand(), random.random()
    return *drawn, str(torch.get_default_dtype()), torch.get_num_threads()

def seed():
    torch.manual_seed(0), numpy.random.seed(0), random.seed(0)

torch_alone = set(sys.modules)
seed()
before = state()
seed()
import ddeq
report = {"state": state() == before, "imported": sorted(set(sys.modules) - torch_alone)}
x = ddeq.PointClouds.from_list([torch.randn(5, 2)])
small = dict(features=8, bilinear=4, head_size=4)
ddeq.Classifier(2, 3, **small)(x)
ddeq.Completer(2, **small).complete(x)
cloud = numpy.random.default_rng(0).normal(size=(9, 2))
ddeq.complete(cloud, count=2), ddeq.classify(cloud)
report["used"] = sorted(set(sys.modules) - torch_alone)
print(json.dumps(report))
"""


@pytest.fixture(scope="module")
def report():
    """What a fresh interpreter says after importing the package, and after using it."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("when", ["imported", "used"])
def test_nothing_heavy_is_loaded(report, when):
    assert "ddeq" in report[when]
    assert [name for name in HEAVY if name in report[when]] == []


def test_import_leaves_the_random_state_and_the_settings_alone(report):
    assert report["state"]


FRONT_DOOR = [
    "Classifier",
    "Completer",
    "PointClouds",
    "classify",
    "complete",
    "equilibrium",
    "evaluate",
    "load",
    "mmd2",
    "read_cloud",
    "solvers",
    "train",
    "write_cloud",
]


@pytest.mark.parametrize("name", FRONT_DOOR)
def test_the_public_names_are_listed(name):
    assert name in ddeq.__all__
    assert all(hasattr(ddeq, listed) for listed in ddeq.__all__)
    assert set(ddeq.__all__) <= set(dir(ddeq))


def test_every_room_is_there_after_one_import():
    root = Path(ddeq.__file__).parent
    found = {p.stem for p in root.glob("[a-z]*.py")} | {
        p.parent.name for p in root.glob("*/__init__.py")
    }
    rooms = sorted({*found, "divergences", "kernels", "metrics"} - {"sklearn_base"})
    script = f"import ddeq\nfor room in {rooms}: getattr(ddeq, room)"
    subprocess.run([sys.executable, "-c", script], check=True)
    with pytest.raises(AttributeError, match="no attribute 'rooms'"):
        _ = ddeq.rooms


def test_a_model_is_loaded_by_what_its_configuration_says(tmp_path):
    small = {"features": 8, "head_size": 4}
    for model in (ddeq.Classifier(2, 3, **small), ddeq.Completer(2, **small)):
        model.save_pretrained(tmp_path)
        assert type(ddeq.load(tmp_path)) is type(model)
    assert isinstance(ddeq.load("modelnet40"), ddeq.Classifier)
    assert isinstance(ddeq.load("mnist-pc", kind="classifier"), ddeq.Classifier)
    for name, kind, words in [
        ("mnist-pc", None, "'classifier' or 'completer'"),
        ("no-such", None, "neither a folder"),
        ("mnist-pc", "poet", "no kind 'poet'"),
        (tmp_path.parent, None, "config.json"),
    ]:
        with pytest.raises(ddeq.DdeqError, match=words):
            ddeq.load(name, kind)
    (tmp_path / "config.json").write_text('{"kind": "poet"}')
    with pytest.raises(ddeq.DdeqError, match="unknown kind 'poet'"):
        ddeq.load(tmp_path)
