"""The page of the gallery, from ``results/gallery.json``."""

from __future__ import annotations

from typing import Any

HEAD = """# Gallery of measure equations

Eight equations $z = F(z)$ between measures, each with an answer that is known by other means, no
training, and seconds on one core. Every solver of the library runs on every one of them for 100
evaluations of $F$: this is the page to look at before [choosing a solver](solvers.md). The command
`python experiments/gallery.py` writes it; the equations are in `ddeq.gallery`.

```python
from ddeq.gallery import equations
from ddeq.solvers import Anderson

fern = equations()["fern"](particles=2000)
solution = Anderson(max_steps=60).solve(fern.f, fern.z0)
print(fern.error(solution.value), solution.residual)
```

![A round cloud becomes a triangle and a fern](images/gallery-iterated.png)

*20,000 particles, each with a constant map of its own and a constant parent.*

**How particles solve an equality in law.** Most of these are of the form
$Z \\overset{d}{=} \\varphi(U, Z')$ with a random input $U$. Particle $i$ keeps one draw $u_i$, its
*mark*, and a constant parent: $F(z)_i = \\varphi(u_i, z_{\\mathrm{parent}(i)})$. So $F$ is a plain
deterministic map, it contracts where $\\varphi$ does, and its equilibrium is spread, because its
particles differ; [without marks that is impossible](equilibria.md#uniqueness-and-equivariance).

**Error** is the 2-Wasserstein distance between the Gaussians with the moments of $z$ and of the
answer, over the answer's spread: 1 is a collapse into the mean. It is that of what the solver would
have returned after so many evaluations, its best iterate by residual. The dotted line is the error
of the particles' own equilibrium, what so many particles can resolve. A solver is *there* when its
error is, and stays, within 5 % of that line or 0.01 above it. Seconds are of one core of a busy
machine: compare them with each other only.
"""

TEXTS = {
    "barycentre": (
        r"\mu = \Big(\tfrac1K \sum_k T_{\mu \to \nu_k}\Big)_{\#}\, \mu",
        "The measure with the least mean of $W_2^2$ to three Gaussians (Agueh and Carlier 2011); "
        "$T$ are the optimal maps. The answer is a Gaussian whose covariance solves an equation of "
        "$2 \\times 2$ matrices.",
    ),
    "bellman": (
        r"Z(s) \overset{d}{=} r(s) + \gamma Z(S'), \quad S' \sim P(\cdot \mid s)",
        "The joint law of two discounted returns of a walk around four rooms, a cloud per room "
        "(distributional Bellman equation; Wiltzer et al. 2024). Moments solve linear equations; "
        "Monte Carlo returns, in grey, give the law.",
    ),
    "circle": (
        r"Z \overset{d}{=} R\, \tfrac12 \big(Z + Z / |Z|\big)",
        "Half way to the unit circle, then a turn $R$ by an irrational part of a full one: the "
        "only equilibrium is uniform on the circle, and *no particle rests there*. It has no "
        "marks, and what matches particle $i$ of $z$ with particle $i$ of $F(z)$ cannot find it.",
    ),
    "fern": (
        r"Z \overset{d}{=} A_K Z' + b_K, \quad P(K = k) = p_k",
        "Barnsley's fern is the equilibrium of four affine maps (Hutchinson 1981): stem, the fern "
        "a little smaller, its two lowest leaves. Moments solve linear equations; the chaos "
        "game, in grey, gives the law.",
    ),
    "game": (
        r"x^i = \arg\min_x J(x; u_i, m), \quad m = E\, x",
        "A particle is a path, and $F$ is everybody's best path against the mean path $m$ of the "
        "crowd, which people keep away from: a fixed point is a Nash equilibrium (exploitability "
        "0), known in closed form. Plain best replies overshoot and swing ever wider.",
    ),
    "mckean-vlasov": (
        r"dX = -A (X - c)\, dt - K (X - E X)\, dt + \sqrt2\, dW",
        "The law that time leaves alone when particles are pulled to a place and to each other; "
        "$F$ is the exact step of length 1/4. The answer is $N(c, (A + K)^{-1})$.",
    ),
    "quicksort": (
        r"Z \overset{d}{=} U Z' + (1 - U) Z'' + 1 + 2 U \ln U + 2 (1 - U) \ln (1 - U)",
        "The comparisons that quicksort makes on long lists (Roesler 1991); the density has no "
        "formula, the variance is $7 - 2 \\pi^2 / 3$. The line is quicksort itself, lists of 400.",
    ),
    "sierpinski": (
        r"Z \overset{d}{=} \tfrac12 (Z' + V), \quad V \text{ a corner of a triangle}",
        "Half way to a random corner, again and again. The variance is a third of the corners'.",
    ),
}

TAIL = """
## What to take

{lesson}

Two more things to look at, without a known answer: `ddeq flow`, where particles settle in a pattern
that a rotation leaves alone, and the [equilibria of the trained models](equilibria.md).
"""


def page(results: dict[str, Any]) -> str:
    """The page in Markdown."""
    parts = [HEAD, _overview(results)]
    for name, row in results.items():
        formula, text = TEXTS[name]
        parts.append(
            f"## {row['title']}\n\n$$ {formula} $$\n\n{text}\n\n"
            f"![{row['title']}: answer, and errors of solvers](images/gallery-{name}.png)\n\n"
            f"{_verdict(row)}\n\n{_table(row)}"
        )
    return "\n".join(parts) + TAIL.format(lesson=_lesson(results))


def _ranked(row: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Solvers that get there, the fewest evaluations first, then the fewest seconds."""
    there = [item for item in row["solvers"].items() if item[1]["within"] is not None]
    return sorted(there, key=lambda item: (item[1]["within"], item[1]["seconds"]))


def _cost(found: dict[str, Any]) -> str:
    return f"{found['within'] + 1} evaluations, {(found['within'] + 1) * found['seconds']:.2g} s"


def _verdict(row: dict[str, Any]) -> str:
    ranked = _ranked(row)
    if not ranked:
        best = min(row["solvers"], key=lambda label: row["solvers"][label]["errors"][-1])
        return f"**No solver is there in 100 evaluations**; `{best}` is nearest."
    label, found = ranked[0]
    missing = [f"`{other}`" for other in row["solvers"] if other not in dict(ranked)]
    verdict = f"**`{label}` wins**: {_cost(found)}."
    return f"{verdict} Not there in 100: {', '.join(missing)}." if missing else verdict


def _overview(results: dict[str, Any]) -> str:
    lines = ["| equation | particles | error at the start / at best | wins | evaluations |"]
    lines.append("|---|---|---|---|---|")
    for row in results.values():
        ranked = _ranked(row)
        winner = f"`{ranked[0][0]}` | {ranked[0][1]['within'] + 1}" if ranked else "none | "
        anchor = row["title"].lower().replace("'", "").replace(" ", "-")
        lines.append(
            f"| [{row['title']}](#{anchor}) | {row['particles']} "
            f"| {row['start']:.2g} / {row['least']:.2g} | {winner} |"
        )
    return "\n".join(lines) + "\n"


def _table(row: dict[str, Any]) -> str:
    lines = ["| solver | there after | error at 10 / 100 | best residual |", "|---|---|---|---|"]
    for label, found in row["solvers"].items():
        there = _cost(found) if found["within"] is not None else "-"
        early, late = (
            _number(found["errors"][min(k, len(found["errors"])) - 1]) for k in (10, 100)
        )
        lines.append(f"| `{label}` | {there} | {early} / {late} | {found['residual']:.1e} |")
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return "diverged" if not value < 100 else f"{value:.2g}"


def _lesson(results: dict[str, Any]) -> str:
    """Which solver gets there how often, and what that says."""
    labels = next(iter(results.values()))["solvers"]
    counts = {
        label: sum(label in dict(_ranked(row)) for row in results.values()) for label in labels
    }
    order = sorted(counts, key=lambda label: -counts[label])
    table = "\n".join(f"| `{label}` | {counts[label]} of {len(results)} |" for label in order)
    return (
        "| solver | there in 100 evaluations |\n|---|---|\n" + table + "\n\n"
        "If particles differ (marks) or $F$ acts on moments, an equilibrium of the measure is one\n"
        "of its particles, and mixing or quasi-Newton steps on the particles need the fewest\n"
        "evaluations. If only the measure rests, as on the circle, they find nothing, and steps\n"
        "that compare measures are the only ones that arrive: mixing on an assignment first,\n"
        "then Weiszfeld steps. Flows are the slowest; the step size of the plain one is 1\n"
        "throughout, and has to be found anew for each equation. An assignment parts particles\n"
        "from their marks: on the fern it comes to rest at a measure with another law.\n\n"
        "The error sees two moments, and the answer of a few hundred particles has one of its\n"
        "own: between solvers a few evaluations apart there is nothing to choose."
    )
