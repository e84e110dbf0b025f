"""OpenCL's functions of integers, the choosing ones, loads and stores of vectors, and printf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from anyzero.compiler.reference import Fault, run
from tests.compiler.reference.kernels import compute, kernel, same_bits

RANDOM = np.random.default_rng(7)


def operands(width: int, count: int) -> list[list[int]]:
    edges = [0, 1, (1 << width) - 1, (1 << (width - 1)) - 1, 1 << (width - 1)]
    return [[*edges, *map(int, RANDOM.integers(0, 1 << min(width, 62), 25))] for _ in range(count)]


def as_signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def clip(value: int, width: int, signed: bool) -> int:
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    return min(max(value, low), high)


# Exact, on integers with their sign; the width and whether they are signed come last.
PAIRED: dict[str, Callable[..., int]] = {
    "abs": lambda a, w, s: abs(a),
    "abs_diff": lambda a, b, w, s: abs(a - b),
    "add_sat": lambda a, b, w, s: clip(a + b, w, s),
    "sub_sat": lambda a, b, w, s: clip(a - b, w, s),
    "hadd": lambda a, b, w, s: (a + b) >> 1,
    "rhadd": lambda a, b, w, s: (a + b + 1) >> 1,
    "max": lambda a, b, w, s: max(a, b),
    "min": lambda a, b, w, s: min(a, b),
    "mul_hi": lambda a, b, w, s: (a * b) >> w,
    "mad_hi": lambda a, b, c, w, s: ((a * b) >> w) + c,
    "mad_sat": lambda a, b, c, w, s: clip(a * b + c, w, s),
    "clamp": lambda a, b, c, w, s: min(max(a, b), c),
}
SINGLE: dict[str, Callable[..., int]] = {
    "clz": lambda a, w, s: w - a.bit_length(),
    "ctz": lambda a, w, s: (a & -a).bit_length() - 1 if a else w,
    "popcount": lambda a, w, s: a.bit_count(),
    "rotate": lambda a, b, w, s: a << b % w | a >> (w - b % w),
}
CASES = [
    *((f"{sign}_{name}", exact, sign == "s") for name, exact in PAIRED.items() for sign in "su"),
    *((name, exact, False) for name, exact in SINGLE.items()),
]


@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize(("name", "exact", "signed"), CASES, ids=[case[0] for case in CASES])
def test_integers(name: str, exact: Callable[..., int], signed: bool, width: int) -> None:
    lists = operands(width, exact.__code__.co_argcount - 2)
    dtype = np.dtype(f"u{width // 8}")
    arrays = [np.array(each, dtype) for each in lists]
    names = " ".join(f"%{name}" for name in "abc"[: len(arrays)])
    found = compute(f"%r = OpExtInst %i{width} %cl {name} {names}", dtype, *arrays).tolist()
    for row in zip(*lists, found, strict=True):
        values = [as_signed(each, width) if signed else each for each in row[:-1]]
        assert row[-1] == exact(*values, width, signed) % (1 << width), (name, values)


def test_24_bits() -> None:
    a, b = np.array([3, 0xFFFFFE, 0x7FFFFF], np.uint32), np.array([5, 3, 2], np.uint32)
    c = np.array([1, 2, 3], np.uint32)
    assert compute("%r = OpExtInst %i32 %cl u_mul24 %a %b", np.uint32, a, b).tolist() == [15, 0xFFFFFE * 3, 0xFFFFFE]
    assert compute("%r = OpExtInst %i32 %cl s_mul24 %a %b", np.int32, a, b).tolist() == [15, -6, 0xFFFFFE]
    assert compute("%r = OpExtInst %i32 %cl s_mad24 %a %b %c", np.int32, a, b, c).tolist() == [16, -4, 0x1000001]
    assert compute("%r = OpExtInst %i32 %cl u_mad24 %a %b %c", np.uint32, a, b, c).tolist()[0] == 16


def test_halves_are_joined() -> None:
    high, low = np.array([0x1234, 0xFFFF], np.uint16), np.array([0x5678, 1], np.uint16)
    for name in ("u_upsample", "s_upsample"):
        found = compute(f"%r = OpExtInst %i32 %cl {name} %a %b", np.uint32, high, low)
        assert found.tolist() == [0x12345678, 0xFFFF0001]


def test_bits_are_chosen() -> None:
    a, b, c = (RANDOM.integers(0, 2**32, 20).astype(np.uint32) for _ in range(3))
    expected = (a & ~c) | (b & c)
    assert same_bits(compute("%r = OpExtInst %i32 %cl bitselect %a %b %c", np.uint32, a, b, c), expected)
    floats = [each.view(np.float32) for each in (a, b, c)]
    found = compute("%r = OpExtInst %f32 %cl bitselect %a %b %c", np.float32, *floats)
    assert same_bits(found.view(np.uint32), expected)


def test_select_looks_at_the_highest_bit_of_vectors() -> None:
    a, b = np.zeros((1, 4), np.float32), np.ones((1, 4), np.float32)
    c = np.array([[0, 1, 0x80000000, 0xFFFFFFFF]], np.uint32)
    found = compute("%r = OpExtInst %v4f32 %cl select %a %b %c", np.float32, a, b, c)
    assert found.tolist() == [[0, 0, 1, 1]]
    found = compute("%r = OpExtInst %f32 %cl select %a %b %c", np.float32, *(np.ravel(each) for each in (a, b, c)))
    assert found.tolist() == [0, 1, 1, 1]


def test_shuffles_take_the_lower_bits_of_the_mask() -> None:
    a = np.arange(4, dtype=np.float32).reshape(1, 4)
    mask = np.array([[3, 4, 9, 0xFFFFFFFE]], np.uint32)
    found = compute("%r = OpExtInst %v4f32 %cl shuffle %a %b", np.float32, a, mask)
    assert found.tolist() == [[3, 0, 1, 2]]
    found = compute("%r = OpExtInst %v4f32 %cl shuffle2 %a %b %c", np.float32, a, a + 10, mask)
    assert found.tolist() == [[3, 10, 1, 12]]


def transfer(body: str, parameters: str, args: list[Any], declarations: str = "", items: int = 2) -> None:
    declared = "%global_f16 = OpTypePointer CrossWorkgroup %f16\n%global_i8 = OpTypePointer CrossWorkgroup %i8"
    run(kernel(body, parameters, f"{declared}\n{declarations}"), "main", args, items)


def test_vectors_are_counted_in_vectors() -> None:
    body = """
        %v = OpExtInst %v3f32 %cl vloadn %i %p0 3
        %w = OpFAdd %v3f32 %v %v
        %n = OpExtInst %void %cl vstoren %w %i %p1
        %m = OpExtInst %void %cl prefetch %p0 %l1"""
    out = np.zeros(6, np.float32)
    transfer(body, "%global_f32 %global_f32", [np.arange(6, dtype=np.float32), out])
    assert out.tolist() == [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize(("name", "room"), [("halfn", 3), ("a_halfn", 4)])
def test_halves_in_memory(name: str, room: int) -> None:
    prefix = {"halfn": ("vload_halfn", "vstore_halfn"), "a_halfn": ("vloada_halfn", "vstorea_halfn")}[name]
    body = f"""
        %v = OpExtInst %v3f32 %cl {prefix[0]} %i %p0 3
        %n = OpExtInst %void %cl {prefix[1]} %v %i %p1"""
    source, out = np.arange(8, dtype=np.float16), np.zeros(8, np.float16)
    transfer(body, "%global_f16 %global_f16", [source, out])
    expected = np.zeros(8, np.float16)
    for item in range(2):
        expected[item * room : item * room + 3] = source[item * room : item * room + 3]
    assert out.tolist() == expected.tolist()


def test_a_half_by_itself() -> None:
    body = """
        %v = OpExtInst %f64 %cl vload_half %i %p0
        %n = OpExtInst %void %cl vstore_half %v %i %p1"""
    source, out = np.array([1.5, -65504], np.float16), np.zeros(2, np.float16)
    transfer(body, "%global_f16 %global_f16", [source, out])
    assert same_bits(out, source)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("RTE", [1.0, -1.0, np.inf]),
        ("RTZ", [1.0, -1.0, 65504]),
        ("RTP", [1.0009765625, -1.0, np.inf]),
        ("RTN", [1.0, -1.0009765625, 65504]),
    ],
)
def test_halves_are_rounded_as_asked(mode: str, expected: list[float]) -> None:
    body = f"""
        %at = OpInBoundsPtrAccessChain %global_f32 %p0 %i
        %v = OpLoad %f32 %at
        %n = OpExtInst %void %cl vstore_half_r %v %i %p1 {mode}"""
    source, out = np.array([1.0001, -1.0001, 1e6], np.float32), np.zeros(3, np.float16)
    transfer(body, "%global_f32 %global_f16", [source, out], items=3)
    assert out.tolist() == expected


def printed(text: str, declarations: str, *arguments: str, prologue: str = "", body: str = "") -> str:
    codes = [*text.encode(), 0]
    constants = "\n".join(f"%ch{code} = OpConstant %i8 {code}" for code in sorted(set(codes)))
    declared = f"""
        {constants}
        %length = OpConstant %i32 {len(codes)}
        %chars = OpTypeArray %i8 %length
        %to_chars = OpTypePointer UniformConstant %chars
        %to_char = OpTypePointer UniformConstant %i8
        %letters = OpConstantComposite %chars {" ".join(f"%ch{code}" for code in codes)}
        %text = OpVariable %to_chars UniformConstant %letters
        {declarations}"""
    lines = f"""
        %format = OpInBoundsAccessChain %to_char %text %c0
        {body}
        %r = OpExtInst %i32 %cl printf %format {" ".join(arguments)}"""
    said: list[str] = []
    run(kernel(lines, "", declared, prologue), "main", [], 1, printf=said.append)
    (only,) = said
    return only


NUMBERS = """
    %minus = OpConstant %i32 -5
    %long = OpConstant %i64 0x123456789A
    %double = OpConstant %f64 3.14159
    %big = OpConstant %f64 1e300
    %byte = OpConstant %i8 65
    %v4 = OpConstantComposite %v4f32 %half %half %half %half
    %w2 = OpConstantComposite %v2i32 %minus %c7
    %minusten = OpConstant %f64 -10
    %tie = OpConstant %f64 1.09375
    %nan = OpConstant %f64 nan"""


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("plain 100%%\n", "", "plain 100%\n"),
        ("%d %i %u %x", "%minus %minus %minus %minus", "-5 -5 4294967291 fffffffb"),
        ("[%5d|%-5d|%05d|%+d|% d]", "%c7 %c7 %c7 %c7 %c7", "[    7|7    |00007|+7| 7]"),
        ("%.3d %#x %#o %X", "%c7 %c7 %c7 %minus", "007 0x7 07 FFFFFFFB"),
        ("%ld %lx %hd %hhd", "%long %long %minus %minus", "78187493530 123456789a -5 -5"),
        (
            "%f %.2f %10.3f %e %g",
            "%double %double %double %double %double",
            "3.141590 3.14      3.142 3.141590e+00 3.14159",
        ),
        ("%-10.1f| %+f %G %F", "%double %double %big %nan", "3.1       | +3.141590 1E+300 NAN"),
        ("%a %.2a %.1a", "%double %double %double", "0x1.921f9f01b866ep+1 0x1.92p+1 0x1.9p+1"),
        ("%.5a %.0a %A %.1a", "%double %double %minusten %tie", "0x1.921fap+1 0x2p+1 -0X1.4P+3 0x1.2p+0"),
        ("%+05d|% 06.1f|%#06x|%-#6x|", "%c7 %double %c7 %c7", "+0007| 003.1|0x0007|0x7   |"),
        ("%c%c", "%byte %byte", "AA"),
        ("%v4hlf", "%v4", "0.500000,0.500000,0.500000,0.500000"),
        ("%.1v4hlf", "%v4", "0.5,0.5,0.5,0.5"),
        ("%3v2hld", "%w2", " -5,  7"),
    ],
)
def test_printf(text: str, arguments: str, expected: str) -> None:
    assert printed(text, NUMBERS, *arguments.split()) == expected


def test_printf_of_strings_and_addresses() -> None:
    assert printed("%s|", NUMBERS, "%format") == "%s||"
    assert printed("%.2s|%4.1s", NUMBERS, "%format", "%format") == "%.|   %"
    said = printed("%p", NUMBERS, "%format")
    assert said.startswith("0x")


def test_printf_that_makes_no_sense() -> None:
    with pytest.raises(Fault, match="has no argument for %d"):
        printed("%d", NUMBERS)
    with pytest.raises(Fault, match="has f64 for %d"):
        printed("%d", NUMBERS, "%double")


def test_nobody_listens_to_printf() -> None:
    body = "%r = OpExtInst %i32 %cl printf %p0\nOpStore %p1 %r"
    made = kernel(body, "%to_char %global_i32", "%to_char = OpTypePointer UniformConstant %i8")
    out = np.full(1, 7, np.int32)
    run(made, "main", [np.frombuffer(b"hello\0", np.uint8).copy(), out], 1)
    assert out[0] == 0
