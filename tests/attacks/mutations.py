"""Damage: bytes and JSON values changed at random places, and what comes of it."""

import copy
import time
from collections.abc import Callable
from typing import Any

import numpy as np

REFUSED = "refused in one line"
SECONDS = 10  # of the processor, for one case; most take a thousandth
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2.5, 1e308, -1e-320, 10**9, 10**30, float("nan"), float("inf"),
    "", "8", "a\nb", "\x1b[31m", "x" * 5000, [], [[]], {}, {"name": "Picard"}, [1, "a"],
]  # fmt: skip
WORDS = [
    b"",
    b"\0",
    b"\xff" * 8,
    b"-1",
    b"1e999",
    b"nan",
    b"99999999999",
    b"\n",
    b"\r\n",
    b"{",
    b'"',
]


def attempt(work: Callable[[], Any], error: type[Exception]) -> tuple[Any, str]:
    """What a call returns, or nothing and what its error says: one line without escapes."""
    begin = time.process_time()  # a busy machine is no fault
    try:
        result, message = work(), ""
    except error as caught:
        result, message = None, str(caught)
        if not message or not message.isprintable():
            raise AssertionError(f"not one line for people: {message!r}") from caught
    assert time.process_time() - begin < SECONDS
    return result, message


def damaged_bytes(whole: bytes, rng: np.random.Generator) -> bytes:
    """Bytes with one to four places cut out, overwritten, inserted or doubled, or cut off."""
    data = bytearray(whole)
    for _ in range(rng.integers(1, 5)):
        at, span = int(rng.integers(len(data) + 1)), int(rng.integers(9))
        kind = rng.integers(5)
        if kind == 0:
            data[at : at + span] = rng.bytes(span)
        elif kind == 1:
            data[at : at + span] = WORDS[rng.integers(len(WORDS))]
        elif kind == 2 and at < len(data):
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 3:
            data[at:at] = data[at : at + 40 * span]
        elif rng.random() < 0.3:
            del data[at:]
    return bytes(data)


def damaged_value(whole: Any, rng: np.random.Generator) -> Any:
    """A JSON value in which one to three parts are replaced, removed or renamed."""
    value = {"": copy.deepcopy(whole)}
    for _ in range(rng.integers(1, 4)):
        places = list(_places(value))
        if not places:
            break
        holder, key = places[rng.integers(len(places))]
        kind = rng.integers(4)
        if kind == 0 and holder is not value:
            del holder[key]
        elif kind == 1 and isinstance(holder, dict) and holder is not value:
            holder[f"{key}_"] = holder.pop(key)
        else:
            holder[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
    return value[""]


def _places(value: Any):
    keys = value if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key])
