"""Two optimisers as one: every parameter is moved, and a run can be taken up again."""

import copy

import torch

from ddeq import PointClouds
from ddeq.models import Classifier
from ddeq.training.optimizer import Muon, make_optimizer


def _model() -> Classifier:
    torch.manual_seed(0)
    return Classifier(2, 3, features=32, head_size=16)


def _step(model: Classifier, optimizer: torch.optim.Optimizer, seed: int) -> None:
    x = PointClouds.from_list([torch.randn(9, 2, generator=torch.Generator().manual_seed(seed))])
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), torch.tensor([1])).backward()
    optimizer.step()


def test_every_parameter_belongs_to_one_optimizer() -> None:
    model = _model()
    optimizer = make_optimizer(model, "muon", 1e-3, 0.0)
    found = [id(p) for group in optimizer.param_groups for p in group["params"]]
    assert sorted(found) == sorted(id(p) for p in model.parameters())


def test_the_update_of_a_matrix_is_nearly_orthogonal() -> None:
    weight = torch.nn.Linear(64, 32)
    before = weight.weight.detach().clone()
    optimizer = make_optimizer(weight, "muon", 1e-2, 0.0)
    weight.bias.grad = torch.zeros(32)
    weight.weight.grad = torch.diag(torch.logspace(-1, 1, 32)) @ torch.randn(32, 64)
    optimizer.step()
    sizes = torch.linalg.svdvals(weight.weight.detach() - before)
    assert sizes.max() / sizes.min() < 2.0  # of a gradient whose singular values span 1 to 100


def test_updates_are_those_of_torch() -> None:
    ours, theirs = (torch.nn.Parameter(torch.ones(24, 40)) for _ in range(2))
    mine = Muon([ours], 1e-2, 0.1)
    known = torch.optim.Muon([theirs], 1e-2, 0.1, adjust_lr_fn="match_rms_adamw")
    for seed in range(3):
        gradient = torch.randn(24, 40, generator=torch.Generator().manual_seed(seed))
        ours.grad, theirs.grad = gradient, gradient.clone()
        mine.step()
        known.step()
    change = (ours - 1).norm()
    assert (ours - theirs).norm() < 0.02 * change  # torch computes in bfloat16


def test_a_schedule_reaches_the_parts_after_loading() -> None:
    model = _model()
    optimizer = make_optimizer(model, "muon", 1e-2, 0.0)
    _step(model, optimizer, 1)
    twin = copy.deepcopy(model)
    other = make_optimizer(twin, "muon", 1e-2, 0.0)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for each in (optimizer, other):
        for group in each.param_groups:
            group["lr"] = 1e-3
    _step(model, optimizer, 2)
    _step(twin, other, 2)
    for p, q in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(p, q)
