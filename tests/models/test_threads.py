"""Threads that share a model do not interfere."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from small_models import model

CLOUDS = [np.random.default_rng(i).normal(size=(20 + 7 * i, 2)) for i in range(8)]


def test_threads_that_complete_get_what_they_would_alone():
    made = model("completer")
    alone = [made.complete(cloud, seed=i) for i, cloud in enumerate(CLOUDS)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(made.complete, CLOUDS, range(len(CLOUDS))))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(alone, together, strict=True))


def test_threads_that_classify_leave_gradients_and_the_random_state_alone():
    made = model("classifier")
    state = torch.random.get_rng_state()

    def logits(cloud: np.ndarray) -> torch.Tensor:
        with torch.inference_mode():
            return made([cloud]).clone()

    alone = [logits(cloud) for cloud in CLOUDS]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(logits, CLOUDS))
        gradient = torch.autograd.grad(made([CLOUDS[0]]).sum(), made.head.bias)[0]
    assert all(torch.equal(a, b) for a, b in zip(alone, together, strict=True))
    assert gradient.isfinite().all()
    assert torch.equal(torch.random.get_rng_state(), state)
