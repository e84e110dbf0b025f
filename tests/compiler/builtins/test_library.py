"""The list is complete, and what it gives is code that needs nothing else."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from anyzero.compiler.builtins.instructions import TABLE
from anyzero.compiler.builtins.library import names, routine
from anyzero.compiler.llvm import Type
from anyzero.compiler.spirv.tables import OpenCL
from tests.compiler.builtins import (
    samples,
    test_accuracy,
    test_exact,
    test_geometric,
    test_half,
    test_integer,
)
from tests.compiler.builtins.machine import DTYPES, counts_of, library, undefined
from tests.thorough import every

# These work on memory or are the compiler's own.
ELSEWHERE = {name for name in vars(OpenCL) if name.startswith(("vload", "vstore", "shuffle", "printf", "prefetch"))}
INSTRUCTIONS = {name for name in vars(OpenCL) if not name.startswith("_")} - ELSEWHERE
REALS = ["half", "float", "double"]
INTEGERS = ["i8", "i16", "i32", "i64"]


def test_every_instruction_has_a_routine() -> None:
    assert names() == INSTRUCTIONS


def test_every_instruction_is_tested() -> None:
    tested = {*test_accuracy.BOUNDS, *test_accuracy.PAIRS, *test_accuracy.WITH_INTEGERS, "sincos", "lgamma_r"}
    for module in (test_exact, test_geometric, test_half, test_integer):
        tested |= module.TESTED
    assert INSTRUCTIONS - tested == set()


def test_what_is_not_there_is_said_so() -> None:
    with pytest.raises(KeyError, match="printf has no routine"):
        routine("printf", "float", 8)
    with pytest.raises(KeyError, match="exp has no routine for i32"):
        routine("exp", "i32", 8)
    with pytest.raises(KeyError, match="u_upsample has no routine for i64"):
        routine("u_upsample", "i64", 8)
    with pytest.raises(ValueError, match="65 lanes"):
        routine("exp", "float", 65)


def test_a_routine_is_written_once() -> None:
    assert routine("exp", "float", 16) is routine("exp", "float", 16)
    assert routine("length", "float", 4, 3).symbol != routine("length", "float", 4, 4).symbol


def test_shapes() -> None:
    vector = Type("float", 8)
    assert routine("sincos", "float", 8).results == (vector, vector)
    assert routine("frexp", "float", 8).results == (vector, Type("i32", 8))
    assert routine("ldexp", "half", 8).parameters == (Type("half", 8), Type("i32", 8))
    assert routine("ilogb", "double", 0).results == (Type("i32"),)
    assert routine("nan", "i64", 4).results == (Type("double", 4),)
    assert routine("u_upsample", "i16", 2).results == (Type("i32", 2),)
    assert routine("select", "double", 2).parameters == (Type("double", 2), Type("double", 2), Type("i64", 2))
    assert len(routine("distance", "float", 8, 3).parameters) == 6
    assert len(routine("cross", "float", 8, 4).results) == 4


def test_only_the_parts_that_a_routine_needs_are_imported() -> None:
    code = """
import sys
from anyzero.compiler.builtins import library

def loaded(*names):
    return [name for name in names if name in sys.modules or f"anyzero.compiler.builtins.{name}" in sys.modules]

print(loaded("numpy", "llvmlite", *library.PARTS))
library.routine("exp", "float", 8)
print(loaded("exponential", "gamma", "native"))
library.names()
print(loaded(*library.PARTS) == list(library.PARTS))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['exponential']", "True"]


@pytest.mark.parametrize("element", INTEGERS + REALS)
@pytest.mark.parametrize("cpu", every(2, ["x86-64-v3", ""]))
def test_nothing_is_left_undefined(element: str, cpu: str) -> None:
    """Neither with registers of 512 bits nor with those that every recent machine has."""
    assert undefined(library(element, cpu=cpu).object) == []


def agree(element: str, lanes: int, count: int, cpu: str = "") -> None:
    """The same bits from every variant; of NaN, any will do."""
    pool = np.concatenate([samples.edges(element), samples.of_all_sizes(element, count)])
    pool = np.concatenate([pool, samples.within(element, -20, 20, count)])
    random = np.random.default_rng(8)
    few, many = library(element, lanes, cpu), library(element)
    assert undefined(few.object) == []
    for (name, components), small in few.routines.items():
        operands = [
            random.permutation(pool) if type_.element == element else random.integers(-99, 99, len(pool)).astype(dtype)
            for type_ in small.routine.parameters
            for dtype in [DTYPES[type_.element]]
        ]
        for got, right in zip(small(*operands), many.routines[name, components](*operands), strict=True):
            alike = (got == right) | ((got != got) & (right != right))
            assert alike.all(), (
                name,
                [operand[~alike][:3] for operand in operands],
                got[~alike][:3],
                right[~alike][:3],
            )


@pytest.mark.parametrize("lanes", every(4, [0, 1, 4, 8]))
def test_lanes_make_no_difference_to_floats(lanes: int) -> None:
    agree("float", lanes, 300)


@pytest.mark.parametrize("lanes", every(3, [3, 0, 16]))
def test_lanes_make_no_difference_to_doubles(lanes: int) -> None:
    agree("double", lanes, 300)


def test_lanes_make_no_difference_to_halves() -> None:
    agree("half", 0, 100)


@pytest.mark.parametrize("element", REALS)
def test_older_processors_give_the_same(element: str) -> None:
    agree(element, 512 // Type(element).bits, 200, "x86-64-v3")


def test_every_length_can_be_written() -> None:
    for name in sorted(names()):
        for element in TABLE[name].elements:
            for lanes in (1, 5, 64):
                for count in counts_of(name):
                    assert f"@az.{name}" in routine(name, element, lanes, count).text


def test_signs_of_gamma() -> None:
    x = np.array([0.0, -0.0, 0.5, 3.0, -0.5, -1.5, -2.5, -170.5, -171.5], np.float64)
    for element in ("float", "double"):
        size, sign = library(element).routines["lgamma_r", 1](x.astype(DTYPES[element]))
        assert sign.tolist() == [1, -1, 1, 1, -1, 1, -1, -1, 1]
        same = library(element).routines["lgamma", 1](x.astype(DTYPES[element]))[0]
        assert np.array_equal(size, same)
