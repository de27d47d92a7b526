"""Weight folders damaged at random: a model with finite weights, or one line."""

import json

import numpy as np
import torch
from maps import SMALL
from mutations import REFUSED, attempt, damaged_bytes, damaged_value

from ddeq import Classifier, Completer
from ddeq.errors import DdeqError
from ddeq.solvers import Chain, Picard, Weiszfeld

CASES = {"short": 60, "long": 2000}
SOLVER = Chain(Weiszfeld(2), Picard(2), max_steps=4)


def test_damaged_weight_folders(effort, tmp_path, tally):
    made = {
        Classifier: Classifier(2, 3, classes=["a", "b", "c"], solver=SOLVER, **SMALL),
        Completer: Completer(2, estimate=True, solver=SOLVER, **SMALL),
    }
    whole = {}
    for kind, model in made.items():
        model.save_pretrained(tmp_path)
        config = json.loads((tmp_path / "config.json").read_text())
        whole[kind] = config, (tmp_path / "model.safetensors").read_bytes()
    rng = np.random.default_rng(2)
    for case in range(CASES[effort]):
        kind = list(made)[case % 2]
        config, weights = whole[kind]
        text = json.dumps(config).encode()
        if case % 3 == 0:
            weights = damaged_bytes(weights[:2000], rng) + weights[2000:]
        elif case % 3 == 1:
            text = damaged_bytes(text, rng)
        else:
            text = json.dumps(damaged_value(config, rng)).encode()
        (tmp_path / "config.json").write_bytes(text)
        (tmp_path / "model.safetensors").write_bytes(weights)
        model, _ = attempt(lambda kind=kind: kind.from_pretrained(tmp_path), DdeqError)
        if model is not None:
            assert all(torch.isfinite(value).all() for value in model.state_dict().values())
        tally[REFUSED if model is None else "loaded"] += 1
