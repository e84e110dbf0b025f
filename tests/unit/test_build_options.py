"""Build flags: which are known, what they set, and what is said about the others."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyzero.compiler.compiled import Options
from anyzero.config import Config
from anyzero.driver.modules import build_options
from anyzero.driver.modules.build_options import parse


def options(flags: str, **environment: object) -> Options:
    made, warnings = parse(flags, Config(**environment))  # type: ignore[arg-type]
    assert warnings == []
    return made


def test_no_flags_give_the_defaults() -> None:
    assert options("") == options("   ") == Options()


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        ("-ze-opt-disable", 0),
        ("-cl-opt-disable", 0),
        ("-ze-opt-level=0", 0),
        ("-ze-opt-level=1", 1),
        ("-ze-opt-level 1", 1),
        (" -ze-opt-level=2", 2),
        ("-ze-opt-level=9", 3),
        ("-O3", 3),
        ("-O0 -ze-opt-level=1", 1),
        ("-ze-opt-level=1,-g", 1),
    ],
)
def test_the_level_of_optimization(flags: str, level: int) -> None:
    assert options(flags).level == level


def test_the_environment_outranks_the_flags() -> None:
    assert options("-ze-opt-level=2", opt_level=0).level == 0
    assert options("", opt_level=3).level == 3


def test_flags_with_a_meaning_for_the_compiler() -> None:
    assert options("-g").debug
    assert options("-ze-opt-greater-than-4GB-buffer-required").greater_than_4gb
    assert options("-cl-intel-greater-than-4GB-buffer-required").greater_than_4gb
    assert options("-ze-opt-large-register-file").large_registers
    assert options("-ze-exp-register-file-size=256").large_registers
    assert options("-ze-exp-register-file-size 256").large_registers
    assert options("-ze-opt-large-register-file, -g,-ze-opt-disable") == Options(
        level=0, debug=True, large_registers=True
    )


@pytest.mark.parametrize(
    "flags",
    [
        "-ze-opt-has-buffer-offset-arg",
        "-ze-take-global-address -cl-fast-relaxed-math -cl-mad-enable",
        "-cl-std=CL2.0 -cl-fp32-correctly-rounded-divide-sqrt",
        "-cl-std CL3.0",
        "-cl-ext=+all,-cl_khr_fp64 -library-compilation",
        "-DNAME=1 -D OTHER=2 -I folder -Ifolder",
        '-D "TEXT=with spaces"',
        "-ze-exp-register-file-size=128",
        "-ze-exp-register-file-size 128",
    ],
)
def test_known_flags_without_an_effect_are_accepted_in_silence(flags: str) -> None:
    assert options(flags) == Options()


def test_an_unknown_flag_is_warned_of_and_nothing_else_happens() -> None:
    made, warnings = parse("-ze-opt-fly -g --help word", Config())
    assert made == Options(debug=True)
    assert warnings == [
        'the build flag "-ze-opt-fly" is not known and has no effect',
        'the build flag "--help" is not known and has no effect',
        'the build flag "word" is not known and has no effect',
    ]


@pytest.mark.parametrize("flags", ["-ze-opt-level", "-ze-opt-level=", "-ze-opt-level=high", "-ze-opt-level -g"])
def test_a_level_that_is_no_number_is_warned_of(flags: str) -> None:
    made, warnings = parse(flags, Config())
    assert made.level == 2
    assert len(warnings) == 1
    assert "instead of a number" in warnings[0]


def test_the_environment_shapes_the_code() -> None:
    made = options("", lanes=16, gathers=False, target="znver4")
    assert (made.lanes, made.gathers, made.cpu) == (16, False, "znver4")


@given(st.text())
def test_any_text_is_survived(flags: str) -> None:
    made, warnings = parse(flags, Config())
    assert 0 <= made.level <= 3
    assert all(line.isprintable() for line in warnings)


@given(st.text(alphabet="ab-,= \t\n\"'\\"))
def test_words_are_those_of_a_shell(flags: str) -> None:
    try:
        expected = shlex.split(flags)
    except ValueError:
        expected = flags.split()
    assert build_options._split(flags) == expected


@pytest.mark.parametrize(
    "flags", ["x" * (1 << 20), "x " * (1 << 18), '"' * (1 << 20), "'\\" * (1 << 19), "-g," * (1 << 18)]
)
def test_a_megabyte_of_flags_is_read(flags: str) -> None:
    made, warnings = parse(flags, Config())
    assert made.level == 2
    assert sum(map(len, warnings)) < 20_000
