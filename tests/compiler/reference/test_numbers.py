"""Rounding: from exact numbers, in every direction, at every edge."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyzero.compiler.reference.numbers import (
    LARGEST,
    bits_of,
    converted,
    float_of,
    fused,
    integer,
    nearest,
    quotient,
)
from anyzero.compiler.spirv.tables import FPRoundingMode as Mode

DTYPES: dict[int, Any] = {16: np.float16, 32: np.float32, 64: np.float64}


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([16, 32, 64]))
def test_the_nearest_number_is_numpys(value: float, width: int) -> None:
    with np.errstate(all="ignore"):
        expected = float(DTYPES[width](value))
    assert nearest(Fraction(value), width, zero=value) == expected
    assert converted(value, width) == expected


@given(st.fractions(), st.sampled_from([16, 32, 64]))
def test_directions_enclose_the_number(exact: Fraction, width: int) -> None:
    down, up = nearest(exact, width, Mode.RTN), nearest(exact, width, Mode.RTP)
    assert down <= exact <= up
    assert nearest(exact, width, Mode.RTZ) == (down if exact > 0 else up)
    assert nearest(exact, width) in (down, up)
    if down != up and abs(exact) < LARGEST[width]:
        assert float_of(bits_of(down, width) + (1 if exact > 0 else -1), width) == up or 0.0 in (down, up)


@pytest.mark.parametrize("width", DTYPES)
def test_too_large(width: int) -> None:
    beyond = Fraction(LARGEST[width]) * 2
    assert nearest(beyond, width) == math.inf
    assert nearest(beyond, width, Mode.RTZ) == LARGEST[width]
    assert nearest(-beyond, width, Mode.RTP) == -LARGEST[width]
    assert nearest(-beyond, width, Mode.RTN) == -math.inf


@given(st.integers(0, 2**32 - 1))
def test_bits_of_single_precision(bits: int) -> None:
    assert bits_of(float_of(bits, 32), 32) == bits


@given(st.integers(0, 2**16 - 1))
def test_bits_of_half_precision(bits: int) -> None:
    assert bits_of(float_of(bits, 16), 16) == bits


SINGLE = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(SINGLE, SINGLE, SINGLE)
def test_products_and_sums_are_rounded_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    assert fused(a, b, c, 32) == nearest(exact, 32)
    assert fused(a, b, c, 64) == nearest(exact, 64)


def test_a_tie_that_only_the_lost_bits_decide() -> None:
    a, b, c = 1.0 + 2.0**-12, 1.0 + 2.0**-12, 2.0**-80
    assert fused(a, b, c, 32) == 1.0 + 2.0**-11 + 2.0**-23
    assert fused(a, b, -c, 32) == 1.0 + 2.0**-11
    assert fused(a, b, 0.0, 32) == 1.0 + 2.0**-11


def test_signs_of_nothing() -> None:
    for width in DTYPES:
        assert math.copysign(1.0, fused(-0.0, 1.0, -0.0, width)) == -1.0
        assert math.copysign(1.0, fused(-0.0, 1.0, 0.0, width)) == 1.0
        assert math.copysign(1.0, fused(2.0, 3.0, -6.0, width)) == 1.0
    assert fused(1e300, 1e300, -math.inf, 64) == -math.inf
    assert fused(1e300, -1e300, 0.0, 64) == -math.inf
    assert math.isnan(fused(math.inf, 0.0, 1.0, 64))


def test_integers_and_quotients() -> None:
    assert [integer(-2.5, mode) for mode in (Mode.RTE, Mode.RTZ, Mode.RTP, Mode.RTN)] == [-2, -2, -2, -3]
    assert quotient(1.0, -0.0) == -math.inf
    assert math.isnan(quotient(0.0, 0.0))
