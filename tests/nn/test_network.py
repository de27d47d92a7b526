"""The equilibrium network against a plain version of Figure 2, and the symmetries it promises."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from maps import SMALL, relative_gap, shuffled, small_network, widened
from strategies import KINDS, cloud_lists, make_cloud, seeds
from torch.nn import functional

from ddeq import PointClouds
from ddeq.nn import Attention, Bilinear, Coupling, EquilibriumNetwork

VARIANTS = [
    {},
    {"cross_layers": 3},
    {"pushforward": True},
    {"pushforward": True, "cross_layers": 2},
    {"waves": 3},
    {"radii": (0.5, 2.0), "pushforward": True},
    {"waves": 1, "radii": (1.0,)},
]


# --- a plain version, one cloud at a time, everything recomputed -----------------------------


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


def attention(layer, target, source):
    """Softmax attention written out, head by head, ``(N, p), (M, p) -> (N, p)``."""
    size, p = layer.head_size, target.shape[1]
    query, key_value = linear(layer.query, target), linear(layer.key_value, source)
    heads = []
    for start in range(0, p, size):
        q, k = query[:, start : start + size], key_value[:, start : start + size]
        v = key_value[:, p + start : p + start + size]
        scores = torch.exp(q @ k.T / size**0.5)
        heads.append(scores / scores.sum(1, keepdim=True) @ v)
    return linear(layer.out, torch.cat(heads, dim=1))


def encoder(layer, target, source):
    target = norm(layer.norm_attention, target + attention(layer.attention, target, source))
    return norm(layer.norm_mlp, target + mlp(layer.mlp, target))


def surroundings(x, radius):
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

    def reset(h):
        return torch.cat([h[: len(free)], fixed])

    x_low = norm(net.x_norm, mlp(net.x_project, x))
    pairs = list(itertools.combinations(range(x.shape[1]), 2))
    along = [x[:, i] for i in range(x.shape[1])]
    along += [(x[:, i] + x[:, j]) * 0.5**0.5 for i, j in pairs]
    along += [(x[:, i] - x[:, j]) * 0.5**0.5 for i, j in pairs]
    waves = [
        wave(2**k * t)[:, None]
        for t in along
        for wave in (torch.sin, torch.cos)
        for k in range(net.waves)
    ]
    around = [surroundings(x, radius) for radius in net.radii]
    x_high = norm(net.x_lift_norm, mlp(net.x_lift, torch.cat([x_low, *waves, *around], dim=1)))
    x_high = encoder(net.x_encoder, x_high, x_high)

    low = norm(net.z_norm, mlp(net.z_project, z))
    interaction = torch.einsum("ni,ijk,mk->nj", low, net.bilinear.alpha, x_low) / len(x)
    if net.bilinear.beta is not None:
        interaction = interaction + torch.einsum("ni,ijk,mk->j", low, net.bilinear.beta, x_low) / (
            len(z) * len(x)
        )
    low = norm(net.bilinear_norm, low + interaction)
    h = reset(norm(net.z_lift_norm, mlp(net.z_lift, low) + z))
    if net.z_encoder is not None:
        h = reset(encoder(net.z_encoder, h, h))
    for layer in net.cross:
        h = reset(encoder(layer, h, x_high))
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
    net = EquilibriumNetwork(2, cross_layers=3).eval().requires_grad_(False)
    x, z, fixed = torch.randn(40, 2), torch.randn(10, 128), torch.randn(40, 128)
    image = net.step(
        PointClouds.from_list([z]),
        net.encode(PointClouds.from_list([x]), PointClouds.from_list([fixed])),
    )
    assert relative_gap(image.to_list()[0], plain(net, x, z, fixed)) < 1e-5


# --- symmetries ------------------------------------------------------------------------------


def problem(clouds, seed):
    """Inputs, free and fixed particles for a network with 8 features."""
    torch.manual_seed(seed)
    x = PointClouds.from_list(clouds)
    z, fixed = (
        PointClouds.from_list(
            [torch.randn(1 + (len(c) * k + b) % 5, 8).double() for b, c in enumerate(clouds)]
        )
        for k in (1, 3)
    )
    return x, z, fixed


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


# --- sizes -----------------------------------------------------------------------------------


def size(module):
    return sum(p.numel() for p in module.parameters())


def test_parameter_counts_are_those_of_the_paper():
    small, large = (EquilibriumNetwork(2, cross_layers=layers) for layers in (1, 3))
    assert size(small) == 775_616
    assert size(small) == pytest.approx(776_000, rel=0.02)
    assert size(large) == pytest.approx(1_170_000, rel=0.02)
    assert size(large) - size(small) == 2 * size(small.cross[0])
    assert size(Coupling(128)) == 16_640


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"dropout": 1.0}, ValueError),
        ({"dropout": -0.1}, ValueError),
        ({"head_size": 3}, ValueError),
        ({"waves": -1}, ValueError),
        ({"radii": (0.5, 0.0)}, ValueError),
        ({"heads": 4}, TypeError),
    ],
)
def test_bad_options_are_refused(options, error):
    with pytest.raises(error):
        EquilibriumNetwork(2, **{**SMALL, **options})


# --- dropout ---------------------------------------------------------------------------------


def test_dropout_is_one_map_during_a_solve():
    net = small_network(dropout=0.5).train()
    x, z, fixed = problem([make_cloud("normal", n, 2, seed=n) for n in (5, 2)], seed=0)
    f, other = (net.bind(net.encode(x, fixed)) for _ in range(2))
    assert torch.equal(f(z).points, f(z).points)
    assert relative_gap(other(z).points, f(z).points) > 1e-3
    index = torch.tensor([1])
    assert relative_gap(f.select(index)(z[index]).points, f(z).points[index]) < 1e-12
    net.eval()
    assert all(drop is None for drop in net.encode(x, fixed).drops)
    assert torch.equal(net.step(z, net.encode(x)).points, net.step(z, net.encode(x)).points)


def test_dropout_has_one_mask_for_all_particles_of_a_cloud():
    """So that ``F`` stays equivariant; another mask for another cloud."""
    net = small_network(dropout=0.5).train()
    cloud, particle = make_cloud("normal", 5, 2, seed=0), torch.randn(1, 8).double()
    x = PointClouds.from_list([cloud, cloud])
    z = PointClouds.from_list([particle.repeat(4, 1)] * 2)
    image = net.step(z, net.encode(x)).points
    assert relative_gap(image[:, 1:], image[:, :1].expand(-1, 3, -1)) < 1e-12
    assert relative_gap(image[0], image[1]) > 1e-3


def test_dropout_on_the_x_path_has_one_mask_too():
    net = small_network(dropout=0.5).train()
    x, z, _ = problem([make_cloud("normal", 6, 2, seed=0)], seed=0)
    images = []
    for cloud in (x, shuffled(x, 3)[0], widened(x, 2)):
        torch.manual_seed(5)
        images.append(net.step(z, net.encode(cloud)).points)
    assert all(relative_gap(image, images[0]) < 1e-12 for image in images)


def test_dropout_keeps_the_mean():
    net = small_network(dropout=0.25, features=64, bilinear=4).train()
    x = PointClouds.from_tensor(torch.randn(50, 3, 2).double())
    for drop in net.encode(x).drops:
        assert drop.shape == (50, 1, 256)
        values, counts = drop.unique(return_counts=True)
        assert torch.allclose(values, torch.tensor([0.0, 1 / 0.75], dtype=drop.dtype))
        assert counts[0] / counts.sum() == pytest.approx(0.25, abs=0.02)


def test_no_dropout_rate_no_masks():
    net = small_network(dropout=0.0).train()
    assert all(
        d is None for d in net.encode(PointClouds.from_tensor(torch.ones(1, 3, 2).double())).drops
    )


# --- the pieces ------------------------------------------------------------------------------


@pytest.mark.parametrize("head_size", [1, 4, 8])
def test_attention_is_that_of_torch(head_size):
    layer = Attention(8, head_size).double()
    target, source = torch.randn(2, 3, 8).double(), torch.randn(2, 5, 8).double()
    padding = torch.tensor([[False] * 5, [False, False, True, True, True]])
    expected, _ = functional.multi_head_attention_forward(
        target.transpose(0, 1),
        source.transpose(0, 1),
        source.transpose(0, 1),
        8,
        8 // head_size,
        torch.cat([layer.query.weight, layer.key_value.weight]),
        torch.cat([layer.query.bias, layer.key_value.bias]),
        None,
        None,
        False,
        0.0,
        layer.out.weight,
        layer.out.bias,
        training=False,
        key_padding_mask=padding,
        need_weights=False,
    )
    mask = torch.zeros(2, 1, 1, 5).double().masked_fill(padding[:, None, None], -torch.inf)
    found = layer(target, layer.keys_values(source), mask)
    assert torch.allclose(found, expected.transpose(0, 1), atol=1e-12)


@pytest.mark.parametrize("interaction", [True, False])
def test_bilinear_layer_written_out(interaction):
    layer = Bilinear(3, interaction=interaction).double()
    z, x = torch.randn(1, 4, 3).double(), torch.randn(1, 5, 3).double()
    found = layer(z, z.mean(1), x.mean(1))
    for n in range(4):
        for j in range(3):
            value = sum(
                z[0, n, i] * layer.alpha[i, j, k] * x[0, m, k] / 5
                for i in range(3)
                for k in range(3)
                for m in range(5)
            )
            if interaction:
                value += sum(
                    z[0, r, i] * layer.beta[i, j, k] * x[0, m, k] / 20
                    for r in range(4)
                    for i in range(3)
                    for k in range(3)
                    for m in range(5)
                )
            assert torch.allclose(found[0, n, j], value)
    assert (layer.beta is None) == (not interaction)
    twice = layer(2 * z, 2 * z.mean(1), 3 * x.mean(1))
    assert torch.allclose(twice, 6 * found)  # bilinear


@given(seeds, st.sampled_from([torch.float32, torch.float64]), st.sampled_from([2, 8, 128]))
def test_coupling_is_invertible(seed, dtype, features):
    torch.manual_seed(seed)
    coupling = Coupling(features).to(dtype)
    z = 3 * torch.randn(5, 7, features, dtype=dtype)
    lifted = coupling(z)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-13
    assert relative_gap(coupling.inverse(lifted), z) < tolerance
    assert relative_gap(coupling(coupling.inverse(z)), z) < tolerance
    assert torch.equal(lifted[..., : features // 2], z[..., : features // 2])
    assert not torch.allclose(lifted[..., features // 2 :], z[..., features // 2 :])


def test_lift_pads_with_zeros():
    coupling = Coupling(8)
    x = torch.randn(2, 3, 2)
    padded = torch.cat([x, torch.zeros(2, 3, 6)], dim=2)
    assert torch.equal(coupling.lift(x), coupling(padded))
    assert torch.allclose(coupling.inverse(coupling.lift(x)), padded, atol=1e-6)


def test_coupling_needs_an_even_number_of_features():
    with pytest.raises(ValueError, match="halves"):
        Coupling(7)
