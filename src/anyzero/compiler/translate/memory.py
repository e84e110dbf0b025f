"""Memory: variables, loads and stores, copies, access chains."""

from __future__ import annotations

from anyzero.compiler.ir import Access, Op, Space
from anyzero.compiler.ir import Variable as Memory
from anyzero.compiler.spirv.instruction import Instruction, memory_access
from anyzero.compiler.spirv.tables import MemorySemantics, StorageClass
from anyzero.compiler.spirv.tables import Op as Opcode
from anyzero.compiler.spirv.types import Array, Pointer, Struct, Type, Vector
from anyzero.compiler.translate import inputs, transfer
from anyzero.compiler.translate.addresses import space_of
from anyzero.compiler.translate.chapter import translates
from anyzero.compiler.translate.initialize import initialize
from anyzero.compiler.translate.scope import Scope
from anyzero.compiler.translate.trees import Tree

_INSIDE = {Opcode.InBoundsAccessChain, Opcode.InBoundsPtrAccessChain}


@translates(Opcode.Variable)
def variable(f: Scope, i: Instruction) -> Tree:
    type_ = f.types[i.result_id]
    assert isinstance(type_, Pointer)
    alignment = max(f.module.decorations.alignment(i.result_id) or 1, type_.pointee.alignment)
    address = f.translator.address(Memory(type_.pointee.size, alignment, "private", f.module.name(i.result_id)))
    if len(i.operands) > 1:
        initialize(f, address, f.module.constants[i.operands[1]], Access(alignment=alignment, space="private"))
    return address


def access(operands: tuple[int, ...], start: int, type_: Type, space: Space) -> tuple[Access, int]:
    """The memory operands of an access to this type, and the index after them."""
    said, end = memory_access(operands, start)
    alignment = said.alignment if said.alignment is not None else type_.alignment
    return Access(1, alignment, said.volatile, said.nontemporal, space), end


@translates(Opcode.Load)
def load(f: Scope, i: Instruction) -> Tree:
    id_ = i.operands[0]
    pointer, type_ = f.scalar(id_), f.types[i.result_id]
    if f.pointer(id_).storage_class == StorageClass.Input:
        found = inputs.read(f, pointer, type_)
        if found is not None:
            return found
    return transfer.load(f, pointer, type_, access(i.operands, 1, type_, f.space(id_))[0])


@translates(Opcode.Store)
def store(f: Scope, i: Instruction) -> None:
    to, value = i.operands[:2]
    type_ = f.pointer(to).pointee
    how = access(i.operands, 2, type_, f.space(to))[0]
    constant = f.module.constants.get(value)
    if constant is not None:
        initialize(f, f.scalar(to), constant, how)
    else:
        transfer.store(f, f.scalar(to), f.value(value), type_, how)


@translates(Opcode.CopyMemory)
def copy(f: Scope, i: Instruction) -> None:
    _copy(f, i, f.b.const("i64", f.pointer(i.operands[0]).pointee.stored), 2)


@translates(Opcode.CopyMemorySized)
def copy_sized(f: Scope, i: Instruction) -> None:
    _copy(f, i, f.b.resized(f.scalar(i.operands[2]), "i64"), 3)


def _copy(f: Scope, i: Instruction, size: Op, start: int) -> None:
    """A second set of memory operands applies to the source; a single one to both."""
    to, from_ = i.operands[:2]
    written, end = access(i.operands, start, f.pointer(to).pointee, f.space(to))
    again = end if end < len(i.operands) else start
    read, _ = access(i.operands, again, f.pointer(from_).pointee, f.space(from_))
    alignment, volatile = min(written.alignment, read.alignment), written.volatile or read.volatile
    how = Access(1, alignment, volatile, written.nontemporal, written.space)
    if size.name != "const" or size.info:
        f.b.emit("copy", "", [f.scalar(to), f.scalar(from_), size], how)


@translates(Opcode.AccessChain, Opcode.InBoundsAccessChain)
def access_chain(f: Scope, i: Instruction) -> Tree:
    return _chain(f, i, i.operands[1:], 0, f.scalar(i.operands[0]))


@translates(Opcode.PtrAccessChain, Opcode.InBoundsPtrAccessChain)
def pointer_access_chain(f: Scope, i: Instruction) -> Tree:
    base, element, *indices = i.operands
    pointer, further = _step(f, i, f.scalar(base), element, f.pointer(base).pointee.size)
    return _chain(f, i, tuple(indices), further, pointer)


def _chain(f: Scope, i: Instruction, indices: tuple[int, ...], further: int, pointer: Op) -> Op:
    """Adds constant offsets last, so that equal strides have equal operations."""
    reached = f.pointer(i.operands[0]).pointee
    for id_ in indices:
        if isinstance(reached, Struct):
            member = f.integer(id_)
            further += reached.offsets[member]
            reached = reached.members[member]
        else:
            assert isinstance(reached, (Array, Vector))
            stride, reached = reached.stride, reached.element
            pointer, constant = _step(f, i, pointer, id_, stride)
            further += constant
    return f.b.offset(pointer, further)


def _step(f: Scope, i: Instruction, pointer: Op, index: int, size: int) -> tuple[Op, int]:
    """Applies an element index: returns the new address and a constant offset."""
    b = f.b
    by = b.resized(f.scalar(index), "i64", signed=True)
    if by.name == "const":
        return pointer, by.info * size
    return b.offset(pointer, b.mul(by, b.const("i64", size), "nsw" if i.opcode in _INSIDE else "")), 0


@translates(Opcode.PtrDiff)
def difference(f: Scope, i: Instruction) -> Tree:
    b, (first, second) = f.b, i.operands
    apart = b.sub(b.as_integer(f.scalar(first)), b.as_integer(f.scalar(second)))
    size = f.pointer(first).pointee.size
    if size & (size - 1):
        counted = b.binary("sdiv", apart, b.const("i64", size), "exact")
    else:
        counted = b.binary("ashr", apart, b.const("i64", size.bit_length() - 1), "exact")
    return b.resized(counted, f"i{f.types[i.result_id].bits}", signed=True)


@translates(Opcode.GenericPtrMemSemantics)
def semantics_of(f: Scope, i: Instruction) -> Tree:
    b, space, type_ = f.b, space_of(f, f.scalar(i.operands[0])), f"i{f.types[i.result_id].bits}"
    shared = b.select(
        b.icmp("eq", space, b.const("i32", 1)),
        b.const(type_, MemorySemantics.WorkgroupMemory),
        b.const(type_, MemorySemantics.SubgroupMemory),
    )
    return b.select(b.is_zero(space), b.const(type_, MemorySemantics.CrossWorkgroupMemory), shared)


@translates(Opcode.LifetimeStart, Opcode.LifetimeStop)
def lifetime(f: Scope, i: Instruction) -> None:
    """No operation: private memory lives as long as its work-item."""
