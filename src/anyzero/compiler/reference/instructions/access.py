"""Variables, loads, stores, copies and addresses."""

from __future__ import annotations

from anyzero.compiler.reference import layout, memory
from anyzero.compiler.reference.decoder import ITEM, Decoder, Registers, Step, handles
from anyzero.compiler.reference.errors import Fault
from anyzero.compiler.reference.instructions.lanewise import width_of
from anyzero.compiler.reference.memory import LOW, ORIGIN, SHIFT
from anyzero.compiler.reference.numbers import signed
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import MemorySemantics, Op
from anyzero.compiler.spirv.types import Array, Pointer, Struct, Type, Vector

_ADDRESS = (1 << 64) - 1


def target(decoder: Decoder, id_: int) -> Type:
    """The pointee type."""
    pointer = decoder.type_of(id_)
    if not isinstance(pointer, Pointer):
        raise Fault(f"%{id_} is {pointer} instead of a pointer")
    return pointer.pointee


@handles(Op.Variable)
def variable(decoder: Decoder, instruction: Instruction) -> Step:
    to, pointer = decoder.result(instruction), decoder.type(instruction)
    assert isinstance(pointer, Pointer)
    type_ = pointer.pointee
    called = decoder.module.name(instruction.result_id)
    name = f'the variable "{called}"' if called else f"the variable %{instruction.result_id}"
    decoder.variables.append(to)
    initial = b""
    if len(instruction.operands) > 1:
        initial = layout.to_bytes(type_, decoder.program.value(instruction.operands[1]))

    def step(r: Registers) -> None:
        item = r[ITEM]
        address = r[to] = item.allocate(type_.size, name)
        if initial:
            item.regions[address >> SHIFT].view[:] = initial

    return step


@handles(Op.Load)
def load(decoder: Decoder, instruction: Instruction) -> Step:
    type_ = decoder.type(instruction)
    read, size = layout.reader(type_), type_.stored
    to, pointer = decoder.result(instruction), decoder.slot(instruction.operands[0])

    def step(r: Registers) -> None:
        address = r[pointer]
        region = r[ITEM].regions.get(address >> SHIFT)
        if region is None:
            raise memory.nowhere(address)
        offset = (address & LOW) - ORIGIN
        if offset < 0 or offset + size > region.size:
            raise memory.outside(region, offset, size)
        r[to] = read(region.view, offset)

    return step


@handles(Op.Store)
def store(decoder: Decoder, instruction: Instruction) -> Step:
    pointer, value = decoder.slot_list(instruction.operands[:2])
    type_ = decoder.type_of(instruction.operands[1])
    write, size = layout.writer(type_), type_.stored

    def step(r: Registers) -> None:
        region, offset = memory.place(r[ITEM].regions, r[pointer], size)
        if not region.writable:
            raise memory.protected(region)
        write(region.view, offset, r[value])

    return step


@handles(Op.CopyMemory)
def copy(decoder: Decoder, instruction: Instruction) -> Step:
    to, from_ = decoder.slot_list(instruction.operands[:2])
    size = target(decoder, instruction.operands[0]).stored

    def step(r: Registers) -> None:
        regions = r[ITEM].regions
        memory.write(regions, r[to], memory.read(regions, r[from_], size))

    return step


@handles(Op.CopyMemorySized)
def copy_sized(decoder: Decoder, instruction: Instruction) -> Step:
    to, from_, size = decoder.slot_list(instruction.operands[:3])

    def step(r: Registers) -> None:
        regions = r[ITEM].regions
        memory.write(regions, r[to], memory.read(regions, r[from_], r[size]))

    return step


@handles(Op.AccessChain, Op.InBoundsAccessChain)
def access_chain(decoder: Decoder, instruction: Instruction) -> Step:
    base, *indices = instruction.operands
    return _chain(decoder, instruction, base, None, tuple(indices))


@handles(Op.PtrAccessChain, Op.InBoundsPtrAccessChain)
def pointer_access_chain(decoder: Decoder, instruction: Instruction) -> Step:
    base, element, *indices = instruction.operands
    return _chain(decoder, instruction, base, element, tuple(indices))


def _chain(
    decoder: Decoder, instruction: Instruction, base: int, element: int | None, indices: tuple[int, ...]
) -> Step:
    to, from_ = decoder.result(instruction), decoder.slot(base)
    fixed, scaled = _path(decoder, target(decoder, base), element, indices)
    if not scaled:

        def constant(r: Registers) -> None:
            r[to] = (r[from_] + fixed) & _ADDRESS

        return constant
    if len(scaled) == 1:
        ((slot, sign, size),) = scaled

        def one(r: Registers) -> None:
            # Flipping the sign bit and subtracting it sign-extends the index.
            r[to] = (r[from_] + fixed + ((r[slot] ^ sign) - sign) * size) & _ADDRESS

        return one

    def step(r: Registers) -> None:
        address = r[from_] + fixed
        for slot, sign, size in scaled:
            address += ((r[slot] ^ sign) - sign) * size
        r[to] = address & _ADDRESS

    return step


def _path(
    decoder: Decoder, type_: Type, element: int | None, indices: tuple[int, ...]
) -> tuple[int, list[tuple[int, int, int]]]:
    """An access chain: a constant offset, and index slots with sign bit and element size."""
    fixed = 0
    scaled: list[tuple[int, int, int]] = []

    def count(id_: int, size: int) -> None:
        nonlocal fixed
        width = width_of(decoder.type_of(id_))
        if id_ in decoder.module.constants:
            fixed += signed(decoder.constant(id_), width) * size
        else:
            scaled.append((decoder.slot(id_), 1 << (width - 1), size))

    if element is not None:
        count(element, type_.size)
    for index in indices:
        if isinstance(type_, Struct):
            member = decoder.constant(index)
            fixed += type_.offsets[member]
            type_ = type_.members[member]
        else:
            assert isinstance(type_, (Array, Vector))
            count(index, type_.stride)
            type_ = type_.element
    return fixed, scaled


@handles(Op.PtrDiff)
def difference(decoder: Decoder, instruction: Instruction) -> Step:
    to, (first, second) = decoder.result(instruction), decoder.slot_list(instruction.operands)
    size = target(decoder, instruction.operands[0]).size
    mask = (1 << width_of(decoder.type(instruction))) - 1

    def step(r: Registers) -> None:
        r[to] = (r[first] - r[second]) // size & mask

    return step


_SEMANTICS = {memory.GLOBAL: MemorySemantics.CrossWorkgroupMemory, memory.LOCAL: MemorySemantics.WorkgroupMemory}


@handles(Op.GenericPtrMemSemantics)
def semantics_of(decoder: Decoder, instruction: Instruction) -> Step:
    to, pointer = decoder.result(instruction), decoder.slot(instruction.operands[0])

    def step(r: Registers) -> None:
        region = r[ITEM].regions.get(r[pointer] >> SHIFT)
        r[to] = _SEMANTICS.get(region.space, 0) if region is not None else 0

    return step


@handles(Op.LifetimeStart, Op.LifetimeStop)
def lifetime(decoder: Decoder, instruction: Instruction) -> Step:
    return nothing


def nothing(r: Registers) -> None:
    """No operation: hints for compilers."""
