"""Integer functions, against Python's integers, which have all the bits they need."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.compiler.builtins.machine import DTYPES, compiled

WIDTHS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}
Exact = Callable[..., int]


def clamp(x: int, low: int, high: int) -> int:
    return min(max(x, low), high)


def saturated(value: int, bits: int, signed: bool) -> int:
    return clamp(value, -(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else clamp(value, 0, (1 << bits) - 1)


def low24(x: int, signed: bool) -> int:
    x &= 0xFFFFFF
    return x - (1 << 24) if signed and x >> 23 else x


def rotated(bits: int) -> Exact:
    return lambda x, by: x << (by % bits) | x >> (bits - by % bits)


def leading(bits: int) -> Exact:
    return lambda x: bits - x.bit_length()


def trailing(bits: int) -> Exact:
    return lambda x: (x & -x).bit_length() - 1 if x else bits


# For a width: arity, and the function; a value is seen signed or not by the first letter of the name.
FUNCTIONS: dict[str, tuple[int, Callable[[int], Exact]]] = {
    "clz": (1, leading),
    "ctz": (1, trailing),
    "popcount": (1, lambda bits: lambda x: x.bit_count()),
    "rotate": (2, rotated),
}
for _sign in (True, False):
    _s = "s" if _sign else "u"
    FUNCTIONS |= {
        f"{_s}_abs": (1, lambda bits: abs),
        f"{_s}_abs_diff": (2, lambda bits: lambda x, y: abs(x - y)),
        f"{_s}_add_sat": (2, lambda bits, s=_sign: lambda x, y: saturated(x + y, bits, s)),
        f"{_s}_sub_sat": (2, lambda bits, s=_sign: lambda x, y: saturated(x - y, bits, s)),
        f"{_s}_hadd": (2, lambda bits: lambda x, y: (x + y) >> 1),
        f"{_s}_rhadd": (2, lambda bits: lambda x, y: (x + y + 1) >> 1),
        f"{_s}_max": (2, lambda bits: max),
        f"{_s}_min": (2, lambda bits: min),
        f"{_s}_clamp": (3, lambda bits: clamp),
        f"{_s}_mul_hi": (2, lambda bits: lambda x, y: (x * y) >> bits),
        f"{_s}_mad_hi": (3, lambda bits: lambda x, y, z: ((x * y) >> bits) + z),
        f"{_s}_mad_sat": (3, lambda bits, s=_sign: lambda x, y, z: saturated(x * y + z, bits, s)),
        f"{_s}_mul24": (2, lambda bits, s=_sign: lambda x, y: low24(x, s) * low24(y, s) if bits > 24 else x * y),
        f"{_s}_mad24": (
            3,
            lambda bits, s=_sign: lambda x, y, z: (low24(x, s) * low24(y, s) if bits > 24 else x * y) + z,
        ),
    }
UPSAMPLED = {"s_upsample", "u_upsample"}
TESTED = {*FUNCTIONS, *UPSAMPLED}


def operands(element: str, count: int) -> list[np.ndarray]:
    """The edges with each other, and anything."""
    bits = WIDTHS[element]
    edges = [0, 1, 2, 3, -1, -2, (1 << (bits - 1)) - 1, -(1 << (bits - 1)), 1 << (bits // 2), -(1 << (bits // 2)), bits]
    table = np.array(edges, object).astype(f"int{bits}")
    axes = [axis.ravel() for axis in np.meshgrid(*[table] * count)]
    random = np.random.default_rng(3)
    info = np.iinfo(f"int{bits}")
    anything = [random.integers(info.min, info.max, 500, f"int{bits}", endpoint=True) for _ in range(count)]
    return [np.concatenate(parts) for parts in zip(axes, anything, strict=True)]


@pytest.mark.parametrize("element", WIDTHS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_integer_functions(name: str, element: str) -> None:
    count, make = FUNCTIONS[name]
    bits = WIDTHS[element]
    exact = make(bits)
    given = operands(element, count)
    if name.endswith("clamp"):
        low, high = (each.view(f"uint{bits}") if name[0] == "u" else each for each in given[1:])
        given[1], given[2] = (each.view(f"int{bits}") for each in (np.minimum(low, high), np.maximum(low, high)))
    (got,) = compiled(name, element)(*given)
    signed = name.startswith("s_")
    seen = [(each if signed else each.view(f"uint{bits}")).tolist() for each in given]
    right = np.array([exact(*values) & ((1 << bits) - 1) for values in zip(*seen, strict=True)], f"uint{bits}")
    wrong = np.nonzero(got.view(f"uint{bits}") != right)[0]
    assert not len(wrong), [([each[at] for each in seen], got[at], right[at]) for at in wrong[:5]]


@pytest.mark.parametrize("element", ["i8", "i16", "i32"])
@pytest.mark.parametrize("name", sorted(UPSAMPLED))
def test_upsampling(name: str, element: str) -> None:
    high, low = operands(element, 2)
    bits = WIDTHS[element]
    (got,) = compiled(name, element)(high, low)
    assert got.dtype == np.dtype(f"int{2 * bits}")
    right = [h << bits | (v & ((1 << bits) - 1)) for h, v in zip(high.tolist(), low.tolist(), strict=True)]
    assert got.tolist() == right


def test_every_width_is_there() -> None:
    assert set(WIDTHS) <= set(DTYPES)
