"""The equilibrium network against a plain version of Figure 2, and the symmetries it promises."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from maps import relative_gap, shuffled, small_network, widened
from network_problems import problem
from strategies import KINDS, cloud_lists, make_cloud, seeds

from ddeq import PointClouds
from ddeq.nn import (
    EquilibriumNetwork,
    Network,
)

VARIANTS = [
    {},
    {"cross_layers": 3},
    {"pushforward": True},
    {"pushforward": True, "cross_layers": 2},
    {"fourier": 3},
    {"radii": (0.5, 2.0), "pushforward": True},
    {"fourier": 1, "radii": (1.0,), "x_layers": 2, "near": True, "expansion": 2},
]


def linear(layer, x):
    return x @ layer.weight.T + layer.bias


def mlp(layer, x):
    return linear(layer.outer, linear(layer.inner, x).clamp(min=0))


def norm(layer, x):
    centred = x - x.mean(-1, keepdim=True)
    return (
        centred / (centred.square().mean(-1, keepdim=True) + layer.eps).sqrt() * (layer.weight)
        + layer.bias
    )


def attention(layer, target, source, at, there):
    """Softmax attention written out, head by head, ``(N, p), (M, p) -> (N, p)``.

    Targets lie at places ``(N, d)``, sources at ``(M, d)``.
    """
    size, p = layer.head_size, target.shape[1]
    query, key_value = linear(layer.query, target), linear(layer.key_value, source)
    heads = []
    for head, start in enumerate(range(0, p, size)):
        q, k = query[:, start : start + size], key_value[:, start : start + size]
        v = key_value[:, p + start : p + start + size]
        logits = q @ k.T / size**0.5
        if layer.nearness is not None:
            gaps = (at[:, None] - there[None]).square().sum(-1)
            logits = logits - 10.0 * layer.nearness.rate[head] * gaps
        scores = torch.exp(logits)
        heads.append(scores / scores.sum(1, keepdim=True) @ v)
    return linear(layer.out, torch.cat(heads, dim=1))


def encoder(layer, target, source, at, there):
    attended = attention(layer.attention, target, source, at, there)
    target = norm(layer.norm_attention, target + attended)
    return norm(layer.norm_mlp, target + mlp(layer.mlp, target))


def local_moments(x, radius):
    """Density, mean and covariance of a cloud around each of its points, point by point."""
    rows = []
    for point in x:
        away = (x - point) / radius
        weights = torch.exp(-away.square().sum(1) / 2)
        density, shares = weights.mean(), weights / weights.sum()
        mean = shares @ away
        covariance = (away - mean).T @ (shares[:, None] * (away - mean))
        upper = [covariance[i, j] for i in range(x.shape[1]) for j in range(i, x.shape[1])]
        rows.append(torch.cat([density.log()[None], mean, torch.stack(upper)]))
    return torch.stack(rows)


def plain(net, x, free, fixed):
    """``F(Z, X)`` at the free rows: all rows pass every stage, after which fixed rows are reset."""
    z = torch.cat([free, fixed])
    at = z[:, : x.shape[1]]

    def reset(h):
        return torch.cat([h[: len(free)], fixed])

    x_low = norm(net.x_norm, mlp(net.x_project, x))
    pairs = list(itertools.combinations(range(x.shape[1]), 2))
    along = [x[:, i] for i in range(x.shape[1])]
    along += [(x[:, i] + x[:, j]) * 0.5**0.5 for i, j in pairs]
    along += [(x[:, i] - x[:, j]) * 0.5**0.5 for i, j in pairs]
    sines = [
        wave(2**k * t)[:, None]
        for t in along
        for wave in (torch.sin, torch.cos)
        for k in range(net.config.fourier)
    ]
    around = [local_moments(x, radius) for radius in net.config.radii]
    x_high = norm(net.x_lift_norm, mlp(net.x_lift, torch.cat([x_low, *sines, *around], dim=1)))
    for layer in (net.x_encoder, *net.x_more):
        x_high = encoder(layer, x_high, x_high, x, x)

    low = norm(net.z_norm, mlp(net.z_project, z))
    interaction = torch.einsum("ni,ijk,mk->nj", low, net.bilinear.alpha, x_low) / len(x)
    if net.bilinear.beta is not None:
        interaction = interaction + torch.einsum("ni,ijk,mk->j", low, net.bilinear.beta, x_low) / (
            len(z) * len(x)
        )
    low = norm(net.bilinear_norm, low + interaction)
    h = reset(norm(net.z_lift_norm, mlp(net.z_lift, low) + z))
    if net.z_encoder is not None:
        h = reset(encoder(net.z_encoder, h, h, at, at))
    for layer in net.cross:
        h = reset(encoder(layer, h, x_high, at, x))
    return norm(net.out_norm, h + mlp(net.out, h))[: len(free)]


@pytest.mark.parametrize("options", VARIANTS)
@pytest.mark.parametrize("with_fixed", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_split_network_is_the_plain_one(options, with_fixed, dtype):
    net = small_network(dim=3, dtype=dtype, **options)
    x, z, fixed = (
        PointClouds.from_list([torch.randn(n, dim, dtype=dtype) for n in sizes])
        for sizes, dim in (((7, 1, 4), 3), ((3, 5, 1), 8), ((2, 6, 1), 8))
    )
    image = net.step(z, net.encode(x, fixed if with_fixed else None))
    assert torch.equal(image.mask, z.mask)
    assert (image.points[~z.mask] == 0).all()
    none = torch.zeros(0, 8, dtype=dtype)
    for found, *clouds in zip(image, x, z, fixed if with_fixed else [none] * 3, strict=True):
        assert relative_gap(found, plain(net, *clouds)) < (
            1e-5 if dtype == torch.float32 else 1e-12
        )


def test_the_split_network_of_the_paper_is_the_plain_one():
    net = EquilibriumNetwork(2, Network(cross_layers=3)).eval().requires_grad_(False)
    x, z, fixed = torch.randn(40, 2), torch.randn(10, 128), torch.randn(40, 128)
    image = net.step(
        PointClouds.from_list([z]),
        net.encode(PointClouds.from_list([x]), PointClouds.from_list([fixed])),
    )
    assert relative_gap(image.to_list()[0], plain(net, x, z, fixed)) < 1e-5


variants = pytest.mark.parametrize("options", VARIANTS[::2])


@variants
@given(clouds=cloud_lists(2), seed=seeds, with_fixed=st.booleans())
def test_equivariant_in_z_and_invariant_in_x(options, clouds, seed, with_fixed):
    net = small_network(**options)
    x, z, fixed = problem(clouds, seed)
    image = net.step(z, net.encode(x, fixed if with_fixed else None))
    assert image.points.isfinite().all()
    (other_z, orders), other_x, other_fixed = (
        shuffled(c, seed)[:k] for c, k in ((z, 2), (x, 1), (fixed, 1))
    )
    moved = net.step(other_z, net.encode(other_x[0], other_fixed[0] if with_fixed else None))
    for a, b, order in zip(image, moved, orders, strict=True):
        assert relative_gap(b, a[order]) < 1e-10


@variants
@given(clouds=cloud_lists(2, min_clouds=2), seed=seeds, with_fixed=st.booleans())
def test_padding_and_batch_mates_change_nothing(options, clouds, seed, with_fixed):
    net = small_network(**options)
    x, z, fixed = problem(clouds, seed)
    image = net.step(z, net.encode(x, fixed if with_fixed else None))
    wide = net.step(
        widened(z, 2), net.encode(widened(x, 3), widened(fixed, 4) if with_fixed else None)
    )
    assert relative_gap(wide.points[:, :-2], image.points) < 1e-10
    for b, expected in enumerate(image):
        one_x, one_z, one_fixed = (PointClouds.from_list([c.to_list()[b]]) for c in (x, z, fixed))
        alone = net.step(one_z, net.encode(one_x, one_fixed if with_fixed else None))
        assert relative_gap(alone.points[0], expected) < 1e-10


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_awkward_clouds_have_finite_values_and_gradients(kind, dtype):
    net = small_network(dtype=dtype).requires_grad_(True)
    x = make_cloud(kind, 4, 2, seed=1, dtype=dtype).requires_grad_()
    z = make_cloud(kind, 3, 8, seed=2, dtype=dtype).requires_grad_()
    image = net.step(PointClouds.from_list([z]), net.encode(PointClouds.from_list([x])))
    torch.sin(image.points).sum().backward()
    assert image.points.isfinite().all()
    assert all(t.grad.isfinite().all() for t in (x, z, *net.parameters()))


def particle_jacobian(options):
    """Which particle of ``F(Z)`` depends on which of ``Z``, largest derivative, ``(N, N)``."""
    net = small_network(**options)
    context = net.encode(PointClouds.from_list([torch.randn(5, 2).double()]))
    jacobian = torch.autograd.functional.jacobian(
        lambda p: net.step(PointClouds.from_tensor(p[None]), context).points[0],
        torch.randn(4, 8).double(),
    )
    return jacobian.abs().amax((1, 3))


def test_a_push_forward_acts_on_each_particle_by_itself():
    off_diagonal = ~torch.eye(4, dtype=torch.bool)
    assert (particle_jacobian({"pushforward": True})[off_diagonal] == 0).all()
    assert particle_jacobian({"pushforward": True}).diagonal().min() > 1e-6
    assert particle_jacobian({})[off_diagonal].min() > 1e-9


@pytest.mark.parametrize("options", VARIANTS)
def test_a_context_can_be_narrowed_and_cut(options):
    net = small_network(**options).requires_grad_(True)
    x, z, fixed = problem([make_cloud("normal", n, 2, seed=n) for n in (5, 2, 7)], seed=0)
    f = net.bind(net.encode(x, fixed))
    index = torch.tensor([2, 0])
    assert relative_gap(f.select(index)(z[index]).points, f(z).points[index]) < 1e-12
    assert torch.equal(f.detach()(z).points, f(z).points)
    assert f.context.mask.requires_grad is False
    cut = f.detach().context
    tensors = [*cut.bilinear, *(t for source in cut.sources for t in source)]
    tensors += [] if cut.fixed is None else [*cut.fixed.source, cut.fixed.total]
    assert not any(t.requires_grad for t in tensors if t is not None)


@pytest.mark.parametrize("options", VARIANTS)
def test_every_parameter_has_a_gradient(options):
    net = small_network(**options).requires_grad_(True)
    x, z, fixed = problem([make_cloud("normal", n, 2, seed=n) for n in (5, 2)], seed=0)
    torch.sin(net.step(z, net.encode(x, fixed)).points).sum().backward()
    assert [name for name, p in net.named_parameters() if p.grad is None] == []


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients(mode):
    net = small_network()
    x, z, fixed = problem([make_cloud("normal", n, 2, seed=n) for n in (5, 2)], seed=0)
    expected = net.step(z, net.encode(x, fixed)).points
    with mode():
        assert torch.equal(net.bind(net.encode(x, fixed))(z).points, expected)
