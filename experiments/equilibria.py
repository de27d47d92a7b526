"""The page on the equilibria of the shipped models: ``python experiments/equilibria.py``.

Reads ``results/equilibrium-*.json``, which ``ddeq check-equilibrium MODEL --json`` writes, and
writes ``docs/equilibria.md``.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

HEAD = """# Are the equilibria real?

The claim of a deep equilibrium model is that its answer *is* a fixed point $z = F(z)$: it does not
depend on how long the solver runs, nor on where it starts. This page measures that, as a sceptical
reader would, on shipped models and held-out clouds. It is written from
`results/equilibrium-*.json` by `experiments/equilibria.py`; measure any model of yours with

```bash
ddeq check-equilibrium completer-digits --picture check.png
```
"""

MEASURES = """
## What is measured

- **Drift**: $W_2$ between the answer and what $F$ makes of it in 100 times as many evaluations,
  over the model's own error (for classifiers, over the distance of two clouds' answers). An
  equilibrium does not notice further applications of its own map.
- **Metric**: the model's metric there, against that of the answer: relative for a distance,
  absolute for an accuracy.
- **AA-MMD** (asymptotic alignment, Anil et al. 2022, made for measures):
  $1 - \\mathrm{MMD}^2(z_a, z_b) / \\mathrm{MMD}^2(z, z_{\\mathrm{other\\ cloud}})$ for the answers
  from two starts with the same marks: two other seeds, a start three times as wide, another
  cloud's answer, the answer perturbed by a tenth of its spread. The least of the five counts, as
  given and after 10 times as many evaluations.
- **Spectral radius** of $dF/dz$ at the answer, after optimal assignment, by 40 Arnoldi steps
  (a lower estimate). Below 1 the answer attracts; at 1 it drifts; above 1 it repels.
- **Residual** $\\mathrm{MMD}^2(z, F(z)) / E|z - z'|$, over the cloud's own spread (of a collapsed
  cloud, which has none, over the distance of clouds). The solver's own criterion divides by the
  residual of a far start, which hides a drift. The check runs in double
  precision: in single precision rounding alone is near $10^{-6}$ where particles lie close.
- **Distinct**: spread of the particles over the distance of clouds. 0 if all are one point.
"""

ROWS = (
    "drift, 1x to 100x",
    "metric at 100x",
    "AA-MMD as given",
    "AA-MMD at 10x",
    "spectral radius < 0.97",
    "residual 1e-6 in 40",
    "distinct particles",
)


def page(reports: list[dict[str, Any]]) -> str:
    """The page in Markdown."""
    parts = [HEAD, _verdict(reports), _table(reports), _figures(reports)]
    parts += [_model(report) for report in reports]
    theory = Path(__file__).with_name("equilibria_theory.md").read_text()
    return "\n".join([*parts, MEASURES, theory]).rstrip() + "\n"


def _verdict(reports: list[dict[str, Any]]) -> str:
    lines = ["**In short.**", ""]
    for report in reports:
        missed = [row for row, bar in zip(ROWS, report["bars"], strict=True) if not bar["passed"]]
        said = "meets every bar" if not missed else f"misses {len(missed)} of {len(ROWS)} bars"
        lines.append(f"- `{report['model']}` {said}{': ' + ', '.join(missed) if missed else ''}.")
    shipped = {path.name for path in (ROOT / "src/ddeq/pretrained").glob("*-*")}
    missing = sorted(shipped - {report["model"] for report in reports})
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        lines.append(f"\nNot measured here: {names}; nothing on this page speaks of them.")
    return "\n".join(lines) + "\n"


def _table(reports: list[dict[str, Any]]) -> str:
    names = " | ".join(f"`{report['model']}`" for report in reports)
    lines = [f"| | bar | {names} |", "|---|---|" + "---|" * len(reports)]
    for i, row in enumerate(ROWS):
        bars = [report["bars"][i] for report in reports]
        cells = " | ".join(
            f"{bar['value']:.3g}" + ("" if bar["passed"] else " **missed**") for bar in bars
        )
        lines.append(f"| {row} | {bars[0]['bar']} | {cells} |")
    lines.append(
        "\nSpectral radius and residual are shares of clouds; everything is explained "
        "[below](#what-is-measured).\n"
    )
    return "\n".join(lines)


def _figures(reports: list[dict[str, Any]]) -> str:
    names = " | ".join(f"`{report['model']}`" for report in reports)
    lines = ["## The figures behind it", "", f"| | {names} |", "|---|" + "---|" * len(reports)]
    cells = {
        "held-out clouds": lambda r: f"{r['clouds']} of {r['data']}",
        "evaluations per answer": lambda r: str(r["evaluations"]),
        "spectral radius, median / largest": lambda r: _radius(r["spectral radius"]),
        "residual over spread": lambda r: _residual(r["residual"], "of the answer"),
        "clouds at 1e-6 / at 1e-6 or rounding": lambda r: _small(r["residual"]),
        "residual over that of the start": lambda r: f"{r['residual']['over start']:.1e}",
        "metric": lambda r: r["metric"],
        "... at 1x / 3x / 10x / 100x": lambda r: _scores(r["drift"]),
        "... after 1 / 2 / 4 applications": lambda r: _bypassed(r["bypassed"]),
        "... after 1 application to zero": lambda r: f"{r['bypassed']['F applied 1x to zero']:.3f}",
        "rank correlation of residual and error": lambda r: _correlation(r["residual"]),
    }
    for name, cell in cells.items():
        lines.append(f"| {name} | " + " | ".join(cell(report) for report in reports) + " |")
    return "\n".join(lines) + "\n"


def _radius(radii: dict[str, list[float]]) -> str:
    return f"{median(radii['at the answer']):.2f} / {max(radii['at the answer']):.2f}"


def _residual(residual: dict[str, Any], key: str) -> str:
    over = "" if residual["over"] == "spread" else " (over distance)"
    return f"{residual[key]:.1e}{over}"


def _small(residual: dict[str, Any]) -> str:
    keys = ("share of clouds at 1e-6", "share of clouds at 1e-6 or rounding")
    return " / ".join(f"{residual[key]:.2f}" for key in keys)


def _scores(drift: dict[str, Any]) -> str:
    return " / ".join(f"{drift[factor]['score']:.3f}" for factor in ("1x", "3x", "10x", "100x"))


def _bypassed(rows: dict[str, float]) -> str:
    return " / ".join(f"{rows[f'F applied {times}x']:.3f}" for times in (1, 2, 4))


def _correlation(residual: dict[str, Any]) -> str:
    value = residual.get("rank correlation with error")
    return "-" if value is None else f"{value:.2f}"


def _model(report: dict[str, Any]) -> str:
    """A model's picture and what it shows, in words."""
    said = [_equilibrium(report), _depth(report)]
    if "score by number" in report["particles"]:
        said.append(_number(report))
    name = report["model"]
    picture = f"![Report of {name}](images/equilibrium-{name}.png)"
    return f"## `{name}`\n\n{picture}\n\n" + "\n".join(said) + "\n"


def _equilibrium(report: dict[str, Any]) -> str:
    passed = dict(zip(ROWS, (bar["passed"] for bar in report["bars"]), strict=True))
    if not passed["distinct particles"]:
        return (
            "All its particles are one point: a contraction without marks, as Proposition 1 says, "
            "or one that learned to ignore them. The equilibrium is real, and it is that of an "
            "ordinary equilibrium model with a single particle."
        )
    if all(passed.values()):
        return "A spread equilibrium that attracts every start that was tried, and stays."
    if passed["drift, 1x to 100x"] and passed["AA-MMD at 10x"]:
        return (
            "It stays where it is and does not depend on the start; what is missed is speed: "
            "the contraction is slower than the bar asks for."
        )
    moved = 100 * report["drift"]["100x"]["over unit"]
    least = min(row["at 10x"] for row in report["paths"].values())
    if passed["drift, 1x to 100x"] and passed["spectral radius < 0.97"]:
        name = min(report["paths"], key=lambda path: report["paths"][path]["at 10x"])
        return (
            "Its answer is a spread fixed point that attracts what is near: 100 times the "
            f"evaluations move it by {moved:.1f} % of its own error. It is not the only one: of "
            f"the starts that were tried, '{name}' ends farthest away (AA-MMD {least:.3f})."
        )
    return (
        "Its answer is not a fixed point but where the solver stops on a slow drift: 100 times "
        f"the evaluations move it by {moved:.0f} % of its own error, and other starts end "
        f"elsewhere (AA-MMD {least:.2f}). The network is trained to be right where the solver "
        "stops, and its metric holds there."
    )


def _depth(report: dict[str, Any]) -> str:
    rows, metric = report["bypassed"], report["metric"]
    answer, once = rows["the answer"], rows["F applied 1x"]
    # one cloud more or less says nothing of an accuracy
    few = 1.5 / report["clouds"]
    worse = once < answer - few if metric == "accuracy" else once > 1.05 * answer
    if worse:
        return (
            f"The solver earns its keep: {metric} is {once:.3f} after one application and "
            f"{answer:.3f} at the answer."
        )
    return (
        f"On {report['clouds']} clouds the solver shows no gain: {metric} is {once:.3f} after one "
        f"application and {answer:.3f} at the answer."
    )


def _number(report: dict[str, Any]) -> str:
    scores = report["particles"]["score by number"]
    low, high = min(scores.values()), max(scores.values())
    counts = f"{min(map(int, scores))} to {max(map(int, scores))} particles"
    if high - low < 0.005:
        return f"Any number of them, {counts}, gives the same {report['metric']} on them."
    return f"With {counts} at use its {report['metric']} lies between {low:.3f} and {high:.3f}."


def main() -> None:
    """Writes the page."""
    files = sorted((ROOT / "results").glob("equilibrium-*.json"))
    reports = [json.loads(file.read_text()) for file in files]
    (ROOT / "docs/equilibria.md").write_text(page(reports))


if __name__ == "__main__":
    main()
