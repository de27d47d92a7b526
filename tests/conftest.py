"""Settings for every test, and the counts of the attacks."""

from collections import Counter
from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)

# The same few cases on every run; `--hypothesis-profile=explore` looks for new ones.
settings.register_profile(
    "quick",
    deadline=None,
    max_examples=12,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "explore", settings.get_profile("quick"), max_examples=300, derandomize=False
)
settings.load_profile("quick")


@pytest.fixture(autouse=True)
def _seeded():
    """Every test starts from one random state, whichever tests ran before it."""
    torch.manual_seed(0)


@pytest.fixture(params=["short", pytest.param("long", marks=pytest.mark.slow)])
def effort(request: pytest.FixtureRequest) -> str:
    """Of an attack: the short form runs with every test, the long one with ``make slow``."""
    return request.param


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Iterator[Counter[str]]:
    """Counts what became of the cases of an attack; printed when all tests are done."""
    found: Counter[str] = Counter()
    yield found
    # a property of the report: it reaches the process that prints, whichever process ran the test
    request.node.user_properties.append(("tally", dict(found)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line per attack."""
    reports = [report for part in terminalreporter.stats.values() for report in part]
    found = {
        report.nodeid.partition("::test_")[2]: value
        for report in reports
        for key, value in getattr(report, "user_properties", [])
        if key == "tally" and value
    }
    if found:
        terminalreporter.section("attacks")
    for name, counts in sorted(found.items()):
        parts = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items())
        terminalreporter.write_line(f"{name}: {sum(counts.values()):,} cases: {parts}")
