"""PCN (Yuan et al., 2018): a code of the partial cloud, a coarse cloud from it, folded finer."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ddeq.measures.clouds import PointClouds
from ddeq.measures.divergences import mmd2
from ddeq.models.baselines.layers import max_pool, shared_mlp
from ddeq.models.pretrained import Pretrained

__all__ = ["PCN"]

_CODE = 1024


class PCN(Pretrained, nn.Module):
    """A whole new cloud for a partial one; its points are not those of the input.

    Two PointNet layers give a code ``v``: ``g = max_i phi_1(x_i)``,
    ``v = max_i phi_2([phi_1(x_i), g])``. A decoder turns it into ``coarse`` points ``c_k``, and
    folding puts a small grid of ``grid^2`` cells ``u`` at each: ``c_k + psi([u, c_k, v])``. There
    is no batch norm and nothing is random: a cloud's result never depends on its batch.

    Args:
        dim: ``d``, dimension of the points.
        coarse: Points of the coarse cloud; the paper uses 256 for digits, 768 for ModelNet40.
        grid: Cells along a side of the grid; the paper uses one.
        scale: Half the side of the grid.
        proportions: :meth:`complete` brings clouds to unit size by one scale for all coordinates.

    Example:
        >>> x = PointClouds.from_list([torch.randn(70, 2), torch.randn(41, 2)])
        >>> PCN(dim=2).complete(x).lengths.tolist()
        [256, 256]
    """

    kind: ClassVar[str] = "pcn"
    grid: Tensor

    def __init__(
        self,
        dim: int,
        *,
        coarse: int = 256,
        grid: int = 1,
        scale: float = 0.05,
        proportions: bool = False,
    ) -> None:
        super().__init__()
        self.proportions = proportions
        if coarse < 1 or grid < 1:
            raise ValueError(f"coarse and grid must be positive: {coarse}, {grid}")
        self.dim, self.coarse, self.side, self.scale = dim, coarse, grid, scale
        self.first = shared_mlp((dim, 128, 256), norm=False, last=False)
        self.second = shared_mlp((512, 512, _CODE), norm=False, last=False)
        self.decoder = shared_mlp((_CODE, 1024, 1024, coarse * dim), norm=False, last=False)
        self.fold = shared_mlp((2 + dim + _CODE, 512, 512, dim), norm=False, last=False)
        cells = torch.linspace(-scale, scale, grid) if grid > 1 else torch.zeros(1)
        self.register_buffer("grid", torch.cartesian_prod(cells, cells), persistent=False)
        self.eval()

    def forward(self, x: PointClouds) -> PointClouds:
        """Whole clouds for partial ones in the network's frame, ``(B, coarse grid^2, d)``."""
        return self.coarse_and_fine(x)[1]

    def coarse_and_fine(self, x: PointClouds) -> tuple[PointClouds, PointClouds]:
        """The coarse cloud, ``(B, coarse, d)``, and the folded one."""
        code = self.encode(x)
        centres = self.decoder(code).unflatten(1, (self.coarse, self.dim))
        cells = self.grid.to(code)  # (g, 2)
        size, g = len(code), len(cells)
        near = centres.repeat_interleave(g, 1)  # (B, K g, d)
        inputs = [
            cells.repeat(self.coarse, 1).expand(size, -1, -1),
            near,
            code[:, None].expand(-1, self.coarse * g, -1),
        ]
        fine = near + self.fold(torch.cat(inputs, dim=2))
        return PointClouds.from_tensor(centres), PointClouds.from_tensor(fine)

    def encode(self, x: PointClouds) -> Tensor:
        """The code of each cloud, ``(B, 1024)``."""
        if x.dim != self.dim:
            raise ValueError(f"the network takes clouds of dimension {self.dim}, got {x.dim}")
        x = x.to(self.grid.dtype)
        features = self.first(x.points[x.mask])  # (T, 256)
        whole = max_pool(features, x.mask).repeat_interleave(x.lengths, 0)
        return max_pool(self.second(torch.cat([features, whole], dim=1)), x.mask)

    def loss(self, x: PointClouds, target: PointClouds, alpha: float = 0.5) -> Tensor:
        """``MMD^2(fine, target) + alpha MMD^2(coarse, target)``, ``(B,)``.

        Squared MMD with the kernel ``-|x - y|``, as for :class:`ddeq.Completer`, so that the two
        are trained to the same end; the original uses Chamfer or earth mover's distances.
        """
        coarse, fine = self.coarse_and_fine(x)
        return mmd2(fine, target) + alpha * mmd2(coarse, target)

    @torch.no_grad()
    def complete(self, x: PointClouds, normalize: bool = True) -> PointClouds:
        """Whole clouds for partial ones in any units.

        Args:
            x: Partial clouds.
            normalize: As in :meth:`ddeq.Completer.complete`.
        """
        if not normalize:
            return self(x).to(x.points.dtype)
        y, frame = x.normalize(self.proportions)
        return frame.invert(self(y).to(x.points.dtype))

    def config(self) -> dict[str, Any]:
        return {
            "dim": self.dim,
            "coarse": self.coarse,
            "grid": self.side,
            "scale": self.scale,
            "proportions": self.proportions,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> PCN:
        """A model with fresh weights from what :meth:`config` returned."""
        return cls(**config)
