"""The pieces of the network, dropout, sizes, and options that are refused."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from maps import SMALL, relative_gap, shuffled, small_network, widened
from network_problems import problem
from strategies import make_cloud, seeds
from torch.nn import functional

from ddeq import PointClouds
from ddeq.nn import (
    Attention,
    Bilinear,
    Coupling,
    EquilibriumNetwork,
    Groups,
    Network,
    NetworkConfig,
)
from ddeq.registry import from_json, to_json


def size(module):
    return sum(p.numel() for p in module.parameters())


def test_parameter_counts_are_those_of_the_paper():
    small, large = (EquilibriumNetwork(2, Network(cross_layers=layers)) for layers in (1, 3))
    assert size(small) == 775_616
    assert size(small) == pytest.approx(776_000, rel=0.02)
    assert size(large) == pytest.approx(1_170_000, rel=0.02)
    assert size(large) - size(small) == 2 * size(small.cross[0])
    assert size(Coupling(128)) == 8_320  # half of the paper's: without phi


NAN = float("nan")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[(name, bad) for name in ("features", "bilinear", "head_size", "expansion", "x_layers")
          for bad in (0, -4, True, 2.0, NAN, "4", None, 10**9)],
        *[(name, bad) for name in ("cross_layers", "fourier", "marks")
          for bad in (-1, True, 1.0, NAN, None, 10**6)],
        *[("dropout", bad) for bad in (1.0, -0.1, NAN, float("inf"), True, "0")],
        *[("radii", bad) for bad in ((0.5, 0.0), (-1.0,), (NAN,), (True,), 0.5, "1", (1.0,) * 17)],
        *[(name, bad) for name in ("pushforward", "near") for bad in (0, 1, "no", None)],
        ("head_size", 3),
        ("groups", {"points": [8, 4]}),
        ("groups", 3),
    ],
)  # fmt: skip
def test_a_value_out_of_bounds_is_one_line_that_names_the_field(field, value):
    with pytest.raises(ValueError, match=field) as error:
        Network(**{**SMALL, field: value})
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(
    "options",
    [
        {"points": (8, 16), "widths": (4, 4)},
        {"points": (8,), "widths": (4,)},
        {"points": (8, 4, 2), "widths": (4, 4)},
        {"points": (8, 0), "widths": (4, 4)},
        {"points": (8, 4), "widths": (4, True)},
        {"points": (8, 4), "widths": (4, 4), "size": 0},
        {"points": "84", "widths": (4, 4)},
    ],
)
def test_bad_groups_are_refused_in_one_line(options):
    with pytest.raises(ValueError, match="groups") as error:
        Groups(**options)
    assert "\n" not in str(error.value)


def test_other_bad_options_are_refused():
    with pytest.raises(TypeError):
        Network(heads=4)
    with pytest.raises(ValueError, match="near and groups"):
        Network(near=True, groups=Groups())
    for dim in (0, -1, True, 2.0, 1000):
        with pytest.raises(ValueError, match="dim"):
            EquilibriumNetwork(dim, Network(**SMALL))


@pytest.mark.parametrize("network", [Network(), Network(radii=[0.5, 1], groups=Groups(), marks=2)])
def test_a_configuration_as_json(network):
    assert from_json(json.loads(json.dumps(to_json(network))), NetworkConfig) == network


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
