"""Importing the package is quick: what it does not need at once, it does not load."""

import subprocess
import sys

import pytest

HEAVY = (
    "gradio",
    "h5py",
    "hypothesis",
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


def run(code):
    """Runs code in a fresh interpreter, returns what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def loaded(code):
    """Which heavy modules are there after running the code but not after importing torch."""
    report = f"""
import sys
import torch
before = set(sys.modules)
{code}
print(*[name for name in {HEAVY!r} if name in sys.modules and name not in before])
"""
    return run(report)


def test_import_loads_nothing_heavy():
    assert loaded("import ddeq") == []


def test_a_forward_pass_loads_nothing_heavy():
    code = """
import ddeq
x = ddeq.PointClouds.from_list([torch.randn(5, 2)])
small = dict(features=8, bilinear=4, head_size=4)
ddeq.Classifier(2, 3, **small)(x)
ddeq.Completer(2, **small).complete(x)
"""
    assert loaded(code) == []


def test_import_leaves_the_random_state_and_the_settings_alone():
    code = """
import random, numpy, torch
torch.manual_seed(0); numpy.random.seed(0); random.seed(0)
before = (torch.get_rng_state(), numpy.random.get_state()[1].copy(), random.getstate(),
          torch.get_default_dtype(), torch.get_num_threads())
import ddeq
after = (torch.get_rng_state(), numpy.random.get_state()[1].copy(), random.getstate(),
         torch.get_default_dtype(), torch.get_num_threads())
same = [bool((a == b).all()) if hasattr(a, "shape") else a == b for a, b in zip(before, after)]
print(all(same))
"""
    assert run(code) == ["True"]


@pytest.mark.parametrize("name", ["Classifier", "Completer", "PointClouds", "mmd2", "solvers"])
def test_the_public_names_are_listed(name):
    import ddeq

    assert name in ddeq.__all__
    assert all(hasattr(ddeq, listed) for listed in ddeq.__all__)
