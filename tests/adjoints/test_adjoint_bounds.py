"""What an adjoint accepts, to the edge."""

import pytest

from ddeq import ImplicitGradient, PhantomGradient


@pytest.mark.parametrize(
    ("cls", "field", "good", "bad"),
    [
        (PhantomGradient, "steps", (1,), (0,)),
        (PhantomGradient, "damping", (0.01, 1.0), (0.0, 1.01)),
        (ImplicitGradient, "max_steps", (1,), (0,)),
        (ImplicitGradient, "tol", (0.0,), (-1e-9,)),
    ],
)
def test_values_to_the_edge(cls, field, good, bad):
    for value in good:
        assert getattr(cls(**{field: value}), field) == value
    for value in bad:
        with pytest.raises(ValueError, match=field):
            cls(**{field: value})
