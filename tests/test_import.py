"""Importing the package is quick: what it does not need at once, it does not load."""

import json
import subprocess
import sys

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


@pytest.mark.parametrize("name", ["Classifier", "Completer", "PointClouds", "mmd2", "solvers"])
def test_the_public_names_are_listed(name):
    assert name in ddeq.__all__
    assert all(hasattr(ddeq, listed) for listed in ddeq.__all__)
