"""The baselines: symmetry, no trace of padding or batch mates, finite gradients, sizes."""

import pytest
import torch
from maps import relative_gap, shuffled, widened
from strategies import KINDS, make_cloud

from ddeq import PointClouds, mmd2
from ddeq.models.baselines import (
    DGCNN,
    PCN,
    DeepSets,
    PointNet,
    PointTransformer,
    SetTransformer,
)


def clouds(dim: int = 2) -> PointClouds:
    return PointClouds.from_list([torch.randn(n, dim) for n in (9, 4, 17)])


def pointnet(dim: int = 2) -> PointNet:
    """A PointNet whose running statistics and T-net are not those of a fresh one."""
    model = PointNet(dim, 5)
    torch.nn.init.normal_(model.transform_out.weight, std=0.05)
    model.train()
    for _ in range(3):
        model(clouds(dim))
    return model.eval()


def trained(kind, **options):
    """Makes a classifier whose running statistics are not those of a fresh one."""

    def make(dim: int = 2) -> torch.nn.Module:
        model = kind(dim, 5, **options).train()
        for _ in range(3):
            model(clouds(dim))
        return model.eval()

    make.__name__ = kind.kind
    return make


deepsets = trained(DeepSets)
set_transformer = trained(SetTransformer, width=32, inducing=8)
point_transformer = trained(PointTransformer, widths=[8, 16, 32], neighbours=4)
dgcnn = trained(DGCNN, neighbours=4)


def pcn(dim: int = 2) -> PCN:
    return PCN(dim, coarse=12, grid=2)


def output(model, x: PointClouds) -> torch.Tensor:
    found = model(x)
    return found if isinstance(found, torch.Tensor) else found.points


classifiers = [pointnet, deepsets, set_transformer, point_transformer, dgcnn]
models = pytest.mark.parametrize("make", [*classifiers, pcn])


@models
@pytest.mark.parametrize("dim", [2, 3])
def test_the_order_of_the_points_changes_nothing(make, dim):
    model, x = make(dim), clouds(dim)
    assert relative_gap(output(model, shuffled(x, 1)[0]), output(model, x)) < 1e-5


@models
def test_padding_and_batch_mates_change_nothing(make):
    model, x = make(), clouds()
    together = output(model, x)
    assert relative_gap(output(model, widened(x, 5)), together) < 1e-5
    assert relative_gap(output(model, x[[2, 0, 1]]), together[[2, 0, 1]]) < 1e-5
    for b, cloud in enumerate(x.to_list()):
        alone = output(model, PointClouds.from_list([cloud]))
        assert relative_gap(alone[0], together[b]) < 1e-5


@pytest.mark.parametrize("kind", [PointNet, DeepSets, SetTransformer, PointTransformer, DGCNN])
def test_training_ignores_padding_too(kind):
    model, x = kind(2, 5, dropout=0.0).train(), clouds()
    assert relative_gap(model(widened(x, 5)), model(x)) < 1e-5


@models
@pytest.mark.parametrize("kind", KINDS)
def test_awkward_clouds_have_finite_values_and_gradients(make, kind):
    model = make().train()
    x = PointClouds.from_list(
        [make_cloud(kind, 6, 2, seed, torch.float32) for seed in range(2)] + [torch.randn(5, 2)]
    )
    found = model.loss(x, clouds()) if isinstance(model, PCN) else model(x)
    found.square().sum().backward()
    assert found.isfinite().all()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        (PointNet, 1.55e6, 1.65e6),
        (PointTransformer, 2.6e6, 3.5e6),
        (DeepSets, 0.3e6, 0.4e6),
        (SetTransformer, 0.4e6, 0.8e6),
        (DGCNN, 0.3e6, 0.6e6),
    ],
)
def test_sizes(kind, least, most):
    assert least < sum(p.numel() for p in kind(3, 40).parameters()) < most


def test_the_paper_has_256_points_for_digits():
    assert len(PCN(2)(clouds()).points[0]) == 256


@pytest.mark.parametrize("make", classifiers)
def test_sixteen_clouds_are_learned_by_heart(make):
    torch.manual_seed(0)
    model = make()
    model.dropout.p = 0.0
    x = PointClouds.from_list([torch.randn(3, 2).repeat(3 + i % 4, 1) for i in range(16)])
    labels = torch.arange(16) % 5
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    model.train()
    for _ in range(200):
        logits = model(x)
        if (logits.argmax(1) == labels).all():
            return
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits, labels).backward()
        optimizer.step()
    pytest.fail("not learned")


def test_levels_of_a_point_transformer_have_a_quarter_of_the_points_each():
    x = PointClouds.from_list([torch.randn(n, 3) for n in (64, 17, 1)])
    levels = PointTransformer(3, 2).levels(x)
    assert [level.lengths.tolist() for level in levels] == [
        [64, 17, 1], [16, 5, 1], [4, 2, 1], [1, 1, 1], [1, 1, 1]
    ]  # fmt: skip


@pytest.mark.parametrize(("coarse", "grid"), [(1, 1), (7, 1), (5, 3)])
def test_the_number_of_points_of_a_completion(coarse, grid):
    x = clouds(3)
    full = PCN(3, coarse=coarse, grid=grid).complete(x)
    assert full.lengths.tolist() == [coarse * grid**2] * len(x)
    assert full.points.isfinite().all()


def test_completion_does_not_depend_on_units():
    model, x = pcn(), clouds()
    moved = x.map(lambda p: 100.0 * p + 7.0)
    expected = 100.0 * model.complete(x).points + 7.0
    assert relative_gap(model.complete(moved).points, expected) < 1e-4


def test_pcn_learns_one_cloud():
    torch.manual_seed(0)
    model, target = PCN(2, coarse=16), PointClouds.from_list([torch.randn(20, 2)])
    x = PointClouds.from_list([target.to_list()[0][:12]])
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    before = mmd2(model(x), target).item()
    for _ in range(30):
        optimizer.zero_grad()
        model.loss(x, target).mean().backward()
        optimizer.step()
    assert mmd2(model(x), target).item() < 0.3 * before


@models
def test_saved_and_loaded(make, tmp_path):
    model, x = make(), clouds()
    model.save_pretrained(tmp_path)
    assert torch.equal(output(type(model).from_pretrained(tmp_path), x), output(model, x))


@models
def test_clouds_of_another_dimension_are_refused(make):
    with pytest.raises(ValueError, match="dimension 2"):
        make()(clouds(3))
