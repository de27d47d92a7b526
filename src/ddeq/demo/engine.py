"""What the demo can do, without HTTP: every method takes and returns JSON values."""

from __future__ import annotations

import math
import tempfile
import threading
import time
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ddeq.cli.clouds import UserCloud
from ddeq.cli.completion import complete_cloud
from ddeq.cli.weights import available, classifier_for, completer_for
from ddeq.data import CloudDataset, load, shape, voxel_downsample
from ddeq.data.corruptions import PARTIAL_RADIUS
from ddeq.data.sets.mnist import CLASSES as DIGITS
from ddeq.data.shapes.generator import CLASSES as SHAPES
from ddeq.demo import checks
from ddeq.demo.checks import MAX_POINTS, RefusedError
from ddeq.demo.strokes import CANVAS, rasterize
from ddeq.io.files import READABLE, CloudFile, CloudFileError, read_cloud, write_cloud

__all__ = ["FORMATS", "MAX_UPLOAD", "Engine"]

FORMATS = ("ply", "csv", "npy", "xyz", "pcd")
"""Of the file that the result is downloaded as."""

MAX_UPLOAD = 32 * 2**20
"""Bytes of a cloud file."""

_SHAPE_POINTS = 512
_FILE_POINTS = 2_000_000
_MOST_NEW = 512


class Engine:
    """Samples, drawings, files, classes and completions for the page.

    One lock guards the models and the random numbers: requests come from many threads, and two
    solves at once would only share the same cores.

    Args:
        seed: Of the particles, and of which samples come.
        weights: Names or folders by kind and dimension, such as ``{("completer", 3): "runs/a"}``;
            what is not there is chosen as the commands choose it.
    """

    def __init__(self, seed: int = 0, weights: dict[tuple[str, int], str] | None = None) -> None:
        self.seed = seed
        self.weights = weights or {}
        self.lock = threading.Lock()
        self.rng = np.random.default_rng(seed)

    @cached_property
    def digits(self) -> CloudDataset:
        """The embedded digits that no model was trained on."""
        return load("mnist-mini", "test")

    def about(self) -> dict[str, Any]:
        """What there is to choose from, and which models come with this version."""
        ready = {
            kind: [d for d in (2, 3) if (kind, d) in self.weights or available(kind, d)]
            for kind in ("completer", "classifier")
        }
        return {
            "digits": DIGITS,
            "shapes": [name.replace("_", " ") for name in SHAPES],
            "canvas": CANVAS,
            "radius": PARTIAL_RADIUS,
            "formats": FORMATS,
            "readable": READABLE,
            "max_upload": MAX_UPLOAD,
            **ready,
        }

    def sample(self, request: dict[str, Any]) -> dict[str, Any]:
        """A digit of the embedded test set or a newly made shape, of the class asked for."""
        kind = checks.choice(request.get("kind"), ("digit", "shape"), "The kind of sample")
        if kind == "digit":
            name = checks.choice(request.get("class"), DIGITS, "The digit")
            with self.lock:
                of_class = np.flatnonzero(self.digits.labels == DIGITS.index(name))
                index = int(self.rng.choice(of_class))
                return {"points": self.digits.raw(index).tolist()}
        asked = str(request.get("class")).replace(" ", "_")
        name = checks.choice(asked, SHAPES, "The shape")
        with self.lock:
            return {"points": shape(name, _SHAPE_POINTS, self.rng).tolist()}

    def draw(self, request: dict[str, Any]) -> dict[str, Any]:
        """The cloud of a drawing, and the stroke that each point belongs to."""
        points, last = rasterize(checks.strokes(request.get("strokes")))
        return {"points": points.tolist(), "stroke": last.tolist()}

    def upload(self, body: bytes, name: str) -> dict[str, Any]:
        """The cloud in a file's bytes; a mesh is sampled, a large cloud is thinned."""
        name = Path(name.replace("\\", "/")).name[:80] or "file"
        suffix = Path(name).suffix.lower()
        if suffix not in READABLE:
            raise RefusedError(f"{name}: cannot be read. Files that can: {' '.join(READABLE)}.")
        with tempfile.TemporaryDirectory(prefix="ddeq-") as folder:
            path = Path(folder) / f"cloud{suffix}"
            path.write_bytes(body)
            try:
                file = read_cloud(path, surface_points=MAX_POINTS, max_points=_FILE_POINTS)
            except CloudFileError as error:
                raise RefusedError(str(error).replace(str(path), name) + ".") from error
        points = file.points
        if (np.abs(points) > checks.LARGEST).any():
            raise RefusedError(f"{name}: has a coordinate beyond {checks.LARGEST:g}.")
        shown = voxel_downsample(points, MAX_POINTS)
        note = f"{name}: {file.kind}"
        if len(shown) < len(points):
            note += f", thinned to {len(shown):,}"
        return {"points": shown.tolist(), "note": note + "."}

    def classify(self, request: dict[str, Any]) -> dict[str, Any]:
        """The classes of a cloud with their probabilities, or none if no model is there."""
        points = checks.cloud(request.get("points"))
        return {"classes": self._classes(points)}

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """New points for a cloud, every step of their way, and what the result shows.

        The request may tell the points that were taken away. The network does not see them; they
        say where the whole lies and how large it is, as in the paper's task, and how many points
        are missing.
        """
        begin = time.perf_counter()
        kept = checks.cloud(request.get("points"))
        removed = checks.cloud(request.get("removed", []), "The part taken away", least=0)
        whole = kept
        if len(removed):
            if removed.shape[1] != kept.shape[1]:
                raise RefusedError("The part taken away has another dimension than the cloud.")
            whole = np.concatenate([kept, removed])
        if len(whole) > MAX_POINTS:
            raise RefusedError(f"{len(whole):,} points are too many: at most {MAX_POINTS:,}.", 413)
        model = self._model("completer", kept.shape[1])
        with self.lock:
            result = complete_cloud(
                _user_cloud(whole),
                model,
                seed=self.seed,
                count=min(len(removed), _MOST_NEW) or None,
                most=_MOST_NEW,
                kept=len(kept),
                watch=True,
            )
        if not np.isfinite(result.new).all():
            raise RefusedError("The solver met a value that is not finite; try another cloud.", 422)
        return {
            "new": result.new.tolist(),
            "frames": [_short(frame).ravel().tolist() for frame in result.frames],
            "residuals": [_finite(value) for value in result.residuals],
            "spread": [_finite(value) for value in result.spread],
            "status": result.solution.status[0],
            "classes": self._classes(np.concatenate([kept, result.new])[:MAX_POINTS]),
            "seconds": round(time.perf_counter() - begin, 3),
        }

    def download(self, request: dict[str, Any]) -> tuple[bytes, str]:
        """The bytes of a cloud file and its name; new points come last and are marked."""
        ending = checks.choice(request.get("format"), FORMATS, "The format")
        points = checks.cloud(request.get("points"))
        new = checks.cloud(request.get("new", []), "The new part", least=0)
        if len(new) and new.shape[1] != points.shape[1]:
            raise RefusedError("The new points have another dimension than the cloud.")
        full = np.concatenate([points, new]) if len(new) else points
        with tempfile.TemporaryDirectory(prefix="ddeq-") as folder:
            path = Path(folder) / f"cloud.{ending}"
            write_cloud(path, full, new_from=len(points))
            return path.read_bytes(), f"{'completed' if len(new) else 'cloud'}.{ending}"

    def _classes(self, points: np.ndarray) -> list[dict[str, Any]] | None:
        try:
            model = self._model("classifier", points.shape[1])
        except RefusedError:
            return None
        with self.lock, torch.no_grad():
            logits = model(_user_cloud(points).for_network(), seed=self.seed)
        share = logits.softmax(1)[0].tolist()
        return [
            {"name": name.replace("_", " "), "probability": round(p, 4)}
            for name, p in zip(model.classes, share, strict=True)
        ]

    def _model(self, kind: str, dim: int) -> Any:
        """A model, loaded at its first use."""
        find = completer_for if kind == "completer" else classifier_for
        with self.lock:
            try:
                return find(dim, self.weights.get((kind, dim)))
            except ValueError as error:
                sentence = f"No {kind} for {dim}-D clouds comes with this version."
                raise RefusedError(sentence, 501) from error


def _user_cloud(points: np.ndarray) -> UserCloud:
    return UserCloud(CloudFile(points, Path("cloud"), ""))


def _short(points: np.ndarray) -> np.ndarray:
    """Points to four digits of their extent: less to send, the same to see."""
    extent = max(float(np.ptp(points, axis=0).max()), float(np.abs(points).max()) * 1e-9, 1e-300)
    digits = 4 - math.floor(math.log10(extent))
    return np.round(points.astype(np.float64), digits)


def _finite(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None
