"""Saving and loading models: safetensors and JSON, never a pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors.torch import save_file
from typing_extensions import Self

from ddeq.errors import DdeqError
from ddeq.io.atomic import atomic_path
from ddeq.models import hub
from ddeq.models.card import model_card
from ddeq.models.schema import check_arguments, one_line, read_config
from ddeq.models.weights import check_entries, outline, read_header, read_weights

__all__ = ["Pretrained", "shipped", "shipped_folder"]

WEIGHTS, CONFIG, CARD = "model.safetensors", "config.json", "README.md"
SHIPPED = Path(__file__).parent.parent / "pretrained"


def shipped(kind: str) -> list[str]:
    """Names of the weights of this kind that come with the package."""
    return sorted(path.name.split("-", 1)[1] for path in SHIPPED.glob(f"{kind}-*"))


def shipped_folder(kind: str, name: str) -> Path | None:
    """The folder of weights that come with the package, if there are any of this name."""
    folder = SHIPPED / f"{kind}-{name}"
    return folder if (folder / CONFIG).is_file() else None


class Pretrained:
    """Saving and loading for models that have ``config`` and ``from_config``."""

    kind: ClassVar[str]

    def config(self) -> dict[str, Any]:
        """Constructor arguments as JSON values."""
        raise NotImplementedError

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A model with fresh weights."""
        raise NotImplementedError

    def save_pretrained(
        self,
        folder: str | os.PathLike[str],
        card: str | None = None,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        """Writes ``model.safetensors``, ``config.json`` and a model card ``README.md``.

        Files are replaced whole: an interrupted save leaves the old ones. A card that is there
        already stays, unless ``card`` or ``facts`` say something new.

        Args:
            folder: Where to; it is made if need be.
            card: The card's text, instead of one made from the configuration.
            facts: What is known of the model's making, for the card: data, recipe, metric, ….
        """
        assert isinstance(self, torch.nn.Module)
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        weights = {name: value.contiguous() for name, value in self.state_dict().items()}
        config = self.config()
        texts = {CONFIG: json.dumps({"kind": self.kind, **config}, indent=2) + "\n"}
        if card is not None:
            texts[CARD] = card
        elif facts is not None or not (path / CARD).exists():
            size = sum(value.numel() for value in weights.values())
            texts[CARD] = model_card(self.kind, config, size, facts)
        with ExitStack() as drafts:  # none takes its place before all are written
            for name, text in texts.items():
                draft = drafts.enter_context(atomic_path(path / name))
                draft.write_text(text, encoding="utf-8")
            save_file(weights, drafts.enter_context(atomic_path(path / WEIGHTS)))

    @classmethod
    def from_pretrained(cls, name: str | os.PathLike[str]) -> Self:
        """Loads a model in evaluation mode.

        Args:
            name: A folder that :meth:`save_pretrained` wrote, the name of weights that come with
                the package, or ``hf:user/repo`` on the Hugging Face hub. The network is used for
                the last only.

        Raises:
            DdeqError: in one line that names the file and the field, when there is no such model
                or its files do not fit. Memory is taken only for weights that fit.
        """
        folder = _locate(cls.kind, os.fspath(name))
        with _reading(folder / CONFIG):
            config = read_config(_file(folder / CONFIG))
            kind = config.pop("kind", None)
            if kind != cls.kind:
                raise DdeqError(f"it describes a {one_line(kind, 40)}, not a {cls.kind}")
            check_arguments(cls, config)
        with _reading(folder / WEIGHTS):
            header = read_header(_file(folder / WEIGHTS))
        with _reading(folder / CONFIG):
            sketch = outline(lambda: cls.from_config(config), len(header))
        with _reading(folder / WEIGHTS):
            check_entries(header, sketch, CONFIG)
            weights = read_weights(folder / WEIGHTS)
        floats = [value.dtype for value in weights.values() if value.is_floating_point()]
        model = cls.from_config(config).to(floats[0])
        model.load_state_dict(weights)
        return model.eval()


def _file(path: Path) -> Path:
    """The path of a regular file; reading any other kind might never end."""
    if path.exists() and not path.is_file():
        raise DdeqError("it is not a regular file")
    return path


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turns what is wrong with a file of a weight folder into one line that names the file."""
    try:
        yield
    except (OSError, KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
        if isinstance(error, KeyError):
            reason = f"{error} is missing"
        else:
            reason = getattr(error, "strerror", None) or str(error)
        raise DdeqError(one_line(f"cannot load a model from {path}: {reason}", 900)) from error


def _locate(kind: str, name: str) -> Path:
    """The folder of a model: in the package, on disk, or fetched from the hub if asked for."""
    folder = shipped_folder(kind, name)
    if folder is not None:
        return folder
    if os.path.isdir(name):
        return Path(name)
    if name.startswith(hub.PREFIX):
        return hub.fetch(name.removeprefix(hub.PREFIX), (WEIGHTS, CONFIG))
    names = ", ".join(shipped(kind)) or "none yet"
    raise DdeqError(
        f"no {kind} called '{one_line(name, 200)}': neither a folder nor shipped ({names}); "
        f"weights on the Hugging Face hub are named {hub.PREFIX}user/repo"
    )
