"""Which path of X recognises shapes best in a given time: short runs, side by side.

``python experiments/recognition_network.py --variants groups pictures wide fine --minutes 4``

Each variant is trained on ModelNet40 by the recipe ``modelnet40-classification`` for the same time
on one core, and measured on the same held-out training shapes, turned as in training. The test set
is not opened. Prints a line per variant and writes the figures as JSON if ``--out`` is given.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ddeq.data import CloudDataset, collate
from ddeq.nn import Network, Planes
from ddeq.nn.pose import turn
from ddeq.training import PRESETS, Recipe, train
from ddeq.training.data import CloudData

BASE = PRESETS["modelnet40-classification"]
assert isinstance(BASE.network, Network)


PLAIN = replace(BASE.network, fourier=0, groups=None)


def _with(**planes: Any) -> Recipe:
    return replace(BASE, network=replace(PLAIN, planes=Planes(**planes)), max_points=100_000)


VARIANTS: dict[str, Recipe] = {
    "groups": BASE,
    "pictures": _with(size=64, stride=2, widths=(16, 32, 64, 128)),
    "wide": _with(size=64, stride=2, widths=(32, 64, 128)),
    "fine": _with(size=64, stride=1, widths=(16, 32, 64, 128)),
    "coarse": _with(size=32, stride=1, widths=(16, 32, 64, 128)),
}


@torch.no_grad()
def accuracy(model: Any, data: CloudDataset, seed: int = 0) -> float:
    """In percent, each cloud turned about z at random."""
    draw = torch.Generator().manual_seed(seed)
    right = 0
    for start in range(0, len(data), 64):
        x, labels = collate([data[i] for i in range(start, min(start + 64, len(data)))])
        x = turn(x, 2 * torch.pi * torch.rand(len(x), generator=draw))
        right += int((model(x).argmax(1) == labels).sum())
    return 100 * right / len(data)


def run(name: str, minutes: float, seed: int) -> dict[str, Any]:
    """Trains and measures one variant."""
    recipe = replace(VARIANTS[name], minutes=minutes, validation=0.1, seed=seed, average=0.995)
    with tempfile.TemporaryDirectory() as folder:
        model = train(recipe, Path(folder) / name, verbose=False)
    held_out = CloudData(recipe).validation
    return {
        "variant": name,
        "minutes": minutes,
        "parameters": sum(p.numel() for p in model.parameters()),
        "held-out shapes": len(held_out),
        "accuracy, turned": accuracy(model, held_out),
        "seed": seed,
    }


def main() -> None:
    """Runs the variants one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=["groups", "pictures"])
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for name in args.variants:
        rows.append(run(name, args.minutes, args.seed))
        print(json.dumps(rows[-1]), flush=True)
        if args.out:
            args.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
