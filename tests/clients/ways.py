"""The ways a program comes to our driver: through our loader, or through Debian's with what can be put in between."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.clients.building import BUILT, PROGRAMS, ROOT, program
from tests.clients.debian import MIDDLE, NEWEST, OLDEST, Loader, NotAvailableError, Release, release
from tests.patience import PATIENCE

LIBRARY = ROOT / "src" / "anyzero" / "lib"
DRIVER = LIBRARY / "libze_anyzero.so.1"
OURS = Loader("ours", LIBRARY)

BETWEEN: dict[str, dict[str, str]] = {
    "": {},
    "validated": {"ZE_ENABLE_VALIDATION_LAYER": "1", "ZE_ENABLE_PARAMETER_VALIDATION": "1"},
    "traced": {"ZE_ENABLE_TRACING_LAYER": "1"},
    "intercepted": {"ZE_ENABLE_LOADER_INTERCEPT": "1"},
    "two": {},
}
"""Configurations of an upstream loader. `two` is a second driver library beside ours."""


@dataclass(frozen=True)
class Way:
    suite: str | None = None
    """The release of Debian whose loader it is; None for our own."""
    between: str = ""

    def __str__(self) -> str:
        return "-".join(part for part in (self.suite or "ours", self.between) if part)

    @property
    def drivers(self) -> tuple[Path, ...]:
        return (DRIVER, second_driver()) if self.between == "two" else (DRIVER,)

    def loader(self) -> Loader:
        return debian(self.suite).loader() if self.suite else OURS

    def variables(self) -> dict[str, str]:
        made = dict(BETWEEN[self.between])
        if self.suite:
            made["ZE_ENABLE_ALT_DRIVERS"] = ",".join(map(str, self.drivers))
        elif self.between == "two":
            made["ZE_ENABLE_ALT_DRIVERS"] = str(second_driver())
        return made


OURS_ALONE = Way()
FIRST = [OURS_ALONE, Way(OLDEST), Way(OLDEST, "validated")]
"""The expected output of every program."""
REST = [
    *(Way(OLDEST, between) for between in ("traced", "intercepted", "two")),
    *(Way(suite, between) for suite in (MIDDLE, NEWEST) for between in BETWEEN),
    Way(None, "two"),
]


@functools.cache
def debian(suite: str) -> Release:
    """A release of Debian, or a skip with the reason."""
    try:
        return release(suite)
    except NotAvailableError as error:
        pytest.skip(f"Level Zero of Debian's {suite} cannot be had: {error}")


@functools.cache
def second_driver() -> Path:
    """Our driver under another name, which makes it a separate library with its own state."""
    BUILT.mkdir(parents=True, exist_ok=True)
    part, target = BUILT / f"libze_other.{os.getpid()}", BUILT / "libze_other.so.1"
    shutil.copy(DRIVER, part)
    part.replace(target)
    return target


@dataclass(frozen=True)
class Outcome:
    status: int
    output: str
    errors: str
    facts: list[str] = field(default_factory=list)
    """The checks that the program printed."""

    @property
    def good(self) -> bool:
        return self.status == 0 and bool(self.facts) and "FAILED" not in self.output

    def __str__(self) -> str:
        return f"exit status {self.status}\n--- stdout\n{self.output}\n--- stderr\n{self.errors}"


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The machine's environment, without Level Zero variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANYZERO_", "ZE_", "ZEL_"))}
    # Other installed packages must not change the number of drivers.
    return {**kept, "ANYZERO_PYTHON": sys.executable, "ANYZERO_DEVICES": "cpu", **variables}


def run(executable: Path, way: Way, *arguments: str | Path, variables: Mapping[str, str] | None = None) -> Outcome:
    loader = way.loader()
    extra = way.variables() | dict(variables or {})
    # A separate dynamic linker has its own search path; the variable would also affect child processes.
    if not loader.start:
        extra["LD_LIBRARY_PATH"] = str(loader.folder)
    done = subprocess.run(
        [*loader.start, str(executable), *map(str, arguments)],
        cwd=ROOT,
        env=environment(extra),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    facts = [line.removeprefix("ok: ") for line in done.stdout.splitlines() if line.startswith("ok: ")]
    return Outcome(done.returncode, done.stdout, done.stderr, facts)


def run_program(name: str, way: Way, *arguments: str | Path, headers: str = OLDEST) -> Outcome:
    """Compiles one of `programs/` and runs it."""
    return run(program(PROGRAMS / name, debian(headers)), way, *arguments)
