"""A client: its packages, how its tests run on this driver and on a peer, and the differences that are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clients.results import Results

__all__ = ["Client", "Known", "Side"]

Command = tuple[Sequence[str], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Known:
    """Tests that the peer passes and this driver does not, and why."""

    tests: str
    """A regular expression, searched for in a test's name."""
    why: str
    detail: str = ""
    """Another one, searched for in what the test said; so that a new reason for a failure is noticed."""

    def covers(self, test: str, said: str) -> bool:
        return bool(re.search(self.tests, test)) and bool(re.search(self.detail, said))


@dataclass(frozen=True, slots=True)
class Side:
    """Our driver or the peer: a name, and the command for a sample of this many tests, 0 for all."""

    name: str
    command: Callable[[Path, int], Command]


@dataclass(frozen=True, slots=True)
class Client:
    """A client; `slice` is how many of its tests `make test` runs."""

    name: str
    title: str
    environment: str
    """Empty for the environment of this repository."""
    packages: tuple[str, ...]
    modules: tuple[str, ...]
    """A Python that can import these can run a slice, without a separate environment."""
    version_of: tuple[str, ...]
    ours: Side
    peer: Side | None
    sample: int
    slice: int
    known: tuple[Known, ...] = field(default=())

    def differences(self, ours: Results, peer: Results) -> dict[str, Known | None]:
        """The tests that the peer passes and this driver does not; each with its reason, None where none is known."""
        found: dict[str, Known | None] = {}
        for test, outcome in ours.outcomes.items():
            if outcome in ("failed", "crashed") and peer.outcomes.get(test) == "passed":
                said = ours.details.get(test, "")
                found[test] = next((each for each in self.known if each.covers(test, said)), None)
        return found
