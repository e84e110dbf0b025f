"""Indirect calls: functions that are called through pointers.

Such a function runs under a mask. Parameters and results are passed in memory, a row of lanes for each scalar; ids come
in a block that its caller has filled in or was passed itself. A header before its code holds the number of lanes that
it was compiled for: kernels of another number, for instance with a required sub-group size, cannot call it.
"""

from __future__ import annotations

from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import FAULTS, Op, Signature
from anyzero.compiler.llvm import I64, PTR, Type, Value
from anyzero.compiler.lower.arithmetic import fault
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.handlers import Chapter

handles = Chapter()

ROW = 8
"""Bytes of a scalar, whatever its type."""


_MARK = 0x617A_66756E63 << 16
"""The magic number of the header."""


def mark(lanes: int) -> int:
    """The header before a function's code."""
    return _MARK | max(lanes, 1)


def symbol(module: int, id_: int) -> str:
    return f"function.{module}.{id_}"


@handles("function")
def address(e: Emitter, op: Op) -> None:
    e.functions.add(op.info)
    e.scalars[op] = Value(e.b, f"@{symbol(*op.info)}", PTR)


def _row(e: Emitter, rows: Value, index: int) -> Value:
    return e.moved(rows, index * ROW * max(e.lanes, 1))


def _load(e: Emitter, rows: Value, index: int, type_: str) -> Value:
    """The type in memory: booleans are bytes."""
    wide = Type("i8" if type_ == "i1" else type_, e.lanes)
    found = e.b.load(wide, _row(e, rows, index), align=8)
    return e.b.compare("ne", found, 0) if type_ == "i1" else found


def _store(e: Emitter, rows: Value, index: int, value: Value) -> None:
    if value.type.element == "i1":
        value = e.b.cast("zext", value, "i8")
    e.b.store(value, _row(e, rows, index), align=8)


@handles("parameter")
def parameter(e: Emitter, op: Op) -> None:
    if e.frame.rows is None:
        raise CompileError("a kernel has no parameters of this kind", offset=op.word)
    e.put(op, _load(e, e.frame.rows, op.info, op.type))


@handles("result")
def result(e: Emitter, op: Op) -> None:
    assert e.frame.rows is not None
    for index, value in enumerate(op.args):
        _store(e, e.frame.rows, index, e.vector(value))


@handles("call")
def call(e: Emitter, op: Op) -> None:
    b = e.b
    what: Signature = op.info
    pointer, operands = op.args[0], op.args[1:]
    rows = e.allocate(f"[{max(len(operands), len(what.results), 1) * ROW * max(e.lanes, 1)} x i8]", 64)
    context = e.context()
    mask = e.mask

    def run(target: Value, bits: Value) -> list[Value]:
        if pointer.name != "function":
            _check(e, target)
        for index, operand in enumerate(operands):
            _store(e, rows, index, e.vector(operand))
        b.line(f"call void {target.text}({context.typed}, {rows.typed}, {bits.typed})")
        return [_load(e, rows, index, type_) for index, type_ in enumerate(what.results)]

    if mask is None:
        found = run(e.scalar(pointer), b.constant(1, I64))
    elif e.shape(pointer).uniform:
        found = run(e.scalar(pointer), e.bits(mask))
    else:
        found = _one_after_another(e, e.vector(pointer), mask, what.results, run)
    e.parts[op] = found
    if len(found) == 1:
        e.put(op, found[0])


def _check(e: Emitter, target: Value) -> None:
    """Ends the kernel where the address is not that of a function for this number of lanes."""
    b = e.b
    found = b.load(I64, e.moved(target, -8), align=1)
    address = b.cast("ptrtoint", target, "i64")
    fault(e, b.compare("ne", found, mark(e.lanes)), FAULTS["function pointer"], address)


def _one_after_another(e: Emitter, pointers: Value, mask: Value, results: tuple[str, ...], run: object) -> list[Value]:
    """One call for each distinct function among the lanes."""
    b, lanes = e.b, e.lanes
    places = [e.allocate(Type(type_, lanes)) for type_ in results]
    left = e.allocate(mask.type)
    b.store(mask, left)
    known = e.known
    head, done = e.label(), e.label()
    b.jump(head)
    e.start(head)
    rest = b.load(mask.type, left)
    lane = b.call("llvm.cttz.i64", I64, mask_bits(e, rest), b.constant(1, Type("i1")))
    target = b.lane(pointers, lane)
    same = b.compare("eq", pointers, b.spread(target, lanes)) & rest
    for place, value in zip(places, run(target, mask_bits(e, same)), strict=True):  # type: ignore[operator]
        old = b.load(value.type, place)
        b.store(b.select(same, value, old), place)
    b.store(rest & ~same, left)
    more = b.compare("ne", mask_bits(e, rest & ~same), 0)
    b.branch(more, head, done)
    e.start(done)
    e.forget_since(known)
    return [b.load(Type(type_, lanes), place) for type_, place in zip(results, places, strict=True)]


def mask_bits(e: Emitter, mask: Value) -> Value:
    """As `Emitter.bits`, but not cached: the mask changes in each iteration."""
    bits = e.b.reinterpret(mask, Type(f"i{e.lanes}"))
    return bits if e.lanes == 64 else e.b.cast("zext", bits, "i64")
