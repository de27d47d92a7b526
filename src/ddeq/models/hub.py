"""Weights from the Hugging Face hub, and only when a name begins with ``hf:``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from ddeq.errors import DdeqError
from ddeq.models.schema import one_line

__all__ = ["PREFIX", "fetch"]

PREFIX = "hf:"
_SECONDS = 5.0


def fetch(repo: str, files: Sequence[str]) -> Path:
    """The folder of a repository's files, from the hub or from its cache on this machine.

    Args:
        repo: ``user/repo``.
        files: Names of the files that are needed.

    Raises:
        DdeqError: in one line, after a few seconds at most if the hub does not answer.
    """
    from huggingface_hub import constants, errors, hf_hub_download

    # Where nothing answers, the hub's own client would try for minutes and say so each time.
    offline = not _answers(constants.ENDPOINT)
    try:
        paths = [
            hf_hub_download(repo, name, local_files_only=offline, etag_timeout=_SECONDS)
            for name in files
        ]
        return Path(paths[0]).parent
    except errors.LocalEntryNotFoundError as error:
        reason = "the hub cannot be reached and there is no copy of it here"
        cause: Exception = error
    except errors.RepositoryNotFoundError as error:
        reason, cause = "there is no such repository, or it is private", error
    except errors.EntryNotFoundError as error:
        reason, cause = f"the repository has no {' and '.join(files)}", error
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
        reason, cause = (str(error).strip().splitlines() or [type(error).__name__])[0], error
    shown = one_line(f"{PREFIX}{repo}", 100)
    raise DdeqError(f"cannot fetch '{shown}' from the Hugging Face hub: {reason}") from cause


def _answers(address: str) -> bool:
    """Whether anything answers at an address, within a few seconds."""
    try:
        with urlopen(Request(address, method="HEAD"), timeout=_SECONDS):
            return True
    except HTTPError:
        return True  # an answer, if an unfriendly one
    except (OSError, ValueError):
        return False
