"""PCN on scanned objects, to stand beside the completer ``scans`` in the de-biased protocol.

``python experiments/pcn_scans.py runs/pcn-scans --minutes 30`` trains on the embedded scans and as
many training shapes of ModelNet40, any hole, any azimuth: the clouds of the completer. The best
model by held-out clouds is kept in ``OUT/model``; then

    ddeq eval scans-completion --protocol --unit radius --pcn runs/pcn-scans/model
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from common import some

from ddeq.data import CloudDataset, load
from ddeq.training import PRESETS, train
from ddeq.training.data import CloudData


def objects(seed: int = 0) -> CloudDataset:
    """The training scans and as many training shapes of ModelNet40, all of one class."""
    scans = load("scans", "train")
    shapes = some(load("modelnet40", "train"), len(scans), seed)
    clouds = [*scans.clouds, *shapes.clouds]
    return CloudDataset.from_list(clouds, np.zeros(len(clouds), int), ("object",), "objects")


def main() -> None:
    """Trains."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=30.0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    recipe = replace(PRESETS["pcn-scans"], minutes=args.minutes)
    data = CloudData(recipe, whole=objects())
    train(recipe, args.out, data=data, force=True)


if __name__ == "__main__":
    main()
