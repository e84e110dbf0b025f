"""How the coefficients of the maths routines were found: Remez's exchange, in as many digits as it takes.

    python -c "from tests.compiler.builtins.minimax import *; show(polynomial(mp.exp, range(6), (-0.35, 0.35)))"

Coefficients are rounded one after the other, the most significant first, and those that remain are fitted again: the
last ones make up for what rounding took from the first.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from mpmath import mp, mpf

Function = Callable[[mpf], mpf]
FRACTION = {"float": 24, "double": 53}


class Fit(NamedTuple):
    """What was found: a coefficient for each power, and the largest error in units of the weight."""

    powers: tuple[int, ...]
    coefficients: tuple[mpf, ...]
    error: mpf

    def __call__(self, x: mpf) -> mpf:
        return mp.fsum(c * x**p for p, c in zip(self.powers, self.coefficients, strict=True))


def nodes(interval: tuple[float, float], count: int) -> list[mpf]:
    low, high = mpf(interval[0]), mpf(interval[1])
    return [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / (count - 1)) for i in range(count)]


def alternation(errors: Sequence[mpf], count: int) -> list[int]:
    """Where the error has its largest swings of alternating sign."""
    peaks: list[int] = []
    for place, error in enumerate(errors):
        if peaks and (errors[peaks[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[peaks[-1]]):
                peaks[-1] = place
        else:
            peaks.append(place)
    while len(peaks) > count:
        # An end goes alone; an inner one takes a neighbour with it, so that signs go on alternating.
        weakest = min(range(len(peaks)), key=lambda at: abs(errors[peaks[at]]))
        if weakest in (0, len(peaks) - 1):
            del peaks[weakest]
        elif len(peaks) == count + 1:
            del peaks[0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1]
        else:
            near = min(weakest - 1, weakest + 1, key=lambda at: abs(errors[peaks[at]]))
            del peaks[min(near, weakest) : max(near, weakest) + 1]
    return peaks


def polynomial(
    function: Function,
    powers: Iterable[int],
    interval: tuple[float, float],
    weight: Function | None = None,
    fixed: dict[int, float] | None = None,
) -> Fit:
    """The polynomial of these powers that is nearest to `function`. The error counts in units of `weight` (by default
    the function itself: a relative error). Coefficients in `fixed` are given.
    """
    fixed = fixed or {}
    every = tuple(powers)
    free = [power for power in every if power not in fixed]
    grid = nodes(interval, 60 * (len(every) + 2))
    weights = [abs((weight or function)(x)) for x in grid]
    keep = [at for at, w in enumerate(weights) if w != 0 and (grid[at] != 0 or 0 in every)]
    grid, weights = [grid[at] for at in keep], [weights[at] for at in keep]
    target = [function(x) - mp.fsum(c * x**p for p, c in fixed.items()) for x in grid]
    count = len(free) + 1
    places = [round(at * (len(grid) - 1) / (count - 1)) for at in range(count)]
    error = mpf(0)
    solution: list[mpf] = []
    for _ in range(40):
        matrix = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for row, at in enumerate(places):
            for column, power in enumerate(free):
                matrix[row, column] = grid[at] ** power
            matrix[row, count - 1] = (-1) ** row * weights[at]
            right[row] = target[at]
        *solution, level = mp.lu_solve(matrix, right)
        misses = [
            (target[at] - mp.fsum(c * x**p for p, c in zip(free, solution, strict=True))) / weights[at]
            for at, x in enumerate(grid)
        ]
        error = max(abs(miss) for miss in misses)
        found = alternation(misses, count)
        if len(found) < count or found == places or error < abs(level) * mpf("1.0001"):
            break
        places = found
    by_power = dict(zip(free, solution, strict=True)) | {p: mpf(c) for p, c in fixed.items()}
    return Fit(every, tuple(by_power[power] for power in every), error)


def nearest(value: mpf, element: str) -> float:
    """The number of that format; its own rounding, since mpmath's would be a second one."""
    with mp.workprec(FRACTION[element]):
        return float(+value)


def rounded(
    function: Function,
    powers: Iterable[int],
    interval: tuple[float, float],
    element: str,
    weight: Function | None = None,
    fixed: dict[int, float] | None = None,
) -> Fit:
    """As `polynomial`, with coefficients that numbers of `element` can be."""
    every = tuple(powers)
    known = dict(fixed or {})
    fit = polynomial(function, every, interval, weight, known)
    for place, power in enumerate(every):
        if power in known:
            continue
        known[power] = nearest(fit.coefficients[place], element)
        if place + 1 < len(every):
            again = polynomial(function, every, interval, weight, known)
            # With low powers given, those that remain need not alternate on an interval around zero.
            if again.error < 2 * fit.error:
                fit = again
    fit = Fit(every, tuple(mpf(known[power]) for power in every), mpf(0))
    return fit._replace(error=distance(fit, function, interval, weight))


def distance(
    fit: Function, function: Function, interval: tuple[float, float], weight: Function | None = None, count: int = 1000
) -> mpf:
    """The largest error over the interval."""
    weighted = ((x, abs((weight or function)(x))) for x in nodes(interval, count))
    return max(abs(function(x) - fit(x)) / w for x, w in weighted if w != 0)


def pieces(value: mpf, bits: Sequence[int]) -> list[float]:
    """`value` as a sum of numbers, each of so many bits."""
    found = []
    for precision in bits:
        with mp.workprec(precision):
            piece = float(+value)
        found.append(piece)
        value = value - mpf(piece)
    return found


def show(fit: Fit, element: str = "double") -> None:
    print(f"# error 2^{mp.nstr(mp.log(fit.error, 2), 4) if fit.error else '-inf'}")
    for power, coefficient in zip(fit.powers, fit.coefficients, strict=True):
        print(f"    {nearest(coefficient, element)!r},  # x^{power}")


def float_bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


mp.prec = 200
