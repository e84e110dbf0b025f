"""Geometric functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from anyzero.compiler.reference.decoder import Decoder, Registers, Step
from anyzero.compiler.reference.instructions.lanewise import width_of
from anyzero.compiler.reference.numbers import ROUND
from anyzero.compiler.reference.opencl.table import function
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import OpenCL as Cl
from anyzero.compiler.spirv.types import Vector

Point = tuple[float, ...]


def _whole(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...], compute: Callable[..., Any]) -> Step:
    """A function of whole vectors; a scalar is a vector of one component."""
    to, from_ = decoder.result(instruction), decoder.slot_list(ids)
    vectors = isinstance(decoder.type_of(ids[0]), Vector)

    def step(r: Registers) -> None:
        r[to] = compute(*[r[slot] if vectors else (r[slot],) for slot in from_])

    return step


@function(Cl.length, Cl.fast_length)
def length(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    fit = ROUND[width_of(decoder.type(instruction))]
    return _whole(decoder, instruction, ids, lambda point: fit(math.hypot(*point)))


@function(Cl.distance, Cl.fast_distance)
def distance(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    fit = ROUND[width_of(decoder.type(instruction))]

    def compute(first: Point, second: Point) -> float:
        return fit(math.hypot(*[fit(a - b) for a, b in zip(first, second, strict=True)]))

    return _whole(decoder, instruction, ids, compute)


@function(Cl.normalize, Cl.fast_normalize)
def normalize(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    type_ = decoder.type(instruction)
    fit = ROUND[width_of(type_)]

    def compute(point: Point) -> Any:
        # Scaled first, so that squares neither overflow nor underflow.
        largest = max((abs(part) for part in point if part == part), default=0.0)
        if math.isinf(largest):
            point = tuple(math.copysign(1.0, part) if math.isinf(part) else 0.0 * part for part in point)
        elif largest > 0.0:
            exponent = math.frexp(largest)[1]
            point = tuple(math.ldexp(part, -exponent) for part in point)
        size = math.hypot(*point)
        found = tuple(fit(part / size) for part in point) if size else point
        return found if isinstance(type_, Vector) else found[0]

    return _whole(decoder, instruction, ids, compute)


@function(Cl.cross)
def cross(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    type_ = decoder.type(instruction)
    fit = ROUND[width_of(type_)]

    def compute(a: Point, b: Point) -> Point:
        found = [fit(fit(a[i] * b[j]) - fit(a[j] * b[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
        return (*found, 0.0) if type_.count == 4 else tuple(found)

    return _whole(decoder, instruction, ids, compute)
