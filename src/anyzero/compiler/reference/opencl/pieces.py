"""Selection of bits, components and vectors."""

from __future__ import annotations

from typing import Any

from anyzero.compiler.reference import layout
from anyzero.compiler.reference.decoder import Decoder, Registers, Step
from anyzero.compiler.reference.instructions.lanewise import apply, width_of
from anyzero.compiler.reference.numbers import bits_of, float_of
from anyzero.compiler.reference.opencl.table import function
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import OpenCL as Cl
from anyzero.compiler.spirv.types import Float, Vector


def _mixed(zeros: int, ones: int, choice: int) -> int:
    return (zeros & ~choice) | (ones & choice)


@function(Cl.bitselect)
def bitselect(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    type_ = decoder.type(instruction)
    if not isinstance(type_.scalar, Float):
        return apply(decoder, instruction, _mixed, ids)
    width = width_of(type_)

    def floats(*operands: float) -> float:
        return float_of(_mixed(*[bits_of(each, width) for each in operands]), width)

    return apply(decoder, instruction, floats, ids)


@function(Cl.select)
def select(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    """Vectors are selected by the sign bits, a scalar by a nonzero condition."""
    vector = isinstance(decoder.type(instruction), Vector)
    chosen = 1 << (width_of(decoder.type_of(ids[2])) - 1) if vector else -1

    def choose(if_not: Any, if_so: Any, condition: int) -> Any:
        return if_so if condition & chosen else if_not

    return apply(decoder, instruction, choose, ids)


@function(Cl.shuffle, Cl.shuffle2)
def shuffle(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    to, (*sources, mask) = decoder.result(instruction), decoder.slot_list(ids)
    # Three components are indexed like four; the last one is undefined.
    length = decoder.type_of(ids[0]).count
    room = 4 if length == 3 else length
    padding = (layout.zero(decoder.type(instruction))[0],) * (room - length)

    def step(r: Registers) -> None:
        both: tuple[Any, ...] = ()
        for source in sources:
            both += r[source] + padding
        r[to] = tuple(both[pick % len(both)] for pick in r[mask])

    return step
