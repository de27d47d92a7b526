"""Which path of X recognises shapes best in a given time: short runs, side by side.

``python experiments/recognition_network.py --variants groups pictures deeper views --minutes 4``

Each variant is trained on ModelNet40 by the recipe ``modelnet40-classification`` for the same time
on one core, or with ``--epochs`` for as many epochs, and measured on the same held-out training
shapes, turned as in training. The test set is not opened. Prints a line per variant and writes the
figures as JSON if ``--out`` is given.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from ddeq.data import CloudDataset, collate
from ddeq.nn import Groups, Network, Planes
from ddeq.nn.pose import turn
from ddeq.training import PRESETS, Recipe, train
from ddeq.training.data import CloudData

BASE = PRESETS["modelnet40-classification"]
assert isinstance(BASE.network, Network)


PLAIN = replace(BASE.network, fourier=0, groups=None, planes=None)
GROUPS = replace(PLAIN, fourier=5, groups=Groups())


def _with(pushforward: bool = True, **planes: Any) -> Recipe:
    network = replace(PLAIN, pushforward=pushforward, planes=Planes(size=64, **planes))
    return replace(BASE, network=network, max_points=100_000)


VARIANTS: dict[str, Recipe] = {
    "groups": replace(BASE, network=GROUPS, max_points=600),
    "pictures": _with(stride=2, widths=(16, 32, 64, 128)),
    "full": _with(False, stride=2, widths=(16, 32, 64, 128)),
    "deeper": _with(stride=2, widths=(16, 32, 64, 128), blocks=(1, 2, 2, 1)),
    "views": _with(stride=2, widths=(16, 32, 64, 128), turns=2),
    "wide": _with(stride=2, widths=(32, 64, 128)),
    "fine": _with(stride=1, widths=(16, 32, 64, 128)),
}


@torch.no_grad()
def measured(model: Any, data: CloudDataset, seed: int = 0) -> dict[str, float]:
    """Accuracy in percent and cross entropy, each cloud in four random azimuths."""
    draw = torch.Generator().manual_seed(seed)
    right, loss = 0, 0.0
    for start in range(0, 4 * len(data), 64):
        some = range(start, min(start + 64, 4 * len(data)))
        x, labels = collate([data[i % len(data)] for i in some])
        logits = model(turn(x, 2 * torch.pi * torch.rand(len(x), generator=draw)))
        right += int((logits.argmax(1) == labels).sum())
        loss += float(cross_entropy(logits, labels, reduction="sum"))
    count = 4 * len(data)
    return {"accuracy, turned": 100 * right / count, "cross entropy": loss / count}


def run(name: str, minutes: float, epochs: int, seed: int) -> dict[str, Any]:
    """Trains and measures one variant."""
    recipe = replace(VARIANTS[name], validation=0.1, seed=seed, average=0.995)
    recipe = replace(recipe, epochs=epochs) if epochs else replace(recipe, minutes=minutes)
    begin = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        model = train(recipe, Path(folder) / name, verbose=False)
    held_out = CloudData(recipe).validation
    return {
        "variant": name,
        "epochs": epochs,
        "CPU minutes": round((time.process_time() - begin) / 60, 2),
        "parameters": sum(p.numel() for p in model.parameters()),
        "held-out shapes": len(held_out),
        **measured(model, held_out),
        "seed": seed,
    }


def main() -> None:
    """Runs the variants one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=["groups", "pictures"])
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--epochs", type=int, default=0, help="instead of --minutes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for name in args.variants:
        rows.append(run(name, args.minutes, args.epochs, args.seed))
        print(json.dumps(rows[-1]), flush=True)
        if args.out:
            args.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
