"""Programs in C and C++, compiled against Debian's headers, on our loader and on Debian's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.clients.building import PROGRAMS, ROOT
from tests.clients.debian import MIDDLE, NEWEST, OLDEST
from tests.clients.ways import FIRST, REST, Way, run_program

KERNELS = ROOT / "tests" / "kernels"
TRIAD = KERNELS / "saxpy.spv"

ARGUMENTS: dict[str, tuple[str | Path, ...]] = {
    "discovery.c": (),
    "fault.c": (TRIAD,),
    "globals.cpp": (TRIAD,),
    "immediate.c": (TRIAD,),
    "leaving.c": (),
    "matmul.cpp": (KERNELS / "matmul.spv",),
    "mistakes.c": (),
    "ping_pong.c": (),
    "printing.c": (KERNELS / "printing.spv",),
    "processes.c": (),
    "threads.cpp": (TRIAD,),
    "timestamps.c": (TRIAD,),
    "vector_add.c": (TRIAD, "triad"),
}
ELSEWHERE = {"counting.c", "libraries.c", "opencl.c", "tracers.c", "tracing.c", "two_drivers.c", "virtual_memory.c"}
"""These have separate tests."""


@pytest.mark.parametrize("way", FIRST, ids=str)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_program(name: str, way: Way) -> None:
    outcome = run_program(name, way, *ARGUMENTS[name])
    assert outcome.good, outcome


@pytest.mark.parametrize("way", REST, ids=str)
def test_discovery_and_kernels_on_every_loader(way: Way) -> None:
    for name in ("discovery.c", "vector_add.c"):
        outcome = run_program(name, way, *ARGUMENTS[name])
        assert outcome.good, outcome


def test_discovery_tells_what_the_program_did_not_know() -> None:
    outcome = run_program("discovery.c", Way(OLDEST))
    spoken = re.search(r"driver 0 speaks 1\.(\d+), this program 1\.4$", outcome.output, re.MULTILINE)
    assert spoken, outcome
    assert int(spoken[1]) > 4, outcome


@pytest.mark.parametrize(
    "way", [Way(), Way(MIDDLE), Way(MIDDLE, "validated"), Way(NEWEST), Way(NEWEST, "two")], ids=str
)
def test_what_is_newer_than_the_oldest_headers(way: Way) -> None:
    outcome = run_program("counting.c", way, TRIAD, headers=MIDDLE)
    assert outcome.good, outcome


@pytest.mark.parametrize("way", [Way(None, "two"), Way(OLDEST, "two"), Way(MIDDLE, "two"), Way(NEWEST, "two")], ids=str)
def test_two_drivers_side_by_side(way: Way) -> None:
    outcome = run_program("two_drivers.c", way, TRIAD)
    assert outcome.good, outcome
    assert "2 drivers" in outcome.facts, outcome
    assert {"driver 0 computed 10", "driver 1 computed 20"} <= set(outcome.facts), outcome


def test_a_fault_beside_two_copies_of_the_driver_ends() -> None:
    """Each has the other as its previous handler."""
    for way in (Way(None, "two"), Way(NEWEST, "two")):
        outcome = run_program("fault.c", way, TRIAD)
        assert outcome.good, outcome


def test_kernels_print_where_the_program_prints() -> None:
    outcome = run_program("printing.c", Way(), KERNELS / "printing.spv")
    items = [f"item {i} has" for i in range(4)]
    places = [outcome.output.find(text) for text in ("ok: before", *items, "ok: after")]
    assert -1 not in places, outcome
    assert places[0] < min(places[1:5]), outcome
    assert max(places[1:5]) < places[5], outcome


# The oldest layer for validation wants an address where the specification lets the driver choose one.
@pytest.mark.parametrize("way", [Way(), Way(OLDEST, "two"), Way(MIDDLE, "validated"), Way(NEWEST)], ids=str)
def test_virtual_memory(way: Way) -> None:
    outcome = run_program("virtual_memory.c", way)
    assert outcome.good, outcome


def test_what_goes_wrong_is_noticed() -> None:
    outcome = run_program("vector_add.c", Way(), TRIAD, "absent")
    assert not outcome.good
    assert outcome.status == 1
    assert "zeKernelCreate(module, &desc, &kernel) returned" in outcome.errors
    assert not run_program("two_drivers.c", Way(), TRIAD).good, "there is one driver"


def test_every_program_is_run() -> None:
    found = {path.name for path in PROGRAMS.iterdir() if path.suffix in (".c", ".cpp")}
    assert {name for name in found if not name.startswith("host_")} == ARGUMENTS.keys() | ELSEWHERE
