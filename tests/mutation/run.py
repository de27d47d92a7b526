"""Mutation testing: how many small changes of the code do its tests notice?

``python tests/mutation/run.py --sample 200 --minutes 40 -o results/mutation.json`` draws changes
inside functions of measures, solvers, adjoints and nn at random. The tests of these rooms are
collected once; for each change a forked process replaces the code of the changed functions and runs
the tests of their room until one fails, those named after the file first and the others in random
order. A change that none notices survives: a test is missing, or the code does nothing, or the
change has no effect.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import resource
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from _pytest.runner import runtestprotocol
from mutants import Mutant, count, mutant

ROOT = Path(__file__).parents[2]
ROOMS = ("measures", "solvers", "adjoints", "nn")
NO_EFFECT = json.loads((Path(__file__).parent / "no_effect.json").read_text())


@dataclass
class Fate:
    """What became of a change: the test that noticed it, if one did."""

    change: Mutant
    noticed_by: str | None


@dataclass
class Mutation:
    """A plugin of pytest: takes the place of the loop over the collected tests."""

    rooms: list[str]
    sample: int
    seed: int
    minutes: float
    seconds: float
    output: Path
    fates: list[Fate] = field(default_factory=list)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Tries changes until the time is over; tests that notice one must pass without it."""
        for path, number in self._drawn():
            if self._has_no_effect(mutant(path, number)):
                continue
            used = sum(os.times()[:4])
            if used > 60 * self.minutes:
                break
            change = mutant(path, number)
            tests = [item for item in session.items if item.path.parent.name == _room(path)]
            random.Random(self.seed + number).shuffle(tests)
            tests.sort(key=lambda item: not _likely(item, path))
            self.fates.append(Fate(change, self._noticed(change, tests)))
            where = f"{path.relative_to(ROOT)}:{change.line}"
            word = "noticed " if self.fates[-1].noticed_by else "SURVIVES"
            print(time.strftime("%H:%M"), word, where, change.change, flush=True)
            self._write(used)
        names = {fate.noticed_by for fate in self.fates} - {None, "time"}
        for item in session.items:
            if item.name in names and self._noticed(None, [item]):
                raise AssertionError(f"{item.name} fails without a change")
        return True

    def _drawn(self) -> list[tuple[Path, int]]:
        """Files and numbers of changes: as many of each room, at random, rooms in turn."""
        rng, rooms = random.Random(self.seed), []
        for room in self.rooms:
            files = sorted((ROOT / "src" / "ddeq" / room).rglob("*.py"))
            found = [(path, number) for path in files for number in range(count(path))]
            rooms.append(rng.sample(found, min(self.sample // len(self.rooms), len(found))))
        return [one for turn in zip(*rooms, strict=False) for one in turn]

    @staticmethod
    def _has_no_effect(change: Mutant) -> bool:
        """Whether a person found that the change alters nothing that can be seen."""
        line = change.path.read_text().splitlines()[change.line - 1].strip()
        entry = {"file": str(change.path.relative_to(ROOT)), "line": line, "change": change.change}
        return any(entry.items() <= known.items() for known in NO_EFFECT)

    def _noticed(self, change: Mutant | None, tests: list[pytest.Item]) -> str | None:
        """The name of a test that fails, in a process of its own; ``time`` for an endless one."""
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            _child(change, tests, send, self.seconds)
        os.close(send)
        with os.fdopen(receive) as lines:
            name = lines.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status > 1:
            raise RuntimeError(name)
        return None if status == 0 else name or "time"

    def _write(self, used: float) -> None:
        alive = [fate.change for fate in self.fates if fate.noticed_by is None]
        rooms = Counter(_room(fate.change.path) for fate in self.fates)
        lost = Counter(_room(change.path) for change in alive)
        report = {
            "changes": len(self.fates),
            "noticed": len(self.fates) - len(alive),
            "score": round(1 - len(alive) / len(self.fates), 4),
            "rooms": {r: {"changes": n, "noticed": n - lost[r]} for r, n in rooms.items()},
            "settings": {"seed": self.seed, "seconds of tests per change": self.seconds},
            "processor seconds": round(used),
            "survivors": [
                {"file": str(c.path.relative_to(ROOT)), "line": c.line, "change": c.change}
                for c in alive
            ],
        }
        self.output.write_text(json.dumps(report, indent=2) + "\n")


def _room(path: Path) -> str:
    return path.relative_to(ROOT / "src" / "ddeq").parts[0]


def _likely(item: pytest.Item, path: Path) -> bool:
    """Whether a test is for a file by its name; these run first, so that few are needed."""
    stem = path.stem.rstrip("s") if path.stem not in ("__init__", "base") else path.parent.name
    return stem in item.path.stem or "bounds" in item.path.stem


def _child(change: Mutant | None, tests: list[pytest.Item], send: int, seconds: float) -> None:
    """Runs tests until one fails or the time is over, and never returns."""
    status = 2
    try:
        most = int(time.process_time() + 4 * seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        if change is not None:
            _replace(change)
        end = time.process_time() + seconds
        for item in tests:
            reports = runtestprotocol(item, log=False, nextitem=None)
            if any(report.failed for report in reports):
                os.write(send, item.name.encode())
                status = 1
                break
            if time.process_time() > end:
                status = 0
                break
        else:
            status = 0
    except BaseException:
        os.write(send, traceback.format_exc().encode())
    finally:
        os._exit(status)


def _replace(change: Mutant) -> None:
    """Gives every function of the changed module its new code, wherever it is referred to."""
    new = {(code.co_name, code.co_firstlineno): code for code in _codes(change.code)}
    for function in gc.get_objects():
        if type(function) is FunctionType:  # lazy objects answer isinstance
            code = function.__code__
            if code.co_filename == str(change.path):
                function.__code__ = new.get((code.co_name, code.co_firstlineno), code)


def _codes(code: CodeType) -> list[CodeType]:
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return [code, *(deep for one in inner for deep in _codes(one))]


def main() -> None:
    """Collects the tests and lets the plugin run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS))
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=40.0, help="of the processor, in all")
    parser.add_argument("--seconds", type=float, default=30.0, help="of tests per change")
    parser.add_argument("-o", "--output", type=Path, default=Path("mutation.json"))
    plugin = Mutation(**vars(parser.parse_args()))
    tests = [str(ROOT / "tests" / room) for room in plugin.rooms]
    sys.exit(pytest.main(["-s", "-q", "-p", "no:cacheprovider", *tests], plugins=[plugin]))


if __name__ == "__main__":
    main()
