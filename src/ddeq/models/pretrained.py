"""Saving and loading models: safetensors and JSON, never a pickle."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit
from urllib.request import getproxies

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from typing_extensions import Self

from ddeq.models.card import model_card

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
        save_file(weights, path / f".{WEIGHTS}")
        for name, text in texts.items():
            (path / f".{name}").write_text(text, encoding="utf-8")
        for name in (WEIGHTS, *texts):
            os.replace(path / f".{name}", path / name)

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
    return _fetch(name)


def _fetch(repo: str) -> Path:
    """The folder of a model from the hub, or from its cache where there is no network."""
    from huggingface_hub import constants, errors, hf_hub_download

    # Without a network the hub's own client would try for half a minute and say so each time.
    offline = not _reachable(constants.ENDPOINT)
    try:
        hf_hub_download(repo, WEIGHTS, local_files_only=offline)
        return Path(hf_hub_download(repo, CONFIG, local_files_only=offline)).parent
    except errors.LocalEntryNotFoundError as error:
        reason = "the hub cannot be reached and there is no copy of it here"
        cause: Exception = error
    except errors.RepositoryNotFoundError as error:
        reason, cause = "there is no such repository, or it is private", error
    except errors.EntryNotFoundError as error:
        reason, cause = f"the repository has no {WEIGHTS} and {CONFIG}", error
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
        reason, cause = (str(error).strip().splitlines() or [type(error).__name__])[0], error
    raise ValueError(f"cannot fetch {repo!r} from the Hugging Face hub: {reason}") from cause


def _reachable(address: str) -> bool:
    """Whether the host of an address has one, as far as can be told without asking it."""
    if getproxies():
        return True  # the proxy looks the name up
    try:
        return bool(socket.getaddrinfo(urlsplit(address).hostname, None))
    except OSError:
        return False
