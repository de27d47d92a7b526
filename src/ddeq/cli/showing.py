"""Clouds that come with the library, cut and completed in their own frame, for pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ddeq.data import CloudDataset
    from ddeq.inference import Completion
    from ddeq.viz.posters import Completed

__all__ = ["choose_scans", "cut_and_complete", "first_scan", "readable"]

_BOTTLE = "MK7"


def cut_and_complete(
    data: CloudDataset,
    index: int,
    cut: str = "balls",
    seed: int = 0,
    weights: str | None = None,
    watch: bool = False,
    **title: Any,
) -> tuple[Completed, Completion]:
    """A cloud of a set with a part cut out, completed; the network sees the visible points only.

    Args:
        data: The set.
        index: Which of its clouds.
        cut: Of :data:`ddeq.data.cuts.CUTS`.
        seed: Of the cut and of the particles.
        weights: Name or folder; by default those shipped for the dimension.
        watch: Whether to keep the frames.
        title: ``title`` and ``right`` of :class:`ddeq.viz.posters.Completed`.
    """
    import torch

    from ddeq.data import item_rng
    from ddeq.data.cuts import CUTS
    from ddeq.inference import complete_cloud, completer_for
    from ddeq.viz.posters import Completed

    whole = data.raw(index)
    kept, _ = CUTS[cut](torch.as_tensor(whole), item_rng(seed, index))
    model = completer_for(data.dim, weights)
    found = complete_cloud(kept.numpy(), model, seed=seed, watch=watch)
    return Completed(kept.numpy(), found.new, whole, **title), found


def choose_scans(data: CloudDataset, count: int, seed: int) -> list[int]:
    """Numbers of ``count`` scans, drawn by the seed alone."""
    order: list[int] = np.random.default_rng(seed).permutation(len(data)).tolist()
    return order[:count]


def first_scan(data: CloudDataset) -> int:
    """The number of a scan whose form every reader knows: a bottle."""
    return data.names.index(_BOTTLE)


def readable(name: str, most: int = 24) -> str:
    """The first words of a product's name, without numbers and codes.

    Example:
        >>> readable("Weston_No_22_Cajun_Jerky_Tonic_12_fl_oz_nLj64ZnGwDh")
        'Weston No Cajun Jerky'
    """
    words = [word for word in name.split("_") if word.isalpha()] or [name]
    text = words[0][:most]
    for word in words[1:]:
        if len(text) + 1 + len(word) > most:
            break
        text += f" {word}"
    return text
