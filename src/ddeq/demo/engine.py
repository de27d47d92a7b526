"""What the demo can do, without HTTP: every method takes and returns JSON values."""

from __future__ import annotations

import math
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ddeq.data.corruptions import PARTIAL_RADIUS
from ddeq.data.view import NetworkView
from ddeq.demo import checks
from ddeq.demo.checks import MAX_POINTS, RefusedError
from ddeq.demo.reading import Reader
from ddeq.demo.samples import DIGITS, RANDOM_CUTS, Samples, camera_cut, random_cut
from ddeq.demo.strokes import CANVAS, rasterize
from ddeq.inference import (
    Completion,
    available,
    classifier_for,
    classify,
    complete_cloud,
    completer_for,
)
from ddeq.io.files import READABLE, write_cloud
from ddeq.viz.films import ready_films, write_film
from ddeq.viz.gliding import glide
from ddeq.viz.turning import Film

__all__ = ["FORMATS", "MAX_UPLOAD", "PATIENCE", "Engine"]

FORMATS = ("ply", "csv", "npy", "xyz", "pcd")
"""Of the file that the result is downloaded as."""

MAX_UPLOAD = 32 * 2**20
"""Bytes of a cloud file."""

PATIENCE = 60.0
"""Seconds that a request waits for those before it."""


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
        self.samples = Samples(seed)
        self.reader = Reader()
        self.films = tuple(ending[1:] for ending in ready_films())
        self.last: tuple[bytes, Completion] | None = None

    def about(self) -> dict[str, Any]:
        """What there is to choose from, and which models come with this version."""
        ready = {
            kind: [d for d in (2, 3) if (kind, d) in self.weights or available(kind, d)]
            for kind in ("completer", "classifier")
        }
        return {
            "digits": DIGITS,
            "scans": list(self.samples.offered),
            "canvas": CANVAS,
            "radius": PARTIAL_RADIUS,
            "formats": FORMATS,
            "films": self.films,
            "readable": list(READABLE),
            "max_upload": MAX_UPLOAD,
            **ready,
        }

    def sample(self, request: dict[str, Any]) -> dict[str, Any]:
        """A digit of a class, or a scanned object by its name or any; of the test splits."""
        kind = checks.choice(request.get("kind"), ("digit", "scan"), "The kind of sample")
        asked, offered = request.get("class"), list(self.samples.offered)
        if kind == "digit":
            name = checks.choice(asked, DIGITS, "The digit")
            with self._turn():
                return {"points": self.samples.digit(name).tolist()}
        known = None if asked is None else checks.choice(asked, offered, "The scan")
        with self._turn():
            points, title = self.samples.scan(known)
        return {"points": points.tolist(), "title": title}

    def cut(self, request: dict[str, Any]) -> dict[str, Any]:
        """Numbers of the points to take away: at random, or what a camera does not see."""
        points = checks.cloud(request.get("points"))
        camera = request.get("camera")
        if camera is not None:
            if points.shape[1] != 3:
                raise RefusedError("A camera needs a cloud in three dimensions.")
            return {"gone": camera_cut(points, checks.direction(camera))}
        known = RANDOM_CUTS if points.shape[1] == 3 else RANDOM_CUTS[:-1]
        name = checks.choice(request.get("cut"), known, "The cut")
        with self._turn():
            return {"gone": random_cut(points, name, self.samples.rng)}

    def draw(self, request: dict[str, Any]) -> dict[str, Any]:
        """The cloud of a drawing, and the stroke that each point belongs to."""
        points, last = rasterize(checks.strokes(request.get("strokes")))
        return {"points": points.tolist(), "stroke": last.tolist()}

    def upload(self, body: bytes, name: str) -> dict[str, Any]:
        """The cloud in a file's bytes and its size; of a large cloud, what the network sees of it.

        A mesh is sampled.
        """
        name = Path(name.replace("\\", "/")).name[:80] or "file"
        suffix = Path(name).suffix.lower()
        if suffix not in READABLE:
            raise RefusedError(f"{name}: cannot be read. Files that can: {' '.join(READABLE)}.")
        with self._turn():
            points, kind = self.reader.read(body, suffix, name)
        if (np.abs(points) > checks.LARGEST).any():
            raise RefusedError(f"{name}: has a coordinate beyond {checks.LARGEST:g}.")
        shown = NetworkView(points).subsample
        note = f"{name}: {kind}"
        if len(shown) < len(points):
            note += f", {len(shown):,} shown"
        return {"points": shown.tolist(), "size": len(points), "note": note + "."}

    def classify(self, request: dict[str, Any]) -> dict[str, Any]:
        """The classes of a cloud with their probabilities, or none; see ``complete``."""
        return {"classes": self._classes(checks.cloud(request.get("points")))}

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """New points for a cloud, how they came there, and what the result shows.

        The network sees the points of the request and is told nothing else; these may be a
        subsample of a cloud whose ``size`` the request tells.
        """
        begin = time.perf_counter()
        kept, result = self._completed(request)
        frames, steps = glide(result.frames)
        return {
            "new": result.new.tolist(),
            "frames": [_short(frame).ravel().tolist() for frame in frames],
            "steps": [round(float(step), 3) for step in steps],
            "residuals": [_finite(value) for value in result.residuals],
            "spread": [_finite(value) for value in result.spread],
            "confidence": _confidence(result),
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

    def film(self, request: dict[str, Any]) -> tuple[bytes, str]:
        """The bytes of a film of how the new points of ``complete`` come, and its name.

        A GIF or MP4 of a solid cloud turns it once; a page has a slider and turns under the finger.
        """
        ending = checks.choice(request.get("format"), self.films, "The film")
        kept, result = self._completed(request)
        if not len(result.new):
            raise RefusedError("Nothing is missing here, so there is no flow to show.", 422)
        with self._turn(), tempfile.TemporaryDirectory(prefix="ddeq-") as folder:
            path = Path(folder) / f"flow.{ending}"
            film = Film(kept, result.frames)
            write_film(path, film, "Points that were missing", result.residuals, result.spread)
            return path.read_bytes(), path.name

    def _completed(self, request: dict[str, Any]) -> tuple[np.ndarray, Completion]:
        """The points of a request and what completes them; the last answer is kept."""
        kept = checks.cloud(request.get("points"))
        size = checks.size(request.get("size"), len(kept))
        model = self._model("completer", kept.shape[1])
        key = f"{kept.dtype} {kept.shape} {size} ".encode() + kept.tobytes()
        with self._turn():
            if self.last is None or self.last[0] != key:
                found = complete_cloud(kept, model, seed=self.seed, size=size, watch=True)
                self.last = (key, found)
            result = self.last[1]
        if not np.isfinite(result.new).all():
            raise RefusedError("The solver met a value that is not finite; try another cloud.", 422)
        return kept, result

    def _classes(self, points: np.ndarray) -> list[dict[str, Any]] | None:
        """The classes in the model's order; none where no classifier knows what this may be.

        Digits are the only flat clouds here. Of solid ones the classifier knows some kinds, and
        its answer counts where it finds the cloud like those it was trained on.
        """
        try:
            model = self._model("classifier", points.shape[1])
        except RefusedError:
            return None
        with self._turn():
            found = classify(points, self.weights.get(("classifier", model.dim)), self.seed)
        if model.dim == 3 and getattr(found, "unlike", None) is not False:
            return None
        return [
            {"name": name.replace("_", " "), "probability": round(found[name], 4)}
            for name in model.classes
        ]

    def _model(self, kind: str, dim: int) -> Any:
        """A model, loaded at its first use."""
        find = completer_for if kind == "completer" else classifier_for
        named = self.weights.get((kind, dim))
        if named is None and not available(kind, dim):
            raise RefusedError(f"No {kind} for {dim}-D clouds comes with this version.", 501)
        with self._turn():
            return find(dim, named)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """The models and the random numbers, when those before are done with them."""
        if not self.lock.acquire(timeout=PATIENCE):
            raise RefusedError("The demo is busy with other requests; try again soon.", 503)
        try:
            yield
        finally:
            self.lock.release()


def _confidence(result: Completion) -> list[float | None] | None:
    """How sure each new point is, 0 to 1, where the completion says so."""
    values = getattr(result, "confidence", None)
    return None if values is None else [_finite(value) for value in np.ravel(values).tolist()]


def _short(points: np.ndarray) -> np.ndarray:
    """Points to four digits of their extent: less to send, the same to see."""
    if not len(points):
        return points
    extent = max(float(np.ptp(points, axis=0).max()), float(np.abs(points).max()) * 1e-9, 1e-300)
    digits = 4 - math.floor(math.log10(extent))
    return np.round(points.astype(np.float64), digits)


def _finite(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None
