"""Integers of odd widths: literals, layout in memory, and which instructions take them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anyzero.compiler import reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import Module, SpirvError, disassemble, read, specialize
from anyzero.compiler.spirv.constants import Scalar
from anyzero.compiler.spirv.types import Array, Int, Struct, Vector
from tests.compiler import native
from tests.compiler.assembler import assemble
from tests.compiler.reference.kernels import kernel
from tests.compiler.samples import function

Numbers = np.ndarray[Any, Any]

ODD = """
    %i1 = OpTypeInt 1 0
    %i3 = OpTypeInt 3 0
    %i24 = OpTypeInt 24 0
    %i40 = OpTypeInt 40 0
    %i96 = OpTypeInt 96 0
    %i128 = OpTypeInt 128 0
    %to_i8 = OpTypePointer CrossWorkgroup %i8
    %to_i64 = OpTypePointer CrossWorkgroup %i64
    %to_i24 = OpTypePointer CrossWorkgroup %i24
    %to_i96 = OpTypePointer CrossWorkgroup %i96
    %v3i24 = OpTypeVector %i24 3
    %to_v3i24 = OpTypePointer CrossWorkgroup %v3i24
    %v4i3 = OpTypeVector %i3 4
    %to_v4i3 = OpTypePointer CrossWorkgroup %v4i3
"""
DECLARES = 'OpCapability ArbitraryPrecisionIntegersALTERA\nOpExtension "SPV_INTEL_arbitrary_precision_integers"'


def made(body: str, parameters: str, declarations: str = "", functions: str = "") -> Module:
    return kernel(body, parameters, ODD + declarations, DECLARES, functions)


def both(found: Module, *args: Any, items: int = 8, lanes: tuple[int | None, ...] = (None, 1, 4)) -> list[Numbers]:
    """What the interpreter leaves in the arguments; compiled code must leave the same."""
    expected = [each.copy() if isinstance(each, np.ndarray) else each for each in args]
    reference.run(found, "main", expected, items, 4)
    for count in lanes:
        mine = [each.copy() if isinstance(each, np.ndarray) else each for each in args]
        native.Loaded(compile_kernel(found, "main", Options(lanes=count)))(mine, (items,), (4,))
        for one, other in zip(mine, expected, strict=True):
            assert not isinstance(one, np.ndarray) or one.tobytes() == other.tobytes(), count
    return [each for each in expected if isinstance(each, np.ndarray)]


@pytest.mark.parametrize(
    ("width", "size", "alignment", "stored"),
    [(1, 1, 1, 1), (12, 2, 2, 2), (24, 4, 4, 3), (33, 8, 8, 5), (63, 8, 8, 8), (65, 16, 8, 9), (128, 16, 8, 16)],
)
def test_layout_is_that_of_llvm(width: int, size: int, alignment: int, stored: int) -> None:
    type_ = Int(width)
    assert (type_.size, type_.alignment, type_.stored) == (size, alignment, stored)
    assert Array(type_, 3).size == 3 * size
    assert Struct(1, (Int(8), type_)).offsets == (0, alignment)
    assert Vector(type_, 4).stored == -(-4 * width // 8)


def test_a_store_touches_no_byte_beyond_its_own() -> None:
    """Producers load and store three bytes of a structure as one integer; neighbours must stay."""
    body = """
        %three = OpIMul %i64 %i %l3
        %from = OpInBoundsPtrAccessChain %to_i8 %p0 %three
        %source = OpBitcast %to_i24 %from
        %x = OpLoad %i24 %source Aligned 1
        %y = OpIAdd %i24 %x %one
        %to = OpInBoundsPtrAccessChain %to_i8 %p1 %three
        %target = OpBitcast %to_i24 %to
        OpStore %target %y Aligned 1
    """
    found = made(body, "%to_i8 %to_i8", "%one = OpConstant %i24 1\n%l3 = OpConstant %i64 3")
    given = np.arange(24, dtype=np.uint8)
    given[3:6] = 255
    _, out = both(found, given, np.zeros(24, np.uint8))
    expected = [int.from_bytes(given[at : at + 3].tobytes(), "little") + 1 & 0xFFFFFF for at in range(0, 24, 3)]
    assert out.tobytes() == b"".join(value.to_bytes(3, "little") for value in expected)


def test_elements_of_arrays_have_room_and_vectors_have_none() -> None:
    body = """
        %from = OpInBoundsPtrAccessChain %to_i24 %p0 %i
        %x = OpLoad %i24 %from
        %twice = OpIAdd %i24 %x %x
        %v = OpCompositeConstruct %v3i24 %x %twice %x
        %to = OpInBoundsPtrAccessChain %to_v3i24 %p1 %i
        OpStore %to %v
        %to_third = OpInBoundsPtrAccessChain %to_i24 %p1 %i %c2
        %third = OpLoad %i24 %to_third Aligned 1
        OpStore %to_third %third Aligned 1
    """
    found = made(body, "%to_i24 %to_v3i24")
    given = np.array([0xFF123456, 0xFFFFFFFF, 1, 2, 3, 4, 5, 0xFF800000], np.uint32)
    _, out = both(found, given, np.full(8 * 16, 0xEE, np.uint8))
    for place, row in enumerate(out.reshape(8, 16)):
        x = int(given[place]) & 0xFFFFFF
        whole = x | (2 * x & 0xFFFFFF) << 24 | x << 48
        assert row.tobytes() == whole.to_bytes(9, "little") + b"\xee" * 7


def test_arguments_of_odd_widths() -> None:
    body = """
        %wide = OpSConvert %i64 %p1
        %low = OpUConvert %i64 %p2
        %sum = OpIAdd %i64 %wide %low
        %to = OpInBoundsPtrAccessChain %to_i64 %p0 %i
        OpStore %to %sum
    """
    found = made(body, "%to_i64 %i24 %i96")
    compiled = compile_kernel(found, "main", Options(lanes=1))
    assert [each.size for each in compiled.arguments] == [8, 4, 16]
    out = np.zeros(4, np.int64)
    native.Loaded(compiled)([out, 0xFFFFFE, 5 << 64 | 100], (4,), (4,))
    assert out.tolist() == [98] * 4


def test_literals_take_as_many_words_as_their_width() -> None:
    declared = f"{ODD}%big = OpConstant %i96 -2\n%five = OpConstant %i40 5\n%three = OpConstant %i3 -1"
    found = read(assemble(function("OpReturn", prologue=DECLARES, declarations=declared)))
    scalars = [each for each in found.constants.values() if isinstance(each, Scalar) and each.type.odd]
    assert [(each.bits, each.signed) for each in scalars] == [((1 << 96) - 2, -2), (5, 5), (7, -1)]
    assert read(assemble(disassemble(found.words))).words == found.words


def test_specialization_constants_and_what_is_computed_from_them() -> None:
    declared = """
        %n = OpSpecConstant %i24 3
        %m = OpSpecConstantOp %i24 IMul %n %n
        %wide = OpSpecConstantOp %i64 SConvert %m
    """
    body = "%to = OpInBoundsPtrAccessChain %to_i64 %p0 %i\nOpStore %to %wide"
    found = kernel(body, "%to_i64", ODD + declared, f"{DECLARES}\nOpDecorate %n SpecId 7")
    assert both(found, np.zeros(8, np.int64))[0].tolist() == [9] * 8
    other = specialize(found, {7: -5000})
    expected = 25_000_000 & 0xFFFFFF
    assert both(other, np.zeros(8, np.int64))[0].tolist() == [expected - (expected >> 23 << 24)] * 8
    given = specialize(found, {7: (0x010203FF).to_bytes(4, "little")})
    assert given.specializable[7].bits == 0x0203FF


def test_flow_follows_odd_integers() -> None:
    """A loop that counts in three bits, and a switch on forty."""
    body = """
        OpBranch %loop
        %loop = OpLabel
        %n = OpPhi %i3 %zero3 %entry %next %loop
        %sum = OpPhi %i40 %zero40 %entry %more %loop
        %next = OpIAdd %i3 %n %one3
        %wide = OpUConvert %i40 %n
        %many = OpUConvert %i40 %i
        %part = OpIMul %i40 %wide %many
        %more = OpIAdd %i40 %sum %part
        %again = OpINotEqual %bool %next %zero3
        OpBranchConditional %again %loop %behind
        %behind = OpLabel
        OpSwitch %more %other 28 %first 4294967296 %first 56 %second
        %first = OpLabel
        OpBranch %end
        %second = OpLabel
        OpBranch %end
        %other = OpLabel
        OpBranch %end
        %end = OpLabel
        %found = OpPhi %i64 %l0 %first %l1 %second %l9 %other
        %to = OpInBoundsPtrAccessChain %to_i64 %p0 %i
        OpStore %to %found
    """
    declared = """
        %zero3 = OpConstant %i3 0
        %one3 = OpConstant %i3 1
        %zero40 = OpConstant %i40 0
        %l9 = OpConstant %i64 9
    """
    (out,) = both(made(body, "%to_i64", declared), np.zeros(8, np.int64))
    assert out.tolist() == [9, 0, 1, 9, 9, 9, 9, 9]


def test_a_function_that_is_called_by_its_address_takes_odd_integers() -> None:
    functions = """
        %triple = OpFunction %i24 None %triple_type
        %x = OpFunctionParameter %i24
        %begin = OpLabel
        %y = OpIMul %i24 %x %three
        OpReturnValue %y
        OpFunctionEnd
    """
    declared = """
        %triple_type = OpTypeFunction %i24 %i24
        %code = OpTypePointer CodeSectionINTEL %triple_type
        %address = OpConstantFunctionPointerINTEL %code %triple
        %three = OpConstant %i24 3
    """
    body = """
        %narrow = OpUConvert %i24 %i
        %minus = OpSNegate %i24 %narrow
        %result = OpFunctionPointerCallINTEL %i24 %address %minus
        %wide = OpSConvert %i64 %result
        %to = OpInBoundsPtrAccessChain %to_i64 %p0 %i
        OpStore %to %wide
    """
    (out,) = both(made(body, "%to_i64", declared, functions), np.zeros(8, np.int64), lanes=(4, 8))
    assert out.tolist() == [-3 * place for place in range(8)]


def test_work_items_compute_together() -> None:
    body = """
        %narrow = OpUConvert %i24 %i
        %minus = OpSNegate %i24 %narrow
        %least = OpGroupSMin %i24 %c2 Reduce %minus
        %sum = OpGroupIAdd %i24 %c2 InclusiveScan %minus
        %both = OpIAdd %i24 %least %sum
        %wide = OpSConvert %i64 %both
        %to = OpInBoundsPtrAccessChain %to_i64 %p0 %i
        OpStore %to %wide
    """
    (out,) = both(made(body, "%to_i64"), np.zeros(8, np.int64))
    assert out.tolist() == [-3, -4, -6, -9, -11, -16, -22, -29]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("%x = OpAtomicIAdd %i24 %p0 %c1 %c0 %c", "OpAtomicIAdd does not take integers of 24 bits"),
        ("%x = OpExtInst %i24 %cl s_mul24 %c %c", "s_mul24 does not take integers of 24 bits"),
        ("%p = OpInBoundsPtrAccessChain %to_i3 %p1 %l0 %c1", "which is not byte-aligned"),
    ],
)
def test_what_has_no_meaning_is_refused(body: str, reason: str) -> None:
    with pytest.raises(SpirvError, match=reason):
        made(body, "%to_i24 %to_v4i3", "%c = OpConstant %i24 1\n%to_i3 = OpTypePointer CrossWorkgroup %i3")


@pytest.mark.parametrize("width", [0, 129, 4096])
def test_other_widths_are_refused(width: int) -> None:
    with pytest.raises(SpirvError, match=f"integers of {width} bits are not supported; 1 to 128 bits are"):
        read(assemble(function("OpReturn", declarations=f"%odd = OpTypeInt {width} 0")))
