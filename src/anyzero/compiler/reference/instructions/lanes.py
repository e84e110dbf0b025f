"""Sub-group operations that need no synchronization."""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.reference import layout, memory
from anyzero.compiler.reference.builtins import size_of_sub_group
from anyzero.compiler.reference.decoder import ITEM, Decoder, Registers, Step, handles
from anyzero.compiler.reference.errors import OutOfBounds, ReadOnly
from anyzero.compiler.reference.image import Image
from anyzero.compiler.reference.instructions.access import target
from anyzero.compiler.reference.memory import SHIFT
from anyzero.compiler.reference.numbers import clamp, signed
from anyzero.compiler.reference.work_item import Item
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import GroupOperation, Op, Scope
from anyzero.compiler.spirv.types import Type, Vector


def _bits(ballot: tuple[int, int, int, int]) -> int:
    return sum(word << (32 * index) for index, word in enumerate(ballot))


def _place(item: Item, scope: int) -> tuple[int, int]:
    """The work-item's index in the scope, and the size of the scope."""
    if scope == Scope.Subgroup:
        return item.lane, size_of_sub_group(item)
    return item.index, len(item.group.items)


def _below(count: int) -> int:
    return (1 << count) - 1


@handles(Op.GroupNonUniformInverseBallot)
def inverse_ballot(decoder: Decoder, instruction: Instruction) -> Step:
    scope, ballot = decoder.constant(instruction.operands[0]), decoder.slot(instruction.operands[1])
    to = decoder.result(instruction)

    def step(r: Registers) -> None:
        lane, _ = _place(r[ITEM], scope)
        r[to] = bool(_bits(r[ballot]) >> lane & 1)

    return step


@handles(Op.GroupNonUniformBallotBitExtract)
def ballot_bit(decoder: Decoder, instruction: Instruction) -> Step:
    to, (ballot, index) = decoder.result(instruction), decoder.slot_list(instruction.operands[1:])

    def step(r: Registers) -> None:
        r[to] = bool(_bits(r[ballot]) >> r[index] & 1)

    return step


_COUNTED: dict[int, Callable[[int, int], int]] = {
    GroupOperation.Reduce: lambda lane, lanes: _below(lanes),
    GroupOperation.InclusiveScan: lambda lane, lanes: _below(lane + 1),
    GroupOperation.ExclusiveScan: lambda lane, lanes: _below(lane),
}


@handles(Op.GroupNonUniformBallotBitCount)
def ballot_count(decoder: Decoder, instruction: Instruction) -> Step:
    scope_id, operation, value = instruction.operands
    scope, counted = decoder.constant(scope_id), _COUNTED[operation]
    to, ballot = decoder.result(instruction), decoder.slot(value)

    def step(r: Registers) -> None:
        r[to] = (_bits(r[ballot]) & counted(*_place(r[ITEM], scope))).bit_count()

    return step


@handles(Op.GroupNonUniformBallotFindLSB, Op.GroupNonUniformBallotFindMSB)
def ballot_find(decoder: Decoder, instruction: Instruction) -> Step:
    """Finds the first or last set bit; zero if none is set."""
    scope, ballot = decoder.constant(instruction.operands[0]), decoder.slot(instruction.operands[1])
    to, lowest = decoder.result(instruction), instruction.opcode == Op.GroupNonUniformBallotFindLSB

    def step(r: Registers) -> None:
        bits = _bits(r[ballot]) & _below(_place(r[ITEM], scope)[1])
        r[to] = max((bits & -bits if lowest else bits).bit_length() - 1, 0)

    return step


def _components(type_: Type) -> tuple[Type, int]:
    return (type_.element, type_.length) if isinstance(type_, Vector) else (type_, 1)


@handles(Op.SubgroupBlockReadINTEL)
def block_read(decoder: Decoder, instruction: Instruction) -> Step:
    """One component per row of the block, one lane per element of the row."""
    element, count = _components(decoder.type(instruction))
    to, pointer = decoder.result(instruction), decoder.slot(instruction.operands[0])
    assert element is target(decoder, instruction.operands[0])
    vector = isinstance(decoder.type(instruction), Vector)

    def step(r: Registers) -> None:
        item = r[ITEM]
        found = tuple(
            layout.from_bytes(element, memory.read(item.regions, address, element.size))
            for address in _block(item, r[pointer], element.size, count)
        )
        r[to] = found if vector else found[0]

    return step


@handles(Op.SubgroupBlockWriteINTEL)
def block_write(decoder: Decoder, instruction: Instruction) -> Step:
    pointer, data = decoder.slot_list(instruction.operands)
    type_ = decoder.type_of(instruction.operands[1])
    element, count = _components(type_)

    def step(r: Registers) -> None:
        item = r[ITEM]
        values = r[data] if isinstance(type_, Vector) else (r[data],)
        addresses = _block(item, r[pointer], element.size, count)
        for address, value in zip(addresses, values, strict=True):
            memory.write(item.regions, address, layout.to_bytes(element, value))

    return step


@handles(Op.SubgroupBlockPrefetchINTEL)
def block_prefetch(decoder: Decoder, instruction: Instruction) -> Step:
    def step(r: Registers) -> None:
        """No operation: there is no cache."""

    return step


def _block(item: Item, pointer: int, size: int, count: int) -> list[int]:
    lanes = item.group.launch.sub_group_size
    return [pointer + (row * lanes + item.lane) * size for row in range(count)]


@handles(Op.SubgroupImageBlockReadINTEL)
def image_block_read(decoder: Decoder, instruction: Instruction) -> Step:
    element, count = _components(decoder.type(instruction))
    to, (handle, coordinate) = decoder.result(instruction), decoder.slot_list(instruction.operands)
    vector = isinstance(decoder.type(instruction), Vector)

    def step(r: Registers) -> None:
        image, places = _image_block(r[ITEM], r[handle], r[coordinate], element.size, count)
        found = tuple(layout.from_bytes(element, bytes(image.view[at : at + element.size])) for at, _ in places)
        r[to] = found if vector else found[0]

    return step


@handles(Op.SubgroupImageBlockWriteINTEL)
def image_block_write(decoder: Decoder, instruction: Instruction) -> Step:
    handle, coordinate, data = decoder.slot_list(instruction.operands)
    type_ = decoder.type_of(instruction.operands[2])
    element, count = _components(type_)

    def step(r: Registers) -> None:
        image, places = _image_block(r[ITEM], r[handle], r[coordinate], element.size, count)
        if not image.writable:
            raise ReadOnly("writes to a read-only image")
        values = r[data] if isinstance(type_, Vector) else (r[data],)
        for (at, inside), value in zip(places, values, strict=True):
            if inside:
                image.view[at : at + element.size] = layout.to_bytes(element, value)

    return step


def _image_block(
    item: Item, handle: int, at: tuple[int, int], size: int, count: int
) -> tuple[Image, list[tuple[int, bool]]]:
    """Byte offsets of a lane's elements, clamped to the image, with flags for those inside; the first coordinate is in
    bytes.
    """
    image = item.group.launch.handles.get(handle >> SHIFT)
    if not isinstance(image, Image):
        raise OutOfBounds(f"{handle:#x} is not an image")
    x, y = signed(at[0], 32) + item.lane * size, signed(at[1], 32)
    places = []
    for row in range(count):
        start, end = image.row(y + row)
        if end - start < size:
            raise OutOfBounds(f"{size} bytes of a row of {end - start}", "image", x)
        inside = 0 <= x <= end - start - size and 0 <= y + row < image.rows
        places.append((start + clamp(x, 0, end - start - size), inside))
    return image, places


@handles(Op.ReadClockKHR)
def clock(decoder: Decoder, instruction: Instruction) -> Step:
    to, vector = decoder.result(instruction), isinstance(decoder.type(instruction), Vector)

    def step(r: Registers) -> None:
        now = next(r[ITEM].group.launch.clock)
        r[to] = (now & 0xFFFFFFFF, now >> 32) if vector else now

    return step
