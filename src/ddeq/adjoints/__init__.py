"""How the gradient of a loss at an equilibrium is formed: phantom or implicit.

Neither depends on how the fixed point was found, and neither keeps a graph of the solve. An adjoint
takes the map and the solver's answer and returns the equilibrium, attached to the parameters; the
value is the same with and without gradients.
"""

from ddeq.adjoints.base import Adjoint
from ddeq.adjoints.implicit import ImplicitGradient
from ddeq.adjoints.penalty import jacobian_penalty
from ddeq.adjoints.phantom import PhantomGradient
from ddeq.registry import import_all

__all__ = ["Adjoint", "ImplicitGradient", "PhantomGradient", "jacobian_penalty"]

import_all(__name__)  # a new one is a new file in this folder
