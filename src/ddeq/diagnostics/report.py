"""What was found, as text, as JSON values and against stated bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

__all__ = ["Bar", "EquilibriumReport", "short"]


def short(value: Tensor) -> Any:
    """A number or a list of numbers for a JSON file, four digits each."""
    if value.dim() == 0:
        return float(f"{float(value):.4g}")
    return [float(f"{number:.4g}") for number in value.tolist()]


@dataclass(frozen=True)
class Bar:
    """One thing that an equilibrium should satisfy.

    Attributes:
        name: What is measured.
        value: What was found.
        bar: What it should be, in words.
        passed: Whether it is.
    """

    name: str
    value: float
    bar: str
    passed: bool


@dataclass(frozen=True, eq=False)
class EquilibriumReport:
    """All measurements of one problem.

    Attributes:
        found: As JSON values; see :mod:`ddeq.diagnostics.checks`.
    """

    found: dict[str, Any]

    @property
    def bars(self) -> list[Bar]:
        """The stated bars, each with what was found."""
        found, drift = self.found, self.found["drift"]
        moved = drift["100x"]["over unit"]
        rows = [Bar(f"drift from 1x to 100x over {drift['over']}", moved, "<= 0.05", moved <= 0.05)]
        if found["metric"]:
            change = self._metric_change()
            name = f"{found['metric']} at 100x against 1x"
            rows.append(Bar(name, change, "<= 0.01", change <= 0.01))
        for when in ("as given", "at 10x"):
            least = min(row[when] for row in found["paths"].values())
            rows.append(Bar(f"AA-MMD of answers {when}", least, ">= 0.995", least >= 0.995))
        radii = torch.tensor(found["spectral radius"]["at the answer"])
        share = float((radii < 0.97).double().mean())
        rows.append(Bar("clouds with spectral radius < 0.97", share, ">= 0.95", share >= 0.95))
        small = found["residual"]["share of clouds at 1e-6"]
        name = f"clouds with residual over {found['residual']['over']} 1e-6 in 40 evaluations"
        rows.append(Bar(name, small, ">= 0.95", small >= 0.95))
        apart = found["particles"]["spread over distance of clouds"]
        distinct = found["particles"]["distinct"]
        rows.append(Bar("particles distinct: spread over distance", apart, "> 0.001", distinct))
        return rows

    def _metric_change(self) -> float:
        """Of a distance relative, of an accuracy absolute."""
        first, last = (self.found["drift"][key]["score"] for key in ("1x", "100x"))
        change = abs(last - first)
        return change if self.found["metric"] == "accuracy" else change / max(abs(first), 1e-300)

    @property
    def passed(self) -> bool:
        """Whether all bars are met."""
        return all(bar.passed for bar in self.bars)

    def to_json(self) -> dict[str, Any]:
        """What was found, and the bars."""
        return {**self.found, "bars": [vars(bar) for bar in self.bars], "passed": self.passed}

    def lines(self) -> list[str]:
        """The report for people."""
        found = self.found
        head = f"{found['clouds']} clouds, {found['evaluations']} evaluations of F per answer"
        bars = [
            f"{'pass' if bar.passed else 'FAIL'}  {bar.name:66} {bar.value:9.3g}  ({bar.bar})"
            for bar in self.bars
        ]
        return [head, "", *bars, "", *self._details()]

    def _details(self) -> list[str]:
        found, residual = self.found, self.found["residual"]
        radii = torch.tensor(found["spectral radius"]["at the answer"])
        rows = [
            f"residual of the answer: {residual['of the answer']:.2g} over {residual['over']}, "
            f"{residual['over start']:.2g} over that of the start",
            f"spectral radius at the answer: median {float(radii.median()):.3f}, "
            f"largest {float(radii.max()):.3f}",
        ]
        for factor in ("1x", "3x", "10x", "100x"):
            row = found["drift"][factor]
            score = f", {found['metric']} {row['score']:.4f}" if "score" in row else ""
            rows.append(
                f"{factor:>4} evaluations: W2 to the answer {row['W2 to the answer']:.3g}{score}"
            )
        for name, row in found["paths"].items():
            rows.append(f"from {name}: AA-MMD {row['as given']:.4f}, at 10x {row['at 10x']:.4f}")
        if "bypassed" in found:
            shown = ", ".join(f"{name} {value:.4f}" for name, value in found["bypassed"].items())
            rows.append(f"solver bypassed, {found['metric']}: {shown}")
            value = residual["rank correlation with error"]
            rows.append(
                f"rank correlation of residual and error: {'-' if value is None else value}"
            )
        for count, value in found["particles"].get("score by number", {}).items():
            rows.append(f"{count:>4} particles: {found['metric']} {value:.4f}")
        return rows
