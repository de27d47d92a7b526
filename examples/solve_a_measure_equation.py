# %% [markdown]
# # Solve an equation between measures
#
# Barnsley's fern is the measure that four random affine maps leave unchanged. No training: the map
# is given, and a solver of the library finds its equilibrium from a round cloud.

# %%
from ddeq.gallery import equations
from ddeq.solvers import Anderson, Picard

fern = equations()["fern"](particles=1000)

# %% [markdown]
# Solvers are objects; all of them take the same map and the same start.

# %%
shown = [("start", fern.z0)]
for solver in (Picard(max_steps=4), Picard(max_steps=40), Anderson(max_steps=40)):
    solution = solver.solve(fern.f, fern.z0)
    name = f"{type(solver).__name__}, {int(solution.steps[0])} steps"
    shown.append((name, solution.value))
    print(f"{name}: residual {solution.residual[0]:.1e}, error {fern.error(solution.value):.1e}")

# %%
from ddeq.viz.drawing import FREE, RESULT, overlay, panels, save

figure, axes = panels(1, len(shown))
for ax, (name, cloud) in zip(axes[0], shown, strict=True):
    overlay(ax, [(cloud.points[0], FREE if name == "start" else RESULT)], name, size=2.5)
save(figure, "solve_a_measure_equation.png")
