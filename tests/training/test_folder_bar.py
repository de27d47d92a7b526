"""The bar of training on one's own files: 20 scanned objects per class, minutes, one core.

``python tests/training/test_folder_bar.py results/own-folder.json`` measures and keeps the figures.
"""

import json
import re
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from ddeq import Classifier
from ddeq.cli import main
from ddeq.data import collate, load
from ddeq.data.sets.scans import SPLITS, load_scans

CLASSES = {
    "shoe": r"womens|asics|tieks|ugg|_heel|boot|sandal|reef_|tory_",
    "vessel": r"ecoforms|bowl|_pot_|saucer|mug|ramekin|_plate",
    "box": r"game|_cartridge|asus|gigabyte|netgear|dvd|seagate",
    "figure": r"schleich|dino|android_fig|dragon|rex|turtles|titan|pony|plush|toysmith|lion|bear",
}
TRAINED, SECONDS = 20, 300  # objects per class; of one core
EPOCHS = 40


def write_objects(folder: Path) -> dict[str, int]:
    """Scans of four kinds, told by the names of the products; the rest is held out."""
    scans = [load_scans(split) for split in SPLITS]
    named = [(name, data.raw(i)) for data in scans for i, name in enumerate(data.names)]
    rng, held = np.random.default_rng(0), {}
    taken: set[str] = set()
    for kind, words in CLASSES.items():
        found = [(n, p) for n, p in named if n not in taken and re.search(words, n.lower())]
        taken.update(name for name, _ in found)
        order = rng.permutation(len(found))
        for place, i in enumerate(order):
            path = folder / ("train" if place < TRAINED else "test") / kind / f"{found[i][0]}.npy"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, np.asarray(found[i][1]))
        held[kind] = len(found) - TRAINED
    return held


def accuracy(model: Path, data: Path) -> float:
    """Share of the held-out objects that are recognised."""
    clouds = load(str(data), "test").in_proportion()
    classifier = Classifier.from_pretrained(model)
    with torch.no_grad():
        answers = [int(classifier(collate([clouds[i]])[0]).argmax()) for i in range(len(clouds))]
    return float(np.mean(np.array(answers) == np.asarray(clouds.labels)))


def measure(folder: Path, *options: str) -> dict[str, float]:
    data, out = folder / "objects", folder / f"run{len(options)}"
    begin = time.process_time()
    argv = ["train", str(data), "--epochs", str(EPOCHS), "-o", str(out), *options]
    assert main(argv) == 0
    seconds = time.process_time() - begin
    return {"seconds of one core": round(seconds), "accuracy": accuracy(out / "model", data)}


@pytest.mark.slow
def test_a_folder_of_scanned_objects_is_learned_in_minutes(tmp_path: Path) -> None:
    held = write_objects(tmp_path / "objects")
    assert min(held.values()) >= 5
    shipped = measure(tmp_path)
    scratch = measure(tmp_path, "--from-scratch")
    assert shipped["seconds of one core"] < SECONDS
    assert shipped["accuracy"] >= 0.9
    assert shipped["accuracy"] > scratch["accuracy"]


if __name__ == "__main__":
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch_folder:
        here = Path(scratch_folder)
        figures = {"objects per class": TRAINED, "held out": write_objects(here / "objects")}
        print(figures)
        for name, words in (("from the shipped weights", ()), ("from scratch", ["--from-scratch"])):
            figures[name] = measure(here, *words)
            print(name, figures[name], flush=True)
            Path(sys.argv[1]).write_text(json.dumps(figures, indent=2) + "\n")
