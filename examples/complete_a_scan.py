# %% [markdown]
# # Complete a scan
#
# A scanned object of the test set loses what two balls cover. The file that is left has its own
# scale and centre; the network sees its points and is told nothing else.

# %%
import torch

import ddeq
from ddeq.data import item_rng, load
from ddeq.data.cuts import CUTS

scans = load("scans", "test")  # real objects, points in metres
bottle = scans.names.index("MK7")
whole = scans.raw(bottle)
kept, removed = CUTS["balls"](torch.as_tensor(whole), item_rng(0, bottle))
ddeq.write_cloud("scan.ply", kept.numpy(), force=True)

# %% [markdown]
# A ply goes in and a ply comes out: every point of the scan first, bit for bit, then the new ones,
# which have `new = 1` in the file. `ddeq complete scan.ply -o full.ply` does the same.

# %%
scan = ddeq.read_cloud("scan.ply").points
full = ddeq.complete(scan, seed=0)
new = full[len(scan) :]
ddeq.write_cloud("full.ply", full, new_from=len(scan), force=True)
print(f"{len(scan)} points given, {len(removed)} removed, {len(new)} new")

# %% [markdown]
# How far is a removed point from the cloud, before and after?

# %%
from scipy.spatial import cKDTree

for name, cloud in (("before", scan), ("after", full)):
    distance = cKDTree(cloud).query(removed.numpy())[0].mean()
    print(f"{name}: {1000 * distance:.1f} mm from a removed point to the cloud")

# %%
from ddeq.viz.drawing import save
from ddeq.viz.posters import Completed, scan_sheet

save(scan_sheet([Completed(scan, new, whole)], columns=1), "complete_a_scan.png")
