"""The intended loader is between program and driver, and a missing driver is reported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.clients.building import PROGRAMS, program
from tests.clients.debian import MIDDLE, NEWEST, OLDEST, SUITES
from tests.clients.ways import DRIVER, LIBRARY, Way, debian, run, run_program, second_driver

UNINITIALIZED = "0x78000001"
OUR_CALLBACKS = LIBRARY.parent / "include" / "level_zero" / "layers" / "zel_tracing_register_cb.h"


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


@pytest.mark.parametrize("suite", [*SUITES, None])
def test_a_tracer_sees_calls(suite: str | None) -> None:
    outcome = run_program("tracing.c", Way(suite, "traced"))
    assert outcome.good, outcome
    assert "one call was traced" in outcome.facts, outcome


@pytest.mark.parametrize("suite", [NEWEST, None])
def test_tracers_behave_alike(suite: str | None) -> None:
    """The newest upstream loader and ours, with the upstream headers."""
    outcome = run_program("tracers.c", Way(suite), headers=NEWEST)
    assert outcome.good, outcome
    assert "no call of any thread is missed" in outcome.facts, outcome


def test_our_header_of_callbacks_declares_what_the_newest_one_declares() -> None:
    ours, theirs = (_declarations(text) for text in (OUR_CALLBACKS.read_text(), _callbacks_of(NEWEST)))
    assert len(ours) > 250
    assert {name: ours.get(name) for name in theirs} == theirs


def _callbacks_of(suite: str) -> str:
    return (debian(suite).headers / "layers" / "zel_tracing_register_cb.h").read_text()


def _declarations(text: str) -> dict[str, str]:
    """Parameter structures, callback types and functions by name, without comments, constness and spacing."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/|#[^\n]*|\bconst\b", "", text, flags=re.DOTALL)
    structures = re.findall(r"typedef struct _(\w+_params_t)\s*\{([^}]*)\}", text)
    functions = re.findall(r"(\w+Cb_t|zelTracer\w+)\)?\s*\(([^)]*)\)\s*;", text)
    # The names of functions' parameters vary.
    unnamed = [(name, re.sub(r"\w+\s*(,|$)", r"\1", body.strip())) for name, body in functions]
    return {name: re.sub(r"\s", "", body) for name, body in [*structures, *unnamed]}


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
