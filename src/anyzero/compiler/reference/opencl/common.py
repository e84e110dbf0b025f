"""The functions that OpenCL calls common: every operation in them rounds."""

from __future__ import annotations

import math
from collections.abc import Callable

from anyzero.compiler.reference.minmax import fmax, fmin
from anyzero.compiler.reference.numbers import ROUND, quotient
from anyzero.compiler.reference.opencl.table import real, sized
from anyzero.compiler.spirv.tables import OpenCL as Cl

_TURN = 180.0


def _sign(x: float) -> float:
    if x != x:
        return 0.0
    return x if x == 0.0 else math.copysign(1.0, x)


real(
    {
        Cl.degrees: lambda x: x * (_TURN / math.pi),
        Cl.radians: lambda x: x * (math.pi / _TURN),
        Cl.sign: _sign,
        Cl.step: lambda edge, x: 0.0 if x < edge else 1.0,
        Cl.fmax_common: lambda x, y: y if x < y else x,
        Cl.fmin_common: lambda x, y: y if y < x else x,
        Cl.fclamp: lambda x, low, high: fmin(fmax(x, low), high),
    }
)


def _mix(width: int) -> Callable[[float, float, float], float]:
    fit = ROUND[width]
    return lambda x, y, share: fit(x + fit(fit(y - x) * share))


def _smoothstep(width: int) -> Callable[[float, float, float], float]:
    fit = ROUND[width]

    def of(low: float, high: float, x: float) -> float:
        t = fmin(fmax(fit(quotient(fit(x - low), fit(high - low))), 0.0), 1.0)
        return fit(fit(t * t) * fit(3.0 - fit(2.0 * t)))

    return of


sized({Cl.mix: _mix, Cl.smoothstep: _smoothstep})
