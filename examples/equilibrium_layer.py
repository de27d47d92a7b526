# %% [markdown]
# # An equilibrium as a layer
#
# `ddeq.equilibrium(f, z0)` finds the cloud that a map leaves unchanged and is differentiable in
# everything the map depends on. Here a map of six numbers learns to have a ring as its equilibrium.

# %%
import math

import torch

import ddeq

torch.manual_seed(0)
count = 200
angle = torch.rand(count) * 2 * math.pi
target = ddeq.PointClouds.from_list([torch.stack([3 * angle.cos(), angle.sin()], 1)])

# %% [markdown]
# Particle `i` has a mark `u_i` of its own, so that particles may differ:
# `F(z)_i = 0.5 tanh(z_i) + A u_i + b`.

# %%
where = torch.rand(count) * 2 * math.pi
marks = torch.stack([where.cos(), where.sin()], 1)
A = torch.nn.Parameter(0.2 * torch.eye(2))
b = torch.nn.Parameter(torch.tensor([1.0, -1.0]))


def f(z: torch.Tensor) -> torch.Tensor:
    return 0.5 * z.tanh() + marks @ A + b


# %% [markdown]
# The loss compares measures, not particle by particle. Memory does not grow with the steps of the
# solve: the gradient is that of the implicit function theorem.

# %%
optimizer = torch.optim.Adam([A, b], lr=0.05)
seen = []
for step in range(121):
    z = ddeq.equilibrium(f, torch.zeros(1, count, 2))
    loss = ddeq.mmd2(ddeq.PointClouds.from_tensor(z), target).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step in (0, 20, 120):
        seen.append((step, loss.item(), z[0].detach()))
        print(f"step {step}: squared MMD {loss.item():.4f}")

# %%
from ddeq.viz.drawing import RESULT, TARGET, frame, overlay, panels, save

figure, axes = panels(1, 3)
for ax, (step, value, points) in zip(axes[0], seen, strict=True):
    layers = [(target.points[0], TARGET), (points, RESULT)]
    overlay(ax, layers, f"step {step}, squared MMD {value:.2g}")
frame(axes, [target.points[0], *(points for _, _, points in seen)])
save(figure, "equilibrium_layer.png")
