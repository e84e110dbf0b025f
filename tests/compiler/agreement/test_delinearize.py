"""Kernels that divide their id by the length of rows: launches that such rows fill run in two dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anyzero.compiler import reference
from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import read
from anyzero.layouts.container import ArgumentUse
from benchmarks.kernels.case import FOLDER, Argument
from tests.compiler import native
from tests.compiler.agreement.cases import module_of
from tests.compiler.agreement.comparison import disagreement
from tests.compiler.agreement.function import Shape
from tests.compiler.agreement.generator import Program
from tests.compiler.agreement.test_found import kernel as kernel_text
from tests.compiler.assembler import assemble

KERNELS = FOLDER / "linear_ids.spv"

random = np.random.default_rng(41)
A, B = random.integers(-99, 99, (2, 40 * 130)).astype(np.int32)
BYTES = random.integers(0, 255, 40 * 130).astype(np.uint8)

BOUNDED = ["product", "gather_columns", "add_bias", "convolve", "enlarge", "count_columns", "padded"]
UNBOUNDED = ["transpose", "differences", "late_bound", "two_lengths", "framed", "updated", "knows_size"]
STRIDED = ["strided_product", "strided_bias", "strided_chain"]
FIXED = {
    "fixed_levels": (40, 40 * 36 * 3),
    "fixed_product": (64, None),
    "fixed_transpose": (64, None),
    "fixed_channels": (150, None),
    "fixed_bytes": (256, None),
}
"""Lengths of rows that are constants, and the number of elements where the kernel tells it."""
ALL = [*BOUNDED, *UNBOUNDED, *STRIDED, *FIXED]


def arguments(name: str, length: int, items: int, size: int) -> list[Argument]:
    """For rows of this length, as far as the kernel allows it, and so many work-items."""
    room, rows = np.zeros(items + 64, np.int32), max(1, items // length)
    sizes = [np.int32(length), np.int32(rows)]
    n = np.int32(items)
    fixed = [np.zeros(max(items, size) + 64, np.int32), np.tile(A, 2)]
    return {
        **dict.fromkeys(FIXED, fixed),
        "fixed_product": [*fixed, B],
        "padded": [room, np.tile(A, 4), np.int32(length - 4), np.int32(2), n],
        "framed": [room, np.tile(A, 4), np.array([99, length - 4, 2, 3], np.int32)],
        "product": [room, A, B, sizes[1], sizes[0], np.int32(11)],
        "transpose": [np.zeros(length * (rows + 2), np.int32), A, *sizes],
        "gather_columns": [room, np.tile(A, 4), sizes[1], sizes[0], n],
        "add_bias": [A[: items + 64].copy(), B, np.int32(3), np.int32(length), n],
        "convolve": [room, A, B, np.int32(length), np.int32(3), n],
        "differences": [room.astype(np.int64), A, np.uint64(length), np.uint64(rows)],
        "enlarge": [room, A, np.int32(length // 2), np.int32(2), np.uint32(items)],
        "count_columns": [np.zeros(length, np.int32), BYTES, np.int32(length), n],
        "updated": [np.ones(items + 64, np.int32), A, B, np.int32(length), np.int32(11)],
        "late_bound": [room, A, np.int32(length), np.int32(items - 5)],
        "two_lengths": [room, A, B, np.int32(length), np.int32(7)],
        "knows_size": [room, np.int32(length)],
        "strided_product": [n, room, A, B, np.int32(length), np.int32(11)],
        "strided_bias": [n, A[: items + 64].copy(), B, np.int32(3), np.int32(length)],
        "strided_chain": [n, A[: items + 64].copy(), np.int32(length), np.int32(size)],
    }[name]


def kernel(name: str, options: Options) -> CompiledKernel:
    return compile_kernel(module_of(KERNELS), name, options)


@pytest.mark.parametrize("cpu", ["x86-64-v2", "haswell", "skylake-avx512"])
@pytest.mark.parametrize("name", ALL)
def test_given_divided_ids_then_there_is_a_version_for_rows(name: str, cpu: str) -> None:
    assert kernel(name, Options(cpu=cpu)).divides_ids == (name != "knows_size")


@pytest.mark.parametrize("name", ALL)
def test_given_divided_ids_then_the_code_tells_the_length_of_rows(name: str) -> None:
    loaded = native.Loaded(kernel(name, Options(cpu="x86-64-v2", lanes=4)))
    length, items = FIXED.get(name, (64, 64 * 6))
    items = items if items and name not in UNBOUNDED else 4 * length
    found = loaded.rows(arguments(name, 64, 64 * 6, 64 * 6), [max(items, 4 * length), 1, 1])
    assert found == ((length, items) if name != "knows_size" else (0, 0))


@pytest.mark.parametrize(
    "options",
    [Options(quick=True), Options(level=0), Options(check_memory=True), Options(check_races=True)],
    ids=["first stage", "not optimised", "memory checked", "races checked"],
)
def test_code_that_is_made_quickly_or_names_work_items_keeps_one_dimension(options: Options) -> None:
    assert not kernel("product", options).divides_ids


SIZES = [
    (64, 64 * 6, 0),
    (64, 64 * 6, 37),
    (100, 1200, 80),
    (33, 33 * 27, 0),
    (16, 16 * 30, 32),
    (5, 200, 0),
    (64, 700, 4),
]
"""The length of rows, the number of elements, and the work-items of the launch beyond it."""


@pytest.mark.parametrize("options", [Options(), Options(lanes=8), Options(cpu="x86-64-v2")], ids=["own", "8", "sse"])
@pytest.mark.parametrize("in_rows", [True, False], ids=["rows", "one row"])
@pytest.mark.parametrize("name", ALL)
def test_launches_in_rows_and_others_give_the_same(name: str, in_rows: bool, options: Options) -> None:
    loaded = native.Loaded(kernel(name, options))
    for length, items, beyond in SIZES:
        if name in FIXED:
            length, total = FIXED[name]
            items = total or length * 5
        unbounded = name in UNBOUNDED or (name in FIXED and FIXED[name][1] is None)
        sizes = [items if unbounded else items + beyond, *([items // 3 + 1] if name.startswith("strided") else [])]
        for size in sizes:
            given: list[Any] = arguments(name, length, items, size)
            loaded(given, (size,), (32,), in_rows=in_rows)
            expected: list[Any] = arguments(name, length, items, size)
            reference.run(module_of(KERNELS), name, expected, (size,), (size,))
            for one, other in zip(given, expected, strict=True):
                if isinstance(one, np.ndarray):
                    np.testing.assert_array_equal(one, other, err_msg=f"{length}, {items}, {size}")


@pytest.mark.parametrize("options", [Options(), Options(cpu="x86-64-v2")], ids=["own", "sse"])
@pytest.mark.parametrize("in_rows", [True, False], ids=["rows", "one row"])
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "apart"])
def test_given_updates_in_a_loop_then_rows_and_shared_memory_agree(
    shared: bool, in_rows: bool, options: Options
) -> None:
    """Three versions: the element that a loop updates may be the one that it reads, in rows and without."""
    loaded = native.Loaded(kernel("updated", options))
    assert loaded.kernel.divides_ids
    assert any(each.access & ArgumentUse.SEPARATE_WRITES for each in loaded.kernel.arguments)
    found = []
    for native_code in (True, False):
        to = A[: 64 * 6].copy()
        values: list[Any] = [to, to if shared else B, B, np.int32(64), np.int32(11)]
        if native_code:
            loaded(values, (64 * 6,), (32,), in_rows=in_rows)
        else:
            reference.run(module_of(KERNELS), "updated", values, (64 * 6,), (64 * 6,))
        found.append(to)
    np.testing.assert_array_equal(*found)


REST = "%low = OpUConvert %i32 %g \n %rest = OpUMod %i32 %low %p1"

FOUND: dict[str, tuple[str, str, list[Any], bool]] = {
    "no layers, and no division": (
        f"""
        {REST}
        %some = OpINotEqual %bool %p2 %c0
        OpBranchConditional %some %divides %end
        %divides = OpLabel
        %area = OpIMul %i32 %p1 %p2
        %layer = OpSDiv %i32 %low %area
        OpBranch %end
        %end = OpLabel
        %result = OpPhi %i32 %rest %entry %layer %divides
        """,
        "%global_i32 %i32 %i32",
        [np.int32(64), np.int32(0)],
        True,
    ),
    "an area that wraps before it is widened": (
        f"""
        {REST}
        %short = OpIMul %i32 %p1 %p2
        %area = OpUConvert %i64 %short
        %layer = OpUDiv %i64 %g %area
        %number_of_layer = OpUConvert %i32 %layer
        %result = OpIAdd %i32 %number_of_layer %rest
        """,
        "%global_i32 %i32 %i32",
        [np.int32(64), np.int32((1 << 26) + 1)],
        True,
    ),
    "unsigned layers, divided as signed ones": (
        f"""
        {REST}
        %width = OpUConvert %i64 %p1
        %height = OpUConvert %i64 %p2
        %area = OpIMul %i64 %width %height
        %layer = OpSDiv %i64 %g %area
        %number_of_layer = OpUConvert %i32 %layer
        %result = OpIAdd %i32 %number_of_layer %rest
        """,
        "%global_i32 %i32 %i32",
        [np.int32(64), np.int32(-1)],
        True,
    ),
    "a length in a structure": (
        """
        %low = OpUConvert %i32 %g
        %length = OpCompositeExtract %i32 %p1 1
        %result = OpUMod %i32 %low %length
        """,
        "%global_i32 %v4i32",
        [np.array([7, 64, 3, 0], np.int32)],
        True,
    ),
    "a length beside another one": (
        """
        %low = OpUConvert %i32 %g
        %length = OpCompositeExtract %i32 %p1 1
        %some = OpINotEqual %bool %length %c0
        OpBranchConditional %some %divides %end
        %divides = OpLabel
        %row = OpUDiv %i32 %low %length
        OpBranch %end
        %end = OpLabel
        %result = OpPhi %i32 %low %entry %row %divides
        """,
        "%global_i32 %v2i32",
        [np.array([64, 0], np.int32)],
        True,
    ),
    "a remainder by 1": (
        f"""
        {REST}
        %none = OpUMod %i32 %low %c1
        %result = OpIAdd %i32 %none %rest
        """,
        "%global_i32 %i32",
        [np.int32(64)],
        True,
    ),
    "a remainder by an area that is negative": (
        """
        %low = OpUConvert %i32 %g
        %area = OpIMul %i32 %p1 %p2
        %place = OpSRem %i32 %low %area
        %row = OpSDiv %i32 %place %p1
        %column = OpSRem %i32 %place %p1
        %twice = OpIAdd %i32 %row %row
        %result = OpIAdd %i32 %twice %column
        """,
        "%global_i32 %i32 %i32",
        [np.int32(64), np.int32(-3)],
        True,
    ),
    "a sum that wraps": (
        """
        %low = OpUConvert %i32 %g
        %sum = OpIAdd %i32 %p1 %p2
        %row = OpUDiv %i32 %low %sum
        %column = OpUMod %i32 %low %sum
        %twice = OpIAdd %i32 %row %row
        %result = OpIAdd %i32 %twice %column
        """,
        "%global_i32 %i32 %i32",
        [np.int32(-(1 << 31)), np.int32(-(1 << 31) + 64)],
        True,
    ),
    "a difference by another product": (
        """
        %low = OpUConvert %i32 %g
        %wide = OpUConvert %i64 %low
        %more = OpUConvert %i64 %p2
        %row = OpUDiv %i32 %low %p1
        %width = OpUConvert %i64 %p1
        %area = OpIMul %i64 %width %more
        %layer = OpUDiv %i64 %wide %area
        %signed = OpSConvert %i64 %p2
        %other = OpIMul %i64 %width %signed
        %less = OpIMul %i64 %layer %other
        %rest = OpISub %i64 %wide %less
        %short = OpUConvert %i32 %rest
        %result = OpIAdd %i32 %row %short
        """,
        "%global_i32 %i32 %i32",
        [np.int32(64), np.int32(-1)],
        True,
    ),
    "a private array": (
        f"""
        {REST}
        %first = OpInBoundsAccessChain %private_i32 %array %c0
        %second = OpInBoundsAccessChain %private_i32 %array %c1
        OpStore %first %rest Aligned 4
        OpStore %second %low Aligned 4
        %one = OpBitwiseAnd %i32 %rest %c1
        %there = OpInBoundsAccessChain %private_i32 %array %one
        %result = OpLoad %i32 %there Aligned 4
        """,
        "%global_i32 %i32",
        [np.int32(64)],
        True,
    ),
}
"""Kernels that were wrong in rows or beside them: the body, its parameters and arguments, and may it run in rows?"""


@pytest.mark.parametrize("size", [1024, 1000])
@pytest.mark.parametrize("name", FOUND)
def test_given_odd_lengths_then_launches_of_any_size_are_right(name: str, size: int) -> None:
    body, parameters, numbers, in_rows = FOUND[name]
    declarations = """
        %two = OpTypeArray %i32 %c2
        %private_two = OpTypePointer Function %two
    """
    text = kernel_text(
        f"{body} %to = OpInBoundsPtrAccessChain %global_i32 %p0 %g \n OpStore %to %result Aligned 4",
        parameters,
        declarations,
    )
    text = text.replace("%entry = OpLabel", "%entry = OpLabel \n %array = OpVariable %private_two Function")
    if "%area = OpIMul" in body:
        text = text.replace("%void = OpTypeVoid", "OpDecorate %area NoSignedWrap \n %void = OpTypeVoid")
    code = compile_kernel(read(assemble(text, (1, 6))), "main", Options())
    assert code.divides_ids == in_rows
    arguments = [np.zeros(1024, np.int32), *numbers]
    program = Program(text, arguments, [], Shape((size, 1, 1), (8, 1, 1), (0, 0, 0), 0))
    assert disagreement(program, ways=[Options(), Options(quick=True)]) is None


def test_given_squares_of_squares_as_a_divisor_then_the_kernel_compiles_at_once() -> None:
    """Following both operands of each product would take 2^60 steps."""
    squares = "\n".join(f"%q{i + 1} = OpIMul %i32 %q{i} %q{i}" for i in range(60))
    body = f"""
        %low = OpUConvert %i32 %g
        %q0 = OpIAdd %i32 %p1 %c0
        {squares}
        %divisor = OpBitwiseOr %i32 %q60 %c1
        %odd = OpIMul %i32 %q60 %p1
        %some = OpINotEqual %bool %odd %c0
        OpBranchConditional %some %divides %end
        %divides = OpLabel
        %row = OpUDiv %i32 %low %odd
        OpBranch %end
        %end = OpLabel
        %result = OpPhi %i32 %low %entry %row %divides
        %to = OpInBoundsPtrAccessChain %global_i32 %p0 %g
        OpStore %to %result Aligned 4
    """
    code = compile_kernel(read(assemble(kernel_text(body, "%global_i32 %i32", ""), (1, 6))), "main", Options())
    assert not code.divides_ids
