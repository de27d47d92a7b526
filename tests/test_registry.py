"""Solvers, adjoints and kernels by name: also those that a user defines."""

import importlib
import json
import sys
from dataclasses import dataclass, field

import pytest
import torch

from ddeq import Classifier, PhantomGradient, PointClouds, registry
from ddeq.adjoints import Adjoint, ImplicitGradient
from ddeq.measures.divergences import Divergence
from ddeq.measures.kernels import Gaussian, Kernel, Riesz
from ddeq.registry import Registered, from_json, known, to_json
from ddeq.solvers import Picard, Solver, Step
from ddeq.tasks import Task


@dataclass(frozen=True)
class Cauchy(Kernel):
    """A kernel that is not part of the package."""

    bandwidth: float = 1.0

    def __call__(self, s):
        return 1 / (1 + (s / self.bandwidth) ** 2)


@dataclass(frozen=True)
class Halfway(Solver):
    """A solver that is not part of the package."""

    rates: tuple[float, ...] = (0.5,)
    weighting: Kernel = field(default_factory=Cauchy)

    def step(self, f, z, state, k):
        image = f(z)
        rate = self.rates[k % len(self.rates)]
        points = z.points + rate * (image.points - z.points)
        return Step(image, self.residual(z, image), points, state)


def test_what_the_package_defines_is_known():
    assert {"Anderson", "Broyden", "Picard", "WassersteinFlow", "Weiszfeld"} <= set(known(Solver))
    assert {"ImplicitGradient", "PhantomGradient"} <= set(known(Adjoint))
    assert {"Gaussian", "InverseMultiquadric", "Laplace", "Riesz"} <= set(known(Kernel))
    assert all(issubclass(cls, Solver) for cls in known(Solver).values())
    assert Solver not in known(Registered).values()


@pytest.mark.parametrize(
    "part",
    [
        Halfway(rates=(0.5, 0.25), max_steps=9, weighting=Cauchy(2.0)),
        PhantomGradient(3, 0.5),
        ImplicitGradient(7),
        Gaussian(0.3),
        Cauchy(0.2),
    ],
)
def test_round_trip(part):
    text = json.dumps(to_json(part))
    assert from_json(json.loads(text), Registered) == part


def test_a_class_of_another_package_is_saved_by_its_import_path():
    assert to_json(Cauchy())["name"] == f"{__name__}.Cauchy"
    assert to_json(Riesz()) == {"name": "Riesz", "r": 1.0}


def test_a_model_with_a_solver_of_ones_own_is_saved_and_loaded(tmp_path):
    torch.manual_seed(0)
    options = {"features": 8, "bilinear": 4, "head_size": 4}
    solver = Halfway(max_steps=4, rates=(0.5, 1.0))
    made = Classifier(2, 3, solver=solver, **options)
    made.save_pretrained(tmp_path)
    copy = Classifier.from_pretrained(tmp_path)
    assert copy.solver == solver
    x = PointClouds.from_list([torch.randn(9, 2), torch.randn(4, 2)])
    with torch.no_grad():
        assert torch.equal(copy(x), made(x))


def test_a_class_defined_again_replaces_the_former():
    def define():
        class Twice(Picard):
            """Has the name of another."""

        return Twice

    first, second = define(), define()
    assert type(from_json(to_json(second()), Solver)) is second
    with pytest.raises(ValueError, match="cannot be saved"):
        to_json(first())


def test_names_are_looked_up_and_nothing_is_imported():
    with pytest.raises(ValueError, match="unknown Solver 'Newton', not one of Anderson, Broyden"):
        from_json({"name": "Newton"}, Solver)
    with pytest.raises(ValueError, match="unknown Solver 'Riesz'"):
        from_json({"name": "Riesz"}, Solver)
    with pytest.raises(ValueError, match="import its module first"):
        from_json({"name": "antigravity.Newton"}, Solver)


def test_what_cannot_be_saved_is_refused():
    class Plain(Registered):
        """Not a dataclass."""

    @dataclass(frozen=True)
    class Named(Registered):
        name: str = "x"

    with pytest.raises(ValueError, match="not a registered dataclass"):
        to_json(Plain())
    with pytest.raises(ValueError, match="'name'"):
        to_json(Named())
    with pytest.raises(ValueError, match="not a JSON value"):
        to_json(Cauchy(torch.ones(2)))


FOLDERS = {
    "ddeq.solvers": ("from ddeq.solvers import Picard as Base", Solver),
    "ddeq.adjoints": ("from ddeq.adjoints import PhantomGradient as Base", Adjoint),
    "ddeq.tasks": ("from ddeq.tasks import Regression as Base", Task),
    "ddeq.measures.divergences": ("from ddeq.measures.divergences import MMD as Base", Divergence),
}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_new_file_in_a_folder_is_all_it_takes(folder, tmp_path, monkeypatch):
    line, kind = FOLDERS[folder]
    (tmp_path / "brand_new.py").write_text(f"{line}\n\nclass BrandNew(Base):\n    pass\n")
    package = sys.modules[folder]
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.setattr(registry, "_CLASSES", dict(registry._CLASSES))
    registry.import_all(folder)
    assert "BrandNew" in known(kind)
    del sys.modules[f"{folder}.brand_new"]
    del package.brand_new
    asked = []  # and the package does so itself
    monkeypatch.setattr(registry, "import_all", asked.append)
    importlib.reload(package)
    assert asked == [folder]
