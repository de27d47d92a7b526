"""PointNet trained as our classifiers are, to compare with: ``python benchmarks/pointnet.py``.

The same clouds, thinned and changed in the same way, for as many epochs, with the same smoothed
loss; AdamW, cosine schedule. Prints the accuracy on the whole test set.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F

from ddeq.data import CloudDataset, collate, load
from ddeq.evaluation import Mean, batches
from ddeq.models.baselines import PointNet
from ddeq.training import PRESETS, Recipe
from ddeq.training.data import CloudData


def train(recipe: Recipe, rate: float, root: str | None) -> PointNet:
    data = CloudData(recipe, root)
    torch.manual_seed(recipe.seed)
    model = PointNet(data.train.dim, len(data.train.classes), proportions=recipe.task.proportions)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=recipe.weight_decay)
    loader = data.train_dataloader()
    total, begin = recipe.epochs * len(loader), time.monotonic()
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: 0.5 * (1 + math.cos(math.pi * step / total))
    )
    for epoch in range(recipe.epochs):
        data.set_position(loader, epoch, 0)
        model.train()
        losses = []
        for x, labels in loader:
            loss = F.cross_entropy(model(x), labels, label_smoothing=recipe.task.smoothing)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(float(loss.detach()))
        held = accuracy(model, data.validation)
        print(
            f"epoch {epoch + 1}/{recipe.epochs}  loss {np.mean(losses):.3f}  "
            f"held out {100 * held.value:.1f} %  {time.monotonic() - begin:.0f} s",
            flush=True,
        )
    return model


@torch.no_grad()
def accuracy(model: PointNet, data: CloudDataset) -> Mean:
    model.eval()
    right = []
    for indices in batches(data, 64):
        x, labels = collate([data[i] for i in indices])
        right.append(model(x).argmax(1) == labels)
    return Mean.of(torch.cat(right).float())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipe", default="modelnet40-classification", help="of our classifier")
    parser.add_argument("--epochs", type=int, help="(those of the recipe)")
    parser.add_argument("--rate", type=float, default=1e-3, help="learning rate (1e-3)")
    parser.add_argument("--data-root", help="folder with data you have (default: $DDEQ_DATA)")
    args = parser.parse_args()
    recipe = PRESETS[args.recipe]
    recipe = replace(recipe, epochs=args.epochs or recipe.epochs)
    model = train(recipe, args.rate, args.data_root)
    test = load(recipe.data, "test", args.data_root).in_proportion()
    found = accuracy(model, test)
    size = sum(weight.numel() for weight in model.parameters())
    print(
        f"PointNet, {size:,} parameters: {100 * found.value:.2f} +- {100 * found.error:.2f} % "
        f"of {len(test):,} test clouds"
    )


if __name__ == "__main__":
    main()
