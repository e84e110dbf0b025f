"""Arithmetic, comparisons, conversions and selects, lane by lane."""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.builtins import library, rounded, wide_division
from anyzero.compiler.ir import FAULTS, Op
from anyzero.compiler.llvm import I64, Type, Value
from anyzero.compiler.lower import prefix_masks, row_division
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.handlers import Chapter

handles = Chapter()


@handles("add", "sub", "mul", "and", "or", "xor")
def binary(e: Emitter, op: Op) -> None:
    truths = op.type == "i1" and op.name in ("and", "or", "xor") and e.shape(op).varying
    if truths and any(e.is_held(e.vector(each)) for each in op.args):
        first, second = (e.held(e.vector(each)) for each in op.args)
        e.vectors[op] = e.truth(e.b.binary(op.name, first, second))
        return
    # No nsw or nuw: an inactive lane may overflow, and its poison would spread to the vector.
    e.elementwise(op, lambda a, b: e.b.binary(op.name, a, b))


@handles("shl", "lshr", "ashr")
def shift(e: Emitter, op: Op) -> None:
    bits = Type(op.type).bits
    by = op.args[1]
    if by.name == "const" and by.info < bits:
        e.elementwise(op, lambda a, b: e.b.binary(op.name, a, b))
    else:
        # Too large a count gives an undefined value in SPIR-V; in LLVM it would give poison.
        e.elementwise(op, lambda a, b: e.b.binary(op.name, a, b & (bits - 1)))


@handles("fadd", "fsub", "fmul", "fdiv")
def floating(e: Emitter, op: Op) -> None:
    def compute(a: Value, b: Value) -> Value:
        if op.info is not None:
            return directed(e, op.name, a, b, op.info)
        return with_flags(e, op, lambda: e.b.binary(op.name, a, b))

    e.elementwise(op, compute)


def directed(e: Emitter, name: str, a: Value, b: Value, mode: str) -> Value:
    """Rounded in one direction."""
    if a.type.element == "half":
        # Rounding twice in the same direction, to float and then to half, is exact.
        wide = directed(e, name, e.b.cast("fpext", a, "float"), e.b.cast("fpext", b, "float"), mode)
        return _directed(e, "fptrunc", wide, "half", mode)
    routine = rounded.routine(name, a.type, mode)
    e.routines[routine.symbol] = routine
    return e.b.apply(routine.symbol, a.type, a, b)


@handles("fneg")
def negate(e: Emitter, op: Op) -> None:
    e.elementwise(op, lambda a: with_flags(e, op, lambda: -a))


def with_flags(e: Emitter, op: Op, compute: Callable[[], Value]) -> Value:
    e.b.flags = op.flags + " " if op.flags and not op.flags.endswith(" ") else op.flags
    try:
        return compute()
    finally:
        e.b.flags = ""


@handles("icmp", "fcmp")
def compare(e: Emitter, op: Op) -> None:
    def compute(a: Value, b: Value) -> Value:
        if op.name == "fcmp":
            return with_flags(e, op, lambda: e.b.compare(op.info, a, b))
        return e.b.compare(op.info, a, b)

    if not prefix_masks.compare(e, op) and not _compare_truths(e, op):
        e.elementwise(op, compute)


def _compare_truths(e: Emitter, op: Op) -> bool:
    """Compares masks in the form that they have between blocks, where one of them comes from another block."""
    if op.name != "icmp" or op.args[0].type != "i1" or op.info not in ("eq", "ne") or not e.shape(op).varying:
        return False
    first, second = (e.vector(each) for each in op.args)
    if not (e.is_held(first) or e.is_held(second)):
        return False
    other = e.held(first) ^ e.held(second)
    e.vectors[op] = e.truth(other if op.info == "ne" else ~other)
    return True


@handles("select")
def select(e: Emitter, op: Op) -> None:
    condition = op.args[0]
    if e.shape(condition).uniform or not e.lanes:
        # A uniform condition.
        choice = e.scalar(condition)
        shape = e.shape(op)
        if not shape.varying:
            e.scalars[op] = e.b.select(choice, e.scalar(op.args[1]), e.scalar(op.args[2]))
        if e.lanes and (shape.varying or not shape.exact):
            e.vectors[op] = e.b.select(choice, e.vector(op.args[1]), e.vector(op.args[2]))
        return
    choice, first, second = (e.vector(each) for each in op.args)
    if op.type == "i1":
        e.vectors[op] = e.truth(e.b.select(choice, e.held(first), e.held(second)))
    else:
        e.vectors[op] = e.b.select(choice, first, second)


@handles("intrinsic")
def intrinsic(e: Emitter, op: Op) -> None:
    if not op.args:
        e.scalars[op] = e.b.call(f"llvm.{op.info}", Type(op.type))
        return
    e.elementwise(op, lambda *args: e.b.intrinsic(op.info, *args))


@handles("math")
def maths(e: Emitter, op: Op) -> None:
    name, count = op.info
    whole = e.vector_type(op.args[0].type if op.args else op.type)
    element, lanes = whole.element, 0 if e.shape(op).uniform else whole.lanes
    if name == wide_division.NAME:
        routine = wide_division.routine(lanes)
    else:
        routine = library.routine(name, element, lanes, count, e.choices.target.wide, e.choices.target.fused)
    e.routines[routine.symbol] = routine
    args = [e.vector(each) if lanes else e.scalar(each) for each in op.args]
    if len(routine.results) == 1:
        e.put(op, e.b.apply(routine.symbol, routine.results[0], *args))
        e.parts[op] = [e.vectors[op] if lanes else e.scalars[op]]
        return
    e.parts[op] = e.b.apply_several(routine.symbol, routine.results, *args)


@handles("frem")
def remainder(e: Emitter, op: Op) -> None:
    lanes = 0 if e.shape(op).uniform else e.lanes
    routine = library.routine("fmod", op.type, lanes)
    e.routines[routine.symbol] = routine
    e.elementwise(
        op,
        lambda *args: e.b.apply(routine.symbol, args[0].type, *args),
    )


# Integer division: inactive lanes must not fault, and active ones must be reported.


@handles("udiv", "sdiv", "urem", "srem")
def divide(e: Emitter, op: Op) -> None:
    uniform = e.shape(op).uniform
    dividend, below = op.args
    # A strided quotient is computed for lane 0; only a division by a power of two gives one.
    single = not e.shape(op).varying

    def of(value: Op) -> Value:
        return e.scalar(value) if single else e.vector(value)

    def short(a: Value, d: Value) -> Value:
        return _quotient(e, a, d, signed=True)

    if below.name == "const" and below.info not in (0, (1 << Type(op.type).bits) - 1):
        if row_division.applies(e, op):
            row_division.divide(e, op, e.scalar(below), short, lambda: e.b.binary(op.name, of(dividend), of(below)))
        else:
            e.put(op, e.b.binary(op.name, of(dividend), of(below)))
        return
    once = e.shape(below).uniform
    d = _checked(e, e.scalar(below) if once else of(below), once, uniform)
    if row_division.applies(e, op):
        row_division.divide(e, op, d, short, lambda: _divided(e, op.name, of(dividend), d))
    else:
        e.put(op, _divided(e, op.name, of(dividend), d))


def _divided(e: Emitter, name: str, a: Value, d: Value) -> Value:
    if name[0] == "s":
        minus_one = e.b.compare("eq", d, -1)
        safe = e.b.select(minus_one, d.like(1), d)
        quotient = e.b.select(minus_one, -a, _quotient(e, a, safe, True))
    else:
        quotient = _quotient(e, a, d, False)
    return quotient if name[1:] == "div" else a - quotient * d


def _checked(e: Emitter, d: Value, once: bool, uniform: bool) -> Value:
    """The divisor, 1 for inactive lanes; a zero in an active lane ends the kernel.

    `once` says that all lanes have the same divisor, `uniform` that they have the same dividend too.
    """
    b = e.b
    bad = b.compare("eq", d, 0)
    mask = e.mask
    if mask is not None and once and not uniform:
        bad = bad & e.any(mask)
    elif mask is not None and not once:
        d = b.select(mask, d, d.like(1))
        bad = e.any(b.compare("eq", d, 0))
    fault(e, bad, FAULTS["division"], b.constant(0, I64))
    return d


def fault(e: Emitter, condition: Value, kind: int, value: Value) -> None:
    """Ends the kernel where the condition holds."""
    b = e.b
    known = e.known
    bad, good = e.label(), e.label()
    b.branch(condition, bad, good, unlikely=True)
    e.start(bad)
    b.intrinsics.setdefault("az_fault", "declare void @az_fault(ptr, i32, i64) cold noreturn nounwind")
    b.line(f"call void @az_fault({e.frame.worker.typed}, i32 {kind}, {value.typed})")
    b.line("unreachable")
    e.start(good)
    e.forget_since(known)


def _quotient(e: Emitter, a: Value, d: Value, signed: bool) -> Value:
    """Divides vectors of up to 32 bits as doubles, which are precise enough: there is no vector division of integers. A
    uniform divisor becomes a multiplication by its inverse.
    """
    b = e.b
    if not a.type.lanes or a.type.bits > 32:
        return b.binary("sdiv" if signed else "udiv", a, d)
    to, back = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
    real = "double" if a.type.bits == 32 else "float"
    dividend, divisor = b.cast(to, a, real), b.cast(to, d, real)
    if d.type.lanes:
        return b.cast(back, dividend / divisor, a.type.element)
    # The next number away from zero: never below the inverse, so that exact quotients are not rounded down. Other
    # quotients are at least an inverse away from the next integer, which is more than all rounding errors add.
    bits = f"i{divisor.type.bits}"
    inverse = b.bitcast(b.bitcast(1.0 / divisor, bits) + 1, real)
    return b.cast(back, dividend * inverse, a.type.element)


@handles("cast")
def cast(e: Emitter, op: Op) -> None:
    kind, _, mode = op.info.partition(".")
    if kind == "fptrunc" and op.type == "half" and op.args[0].type == "double":
        e.elementwise(op, lambda a: _directed(e, kind, _to_odd(e, a), op.type, mode or "rte"))
    elif not mode and _is_wide_row(e, kind, op):
        _convert_row(e, kind, op)
    elif not mode:
        e.elementwise(op, lambda a: e.b.cast(kind, a, op.type))
    elif mode.startswith("sat"):
        rounding = mode[4:]
        e.elementwise(op, lambda a: _saturated(e, kind, _rounded(e, a, rounding), op.type))
    elif kind in ("fptosi", "fptoui"):
        e.elementwise(op, lambda a: e.b.cast(kind, _rounded(e, a, mode), op.type))
    else:
        e.elementwise(op, lambda a: _directed(e, kind, a, op.type, mode))


def _is_wide_row(e: Emitter, kind: str, op: Op) -> bool:
    """Is it a conversion of 64-bit ids to floats, which a processor without AVX-512 does lane by lane?"""
    source = op.args[0]
    shape = e.shape(source)
    if kind not in ("sitofp", "uitofp") or source.type != "i64" or op.type not in ("float", "double"):
        return False
    near = shape.stride is not None and shape.exact and 0 < abs(shape.stride) * e.lanes < 1 << 30
    return bool(e.lanes) and near and not e.choices.target.wide


def _convert_row(e: Emitter, kind: str, op: Op) -> None:
    """From 32 bits where all lanes fit in."""
    b, source = e.b, op.args[0]
    stride, first = e.shape(source).stride, e.scalar(source)
    assert stride is not None
    ends = first | (first + stride * (e.lanes - 1))
    known, narrow, wide, join = e.known, e.label(), e.label(), e.label()
    b.branch(b.compare("ult", ends, 1 << 31), narrow, wide)
    e.start(narrow)
    begin = b.spread(b.cast("trunc", first, "i32"), e.lanes)
    short = b.cast("sitofp", begin + b.each([stride * lane for lane in range(e.lanes)], "i32"), op.type)
    b.jump(join)
    e.start(wide)
    e.remember(known)
    long = b.cast(kind, e.vector(source), op.type)
    wide_end = e.last_label()
    b.jump(join)
    e.start(join)
    e.forget_since(known)
    e.vectors[op] = b.phi((short, narrow), (long, wide_end))


def _rounded(e: Emitter, a: Value, mode: str) -> Value:
    """Rounds to an integral value, still a float."""
    name = {"rte": "roundeven", "rtp": "ceil", "rtn": "floor"}.get(mode)
    return a if name is None else e.b.intrinsic(name, a)


def _saturated(e: Emitter, kind: str, a: Value, element: str) -> Value:
    """Saturates to the range of the integer; 0 for a NaN. LLVM would scalarise its own operation for that."""
    b, result = e.b, a.type.of(element)
    if a.type.element == "half":
        # The larger bounds are infinite in that type. LLVM's own operation turns a NaN into -32768 with AVX512-FP16.
        a = b.cast("fpext", a, "float")
    if not a.type.lanes:
        return b.call(f"llvm.{kind}.sat.{result.mangled}.{a.type.mangled}", result, a)
    signed = kind == "fptosi"
    bits = result.bits - signed
    high = float(1 << bits)
    low = -high if signed else 0.0
    inside = b.compare("oge", a, low) & b.compare("olt", a, high)
    found = b.cast(kind, b.select(inside, a, b.zero(a.type)), element)
    most, least = b.constant((1 << bits) - 1, result), b.constant(1 << bits if signed else 0, result)
    beyond = b.select(b.compare("olt", a, low), least, b.zero(result))
    return b.select(inside, found, b.select(b.compare("oge", a, high), most, beyond))


def _directed(e: Emitter, kind: str, a: Value, element: str, mode: str) -> Value:
    """Rounds to a narrower float in one direction: to nearest first, then one step back where that went too far."""
    b = e.b
    near = b.cast(kind, a, element)
    if mode == "rte":
        return near
    bits = f"i{near.type.bits}"
    if kind == "fptrunc":
        back, against = b.cast("fpext", near, a.type.element), a
        above, below = b.compare("ogt", back, against), b.compare("olt", back, against)
    else:
        above, below = _beside(e, kind, near, a)
    raw = b.bitcast(near, bits)
    negative = b.compare("slt", raw, 0)
    zero = b.compare("eq", raw & ((1 << (near.type.bits - 1)) - 1), 0)
    up = b.select(zero, raw.like(1), b.select(negative, raw - 1, raw + 1))
    down = b.select(zero, raw.like((1 << (near.type.bits - 1)) | 1), b.select(negative, raw + 1, raw - 1))
    if mode == "rtp":
        chosen = b.select(below, up, raw)
    elif mode == "rtn":
        chosen = b.select(above, down, raw)
    else:
        positive = ~negative
        chosen = b.select(above & positive, down, b.select(below & negative, up, raw))
    return b.bitcast(chosen, element)


def _to_odd(e: Emitter, a: Value) -> Value:
    """A double as a float rounded to odd: the last bit is sticky, so that a second rounding is exact."""
    b = e.b
    near = b.cast("fptrunc", a, "float")
    back = b.cast("fpext", near, "double")
    raw = b.bitcast(near, "i32")
    too_large = b.compare("ogt", b.fabs(back), b.fabs(a))
    down = b.select(too_large, raw - 1, raw)
    lost = b.compare("one", back, a)
    return b.bitcast(b.select(lost, down | 1, raw), "float")


def _beside(e: Emitter, kind: str, near: Value, a: Value) -> tuple[Value, Value]:
    """Comparisons of a float with the integer that it was converted from: above, and below."""
    b = e.b
    signed = kind == "sitofp"
    back = _saturated(e, "fptosi" if signed else "fptoui", near, a.type.element)
    less, more = ("slt", "sgt") if signed else ("ult", "ugt")
    below = b.compare(less, back, a)
    # The largest integers round up to a power of two that is out of the integer's range, or to infinity.
    limit = float(1 << (a.type.bits - (1 if signed else 0)))
    if near.type.element != "half" or limit <= 65504.0:
        over = b.compare("oge", near, limit)
    else:
        over = b.compare("oeq", near, float("inf"))
        below |= b.compare("oeq", near, float("-inf"))
    return over | b.compare(more, back, a), below & ~over


@handles("read")
def read(e: Emitter, op: Op) -> None:
    scalar, vector = e.slot(op.info)
    # Volatile, or LLVM would promote it to a value again.
    stays = bool(op.info.memory)
    if scalar is not None:
        e.scalars[op] = e.b.load(Type(op.type), scalar, volatile=stays)
    if vector is not None:
        type_ = e.vector_type(e.choices.kept(op.type))
        found = e.b.load(type_, vector, volatile=stays)
        e.vectors[op] = e.truth(found) if op.type == "i1" else found
        if scalar is None and not e.shape(op).varying:
            e.scalars[op] = e.b.lane(e.vectors[op], 0)


@handles("write")
def write(e: Emitter, op: Op) -> None:
    scalar, vector = e.slot(op.info)
    value = op.args[0]
    stays = bool(op.info.memory)
    if scalar is not None:
        e.b.store(e.scalar(value), scalar, volatile=stays)
    if vector is not None:
        found = e.held(e.vector(value)) if value.type == "i1" else e.vector(value)
        e.b.store(found, vector, volatile=stays)


@handles("part")
def part(e: Emitter, op: Op) -> None:
    e.put(op, e.parts[op.args[0]][op.info])


@handles("pack")
def pack(e: Emitter, op: Op) -> None:
    first, second = op.args
    lanes = e.lanes
    if first is second and e.shape(first).uniform:
        e.vectors[op] = e.b.spread(e.scalar(first), 2 * lanes)
        return
    places = [lane + other for lane in range(lanes) for other in (0, lanes)]
    e.vectors[op] = e.b.shuffle(e.vector(first), e.vector(second), places)


@handles("unpack")
def unpack(e: Emitter, op: Op) -> None:
    e.vectors[op] = e.b.shuffle(e.vector(op.args[0]), None, [2 * lane + op.info for lane in range(e.lanes)])


@handles("undef")
def undefined(e: Emitter, op: Op) -> None:
    e.scalars[op] = e.b.zero(Type(op.type))


# Masks


@handles("mask_and")
def mask_and(e: Emitter, op: Op) -> None:
    mask, condition = (e.vector(each) for each in op.args)
    e.vectors[op] = e.both(mask, condition)


@handles("mask_andn")
def mask_andn(e: Emitter, op: Op) -> None:
    mask, condition = (e.vector(each) for each in op.args)
    e.vectors[op] = e.both(mask, ~condition)


@handles("mask_or")
def mask_or(e: Emitter, op: Op) -> None:
    first, second = (e.vector(each) for each in op.args)
    e.vectors[op] = first | second if e.choices.mask == "i1" else e.truth(e.held(first) | e.held(second))


@handles("any")
def any_lane(e: Emitter, op: Op) -> None:
    mask = op.args[0]
    if op.info == "active" and e.mask is not None:
        # Inactive lanes may have computed poison, which must not reach a branch.
        e.scalars[op] = e.any(e.both(e.mask, e.vector(mask)))
        return
    first = e.lanes and e.from_the_first(mask)
    e.scalars[op] = prefix_masks.lane_0(e, mask) if first else e.any(e.vector(mask))


@handles("entry_mask")
def entry_mask(e: Emitter, op: Op) -> None:
    if e.frame.mask is not None:
        e.vectors[op] = e.frame.mask
