"""Settings for every test."""

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
