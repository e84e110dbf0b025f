"""OpenCL.std: what is not simply handed to the library of routines."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyzero.compiler.builtins import library
from anyzero.compiler.ir import Op
from anyzero.compiler.spirv import read
from anyzero.compiler.spirv.grammar import opencl_name
from anyzero.compiler.spirv.tables import LAYOUT_OF_OPENCL
from anyzero.compiler.translate import function as translated
from tests.compiler.bodies import BODIES
from tests.compiler.samples import function
from tests.compiler.translate.machine import bits, number
from tests.compiler.translate.programs import AT, body_of, evaluate, ran, run

DECLARED = """
    %global_f16 = OpTypePointer CrossWorkgroup %f16
    %v2f32 = OpTypeVector %f32 2
    %v8i32 = OpTypeVector %i32 8
    %private_v2i32 = OpTypePointer Function %v2i32
"""


def text(body: str, parameters: str, result: str = "void") -> str:
    return function(body, parameters=parameters, result=result, declarations=DECLARED)


def ops(source: str, name: str) -> list[Op]:
    return [op for op in body_of(source).ops if op.name == name]


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def test_each_component_is_computed_on_its_own() -> None:
    source = text("%r = OpExtInst %v2f32 %cl mad %p0 %p0 %p0\nOpReturnValue %r", "%v2f32", "v2f32")
    assert [op.info for op in ops(source, "math")] == [("mad", 1)] * 2
    two, three = bits(2.0, "float"), bits(3.0, "float")
    assert run(source, two, three) == [bits(6.0, "float"), bits(12.0, "float")]


def test_geometry_sees_all_components() -> None:
    source = text("%r = OpExtInst %f32 %cl distance %p0 %p0\nOpReturnValue %r", "%v3f32", "f32")
    (op,) = ops(source, "math")
    assert (op.info, len(op.args)) == (("distance", 3), 6)
    source = text("%r = OpExtInst %v3f32 %cl cross %p0 %p0\nOpReturnValue %r", "%v3f32", "v3f32")
    assert [op.info for op in ops(source, "part")] == [0, 1, 2]
    source = text("%r = OpExtInst %f32 %cl normalize %p0\nOpReturnValue %r", "%f32", "f32")
    assert ops(source, "math")[0].info == ("normalize", 1)


@pytest.mark.parametrize(("name", "expected"), [("fract", (0.25, 3.0)), ("modf", (0.25, 3.0))])
def test_a_second_result_goes_to_memory(name: str, expected: tuple[float, float]) -> None:
    source = text(f"%r = OpExtInst %f32 %cl {name} %p0 %p1\nOpReturnValue %r", "%f32 %global_f32", "f32")
    result, (memory,) = ran(source, bits(3.25, "float"), AT[0], regions=(bytes(4),))
    assert (number(result[0], "float"), struct.unpack("<f", memory)[0]) == expected


def test_a_second_result_of_vectors() -> None:
    body = """
        %e = OpVariable %private_v2i32 Function
        %r = OpExtInst %v2f32 %cl frexp %p0 %e
        %v = OpLoad %v2i32 %e
        OpReturnValue %v
    """
    assert run(text(body, "%v2f32", "v2i32"), bits(8.0, "float"), bits(0.25, "float")) == [4, 2**32 - 1]


@given(a=st.integers(0, 2**32 - 1), b=st.integers(0, 2**32 - 1), c=st.integers(0, 2**32 - 1))
def test_choosing(a: int, b: int, c: int) -> None:
    operands = [("%i32", a), ("%i32", b), ("%i32", c)]
    assert evaluate("%r = OpExtInst %i32 %cl select %p0 %p1 %p2", operands, "i32") == [b if c else a]
    expected = a & ~c & 0xFFFFFFFF | b & c
    assert evaluate("%r = OpExtInst %i32 %cl bitselect %p0 %p1 %p2", operands, "i32") == [expected]
    vectors = text("%r = OpExtInst %v2i32 %cl select %p0 %p1 %p2\nOpReturnValue %r", "%v2i32 " * 3, "v2i32")
    assert run(vectors, a, a, b, b, c, 0) == [b if c >> 31 else a, a]
    assert evaluate("%r = OpExtInst %i64 %cl u_upsample %p0 %p1", operands[:2], "i64") == [a << 32 | b]


@given(mask=st.lists(st.integers(0, 2**32 - 1), min_size=4, max_size=4))
def test_shuffles(mask: list[int]) -> None:
    values = [10, 20, 30, 40, 50, 60, 70, 80]
    one = text("%r = OpExtInst %v4i32 %cl shuffle %p0 %p1\nOpReturnValue %r", "%v4i32 %v4i32", "v4i32")
    assert run(one, *values[:4], *mask) == [values[index & 3] for index in mask]
    two = text("%r = OpExtInst %v4i32 %cl shuffle2 %p0 %p1 %p2\nOpReturnValue %r", "%v4i32 " * 3, "v4i32")
    assert run(two, *values, *mask) == [values[index & 7] for index in mask]


def test_vectors_anywhere_in_memory() -> None:
    source = text("%r = OpExtInst %v3f32 %cl vloadn %p1 %p0 3\nOpReturnValue %r", "%global_f32 %i64", "v3f32")
    memory = floats(*range(12))
    assert run(source, AT[0], 2, regions=(memory,)) == [bits(float(n), "float") for n in (6, 7, 8)]
    (load,) = ops(source, "load")
    assert (load.info.count, load.info.alignment) == (3, 4)
    source = text("%r = OpExtInst %void %cl vstoren %p2 %p1 %p0\nOpReturn", "%global_f32 %i64 %v2f32")
    stored = ran(source, AT[0], 1, bits(5.0, "float"), bits(6.0, "float"), regions=(memory,))[1]
    assert stored == [floats(0, 1, 5, 6, *range(4, 12))]


@pytest.mark.parametrize(("name", "step", "alignment"), [("vload_halfn", 6, 2), ("vloada_halfn", 8, 8)])
def test_halves_in_memory_are_floats_in_registers(name: str, step: int, alignment: int) -> None:
    source = text(f"%r = OpExtInst %v3f32 %cl {name} %p1 %p0 3\nOpReturnValue %r", "%global_f16 %i64", "v3f32")
    memory = struct.pack("<16e", *range(16))
    first = step // 2
    expected = [bits(float(first + n), "float") for n in range(3)]
    assert run(source, AT[0], 1, regions=(memory,)) == expected
    assert ops(source, "load")[0].info.alignment == alignment


@pytest.mark.parametrize(("mode", "kind"), [("RTE", "fptrunc"), ("RTZ", "fptrunc.rtz"), ("RTN", "fptrunc.rtn")])
def test_halves_are_rounded_as_asked(mode: str, kind: str) -> None:
    source = text(f"%r = OpExtInst %void %cl vstore_half_r %p1 %l1 %p0 {mode}\nOpReturn", "%global_f16 %f64")
    assert [op.info for op in ops(source, "cast")] == [kind]
    stored = ran(source, AT[0], bits(1.5, "double"), regions=(bytes(4),))[1]
    assert stored == [bytes(2) + struct.pack("<e", 1.5)]


def test_printf_gets_every_component() -> None:
    found = read(BODIES["opencl"].module)
    body = translated(found, found.exports["main"])
    (printf,) = [op for op in body.ops if op.name == "printf"]
    assert [arg.type for arg in printf.args] == ["ptr", "i32", "float"]


WITHOUT_ROUTINE = {
    *("select", "bitselect", "u_upsample", "s_upsample", "shuffle", "shuffle2", "prefetch", "printf", "nan"),
    *("vloadn", "vload_half", "vload_halfn", "vloada_halfn", "vstoren", "vstore_half", "vstore_half_r"),
    *("vstore_halfn", "vstore_halfn_r", "vstorea_halfn", "vstorea_halfn_r"),
}


def test_the_library_has_every_routine_that_is_asked_for() -> None:
    assert {opencl_name(number) for number in LAYOUT_OF_OPENCL} - WITHOUT_ROUTINE - library.names() == set()
