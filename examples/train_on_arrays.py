# %% [markdown]
# # Train on your own arrays
#
# Clouds of different sizes, a label each, and an estimator as in scikit-learn. Rings, crosses and
# discs stand for your data; a minute on one core.

# %%
import numpy as np

import ddeq

rng = np.random.default_rng(0)


def ring(n: int) -> np.ndarray:
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.stack([np.cos(angle), np.sin(angle)], 1) + 0.08 * rng.normal(size=(n, 2))


def cross(n: int) -> np.ndarray:
    along, across = rng.uniform(-1, 1, n), 0.1 * rng.normal(size=n)
    swap = rng.random(n) < 0.5
    return np.stack([np.where(swap, along, across), np.where(swap, across, along)], 1)


def disc(n: int) -> np.ndarray:
    return ring(n) * np.sqrt(rng.random((n, 1)))


kinds = {"ring": ring, "cross": cross, "disc": disc}
clouds, labels = [], []
for name, make in kinds.items():
    for _ in range(60):
        clouds.append(make(int(rng.integers(30, 60))))
        labels.append(name)
order = rng.permutation(len(clouds))
train, test = order[:120], order[120:]

# %%
model = ddeq.PointCloudClassifier(epochs=30, batch_size=12, learning_rate=3e-3, random_state=0)
model.fit([clouds[i] for i in train], [labels[i] for i in train])
held_out = [clouds[i] for i in test]
found = model.predict(held_out)
right = np.mean([answer == labels[i] for answer, i in zip(found, test, strict=True)])
print(f"{100 * right:.0f} % of {len(test)} held-out clouds are right")

# %% [markdown]
# The model is a torch module; a folder keeps it, and every command takes the folder as `--weights`.

# %%
model.model_.save_pretrained("my-classifier")

# %%
from ddeq.viz.drawing import ROTATED, TARGET, overlay, panels, save

figure, axes = panels(1, 6, size=1.5)
for ax, cloud, answer, i in zip(axes[0], held_out, found, test, strict=False):
    overlay(ax, [(cloud, TARGET if answer == labels[i] else ROTATED)], f"found: {answer}")
save(figure, "train_on_arrays.png")
