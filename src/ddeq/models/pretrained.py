"""Saving and loading models: safetensors and JSON, never a pickle."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from typing_extensions import Self

__all__ = ["Pretrained", "shipped"]

WEIGHTS, CONFIG, CARD = "model.safetensors", "config.json", "README.md"
SHIPPED = Path(__file__).parent.parent / "pretrained"


def shipped(kind: str) -> list[str]:
    """Names of the weights of this kind that come with the package."""
    return sorted(path.name.split("-", 1)[1] for path in SHIPPED.glob(f"{kind}-*"))


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

    def save_pretrained(self, folder: str | os.PathLike[str], card: str | None = None) -> None:
        """Writes ``model.safetensors``, ``config.json`` and, if given, a card ``README.md``.

        Files are replaced whole: an interrupted save leaves the old ones.
        """
        assert isinstance(self, torch.nn.Module)
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        weights = {name: value.contiguous() for name, value in self.state_dict().items()}
        save_file(weights, path / f".{WEIGHTS}")
        config = json.dumps({"kind": self.kind, **self.config()}, indent=2)
        (path / f".{CONFIG}").write_text(config + "\n")
        for name in (WEIGHTS, CONFIG):
            os.replace(path / f".{name}", path / name)
        if card is not None:
            (path / CARD).write_text(card)

    @classmethod
    def from_pretrained(cls, name: str | os.PathLike[str]) -> Self:
        """Loads a model in evaluation mode.

        Args:
            name: A folder that :meth:`save_pretrained` wrote, the name of weights that come with
                the package (no network is used), or ``user/repo`` on the Hugging Face hub.

        Raises:
            ValueError: in one line, when there is no such model or its files do not fit.
        """
        folder = _locate(cls.kind, os.fspath(name))
        config_path, weights_path = folder / CONFIG, folder / WEIGHTS
        try:
            config = json.loads(config_path.read_text())
            weights = load_file(weights_path)
        except (OSError, ValueError, SafetensorError) as error:
            raise ValueError(f"cannot load a model from {folder}: {error}") from error
        if not isinstance(config, dict):
            raise ValueError(f"{config_path} does not hold a JSON object")
        kind = config.pop("kind", None)
        if kind != cls.kind:
            raise ValueError(f"{folder} holds a {kind}, not a {cls.kind}")
        try:
            model = cls.from_config(config)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{config_path} does not describe a {cls.kind}: {error}") from error
        dtypes = {value.dtype for value in weights.values()}
        if len(dtypes) == 1:
            model = model.to(dtypes.pop())
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            reason = reason if len(reason) < 300 else reason[:300] + " ..."
            raise ValueError(f"{weights_path} does not fit {config_path}: {reason}") from error
        return model.eval()


def _locate(kind: str, name: str) -> Path:
    """The folder of a model: on disk, in the package, or fetched from the hub."""
    if (SHIPPED / f"{kind}-{name}").is_dir():
        return SHIPPED / f"{kind}-{name}"
    if Path(name).is_dir():
        return Path(name)
    if name.count("/") != 1 or name.startswith((".", "/", "~")):
        names = ", ".join(shipped(kind)) or "none yet"
        raise ValueError(f"no {kind} called {name!r}: neither a folder nor shipped ({names})")
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        hf_hub_download(name, WEIGHTS)
        return Path(hf_hub_download(name, CONFIG)).parent
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"cannot fetch {name!r} from the Hugging Face hub: {reason}") from error
