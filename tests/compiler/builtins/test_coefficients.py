"""The polynomials are as near to their functions as the comments beside them say."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import pytest
from mpmath import mp, mpf

from anyzero.compiler.builtins import (
    error_function,
    exponential,
    gamma,
    half_turns,
    hyperbolic,
    inverse_trigonometric,
    logarithm,
    native,
    power,
    register_tables,
    roots,
    trigonometric,
)
from tests.compiler.builtins.minimax import distance, nodes, polynomial

Function = Callable[[mpf], mpf]
LN2, K = mp.log(2), 1 / mp.log(2)
LOW, HIGH = mp.sqrt(0.5) - 1, mp.sqrt(2) - 1
LARGEST_S = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)


class Claim(NamedTuple):
    name: str
    approximation: Function
    function: Function
    interval: tuple[float, float]
    bits: float
    """The error is below 2^-bits of the weight."""
    weight: Function | None = None


def series(coefficients: tuple[float, ...], first: int = 0, step: int = 1) -> Function:
    """From the power `first` on, by `step`."""
    return lambda x: mp.fsum(mpf(c) * x ** (first + step * at) for at, c in enumerate(coefficients))


def quotient(pair: tuple[tuple[float, ...], tuple[float, ...]], step: int = 1) -> Function:
    over, under = (series(each, 0, step) for each in pair)
    return lambda x: over(x) / under(x)


def stirling(v: mpf) -> mpf:
    """gamma(z) / (z^(z - ½) e^-z) of z = 1/v."""
    z = 1 / v
    return mp.gamma(z) * mp.exp(z) * z ** (mpf(1) / 2 - z)


def claims() -> list[Claim]:
    found = []
    for element, bits in (("float", (26.0, 27.5, 28.4)), ("double", (55.0, 55.5, 55.5))):
        for name, table, function, most, exponent in (
            ("e^x - 1", exponential.EXPM1, mp.expm1, LN2 / 2, bits[0]),
            ("2^x - 1", exponential.EXP2M1, lambda x: 2**x - 1, 0.5, bits[1]),
            ("10^x - 1", exponential.EXP10M1, lambda x: mpf(10) ** x - 1, mp.log10(2) / 2, bits[2]),
        ):
            weight = None if function is mp.expm1 else lambda x, f=function: f(x) + 1
            found.append(
                Claim(f"{name} {element}", series(table[element], 1), function, (-most, most), exponent, weight)
            )
    for element, bits in (("float", 26.5), ("double", 54.5)):
        for name, table, base in (
            ("e^x - 1, by table", register_tables.EXP_SERIES, mp.e),
            ("2^x - 1, by table", register_tables.EXP2_SERIES, mpf(2)),
            ("10^x - 1, by table", register_tables.EXP10_SERIES, mpf(10)),
        ):
            most = LN2 / mp.log(base) / 32
            found.append(
                Claim(
                    f"{name} {element}",
                    series(table[element], 1),
                    lambda x, b=base: b**x - 1,
                    (-most, most),
                    bits,
                    lambda x, b=base: b**x,
                )
            )
    for name, tables, base, bits in (
        ("log", register_tables.LOG_SERIES, 1, (28.0, 56.0)),
        ("log2", register_tables.LOG2_SERIES, LN2, (26.0, 55.5)),
        ("log10", register_tables.LOG10_SERIES, mp.ln10, (0, 55.0)),
    ):
        for element, table in tables.items():
            claimed = bits[element == "double"]
            ratio = Claim(
                f"{name} by table {element}",
                series(table, 1),
                lambda x, b=base: mp.log1p(x) / b,
                (-mpf(1) / 32, mpf(1) / 16),
                claimed,
            )
            found.append(ratio)
    for element, bits in (("float", (27.1, 27.8, 32.8)), ("double", (61.8, 57.8, 63.9))):
        sines = trigonometric.SINE[element], trigonometric.SHORT_SINE[element]
        cosine = trigonometric.SHORT_COSINE[element]
        found += [
            Claim(f"sin {element}", series(sines[0], 1, 2), mp.sin, (0, mp.pi / 2), bits[0]),
            Claim(f"sin, short, {element}", series(sines[1], 1, 2), mp.sin, (0, mp.pi / 4), bits[1]),
            Claim(f"cos, short, {element}", series(cosine, 0, 2), mp.cos, (0, mp.pi / 4), bits[2]),
        ]
    for element, bits in (("float", (27.2, 27.8, 26.4)), ("double", (54.3, 57.8, 55.2))):

        def turned(table: tuple[float, ...]) -> Function:
            return lambda x: mp.pi * x + x**3 * series(table, 0, 2)(x)

        sines = half_turns.SINE[element], half_turns.SHORT_SINE[element]
        cosine = half_turns.SHORT_COSINE[element]
        found += [
            Claim(f"sinpi {element}", turned(sines[0]), mp.sinpi, (0, 0.5), bits[0]),
            Claim(f"sinpi, short, {element}", turned(sines[1]), mp.sinpi, (0, 0.25), bits[1]),
            Claim(f"cospi, short, {element}", series(cosine, 0, 2), mp.cospi, (0, 0.25), bits[2]),
        ]
    for element, bits in (("float", (27.6, 25.8)), ("double", (55.8, 57.5))):

        def odd(table: tuple[float, ...]) -> Function:
            return lambda x: x + x**3 * series(table, 0, 2)(x)

        arcs = inverse_trigonometric.ARCSINE[element], inverse_trigonometric.ARCTANGENT[element]
        found += [
            Claim(f"asin {element}", odd(arcs[0]), mp.asin, (0, 0.5), bits[0]),
            Claim(f"atan {element}", odd(arcs[1]), mp.atan, (0, 1), bits[1]),
        ]
    for element, bits in (("float", (26.1, 33.2)), ("double", (61.6, 57.3))):
        found += [
            Claim(f"sinh {element}", series(hyperbolic.SINH[element], 1, 2), mp.sinh, (0, LN2 / 2), bits[0]),
            Claim(f"cosh {element}", series(hyperbolic.COSH[element], 0, 2), mp.cosh, (0, LN2 / 2), bits[1]),
        ]
    for element, bits in (("float", (24.1, 23.8)), ("double", (53.8, 53.8))):
        erf, tail = quotient(error_function.ERF[element], 2), quotient(error_function.TAIL[element])
        bound, last = {"float": 3.92, "double": 5.93}[element], error_function.UNDERFLOW[element]
        found += [
            Claim(f"erf {element}", lambda x, f=erf: x * f(x), mp.erf, (0, bound), bits[0]),
            Claim(f"erfc {element}", tail, lambda x: mp.exp(x * x) * mp.erfc(x), (0.5, last), bits[1]),
        ]
    for name, table, base in (("log", logarithm.SHORT_LOG, 1), ("log2", logarithm.SHORT_LOG2, LN2)):
        found.append(Claim(name, series(table, 1), lambda x, b=base: mp.log1p(x) / b, (LOW, HIGH), 24.6))
    found.append(Claim("log10", series(logarithm.SHORT_LOG10, 1), lambda x: mp.log1p(x) / mp.ln10, (LOW, HIGH), 24.6))

    def artanh(s: mpf) -> mpf:
        return 2 * mp.atanh(s)

    def second(s: mpf) -> mpf:
        return sum(map(mpf, power.SECOND)) * s**3

    found += [
        Claim("log double", lambda s: 2 * s + s * series(logarithm.LONG_LOG, 2, 2)(s), artanh, (0, LARGEST_S), 58.4),
        Claim(
            "log2 for pow of floats",
            lambda s: 2 * K * s + s * series(power.SHORT_TAIL, 2, 2)(s),
            lambda s: artanh(s) * K,
            (0, LARGEST_S),
            32.0,
        ),
        Claim(
            "log2 for pow of doubles",
            lambda s: 2 * K * s + second(s) + s * series(power.LONG_TAIL, 4, 2)(s),
            lambda s: artanh(s) * K,
            (0, LARGEST_S),
            66.2,
        ),
        Claim("x^(-1/3)", series(roots.INVERSE_CUBE_ROOT), lambda x: 1 / mp.cbrt(x), (1, 2), 11.9),
        Claim("2^x, native", series(native.EXP2), lambda x: mpf(2) ** x, (-0.5, 0.5), 21.1),
        Claim("log2, native", series(native.LOG2, 1), lambda x: mp.log1p(x) * K, (LOW, HIGH), 22.4),
        Claim("Stirling's series", series(gamma.SERIES), stirling, (1 / 1000, 1 / 3), 53.9),
        Claim(
            "its logarithm",
            series(gamma.LOG_SERIES, 1, 2),
            lambda v: mp.log(stirling(v)) - mp.log(2 * mp.pi) / 2,
            (1 / 1000, 1 / 3),
            48.9,
        ),
        Claim(
            "log gamma around its roots",
            lambda u: u * (u - 1) * quotient(gamma.NEAR_ROOTS)(u + mpf(1) / 2),
            lambda u: mp.loggamma(1 + u),
            (-0.5, 2),
            53.4,
        ),
    ]
    return found


CLAIMS = {claim.name: claim for claim in claims()}


@pytest.mark.parametrize("name", CLAIMS)
def test_claimed_errors(name: str) -> None:
    claim = CLAIMS[name]
    with mp.workprec(200):
        error = distance(claim.approximation, claim.function, claim.interval, claim.weight, count=151)
    assert error <= mpf(2) ** -claim.bits


@pytest.mark.parametrize("element", ["float", "double"])
def test_tables_of_logarithms_fit_their_inverses(element: str) -> None:
    """In the upper half, together with the rounded octave that is subtracted."""
    bits = {"float": 29.5, "double": 58.5}[element]
    with mp.workprec(200):
        for base, table, octave in (
            (mp.e, register_tables.LOG_TABLE, exponential.LN2[element][0]),
            (mpf(2), register_tables.LOG2_TABLE, 1.0),
            (mpf(10), register_tables.LOG10_TABLE, exponential.LOG10_2[element][0]),
        ):
            for at, entry in enumerate(table.get(element, ())):
                inverse = mpf(register_tables.INVERSE[element][at])
                upper = at >= register_tables.STEPS // 2
                right = octave - mp.log(2 * inverse, base) if upper else -mp.log(inverse, base)
                assert abs(right - mpf(entry)) <= mpf(2) ** -bits * 1.5
                m = [(1 + mpf(at + end) / 16) * inverse - 1 for end in (0, 1)]
                assert -mpf(1) / 32 <= m[0] < m[1] <= mpf(1) / 16


def test_the_exchange_finds_the_best_polynomial() -> None:
    """The error of the best one swings evenly; a polynomial by Taylor has it all at the ends."""
    fit = polynomial(mp.exp, range(6), (-0.35, 0.35))
    taylor = distance(lambda x: mp.fsum(x**n / mp.factorial(n) for n in range(6)), mp.exp, (-0.35, 0.35), count=101)
    assert fit.error < taylor / 20
    swings = [fit(x) / mp.exp(x) - 1 for x in nodes((-0.35, 0.35), 400)]
    assert sum(a * b < 0 for a, b in pairwise(swings)) == 6
