"""Completion of what people have: any hole, any density, nothing told but the visible points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ddeq.data import CloudDataset, affine, distort, mirror, rotate_z, stretch
from ddeq.data.augmentations import Augmentation
from ddeq.data.holes import HoleBatch, HoleDataset, HoleItem, collate_holes
from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import mmd2
from ddeq.measures.kernels import distances
from ddeq.measures.metrics import ot_distance
from ddeq.models import Completer
from ddeq.models.sampling import Sampling
from ddeq.nn import Edges, EquilibriumMap
from ddeq.nn.checks import number, whole
from ddeq.solvers.solution import Solution
from ddeq.tasks.base import share
from ddeq.tasks.completion import Completion, log_residual
from ddeq.tasks.pull import pull, second_path
from ddeq.tasks.report import Measured

__all__ = ["Holes", "to_surface", "transport"]

_CUTS = {"balls": 0.3, "brush": 0.2, "half": 0.2, "view": 0.3}
_FLOOR = 1e-2  # distances below it are as good as 0


@dataclass(frozen=True)
class Holes(Completion):
    """The missing points of a cloud from which anything, or nothing, was removed.

    Particles start at the network's proposals and go on by ``F``. The loss is ``w_free MMD^2(new,
    removed) + w_ot OT(new, removed) + w_near d(new, removed) + w_res log_residual``, and what
    the heads learn: the likelihood of the removed points under the proposals, how many points are
    missing, beside which points, and how far from the surface each new point is. A second path
    from a Gaussian start, with the same marks, is pulled to the end of the first, particle by
    particle. Whole clouds teach only that nothing is missing.

    Attributes:
        whole: Share of the clouds from which nothing is removed.
        told: Share of the tasks that are the paper's; see :class:`ddeq.data.holes.HoleDataset`.
        particles: New points of a cloud in training, however many are missing.
        reads: See :class:`ddeq.models.sampling.Sampling`.
        ot_weight: ``w_ot``.
        near_weight: ``w_near``, of the mean distance to the nearest removed point. The distance
            to the nearest point of the whole would do for a surface, but is least on what is
            visible: particles then gather there and leave the hole open.
        proposal_weight: Of the negative log likelihood.
        edge_weight: Of the cross entropy of "points are missing beside me".
        trust_weight: Of the squared error of the log expected distances.
    """

    noise: float = 0.0
    own_frame: float = 1.0
    count_weight: float = 0.1
    whole: float = 0.2
    told: float = 0.0
    particles: int = 80
    reads: int = 288
    ot_weight: float = 0.3
    near_weight: float = 0.3
    proposal_weight: float = 0.1
    edge_weight: float = 0.2
    trust_weight: float = 0.02
    pull_weight: float = 0.02

    name = "holes"
    metric = "ot_free"

    def __post_init__(self) -> None:
        super().__post_init__()
        share("task.whole", self.whole)
        share("task.told", self.told)
        whole("task.particles", self.particles, 1, 100_000)
        whole("task.reads", self.reads, 0, 100_000)
        for name in ("ot", "near", "proposal", "edge", "trust"):
            number(f"task.{name}_weight", getattr(self, f"{name}_weight"), 0.0, 1e9)

    def make_model(self, data: CloudDataset, **parts: Any) -> Completer:
        use = Sampling(self.reads, self.particles, candidates=3, solved=3 * self.particles)
        heads: dict[str, Any] = {"estimate": True, "empty": True, "trust": True}
        return Completer(data.dim, ratio=0.5, proportions=True, sampling=use, **heads, **parts)

    def prepare(self, data: CloudDataset) -> CloudDataset:
        return data.in_proportion()

    def augmentations(self, data: CloudDataset) -> tuple[Augmentation, ...]:
        """Any azimuth, a mirror and a stretch in 3-D; noise comes after the cut."""
        changes = {2: (affine,), 3: (rotate_z, mirror, stretch)}
        return changes.get(data.dim, (distort,))

    def items(self, data: Any, training: bool, seed: int) -> HoleDataset:  # type: ignore[override]
        """Clouds cut in all ways; to be validated on, each has a hole and all its points."""
        dim = data.dim if isinstance(data, CloudDataset) else data.data.dim
        cuts = {name: odds for name, odds in _CUTS.items() if name != "view" or dim == 3}
        if not training:
            return HoleDataset(data, cuts, seed=seed)
        total = sum(cuts.values())
        odds = {name: (1.0 - self.whole) * value / total for name, value in cuts.items()}
        return HoleDataset(data, odds | {"whole": self.whole}, self.told, changed=True, seed=seed)

    def collate(self, items: Sequence[HoleItem]) -> HoleBatch:  # type: ignore[override]
        return collate_holes(items)

    def loss(  # type: ignore[override]
        self,
        model: Completer,
        batch: HoleBatch,
        seed: int,
        start: PointClouds | None = None,
        part: tuple[int, int] = (0, 1),
        run_seed: int = 0,
    ) -> tuple[Tensor, Solution | None]:
        """The loss of a batch; what is random about it follows from ``(run_seed, seed)``."""
        x = model.read(batch.partial)
        every = model.encode(x, batch.partial)
        context = every.context
        assert model.missing is not None
        total = self.count_weight * model.missing.loss(context.summary, context.peak, batch.share)
        if context.edges is not None and batch.removed is not None:
            total = total + self.edge_weight * Edges.loss(context.edges, x, batch.removed)
        if batch.removed is None or batch.whole is None:
            return total.mean(), None
        some = torch.arange(len(batch.removed), device=batch.share.device)
        f, x = every.select(some), x[some]
        rng = np.random.default_rng([run_seed, seed])
        solved, solution = self._solved(model, f, x, batch.removed, batch.whole, rng)
        if f.context.proposals is not None:
            missed = f.context.proposals.negative_log_likelihood(batch.removed)
            solved = solved + self.proposal_weight * missed
        return total.mean() + solved.mean(), solution

    def _solved(
        self,
        model: Completer,
        f: EquilibriumMap,
        x: PointClouds,
        removed: PointClouds,
        surface: PointClouds,
        rng: np.random.Generator,
    ) -> tuple[Tensor, Solution]:
        """What is learned from the equilibria of clouds with a hole, ``(S,)``."""
        counts = torch.full_like(x.lengths, self.particles)
        noise = model.noise(counts, int(rng.integers(2**31)))
        f = f.mark(noise.points)
        last, solution = model.equilibrium(f, model.start(x, noise, f))
        z = f(last)
        new = model.points(z)
        gaps = to_surface(new, surface)
        loss = self.residual_weight * log_residual(last, z)
        loss = loss + self.free_weight * mmd2(new, removed)
        loss = loss + self.ot_weight * transport(new, removed)
        loss = loss + self.near_weight * self.near(new, removed, surface)
        error = model.log_distances(z.detach()) - (gaps.detach() + _FLOOR).log()
        loss = loss + self.trust_weight * error.square().mean(1)
        if self.pull_weight:
            loss = loss + self.pull_weight * pull(second_path(model, f, x, z, rng), z.detach())
        return loss, solution

    def near(self, new: PointClouds, removed: PointClouds, surface: PointClouds) -> Tensor:
        """``d(new, removed)``, ``(S,)``."""
        return to_surface(new, removed).mean(1)

    def validate(self, model: Completer, batch: HoleBatch) -> Measured:  # type: ignore[override]
        """OT of new points against the removed ones, distance to the surface, estimated share."""
        assert batch.removed is not None  # all were cut
        assert batch.whole is not None
        some = torch.arange(len(batch.removed), device=batch.share.device)
        x = batch.partial[some]
        f = model.encode(x)
        z, solution = model.latent(x, 0, torch.full_like(x.lengths, self.particles), f=f)
        new = model.points(z)
        values = {
            "ot_free": ot_distance(new, batch.removed),
            "surface": to_surface(new, batch.whole).mean(1),
            "share_error": (model.shares(f) - batch.share[some]).abs(),
        }
        return Measured(values, solution)

    def picture(self, *args: Any) -> None:
        """None: the validated clouds have holes of many kinds, and no class."""
        return None


def to_surface(new: PointClouds, surface: PointClouds) -> Tensor:
    """Distance of each new point to the nearest point of a surface, ``(B, N)``."""
    with torch.no_grad():
        gaps = distances(new.points, surface.points)
        index = gaps.masked_fill(~surface.mask[:, None], torch.inf).argmin(2)
    near = surface.points.gather(1, index[..., None].expand(-1, -1, new.dim))
    return ((new.points - near).square().sum(-1) + 1e-6).sqrt()


def transport(new: PointClouds, removed: PointClouds) -> Tensor:
    """``sum_ij P_ij |new_i - removed_j|`` with the optimal plan ``P``, ``(B,)``.

    The plan is found exactly, by network simplex, and held fixed: by the envelope theorem the
    gradient is that of the optimal transport cost.
    """
    import ot

    cost = distances(new.points, removed.points)
    plans = torch.zeros_like(cost)
    costs = cost.detach().double().cpu().numpy()
    for b, sizes in enumerate(zip(new.lengths.tolist(), removed.lengths.tolist(), strict=True)):
        n, m = sizes
        even = np.full(n, 1.0 / n), np.full(m, 1.0 / m)
        plan = ot.emd(*even, np.ascontiguousarray(costs[b, :n, :m]))
        plans[b, :n, :m] = torch.from_numpy(plan).to(plans)
    return (plans * cost).sum((1, 2))
