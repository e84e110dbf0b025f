"""Any and all of a vector: of truth values, as the specification has it, and of integers, as LLVM 22 writes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.reference import run
from anyzero.compiler.spirv import SpirvError
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel

SCALARS = [("i8", np.int8), ("i16", np.int16), ("i32", np.int32), ("i64", np.int64)]
BODY = """
    %from = OpInBoundsPtrAccessChain %to_vector %p1 %i
    %value = OpLoad %vector %from
    {lines}
    %any = OpAny %bool {of}
    %all = OpAll %bool {of}
    %one = OpSelect %i32 %any %c1 %c0
    %two = OpSelect %i32 %all %c2 %c0
    %both = OpBitwiseOr %i32 %one %two
    %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
    OpStore %to %both"""
DECLARED = """
    %vector = OpTypeVector %{scalar} {count}
    %bools = OpTypeVector %bool {count}
    %zeros = OpConstantNull %vector
    %to_vector = OpTypePointer CrossWorkgroup %vector"""


def answers(given: Any, scalar: str, lanes: int, lines: str, of: str) -> Any:
    """One bit for any, one for all; from the reference and from compiled code, which must agree."""
    declared = DECLARED.format(scalar=scalar, count=given.shape[1])
    module = kernel(BODY.format(lines=lines, of=of), "%global_i32 %to_vector", declared)
    wanted, found = (np.zeros(len(given), np.int32) for _ in range(2))
    flat = np.ascontiguousarray(given).view(np.uint8).ravel()
    run(module, "main", [wanted, flat], len(given))
    Loaded(pipeline.compile_kernel(module, "main", Options(lanes=lanes)))([found, flat], (len(given),), (len(given),))
    assert found.tolist() == wanted.tolist()
    return found


def some(dtype: Any, count: int) -> Any:
    """Rows in which each of any and all is sometimes true, by the sign as well as by being other than zero."""
    choices = np.array([0, 1, 2, -1, np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    rows = np.random.default_rng(3).choice(choices, (60, count))
    rows[:6] = choices[:, None]
    return rows


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize(("scalar", "dtype"), SCALARS)
@pytest.mark.parametrize("count", [8, 16])
def test_of_integers_the_sign_counts(scalar: str, dtype: Any, count: int, lanes: int) -> None:
    """As in OpenCL C, where these vectors come from; and as Intel's runtime takes them."""
    given = some(dtype, count)
    signs = given < 0
    expected = signs.any(axis=1) + 2 * signs.all(axis=1)
    assert {0, 1, 3} == set(expected)
    assert answers(given, scalar, lanes, "", "%value").tolist() == expected.tolist()


@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_of_truth_values(lanes: int) -> None:
    given = some(np.int32, 8)
    truth = given != 0
    expected = truth.any(axis=1) + 2 * truth.all(axis=1)
    found = answers(given, "i32", lanes, "%truth = OpINotEqual %bools %value %zeros", "%truth")
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("of", ["%c7", "%half", "%floats"])
def test_of_anything_else_there_is_none(of: str) -> None:
    declared = "%floats = OpConstantComposite %v4f32 %half %half %half %half"
    with pytest.raises(SpirvError, match="instead of booleans"):
        kernel(f"%x = OpAny %bool {of}", declarations=declared)
