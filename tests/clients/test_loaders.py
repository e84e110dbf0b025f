"""The intended loader is between program and driver, and a missing driver is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.building import PROGRAMS, program
from tests.clients.debian import MIDDLE, NEWEST, OLDEST, SUITES
from tests.clients.ways import DRIVER, LIBRARY, Way, debian, run, run_program, second_driver

UNINITIALIZED = "0x78000001"


def loaded(way: Way) -> list[str]:
    outcome = run_program("libraries.c", way)
    assert outcome.good, outcome
    return [line.removeprefix("loaded ") for line in outcome.output.splitlines() if line.startswith("loaded ")]


def test_our_loader_loads_our_driver_beside_it() -> None:
    assert loaded(Way()) == [str(LIBRARY / "libze_loader.so.1"), str(DRIVER)]


@pytest.mark.parametrize("suite", SUITES)
def test_debians_loader_loads_our_driver(suite: str) -> None:
    libraries = loaded(Way(suite))
    assert libraries[:2] == [str(debian(suite).libraries / "libze_loader.so.1"), str(DRIVER)]


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("between", ["validated", "traced"])
def test_a_layer_is_there_when_asked_for(suite: str, between: str) -> None:
    layer = {"validated": "validation", "traced": "tracing"}[between]
    assert str(debian(suite).libraries / f"libze_{layer}_layer.so.1") in loaded(Way(suite, between))


@pytest.mark.parametrize("way", [Way(None, "two"), *(Way(suite, "two") for suite in SUITES)], ids=str)
def test_two_libraries_are_two(way: Way) -> None:
    assert {str(DRIVER), str(second_driver())} <= set(loaded(way))


@pytest.mark.parametrize("suite", SUITES)
def test_a_tracer_sees_calls(suite: str) -> None:
    outcome = run_program("tracing.c", Way(suite, "traced"))
    assert outcome.good, outcome
    assert "one call was traced" in outcome.facts, outcome


@pytest.mark.parametrize("way", [Way(MIDDLE), Way(MIDDLE, "validated"), Way(NEWEST, "traced")], ids=str)
def test_mistakes_are_answered_alike(way: Way) -> None:
    outcome = run_program("mistakes.c", way)
    assert outcome.good, outcome


@pytest.mark.parametrize("suite", SUITES)
def test_a_driver_that_is_not_there(suite: str, tmp_path: Path) -> None:
    executable = program(PROGRAMS / "libraries.c", debian(OLDEST))
    outcome = run(executable, Way(suite), variables={"ZE_ENABLE_ALT_DRIVERS": str(tmp_path / "libze_absent.so.1")})
    assert outcome.status == 1, outcome
    assert f"zeInit(ZE_INIT_FLAG_GPU_ONLY) returned {UNINITIALIZED}" in outcome.errors, outcome


@pytest.mark.parametrize("suite", SUITES)
def test_a_driver_that_is_none_does_no_harm_to_ours(suite: str, tmp_path: Path) -> None:
    absent = tmp_path / "libze_absent.so.1"
    executable = program(PROGRAMS / "ping_pong.c", debian(OLDEST))
    outcome = run(executable, Way(suite), variables={"ZE_ENABLE_ALT_DRIVERS": f"{absent},{DRIVER}"})
    assert outcome.good, outcome
