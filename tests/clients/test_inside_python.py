"""The client programs inside a Python host with a busy main thread: only module creation needs the GIL.

Each program is compiled as a shared library and its `main` called on a second thread, first while the main thread spins
in Python, then while it holds the GIL inside a C function. There it releases the GIL only while the program is
inside one of the functions that may need Python (`inside_python/gate.c` wraps these): everything else, from
append to completion, in queries and in destroys, has to complete while the GIL is held.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.building import PROGRAMS, ROOT, program
from tests.clients.debian import MIDDLE, OLDEST
from tests.clients.test_programs import ARGUMENTS, TRIAD
from tests.clients.ways import LIBRARY, Outcome, debian, environment
from tests.patience import PATIENCE

FOLDER = Path(__file__).parent / "inside_python"
SHARED = ("-shared", "-fPIC")

FORKING = {"processes.c"}
"""Its child has of Python only the lock, held by a thread that it does not have. Python's own fork exists for that."""

NEWER: dict[str, tuple[str | Path, ...]] = {"counting.c": (TRIAD,), "virtual_memory.c": ()}
INSIDE = {name: given for name, given in (ARGUMENTS | NEWER).items() if name not in FORKING}

LEAST = {"discovery.c": 1, "vector_add.c": 3, "threads.cpp": 10, "ping_pong.c": 1, "timestamps.c": 3, "counting.c": 4}
"""Calls that may need Python: starting the driver, and one for each module and kernel."""


def run_inside(name: str, mode: str, *, here: bool) -> Outcome:
    """`here` is whether that Python is the one that plans."""
    # Linkers drop unused libraries, and the gate finds the wrapped functions by name.
    gate = program(FOLDER / "gate.c", debian(MIDDLE), *SHARED, "-Wl,--no-as-needed")
    code = program(PROGRAMS / name, debian(MIDDLE if name in NEWER else OLDEST), *SHARED)
    given = [str(argument) for argument in INSIDE[name]]
    done = subprocess.run(
        [
            *(sys.executable, str(FOLDER / "host.py"), str(gate), mode),
            *(str(LIBRARY / "libze_anyzero.so.1") if here else "", str(code), *given),
        ],
        cwd=ROOT,
        env=environment({"LD_LIBRARY_PATH": str(LIBRARY)}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    facts = [line.removeprefix("ok: ") for line in done.stdout.splitlines() if line.startswith("ok: ")]
    return Outcome(done.returncode, done.stdout, done.stderr, facts)


@pytest.mark.parametrize("name", sorted(INSIDE))
def test_the_main_thread_never_rests(name: str) -> None:
    outcome = run_inside(name, "both", here=True)
    assert outcome.good, outcome
    found = re.findall(r"^(\w+): status 0, (\d+) calls that may need Python$", outcome.output, re.MULTILINE)
    assert [how for how, _ in found] == ["spinning", "sitting"], outcome
    for _, asked in found:
        assert int(asked) >= LEAST.get(name, 1), outcome


@pytest.mark.parametrize("name", sorted(INSIDE))
def test_a_python_that_knows_nothing_of_us_is_not_needed(name: str) -> None:
    """Not even for modules: another process plans."""
    outcome = run_inside(name, "deaf", here=False)
    assert outcome.good, outcome


def test_the_lock_is_really_held() -> None:
    """Functions that need Python block while the main thread holds the GIL."""
    outcome = run_inside("vector_add.c", "deaf", here=True)
    assert outcome.status == 3, outcome
    assert "the program did not end while the lock was held" in outcome.errors, outcome
    assert outcome.facts == [], outcome
