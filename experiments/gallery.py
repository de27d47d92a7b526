"""Every solver on every equation of the gallery: ``python experiments/gallery.py``.

Writes ``results/gallery.json``, one picture per equation and ``docs/gallery.md``, in about a minute
of processor time. With ``--page`` only the page, from the results that are there.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gallery_page import page
from gallery_pictures import draw, draw_iterated

from ddeq.gallery import Equation, equations
from ddeq.measures.clouds import PointClouds
from ddeq.registry import known
from ddeq.solvers import Anderson, Chain, Picard, Solver, Transport, WassersteinFlow, Weiszfeld
from ddeq.solvers.solution import Solution

ROOT = Path(__file__).resolve().parent.parent
EVALUATIONS = 100
PARTICLES = 200
# the flow's step is a length; momentum and the adaptive step are what make it quick
VARIANTS = {
    "Anderson(of=Transport())": Anderson(of=Transport()),
    "Anderson(of=Weiszfeld())": Anderson(of=Weiszfeld()),
    "Chain(Weiszfeld(4), Picard())": Chain(Weiszfeld(4), Picard()),
    "Picard(damping=0.5)": Picard(damping=0.5),
    "WassersteinFlow": WassersteinFlow(step_size=1.0),
    "WassersteinFlow(momentum, adaptive)": WassersteinFlow(
        step_size=1.0, momentum=0.8, adaptive=True
    ),
}


def solvers() -> dict[str, Solver]:
    """Every registered solver as it comes, but for a chain of none, and the variants above."""
    plain = {name: cls() for name, cls in known(Solver).items() if cls is not Chain}
    return dict(sorted({**plain, **VARIANTS}.items()))


def answers(solution: Solution) -> list[PointClouds]:
    """What the solver would have returned after 1, 2, ... evaluations: the best by residual."""
    best = torch.cummin(solution.residuals, 0).indices  # (K, B)
    past = torch.stack([z.points for z in solution.trajectory[:-1]])  # (K, B, N, p)
    clouds = torch.arange(best.shape[1])
    return [solution.value.with_points(past[row, clouds]) for row in best]


def measure(equation: Equation, solver: Solver, least: float) -> dict[str, Any]:
    """One solve of ``EVALUATIONS`` evaluations.

    Args:
        equation: What to solve.
        solver: By what.
        least: Error of the particles' own equilibrium: what they can resolve.

    Returns:
        ``errors`` of the answers after 1, 2, ... evaluations, the mean ``seconds`` of an
        evaluation, the last ``residual`` and ``spread``, and the evaluations after which the error
        is and stays ``within`` 5 % of ``least`` (or 0.01 of the spread), None if it never does.
    """
    solver = replace(solver, max_steps=EVALUATIONS, tol=0.0)
    began = time.perf_counter()
    solution = solver.solve(equation.f, equation.z0, save_every=1)
    seconds = time.perf_counter() - began
    errors = [equation.error(z) for z in answers(solution)]
    apart = [k for k, error in enumerate(errors) if not error <= max(1.05 * least, least + 0.01)]
    within = apart[-1] + 1 if apart else 0
    return {
        "errors": [float(f"{error:.4g}") for error in errors],
        "seconds": float(f"{seconds / len(errors):.3g}"),
        "residual": float(f"{float(solution.residual.max()):.3g}"),
        "spread": float(f"{float(solution.spread.min()):.4g}"),
        "within": within if within < len(errors) else None,
    }


def run() -> dict[str, Any]:
    """All solvers on all equations, as JSON values."""
    results = {}
    for name, cls in equations().items():
        equation = cls(particles=PARTICLES)
        reference = equation.solver.solve(equation.f, equation.z0).value
        least = equation.error(reference)
        rows = {label: measure(equation, s, least) for label, s in solvers().items()}
        results[name] = {
            "title": equation.title,
            "particles": equation.particles,
            "start": float(f"{equation.error(equation.z0):.4g}"),
            "least": float(f"{least:.4g}"),
            "solvers": rows,
        }
        draw(equation, reference, results[name], ROOT / f"docs/images/gallery-{name}.png")
        print(f"{name}: {sum(len(r['errors']) * r['seconds'] for r in rows.values()):.1f} s")
    return results


def main() -> None:
    """Runs the experiment and writes its page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="only the page")
    record = ROOT / "results/gallery.json"
    if not parser.parse_args().page:
        torch.manual_seed(0)
        np.random.seed(0)
        torch.set_num_threads(1)
        began = time.perf_counter()
        results = run()
        draw_iterated(ROOT / "docs/images/gallery-iterated.png")
        record.parent.mkdir(exist_ok=True)
        record.write_text(json.dumps(results, indent=1) + "\n")
        print(f"{time.perf_counter() - began:.0f} s")
    (ROOT / "docs/gallery.md").write_text(page(json.loads(record.read_text())))


if __name__ == "__main__":
    main()
