"""OpenCL.std: the library of OpenCL C."""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.builder import ROUNDING
from anyzero.compiler.ir import SIZES, WIDTHS, Access, Op
from anyzero.compiler.spirv.grammar import opencl_name
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import Op as Opcode
from anyzero.compiler.spirv.tables import OpenCL as Cl
from anyzero.compiler.translate import transfer
from anyzero.compiler.translate.chapter import translates
from anyzero.compiler.translate.composites import chosen
from anyzero.compiler.translate.scope import Scope
from anyzero.compiler.translate.trees import Tree, each, leaves, scalar

Function = Callable[[Scope, Instruction, tuple[int, ...]], "Tree | None"]

FUNCTIONS: dict[int, Function] = {}
"""All other functions are component-wise."""


def is_(*numbers: int) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        for number in numbers:
            FUNCTIONS[number] = function
        return function

    return register


@translates(Opcode.ExtInst)
def extended(f: Scope, i: Instruction) -> Tree | None:
    number, rest = i.operands[1], i.operands[2:]
    function = FUNCTIONS.get(number)
    if function is not None:
        return function(f, i, rest)
    to = _component(f, i)
    name, flags = opencl_name(number), f.float_flags(i.result_id)

    def one(*args: Op) -> Op:
        made = f.b.math(name, to, *map(f.b.flush, args))
        made.flags = flags
        return f.b.flush(made)

    return each(one, *map(f.value, rest))


def _component(f: Scope, i: Instruction) -> str:
    type_ = f.types[i.result_id]
    return scalar(type_.scalar or type_)


def _name(i: Instruction) -> str:
    return opencl_name(i.operands[1])


@is_(Cl.ldexp, Cl.pown, Cl.rootn)
def exponent(f: Scope, i: Instruction, ids: tuple[int, ...]) -> Tree:
    """The second operand is an int for any type of the first."""
    to, name = _component(f, i), _name(i)

    def one(x: Op, n: Op) -> Op:
        return f.b.flush(f.b.math(name, to, f.b.flush(x), f.b.resized(n, "i32", signed=True)))

    return each(one, *map(f.value, ids))


@is_(Cl.ilogb)
def integer_logarithm(f: Scope, i: Instruction, ids: tuple[int, ...]) -> Tree:
    to = _component(f, i)
    return each(lambda x: f.b.resized(f.b.math("ilogb", "i32", f.b.flush(x)), to, signed=True), f.value(ids[0]))


@is_(Cl.length, Cl.fast_length, Cl.distance, Cl.fast_distance)
def length(f: Scope, i: Instruction, ids: tuple[int, ...]) -> Tree:
    vectors = [f.components(id_) for id_ in ids]
    operands = [component for vector in vectors for component in vector]
    return f.b.math(_name(i), _component(f, i), *operands, components=len(vectors[0]))


@is_(Cl.normalize, Cl.fast_normalize, Cl.cross)
def direction(f: Scope, i: Instruction, ids: tuple[int, ...]) -> Tree:
    vectors = [f.components(id_) for id_ in ids]
    operands = [component for vector in vectors for component in vector]
    count = len(vectors[0])
    made = f.b.parts(f.b.math(_name(i), _component(f, i), *operands, components=count), count)
    return tuple(made) if isinstance(f.value(ids[0]), tuple) else made[0]


@is_(Cl.fract, Cl.modf, Cl.sincos, Cl.frexp, Cl.lgamma_r, Cl.remquo)
def two_results(f: Scope, i: Instruction, ids: tuple[int, ...]) -> Tree:
    """The second result is stored to memory."""
    *operands, pointer = ids
    b, to, name = f.b, _component(f, i), _name(i)
    pointee = f.pointer(pointer).pointee
    second = scalar(pointee.scalar or pointee)
    library = "i32" if second[0] == "i" else second
    others: list[Op] = []

    def one(*args: Op) -> Op:
        both = b.math(name, to, *args)
        first = b.part(both, 0, to)
        others.append(
            b.resized(b.part(both, 1, library), second, signed=True) if library == "i32" else b.part(both, 1, to)
        )
        return first

    result = each(one, *map(f.value, operands))
    access = Access(alignment=pointee.alignment, space=f.space(pointer))
    transfer.store(f, f.scalar(pointer), tuple(others), pointee, access)
    return result


@is_(Cl.select)
def select(f: Scope, i: Instruction, ids: tuple[int, ...]) -> Tree:
    """In vectors, the sign of each component selects."""
    b, predicate = f.b, "ne" if f.types[i.result_id].count == 1 else "slt"

    def one(otherwise: Op, then: Op, condition: Op) -> Op:
        return b.select(b.icmp(predicate, condition, b.const(condition.type, 0)), then, otherwise)

    return each(one, *map(f.value, ids))


@is_(Cl.bitselect)
def bitselect(f: Scope, i: Instruction, ids: tuple[int, ...]) -> Tree:
    b = f.b

    def one(otherwise: Op, then: Op, mask: Op) -> Op:
        chosen_bits = b.as_integer(mask)
        kept = b.and_(b.as_integer(otherwise), b.not_(chosen_bits))
        return b.from_integer(b.or_(kept, b.and_(b.as_integer(then), chosen_bits)), then.type)

    return each(one, *map(f.value, ids))


@is_(Cl.u_upsample, Cl.s_upsample)
def upsample(f: Scope, i: Instruction, ids: tuple[int, ...]) -> Tree:
    b, to = f.b, _component(f, i)

    def one(high: Op, low: Op) -> Op:
        return b.or_(b.shl(b.cast("zext", high, to), b.const(to, WIDTHS[low.type])), b.cast("zext", low, to))

    return each(one, *map(f.value, ids))


@is_(Cl.shuffle, Cl.shuffle2)
def shuffle(f: Scope, i: Instruction, ids: tuple[int, ...]) -> Tree:
    """Only the low bits of the mask that index the components are used."""
    *sources, mask = ids
    b, values = f.b, tuple(component for id_ in sources for component in f.components(id_))
    # Three components are indexed like four.
    step = len(f.components(sources[0]))
    if step == 3:
        values = tuple(value for at in range(0, len(values), 3) for value in (*values[at : at + 3], values[at]))
    return tuple(chosen(b, values, b.and_(index, b.const(index.type, len(values) - 1))) for index in f.components(mask))


def _place(f: Scope, pointer: int, offset: int, step: int) -> Op:
    """The address advanced by `offset` steps."""
    b = f.b
    index = b.resized(f.scalar(offset), "i64", signed=True)
    return b.offset(f.scalar(pointer), b.mul(index, b.const("i64", step)))


def _step(components: int, size: int, aligned: bool) -> tuple[int, int]:
    """Stride and alignment of vectors; aligned ones of three components take the space of four."""
    if not aligned:
        return components * size, size
    room = (4 if components == 3 else components) * size
    return room, room


@is_(Cl.vloadn, Cl.vload_half, Cl.vload_halfn, Cl.vloada_halfn)
def vector_load(f: Scope, i: Instruction, words: tuple[int, ...]) -> Tree:
    offset, pointer = words[:2]
    to, count, number = _component(f, i), f.types[i.result_id].count, i.operands[1]
    source = to if number == Cl.vloadn else "half"
    step, alignment = _step(count, SIZES[source], number == Cl.vloada_halfn)
    access = Access(count, alignment, space=f.space(pointer))
    found = [f.b.cast("fpext", each, to) for each in f.b.load(_place(f, pointer, offset, step), source, access)]
    return tuple(found) if count > 1 else found[0]


@is_(Cl.vstoren, Cl.vstore_half, Cl.vstore_half_r, Cl.vstore_halfn, Cl.vstore_halfn_r)
@is_(Cl.vstorea_halfn, Cl.vstorea_halfn_r)
def vector_store(f: Scope, i: Instruction, words: tuple[int, ...]) -> None:
    data, offset, pointer, *rounding = words
    values, number = list(f.components(data)), i.operands[1]
    if number != Cl.vstoren:
        kind = f"fptrunc.{ROUNDING[rounding[0]]}" if rounding and rounding[0] else "fptrunc"
        values = [f.b.cast(kind, value, "half") for value in values]
    step, alignment = _step(len(values), SIZES[values[0].type], number in (Cl.vstorea_halfn, Cl.vstorea_halfn_r))
    access = Access(alignment=alignment, space=f.space(pointer))
    f.b.store(_place(f, pointer, offset, step), values, access)


@is_(Cl.prefetch)
def prefetch(f: Scope, i: Instruction, ids: tuple[int, ...]) -> None:
    """No operation: hardware prefetching suffices."""


@is_(Cl.printf)
def printf(f: Scope, i: Instruction, ids: tuple[int, ...]) -> Tree:
    operands = [leaf for id_ in ids for leaf in leaves(f.value(id_))]
    f.b.emit("printf", "", operands)
    return f.b.const(_component(f, i), 0)
