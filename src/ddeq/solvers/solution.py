"""What a solver returns."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ddeq.measures.clouds import PointClouds
from ddeq.measures.metrics import spread

__all__ = ["Solution"]


@dataclass(frozen=True, eq=False)
class Solution:
    """An equilibrium ``z = F(z)``, as a measure, with what is known of it cloud by cloud.

    Attributes:
        value: The best iterate found, ``z``.
        image: ``F(z)``, as evaluated by the solver (nothing is computed twice).
        residual: ``D(z, F(z))`` with the solver's divergence, ``MMD^2`` by default, ``(B,)``.
        initial_residual: ``D(z_0, F(z_0))``, ``(B,)``.
        steps: Evaluations of ``F`` until the cloud stopped, ``(B,)``.
        converged: ``residual <= tol * initial_residual`` up to rounding, ``(B,)`` bool.
        failed: Stopped because of an infinite or NaN value, ``(B,)`` bool.
        residuals: ``D(z_k, F(z_k))`` of every step, constant after a cloud's stop, ``(K, B)``.
        trajectory: The iterates ``z_0, z_s, z_2s, ...`` that were asked for, then ``value``.
    """

    value: PointClouds
    image: PointClouds
    residual: Tensor
    initial_residual: Tensor
    steps: Tensor
    converged: Tensor
    failed: Tensor
    residuals: Tensor
    trajectory: tuple[PointClouds, ...] = ()

    @property
    def relative_residual(self) -> Tensor:
        """``D(z, F(z)) / D(z_0, F(z_0))``, 0 if ``z_0`` is a fixed point, ``(B,)``."""
        ratio = self.residual / self.initial_residual
        return ratio.masked_fill(self.initial_residual == 0, 0.0)

    @property
    def spread(self) -> Tensor:
        """Root mean square distance of the particles from their mean, ``(B,)``.

        A small residual with no spread is a collapse: all particles in one place.
        """
        return spread(self.value)

    @property
    def status(self) -> list[str]:
        """One sentence per cloud."""
        return [
            "Nonfinite (inf or nan) values were met; this is the best iterate before them."
            if failed
            else "Converged."
            if converged
            else "The largest number of steps was reached before the tolerance."
            for failed, converged in zip(self.failed, self.converged, strict=True)
        ]
