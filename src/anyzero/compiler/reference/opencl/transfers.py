"""Loads and stores of vectors and half-precision numbers."""

from __future__ import annotations

from typing import Any

from anyzero.compiler.reference import memory
from anyzero.compiler.reference.decoder import ITEM, Decoder, Registers, Step
from anyzero.compiler.reference.instructions.access import nothing, target
from anyzero.compiler.reference.instructions.lanewise import width_of
from anyzero.compiler.reference.layout import reader, to_bytes
from anyzero.compiler.reference.numbers import converted, signed
from anyzero.compiler.reference.opencl.table import function
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import FPRoundingMode
from anyzero.compiler.spirv.tables import OpenCL as Cl
from anyzero.compiler.spirv.types import Float, Type, Vector


class _Place:
    """An array of vectors in memory."""

    def __init__(self, decoder: Decoder, offset: int, pointer: int, count: int, room: int) -> None:
        self.offset, self.pointer = decoder.slot(offset), decoder.slot(pointer)
        self.width = width_of(decoder.type_of(offset))
        self.element: Type = target(decoder, pointer)
        self.count, self.room = count, room
        self.read_one = reader(self.element)

    def address(self, r: Registers) -> int:
        size = self.element.size
        return int(r[self.pointer] + signed(r[self.offset], self.width) * self.room * size) & ((1 << 64) - 1)

    def read(self, r: Registers) -> list[Any]:
        size = self.element.size
        data = memory.read(r[ITEM].regions, self.address(r), self.count * size)
        return [self.read_one(data, index * size) for index in range(self.count)]

    def write(self, r: Registers, values: list[Any]) -> None:
        data = b"".join(to_bytes(self.element, value) for value in values)
        memory.write(r[ITEM].regions, self.address(r), data)


def _room(count: int, aligned: bool) -> int:
    return 4 if aligned and count == 3 else count


@function(Cl.vloadn, Cl.vload_half, Cl.vload_halfn, Cl.vloada_halfn)
def load(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    type_, to = decoder.type(instruction), decoder.result(instruction)
    aligned = instruction.operands[1] == Cl.vloada_halfn
    place = _Place(decoder, ids[0], ids[1], type_.count, _room(type_.count, aligned))
    vector = isinstance(type_, Vector)

    def step(r: Registers) -> None:
        # The conversion from half precision is exact.
        found = place.read(r)
        r[to] = tuple(found) if vector else found[0]

    return step


@function(Cl.vstoren, Cl.vstore_half, Cl.vstore_halfn, Cl.vstorea_halfn)
@function(Cl.vstore_half_r, Cl.vstore_halfn_r, Cl.vstorea_halfn_r)
def store(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    type_, data = decoder.type_of(ids[0]), decoder.slot(ids[0])
    aligned = instruction.operands[1] in (Cl.vstorea_halfn, Cl.vstorea_halfn_r)
    place = _Place(decoder, ids[1], ids[2], type_.count, _room(type_.count, aligned))
    mode = ids[3] if len(ids) > 3 else FPRoundingMode.RTE
    vector = isinstance(type_, Vector)
    narrower = isinstance(place.element, Float) and place.element is not type_.scalar

    def step(r: Registers) -> None:
        values = list(r[data]) if vector else [r[data]]
        place.write(r, [converted(value, 16, mode) for value in values] if narrower else values)

    return step


@function(Cl.prefetch)
def prefetch(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    return nothing
