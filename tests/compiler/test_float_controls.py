"""Kernels that say how their floats are rounded and what becomes of denormals, compiled and interpreted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.reference import run
from anyzero.compiler.spirv import Module
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel

Array = np.ndarray[Any, Any]

DIRECTIONS = {
    "RTE": "RoundingModeRTE",
    "RTZ": "RoundingModeRTZ",
    "RTP": "RoundingModeRTPINTEL",
    "RTN": "RoundingModeRTNINTEL",
}
DTYPES = {16: np.float16, 32: np.float32, 64: np.float64}
COUNT = 150

COMPUTE = """
    %pa = OpInBoundsPtrAccessChain %to %p1 %i
    %a = OpLoad %float %pa
    %pb = OpInBoundsPtrAccessChain %to %p2 %i
    %b = OpLoad %float %pb
    %sum = OpFAdd %float %a %b
    %difference = OpFSub %float %a %b
    %product = OpFMul %float %a %b
    %quotient = OpFDiv %float %a %b
    %both = OpCompositeConstruct %pair %a %b
    %other = OpCompositeConstruct %pair %b %sum
    %dot = OpDot %float %both %other
    %scaled = OpVectorTimesScalar %pair %both %a
    %last = OpCompositeExtract %float %scaled 1
    %modulo = OpFMod %float %a %b
    %negative = OpFNegate %float %a
    %less = OpFOrdLessThan %bool %a %b
    %chosen = OpSelect %float %less %a %b
    %fused = OpFmaKHR %float %a %b %a
    %root = OpExtInst %float %cl fabs %a
"""
RESULTS = ["sum", "difference", "product", "quotient", "dot", "last", "modulo", "negative", "chosen", "fused", "root"]


def _stores(results: list[str]) -> str:
    lines = []
    for place, name in enumerate(results):
        lines += [
            f"%at{place} = OpIAdd %i64 %i %place{place}",
            f"%to{place} = OpInBoundsPtrAccessChain %to %p0 %at{place}",
            f"OpStore %to{place} %{name}",
        ]
    return "\n".join(lines)


def _module(width: int, prologue: str, body: str = COMPUTE, results: list[str] = RESULTS) -> Module:
    places = "\n".join(f"%place{place} = OpConstant %i64 {place * COUNT}" for place in range(len(results)))
    return kernel(
        f"{body}\n{_stores(results)}",
        "%to %to %to",
        f"%float = OpTypeFloat {width}\n%to = OpTypePointer CrossWorkgroup %float\n"
        f"%pair = OpTypeVector %float 2\n{places}",
        f"OpExecutionMode %main ContractionOff\n{prologue}",
    )


def _operands(width: int) -> tuple[Array, Array]:
    """Numbers of all sizes, so that sums and products lose digits, run over and become denormal."""
    random = np.random.default_rng(width)
    bits = random.integers(0, 1 << 63, (2, COUNT), dtype=np.uint64) << np.uint64(1)
    bits |= random.integers(0, 2, (2, COUNT), dtype=np.uint64)
    some = (bits & np.uint64((1 << width) - 1)).astype(f"u{width // 8}").view(DTYPES[width])
    near = random.standard_normal((2, COUNT)).astype(DTYPES[width])
    least = np.finfo(DTYPES[width]).smallest_subnormal
    edges = np.array([0.0, -0.0, 1.0, -1.0, np.inf, np.nan, least, -least, np.finfo(DTYPES[width]).max], near.dtype)
    some[:, ::2] = near[:, ::2]
    for place, (a, b) in enumerate((a, b) for a in edges for b in edges):
        some[0, COUNT - 1 - place], some[1, COUNT - 1 - place] = a, b
    return some[0].copy(), some[1].copy()


def _agree(module: Module, operands: tuple[Array, ...], rows: int, lanes: int) -> Array:
    wanted, found = (np.zeros(rows * COUNT, operands[0].dtype) for _ in range(2))
    run(module, "main", [wanted, *operands], COUNT)
    Loaded(pipeline.compile_kernel(module, "main", Options(lanes=lanes)))([found, *operands], (COUNT,), (COUNT,))
    bits = f"u{found.dtype.itemsize}"
    wrong = (found.view(bits) != wanted.view(bits)) & ~(np.isnan(found) & np.isnan(wanted))
    places = [(int(at) // COUNT, operands[0][at % COUNT], operands[1][at % COUNT]) for at in np.flatnonzero(wrong)]
    assert not places, [
        (*place, found[at], wanted[at]) for place, at in zip(places, np.flatnonzero(wrong), strict=True)
    ]
    return found.reshape(rows, COUNT)


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_arithmetic_is_rounded_in_the_direction_that_a_kernel_names(direction: str, width: int, lanes: int) -> None:
    mode = DIRECTIONS[direction]
    found = _agree(_module(width, f"OpExecutionMode %main {mode} {width}"), _operands(width), len(RESULTS), lanes)
    if lanes == 8 and width == 32 and direction != "RTE":
        a, b = (each.astype(np.float64) for each in _operands(width))
        with np.errstate(all="ignore"):
            exact = a * b
        # Products of two floats are exact as doubles.
        product, there = found[2].astype(np.float64), np.isfinite(exact) & (np.abs(exact) < 1e38)
        above = {"RTP": product >= exact, "RTN": product <= exact, "RTZ": np.abs(product) <= np.abs(exact)}
        assert above[direction][there].all()
        assert (product != exact)[there].any()


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("width", [16, 32, 64])
def test_denormals_are_zeros_where_a_kernel_wants_that(width: int, lanes: int) -> None:
    a, b = _operands(width)
    random = np.random.default_rng(1)
    tiny = np.finfo(a.dtype).smallest_normal
    a[:60] = (random.uniform(-2, 2, 60) * float(tiny)).astype(a.dtype)
    b[30:60] = (random.uniform(-2, 2, 30) * float(tiny)).astype(a.dtype)
    module = _module(width, f"OpExecutionMode %main DenormFlushToZero {width}")
    found = _agree(module, (a, b), len(RESULTS), lanes)
    computed = np.delete(found, RESULTS.index("chosen"), axis=0)
    assert not ((computed != 0) & (np.abs(computed) < tiny)).any()
    kept = _agree(_module(width, f"OpExecutionMode %main DenormPreserve {width}"), (a, b), len(RESULTS), lanes)
    assert ((kept != 0) & (np.abs(kept) < tiny)).any()


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_conversions_round_as_the_kernel_says_unless_they_say_it_themselves(direction: str, lanes: int) -> None:
    body = """
        %pa = OpInBoundsPtrAccessChain %to_double %p1 %i
        %a = OpLoad %f64 %pa
        %pb = OpInBoundsPtrAccessChain %to_long %p2 %i
        %b = OpLoad %i64 %pb
        %shorter = OpFConvert %float %a
        %upwards = OpFConvert %float %a
        %signed = OpConvertSToF %float %b
        %unsigned = OpConvertUToF %float %b
        %whole = OpConvertFToS %i64 %a
        %again = OpConvertSToF %float %whole"""
    results = ["shorter", "upwards", "signed", "unsigned", "again"]
    places = "\n".join(f"%place{place} = OpConstant %i64 {place * COUNT}" for place in range(len(results)))
    module = kernel(
        f"{body}\n{_stores(results)}",
        "%to %to_double %to_long",
        "%float = OpTypeFloat 32\n%to = OpTypePointer CrossWorkgroup %float\n"
        f"%to_double = OpTypePointer CrossWorkgroup %f64\n%to_long = OpTypePointer CrossWorkgroup %i64\n{places}",
        f"OpExecutionMode %main {DIRECTIONS[direction]} 32\nOpDecorate %upwards FPRoundingMode RTP",
    )
    random = np.random.default_rng(3)
    doubles = random.uniform(-1e9, 1e9, COUNT)
    integers = random.integers(-(1 << 63), (1 << 63) - 1, COUNT)
    wanted, found = (np.zeros((len(results), COUNT), np.float32) for _ in range(2))
    run(module, "main", [wanted, doubles, integers], COUNT)
    Loaded(pipeline.compile_kernel(module, "main", Options(lanes=lanes)))(
        [found, doubles, integers], (COUNT,), (COUNT,)
    )
    assert found.tobytes() == wanted.tobytes()
    assert (found[1] >= doubles).all()
    if direction == "RTN":
        assert (found[0] <= doubles).all()


@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_other_widths_and_other_kernels_are_left_alone(lanes: int) -> None:
    operands = _operands(32)
    found = _agree(_module(32, "OpExecutionMode %main RoundingModeRTZ 64"), operands, len(RESULTS), lanes)
    usual = _agree(_module(32, ""), operands, len(RESULTS), lanes)
    assert found.tobytes() == usual.tobytes()


FUNCTION = """
    %binary = OpTypeFunction %float %float %float
    %third = OpFunction %float None %binary
    %x = OpFunctionParameter %float
    %y = OpFunctionParameter %float
    %start = OpLabel
    %r = OpFDiv %float %x %y
    OpReturnValue %r
    OpFunctionEnd
"""
CALLS = """
    %pa = OpInBoundsPtrAccessChain %to %p1 %i
    %a = OpLoad %float %pa
    %pb = OpInBoundsPtrAccessChain %to %p2 %i
    %b = OpLoad %float %pb
    %inner = {call} %a %b
    %outer = OpFDiv %float %a %b
"""


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize(
    ("prologue", "call"),
    [
        ("OpDecorate %third FunctionRoundingModeINTEL 32 RTP", "OpFunctionCall %float %third"),
        ("OpExecutionMode %main RoundingModeRTZ 32", "OpFunctionCall %float %third"),
        ("OpExecutionMode %main RoundingModeRTZ 32", "OpFunctionPointerCallINTEL %float %pointer"),
        (
            "OpExecutionMode %main RoundingModeRTNINTEL 32\nOpDecorate %third FunctionRoundingModeINTEL 32 RTE",
            "OpFunctionPointerCallINTEL %float %pointer",
        ),
    ],
)
def test_functions_round_as_their_kernel_does_or_as_they_say(prologue: str, call: str, lanes: int) -> None:
    module = kernel(
        f"{CALLS.format(call=call)}\n{_stores(['inner', 'outer'])}",
        "%to %to %to",
        "%float = OpTypeFloat 32\n%to = OpTypePointer CrossWorkgroup %float\n"
        f"%place0 = OpConstant %i64 0\n%place1 = OpConstant %i64 {COUNT}",
        prologue,
        f"{FUNCTION}\n%code = OpTypePointer CodeSectionINTEL %binary\n"
        "%pointer = OpConstantFunctionPointerINTEL %code %third",
    )
    inner, outer = _agree(module, _operands(32), 2, lanes)
    same = inner.tobytes() == outer.tobytes()
    assert same == ("FunctionRoundingModeINTEL" not in prologue)
