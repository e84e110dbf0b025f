"""Atomic operations: lane by lane, and non-atomic where only the group's own thread sees the memory."""

from __future__ import annotations

from anyzero.compiler.analysis.cost import unlocked
from anyzero.compiler.ir import SIZES, Atomic, Op
from anyzero.compiler.llvm import BITS, Type, Value
from anyzero.compiler.lower.bounds import redirect
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.groups import combine, reduce, scan
from anyzero.compiler.lower.handlers import Chapter
from anyzero.compiler.lower.scalarize import written_out

handles = Chapter()

_LLVM = {
    "exchange": "xchg", "add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor", "smin": "min", "smax":
    "max", "umin": "umin", "umax": "umax", "fadd": "fadd", "fmin": "fmin", "fmax": "fmax",
}  # fmt: skip
_CHANGES = {"smin": "slt", "smax": "sgt", "umin": "ult", "umax": "ugt", "fmin": "ult", "fmax": "ugt"}
"""The comparison of the operand with memory that tells whether memory changes; with a NaN, it may."""
_TOGETHER = {each: each for each in ("add", "and", "or", "xor", "smin", "smax", "umin", "umax", "fadd", "fmin", "fmax")}
_TOGETHER["sub"] = "add"
"""Reductions of the lanes' values, for operations that are associative and commutative."""


@handles("fence")
def fence(e: Emitter, op: Op) -> None:
    # A group runs on one thread: within it, a compiler fence is enough.
    scope = "" if op.info in ("device", "system") else 'syncscope("singlethread") '
    e.b.line(f"fence {scope}seq_cst")


@handles("atomic")
def atomic(e: Emitter, op: Op) -> None:
    safe = redirect(e, op)
    if safe is None:
        _atomic(e, op)
        return
    pointer, op.args[0] = op.args[0], safe
    _atomic(e, op)
    op.args[0] = pointer


def _atomic(e: Emitter, op: Op) -> None:
    what: Atomic = op.info
    pointer, operands = op.args[0], op.args[1:]
    together = not e.lanes or (e.shape(pointer).uniform and what.kind == "load")
    if together:
        found = _one(e, what, op.type, e.scalar(pointer), [e.scalar(each) for each in operands])
        if found is not None:
            _give(e, op, found)
        return
    if e.shape(pointer).uniform and what.kind in _TOGETHER and not (op in e.used and Type(op.type).is_float):
        _at_once(e, op, what)
        return
    truth = op.type == "i1"
    results = [Type("i8" if truth else op.type)] if op in e.used and what.kind != "store" else []

    def lane(_: Value, address: Value, *values: Value) -> list[Value]:
        found = _one(e, what, op.type, address, list(values))
        if found is None or not results:
            return []
        return [e.b.cast("zext", found, "i8") if truth else found]

    def one_by_one() -> list[Value]:
        return e.for_each_lane([e.value(pointer), *(e.value(each) for each in operands)], results, lane)

    if unlocked(what) and not truth:
        # A few instructions for each lane are unrolled. Locked instructions take so long that a loop costs nothing.
        result = results[0].element if results else ""
        found = written_out(
            e, list(op.args), result, lambda *given: _one(e, what, op.type, given[0], list(given[1:])), one_by_one
        )
        if found is not None:
            e.vectors[op] = found
        return
    made = one_by_one()
    if made:
        e.vectors[op] = e.b.compare("ne", made[0], 0) if truth else made[0]


def _at_once(e: Emitter, op: Op, what: Atomic) -> None:
    """A uniform address: the lanes' values are reduced, and one atomic operation adds the result.

    Each lane's result is the old value combined with the lanes before it, as if the lanes came one right after the
    other. Sums of floats are reduced only where no lane uses its result: the order of rounding would be visible.
    """
    b, mask = e.b, e.mask
    assert mask is not None
    pointer, operand = op.args
    kind = _TOGETHER[what.kind]
    used = op in e.used
    if kind == "add" and e.shape(operand).uniform and not Type(op.type).is_float:
        each = e.scalar(operand)
        total = b.cast("trunc", b.intrinsic("ctpop", e.bits(mask)), op.type) * each
        ahead = _lanes_ahead(e, mask, op.type) * b.spread(each, e.lanes) if used else None
    else:
        total = reduce(e, kind, e.vector(operand), mask)
        ahead = scan(e, kind, e.vector(operand), mask, False) if used else None
    found = _one(e, what, op.type, e.scalar(pointer), [total])
    if ahead is not None:
        assert found is not None
        first = b.spread(found, e.lanes)
        e.vectors[op] = first - ahead if what.kind == "sub" else combine(e, kind, first, ahead)


def _lanes_ahead(e: Emitter, mask: Value, element: str) -> Value:
    """The number of active lanes before each lane."""
    b = e.b
    wide = "i32" if e.lanes <= 32 else "i64"
    bits = b.spread(b.cast("trunc", e.bits(mask), wide), e.lanes)
    count = b.intrinsic("ctpop", bits & b.each([(1 << lane) - 1 for lane in range(e.lanes)], wide))
    return b.cast("zext" if BITS[element] > BITS[wide] else "trunc", count, element)


def _give(e: Emitter, op: Op, found: Value) -> None:
    if e.lanes:
        e.vectors[op] = e.b.spread(found, e.lanes)
    e.scalars[op] = found


def _one(e: Emitter, what: Atomic, type_: str, pointer: Value, values: list[Value]) -> Value | None:
    """The operation of one work-item; returns the old value."""
    b = e.b
    if what.kind == "flag_set":
        before = _one(e, Atomic("exchange", what.scope, what.space), "i32", pointer, [b.constant(1, Type("i32"))])
        assert before is not None
        return b.compare("ne", before, 0)
    if what.kind == "flag_clear":
        _one(e, Atomic("store", what.scope, what.space), "", pointer, [b.constant(0, Type("i32"))])
        return None
    element = values[0].type.element if values else type_
    if unlocked(what):
        return _alone(e, what.kind, element, pointer, values)
    align = SIZES[element]
    if what.kind == "load":
        return b.op("load", Type(type_), f"atomic {type_}, ptr %s seq_cst, align {align}", pointer, kind="effect")
    if what.kind == "store":
        b.line(f"store atomic {values[0].typed}, {pointer.typed} seq_cst, align {align}")
        return None
    if what.kind == "compare_exchange":
        new, expected = values
        pair = b.name()
        b.line(f"{pair} = cmpxchg {pointer.typed}, {expected.typed}, {new.typed} seq_cst seq_cst, align {align}")
        return b.op("extractvalue", Type(element), f"{{{element}, i1}} %s, 0", Value(b, pair, Type(element)))
    if what.relaxed and what.kind in _CHANGES:
        return _read_first(e, what.kind, pointer, values[0])
    return _locked(e, what.kind, pointer, values[0])


def _locked(e: Emitter, kind: str, pointer: Value, value: Value) -> Value:
    element = value.type.element
    form = f"{_LLVM[kind]} ptr %s, {value.type} %s seq_cst, align {SIZES[element]}"
    return e.b.op("atomicrmw", Type(element), form, pointer, value, kind="effect")


def _read_first(e: Emitter, kind: str, pointer: Value, value: Value) -> Value:
    """An atomic minimum or maximum, only where it changes memory: most do not, and threads share a line of the cache
    that they only read.
    """
    b, type_ = e.b, value.type
    form = f"atomic {type_}, ptr %s monotonic, align {SIZES[type_.element]}"
    seen, update, join = e.label(), e.label(), e.label()
    b.jump(seen)
    e.start(seen)
    before = b.op("load", type_, form, pointer, kind="effect")
    b.branch(b.compare(_CHANGES[kind], value, before), update, join)
    e.start(update)
    found, end = _locked(e, kind, pointer, value), e.last_label()
    b.jump(join)
    e.start(join)
    return b.phi((before, seen), (found, end))


def _alone(e: Emitter, kind: str, element: str, pointer: Value, values: list[Value]) -> Value | None:
    """A load and a store: no other thread sees the memory in between."""
    b = e.b
    align = SIZES[element]
    if kind == "store":
        b.store(values[0], pointer, align=align)
        return None
    # Volatile, so that a loop that waits for another work-item reads again.
    before = b.load(Type(element), pointer, align=align, volatile=kind == "load")
    if kind == "load":
        return before
    if kind == "compare_exchange":
        new, expected = values
        after = b.select(b.compare("eq", before, expected), new, before)
    elif kind == "exchange":
        after = values[0]
    elif kind == "sub":
        after = before - values[0]
    else:
        after = combine(e, kind, before, values[0])
    b.store(after, pointer, align=align)
    return before
