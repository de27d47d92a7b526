"""A network of one's own, mixed precision, ``torch.compile`` and ``torch.export``."""

import logging
from dataclasses import dataclass

import pytest
import torch
from maps import relative_gap
from torch import nn
from torch._dynamo.testing import CompileCounter

from ddeq import Classifier, Completer, PointClouds
from ddeq.models.export import export_parts
from ddeq.models.regressor import Regressor
from ddeq.nn import Groups, MeasureNetwork, Network, NetworkConfig
from ddeq.solvers import Picard, Weiszfeld

PLAIN = Network(features=16, bilinear=4, cross_layers=2)
RICH = Network(
    features=16, head_size=8, fourier=2, radii=(0.5,), x_layers=2, marks=2, near=True, expansion=2
)
GROUPED = Network(features=16, groups=Groups((12, 6, 3), (4, 6, 8), 3), marks=1)
NETWORKS = {"plain": PLAIN, "rich": RICH, "grouped": GROUPED}
every_network = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
both = pytest.mark.parametrize("kind", ["classifier", "completer"])


@pytest.fixture(autouse=True)
def _quiet_trace(monkeypatch):
    """Keeps torch's trace of its compiler from pytest, which would spend most of the time on it."""
    monkeypatch.setattr(logging.getLogger("torch.__trace"), "propagate", False)


def model(kind, network, **options):
    torch.manual_seed(0)
    options = {"network": network, "solver": Weiszfeld(6, 1e-3), **options}
    made = (
        Completer(2, estimate=True, empty=True, **options)
        if kind == "completer"
        else Classifier(2, 3, particles=4, **options)
    )
    for parameter in made.parameters():  # nothing is zero any more, such as fresh marks
        parameter.data += 0.05 * torch.randn_like(parameter)
    return made


def clouds(*sizes):
    draw = torch.Generator().manual_seed(1)
    return PointClouds.from_list([torch.randn(n, 2, generator=draw) for n in sizes])


# --- a network of one's own ------------------------------------------------------------------


@dataclass(frozen=True)
class MeanFieldConfig(NetworkConfig):
    """The configuration of :class:`MeanField`."""

    width: int = 6
    gain: float = 0.5

    def build(self, dim):
        return MeanField(dim, self)


class MeanField(MeasureNetwork):
    """``F(Z, X)_i = gain tanh(W z_i) + V mean(X) + b``."""

    def __init__(self, dim, config):
        super().__init__(dim, config.width)
        self.gain = config.gain
        self.w, self.v = nn.Linear(config.width, config.width), nn.Linear(dim, config.width)

    def encode(self, x, fixed=None):
        return self.v(x.mean())

    def step(self, z, context):
        return z.with_points(self.gain * self.w(z.points).tanh() + context[:, None])


@pytest.mark.parametrize(
    "make",
    [
        lambda network: Classifier(2, 3, network=network),
        lambda network: Regressor(2, network=network),
        lambda network: Completer(2, network=network),
    ],
)
def test_a_network_of_ones_own_is_used_saved_and_loaded(make, tmp_path):
    made = make(MeanFieldConfig(width=4, gain=0.25))
    made.solver = Picard(20, 1e-6)
    made.save_pretrained(tmp_path)
    copy = type(made).from_pretrained(tmp_path)
    assert copy.network_config == MeanFieldConfig(4, 0.25)
    x = clouds(9, 4)
    found, expected = (m(x) for m in (copy, made))
    if isinstance(made, Completer):
        found, expected = found.points, expected.points
    assert torch.equal(found, expected)
    found.sum().backward()
    assert copy.network.w.weight.grad.abs().sum() > 0
    assert made.latent(x)[1].converged.all()


def test_fields_of_the_network_go_to_the_network_that_is_given():
    with pytest.raises(TypeError, match="features"):
        Classifier(2, 3, network=PLAIN, features=8)
    assert Classifier(2, 3, features=8).network_config == Network(cross_layers=1, features=8)
    assert Completer(2).network_config == Network()


# --- mixed precision -------------------------------------------------------------------------


@both
@every_network
def test_autocast_gives_nearly_the_same(kind, network):
    made, x = model(kind, network), clouds(30, 17)
    seen = []
    made.network.out.register_forward_hook(lambda module, args, out: seen.append(out.dtype))
    counts = {"counts": torch.tensor([7, 5])} if kind == "completer" else {}
    with torch.no_grad():
        expected = made.latent(x, **counts)[0].points
        assert set(seen) == {torch.float32}
        seen.clear()
        with torch.autocast("cpu", torch.bfloat16):
            z, solution = made.latent(x, **counts)
            result = made(x)
    assert set(seen) == {torch.bfloat16}
    assert z.points.dtype == torch.float32
    assert solution.residual.dtype == torch.float32
    assert relative_gap(z.points, expected) < 0.1
    assert (result.points if kind == "completer" else result).isfinite().all()


@both
@every_network
def test_a_model_can_be_trained_under_autocast(kind, network):
    made, x = model(kind, network), clouds(12, 7)
    made.train()
    with torch.autocast("cpu", torch.bfloat16):
        if kind == "completer":
            loss = made(x, counts=torch.tensor([4, 3])).points.sin().sum()
        else:
            loss = made(x).float().logsumexp(1).sum()
    loss.backward()
    grads = [p.grad for name, p in made.named_parameters() if not name.startswith("missing")]
    assert all(grad is not None and grad.isfinite().all() for grad in grads)


@every_network
def test_complete_under_autocast_keeps_its_input_and_its_units(network):
    made, x = model("completer", network), clouds(30, 17)
    moved = x.map(lambda p: 1e3 * p + 1e4)
    with torch.autocast("cpu", torch.bfloat16):
        full = made.complete(moved, counts=torch.tensor([5, 6]))
    assert full.points.dtype == torch.float32
    for cloud, whole in zip(moved, full, strict=True):
        assert torch.equal(whole[: len(cloud)], cloud)
        assert ((whole[len(cloud) :] - cloud.mean(0)).abs() < 2e4).all()


# --- torch.compile ---------------------------------------------------------------------------


def test_a_compiled_step_is_not_compiled_for_every_size():
    made = model("completer", RICH, solver=Picard(2, 0.0))
    sizes = [(9, 4), (12, 7, 3), (30, 2), (8, 8, 8, 8), (40, 31)]
    with torch.no_grad():
        expected = [made.latent(clouds(*size))[0].points for size in sizes]
        counter = CompileCounter()
        made.network.compile(backend=counter)
        found = [made.latent(clouds(*size))[0].points for size in sizes]
    for a, b in zip(found, expected, strict=True):
        assert relative_gap(a, b) < 1e-5
    assert 1 <= counter.frame_count <= 2  # once more where fewer clouds are left than two
    assert set(made.state_dict()) == set(model("completer", RICH).state_dict())


# --- torch.export ----------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "network"), [("completer", RICH), ("classifier", GROUPED)])
def test_exported_parts_do_what_the_model_does(kind, network, tmp_path):
    made, x, z = model(kind, network), clouds(9, 5), clouds(4, 3)
    u = torch.randn(2, 4, max(network.marks, 1))
    z = z.with_points(torch.randn(2, 4, 16))
    fixed = x.map(made.coupling.lift) if kind == "completer" else None
    parts = export_parts(made, points=9, particles=4, batch=2)
    for name, program in parts.items():
        torch.export.save(program, tmp_path / f"{name}.pt2")
    run = {name: torch.export.load(tmp_path / f"{name}.pt2").module() for name in parts}
    with torch.no_grad():
        f = made.network.bind(made.network.encode(x, fixed)).mark(u)
        expected = f(f(z))
        context = run["encode"](x.points, x.mask, u)
        found = run["step"](z.points, z.mask, *context)
        found = run["step"](found, z.mask, *context)
        assert relative_gap(found, expected.points) < 1e-5
        answer = made.points(expected).points if kind == "completer" else made.logits(expected)
        assert relative_gap(run["head"](found, z.mask), answer) < 1e-5
