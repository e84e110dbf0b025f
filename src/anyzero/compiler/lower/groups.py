"""Collectives, barriers and group copies. A sub-group is a vector, so that its collectives are shuffles and reductions
of lanes.
"""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.analysis.lane_loads import known_lane, picked_from
from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import SIZES, Collective, Op
from anyzero.compiler.llvm import I1, I32, I64, PTR, Type, Value
from anyzero.compiler.lower import bounds
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.gathers import aligned
from anyzero.compiler.lower.handlers import Chapter
from anyzero.compiler.lower.masked import masked_load, masked_store
from anyzero.compiler.lower.memory import placed
from anyzero.compiler.lower.permutation import permute

handles = Chapter()

_INTRINSICS = {"smin": "smin", "smax": "smax", "umin": "umin", "umax": "umax", "fmin": "minnum", "fmax": "maxnum"}
_REDUCE = {"fmin": "fmin", "fmax": "fmax", "logical_and": "and", "logical_or": "or", "logical_xor": "xor"}


def combine(e: Emitter, operation: str, a: Value, b: Value) -> Value:
    """Combines two values."""
    operation = operation.removeprefix("logical_")
    if operation in _INTRINSICS:
        return e.b.intrinsic(_INTRINSICS[operation], a, b)
    return e.b.binary(operation, a, b)


def identity(e: Emitter, operation: str, type_: Type) -> Value:
    """The identity element."""
    b, bits = e.b, type_.bits
    match operation.removeprefix("logical_"):
        case "fadd":
            # Minus zero: a sum of minus zeros stays one.
            return b.constant(-0.0, type_)
        case "fmul":
            return b.constant(1.0, type_)
        case "fmin":
            return b.constant(float("inf"), type_)
        case "fmax":
            return b.constant(float("-inf"), type_)
        case "mul":
            return b.constant(1, type_)
        case "and" | "umin":
            return b.constant(-1, type_)
        case "smin":
            return b.constant((1 << (bits - 1)) - 1, type_)
        case "smax":
            return b.constant(1 << (bits - 1), type_)
        case _:
            return b.zero(type_)


def reduce(e: Emitter, operation: str, value: Value, mask: Value) -> Value:
    """Reduces the active lanes."""
    b = e.b
    value = b.select(mask, value, identity(e, operation, value.type))
    if operation in ("fmin", "fmax"):
        # LLVM's own reduction goes lane by lane where there may be a NaN.
        while (half := value.type.lanes // 2) > 1:
            value = combine(e, operation, *(b.shuffle(value, None, range(at, at + half)) for at in (0, half)))
        return combine(e, operation, *(b.lane(value, lane) for lane in (0, 1)))
    name = f"llvm.vector.reduce.{_REDUCE.get(operation, operation)}.{value.type.mangled}"
    element = Type(value.type.element)
    if operation in ("fadd", "fmul"):
        start = identity(e, operation, element)
        b.intrinsics.setdefault(name, f"declare {element} @{name}({element}, {value.type})")
        return b.apply(name, element, start, value, flags="reassoc ")
    return b.call(name, element, value)


def scan(e: Emitter, operation: str, value: Value, mask: Value, inclusive: bool) -> Value:
    """A scan over the active lanes."""
    b, lanes = e.b, e.lanes
    nothing = identity(e, operation, value.type)
    value = b.select(mask, value, nothing)
    step = 1
    while step < lanes:
        moved = b.shuffle(value, nothing, [lane - step if lane >= step else lanes for lane in range(lanes)])
        value = combine(e, operation, moved, value)
        step *= 2
    if inclusive:
        return value
    return b.shuffle(value, nothing, [lane - 1 if lane else lanes for lane in range(lanes)])


def _clustered(e: Emitter, operation: str, value: Value, mask: Value, cluster: int) -> Value:
    b, lanes = e.b, e.lanes
    value = b.select(mask, value, identity(e, operation, value.type))
    step = 1
    while step < min(cluster, lanes):
        value = combine(e, operation, value, b.shuffle(value, None, [lane ^ step for lane in range(lanes)]))
        step *= 2
    return value


def _numbers(e: Emitter) -> Value:
    return e.b.each(range(e.lanes), "i32")


def _narrow(e: Emitter, value: Value) -> Value:
    """A lane's number."""
    return e.b.cast("trunc", value, "i32") if value.type.bits > 32 else e.b.cast("zext", value, "i32")


Compute = Callable[[Emitter, Op, Collective], Value]
_KINDS: dict[str, Compute] = {}


def _kind(*names: str) -> Callable[[Compute], Compute]:
    def register(compute: Compute) -> Compute:
        for name in names:
            _KINDS[name] = compute
        return compute

    return register


@handles("group")
def group(e: Emitter, op: Op) -> None:
    what: Collective = op.info
    if what.scope != "sub_group":
        raise CompileError(f"{what.kind} of a work-group was not taken apart", offset=op.word)
    if what.kind in ("block_read", "block_write"):
        _block(e, op, what)
        return
    if what.kind in ("image_block_read", "image_block_write"):
        _image_block(e, op, what)
        return
    if not e.lanes:
        _alone(e, op, what)
        return
    if what.kind == "ballot":
        bits = e.bits(_here(e, e.vector(op.args[0])))
        high = e.b.cast("trunc", bits.lshr(32), "i32")
        zero = e.b.constant(0, I32)
        e.parts[op] = [e.b.cast("trunc", bits, "i32"), high, zero, zero]
        return
    found = _KINDS[what.kind](e, op, what)
    if e.shape(op).uniform:
        e.scalars[op] = found
    else:
        e.vectors[op] = e.b.spread(found, e.lanes)


def _here(e: Emitter, condition: Value) -> Value:
    mask = e.mask
    assert mask is not None
    return e.b.select(mask, condition, e.b.zero(mask.type))


def _first(e: Emitter) -> Value:
    lane = e.first_lane()
    return lane if lane is not None else e.b.constant(0, I64)


@_kind("reduce")
def _reduce(e: Emitter, op: Op, what: Collective) -> Value:
    mask = e.mask
    assert mask is not None
    if what.cluster:
        return _clustered(e, what.operation, e.vector(op.args[0]), mask, what.cluster)
    return reduce(e, what.operation, e.vector(op.args[0]), mask)


@_kind("inclusive", "exclusive")
def _scan(e: Emitter, op: Op, what: Collective) -> Value:
    mask = e.mask
    assert mask is not None
    return scan(e, what.operation, e.vector(op.args[0]), mask, what.kind == "inclusive")


def _loaded(e: Emitter, op: Op) -> Value | None:
    """A broadcast of one lane of a load, as a scalar load from that lane's address: broadcasting loads are free."""
    mask, pick = e.mask_op, picked_from(op, e.lanes, e.shapes)
    if pick is None or not e.choices.filled or mask is None or mask.name != "entry_mask":
        return None
    load, component = pick
    pointer, lane = load.args[0], known_lane(op, e.lanes)
    stride = e.shape(pointer).stride
    if not e.unwritten(load, op) or not placed(e, pointer) or lane is None or stride is None:
        return None
    size = SIZES[load.type]
    address = e.moved(e.base(pointer), lane * stride + component * size)
    alignment = aligned(load.info, size)
    return e.b.load(Type(load.type), address, align=alignment)


@_kind("broadcast", "shuffle")
def _shuffle(e: Emitter, op: Op, what: Collective) -> Value:
    value, place = op.args[0], op.args[1]
    found = _loaded(e, op)
    if found is not None:
        return found
    if what.kind == "broadcast" or e.shape(place).uniform:
        lane = e.scalar(place) if e.shape(place).uniform else e.b.lane(e.vector(place), _first(e))
        return e.b.lane(e.vector(value), _narrow(e, lane) & (e.lanes - 1))
    return permute(e, [e.vector(value)], _narrow(e, e.vector(place)))


@_kind("broadcast_first")
def _broadcast_first(e: Emitter, op: Op, what: Collective) -> Value:
    return e.b.lane(e.vector(op.args[0]), _first(e))


@_kind("any", "all")
def _vote(e: Emitter, op: Op, what: Collective) -> Value:
    condition = e.vector(op.args[0])
    if what.kind == "any":
        return e.any(_here(e, condition))
    return ~e.any(_here(e, ~condition))


@_kind("all_equal")
def _all_equal(e: Emitter, op: Op, what: Collective) -> Value:
    b = e.b
    value = e.vector(op.args[0])
    first = b.spread(b.lane(value, _first(e)), e.lanes)
    differs = b.compare("une" if value.type.is_float else "ne", value, first)
    return ~e.any(_here(e, differs))


@_kind("elect")
def _elect(e: Emitter, op: Op, what: Collective) -> Value:
    return e.b.compare("eq", e.b.each(range(e.lanes), "i64"), _first(e))


def _ballot(e: Emitter, op: Op) -> Value:
    """The low 64 bits of a ballot; vectors have no more lanes."""
    b = e.b
    low, high = (b.cast("zext", e.value(each), "i64") for each in op.args[:2])
    return low | high.shl(32)


@_kind("inverse_ballot")
def _inverse_ballot(e: Emitter, op: Op, what: Collective) -> Value:
    bits = e.b.spread(_ballot(e, op), e.lanes)
    return e.b.cast("trunc", e.b.binary("lshr", bits, e.b.each(range(e.lanes), "i64")), "i1")


@_kind("ballot_bit")
def _ballot_bit(e: Emitter, op: Op, what: Collective) -> Value:
    b = e.b
    place = b.cast("zext", e.value(op.args[4]), "i64") & 63
    bits, place = b.spread(_ballot(e, op), e.lanes), b.spread(place, e.lanes)
    return b.cast("trunc", bits.lshr(place), "i1")


@_kind("ballot_count", "ballot_inclusive", "ballot_exclusive")
def _ballot_count(e: Emitter, op: Op, what: Collective) -> Value:
    b, lanes = e.b, e.lanes
    seen = [(1 << lanes) - 1] * lanes
    if what.kind == "ballot_inclusive":
        seen = [(2 << lane) - 1 for lane in range(lanes)]
    elif what.kind == "ballot_exclusive":
        seen = [(1 << lane) - 1 for lane in range(lanes)]
    bits = b.spread(_ballot(e, op), lanes) & b.each(seen, "i64")
    return _as(e, b.intrinsic("ctpop", bits), op.type)


@_kind("ballot_lsb", "ballot_msb")
def _ballot_end(e: Emitter, op: Op, what: Collective) -> Value:
    b = e.b
    bits = b.spread(_ballot(e, op), e.lanes) & ((1 << e.lanes) - 1)
    type_ = bits.type
    name = "cttz" if what.kind == "ballot_lsb" else "ctlz"
    found = b.call(f"llvm.{name}.{type_.mangled}", type_, bits, b.constant(0, I1))
    return _as(e, found if name == "cttz" else 63 - found, op.type)


def _as(e: Emitter, value: Value, element: str) -> Value:
    return e.b.cast("trunc" if value.type.bits > Type(element).bits else "zext", value, element)


@_kind("shuffle_xor", "shuffle_up", "shuffle_down", "shuffle_rotate")
def _relative(e: Emitter, op: Op, what: Collective) -> Value:
    b, lanes = e.b, e.lanes
    value, by = e.vector(op.args[0]), op.args[1]
    moves: dict[str, Callable[[int, int], int]] = {
        "shuffle_xor": lambda lane, by: lane ^ by,
        "shuffle_up": lambda lane, by: lane - by,
        "shuffle_down": lambda lane, by: lane + by,
        "shuffle_rotate": lambda lane, by: lane + by,
    }
    move = moves[what.kind]
    cluster = what.cluster or lanes
    if by.name == "const":
        places = [move(lane, by.info) for lane in range(lanes)]
        if what.kind == "shuffle_rotate":
            places = [lane // cluster * cluster + place % cluster for lane, place in enumerate(places)]
        return b.shuffle(value, None, [place % lanes for place in places])
    distance = _narrow(e, e.vector(by))
    numbers = _numbers(e)
    if what.kind == "shuffle_xor":
        places_ = numbers ^ distance
    elif what.kind == "shuffle_up":
        places_ = numbers - distance
    elif what.kind == "shuffle_down":
        places_ = numbers + distance
    else:
        places_ = (numbers & ~(cluster - 1)) | ((numbers + distance) & (cluster - 1))
    return permute(e, [value], places_)


@_kind("intel_shuffle_up", "intel_shuffle_down")
def _over_two(e: Emitter, op: Op, what: Collective) -> Value:
    first, second, by = op.args
    distance = _narrow(e, e.vector(by))
    numbers = _numbers(e)
    places = numbers + distance if what.kind == "intel_shuffle_down" else numbers + e.lanes - distance
    return permute(e, [e.vector(first), e.vector(second)], places)


def _alone(e: Emitter, op: Op, what: Collective) -> None:
    """A sub-group of one."""
    b = e.b
    first = e.scalar(op.args[0]) if op.args else b.constant(1, I1)
    zero = b.constant(0, I32)
    match what.kind:
        case "exclusive":
            found = identity(e, what.operation, first.type)
        case "ballot":
            e.parts[op] = [b.cast("zext", first, "i32"), zero, zero, zero]
            return
        case "elect" | "all_equal":
            found = b.constant(1, I1)
        case "inverse_ballot":
            found = b.cast("trunc", first, "i1")
        case "ballot_bit":
            found = b.cast("trunc", first.lshr(_narrow(e, e.scalar(op.args[4])) & 31), "i1")
        case "ballot_count" | "ballot_inclusive":
            found = _as(e, first & 1, op.type)
        case "ballot_exclusive" | "ballot_lsb" | "ballot_msb":
            found = b.constant(0, Type(op.type))
        case "intel_shuffle_up" | "intel_shuffle_down":
            far = b.compare("ne", e.scalar(op.args[2]), 0)
            near, other = (1, 0) if what.kind == "intel_shuffle_up" else (0, 1)
            found = b.select(far, e.scalar(op.args[other]), e.scalar(op.args[near]))
        case _:
            found = first
    e.scalars[op] = found


def _block(e: Emitter, op: Op, what: Collective) -> None:
    """Block reads and writes: contiguous elements, one for each lane, row after row."""
    b, lanes = e.b, max(e.lanes, 1)
    pointer = _one(e, op.args[0])
    element = op.type if what.kind == "block_read" else op.args[1].type
    size = SIZES[element]
    found = []
    for row in range(what.count):
        address = e.moved(pointer, row * lanes * size)
        if not e.lanes:
            if what.kind == "block_read":
                found.append(b.load(Type(element), address, align=size))
            else:
                b.store(e.scalar(op.args[1 + row]), address, align=size)
            continue
        mask = e.mask
        assert mask is not None
        if what.kind == "block_read":
            found.append(masked_load(e, address, Type(element, lanes), mask, size))
        else:
            masked_store(e, e.vector(op.args[1 + row]), address, mask, size)
    e.parts[op] = found
    if len(found) == 1:
        e.put(op, found[0])


_IMAGE_BLOCK = "(ptr, i32, i64, i32, i32, i32, i32, ptr)"


def _image_block(e: Emitter, op: Op, what: Collective) -> None:
    """Block reads and writes of an image's raw bytes: an element for each lane, a row for each component."""
    b, lanes = e.b, max(e.lanes, 1)
    reads = what.kind == "image_block_read"
    image, x, y = (_one(e, each) for each in op.args[:3])
    element = Type(op.type if reads else op.args[3].type, e.lanes)
    size = SIZES[element.element]
    data = e.allocate(f"[{what.count * lanes * size} x i8]", 64)
    places = [e.moved(data, row * lanes * size) for row in range(what.count)]
    if not reads:
        for place, value in zip(places, op.args[3:], strict=True):
            b.store(e.vector(value), place, align=size)
    mask = e.mask
    here = b.constant(1, I64) if mask is None else e.bits(mask)
    if (op, 0) in e.checks:
        place = e.allocate("[2 x i32]", 8)
        b.store(x, place, align=4)
        b.store(y, e.moved(place, 4), align=4)
        bounds.check_texels(e, op, image, Value(b, "null", PTR), place, here)
    name = f"az_{what.kind}"
    b.intrinsics.setdefault(name, f"declare void @{name}{_IMAGE_BLOCK}")
    b.line(
        f"call void @{name}({image.typed}, i32 {lanes}, {here.typed}, {x.typed}, {y.typed}, i32 {what.count}, "
        f"i32 {size}, {data.typed})"
    )
    if reads:
        e.parts[op] = [b.load(element, place, align=size) for place in places]
        if what.count == 1:
            e.put(op, e.parts[op][0])


def _one(e: Emitter, op: Op) -> Value:
    """The value of the first active lane, for all lanes."""
    value = e.value(op)
    return e.b.lane(value, _first(e)) if value.type.lanes else value


@handles("barrier")
def barrier(e: Emitter, op: Op) -> None:
    """A barrier of a group ends the region. One of a sub-group needs no code: lanes run in lockstep."""


@handles("group_copy")
def group_copy(e: Emitter, op: Op) -> None:
    """The first vector copies for the whole group."""
    b = e.b
    access = op.info
    to, source, elements, stride = (
        e.scalar(each) if e.shape(each).uniform else b.lane(e.vector(each), _first(e)) for each in op.args
    )
    known = e.known
    head, body, done = (e.label() for _ in range(3))
    first = b.compare("eq", e.frame.ids["vector", 0], 0)
    counter = e.allocate(I64)
    b.store(b.constant(0, I64), counter)
    checks = bounds.ranges(e, op)
    if checks:
        checking = e.label()
        b.branch(first, checking, done)
        e.start(checking)
        first = _copy_allowed(e, op, checks, (to, source), elements, stride)
    b.branch(first, head, done)
    e.start(head)
    at = b.load(I64, counter)
    b.branch(b.compare("ult", at, elements), body, done)
    e.start(body)
    near, far = at * access.count, at * stride * access.count
    to_local = access.space == "local"
    target, origin = e.moved(to, near if to_local else far), e.moved(source, far if to_local else near)
    b.intrinsics.setdefault("llvm.memcpy.p0.p0.i64", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    b.line(f"call void @llvm.memcpy.p0.p0.i64({target.typed}, {origin.typed}, i64 {access.count}, i1 false)")
    b.store(at + 1, counter)
    b.jump(head)
    e.start(done)
    e.forget_since(known)


def _copy_allowed(
    e: Emitter, op: Op, checks: dict[int, Op], pointers: tuple[Value, Value], elements: Value, stride: Value
) -> Value:
    """Are both sides within bounds? The side in global memory has the stride."""
    b, size = e.b, op.info.count
    none = b.compare("eq", elements, 0)
    dense, spread = elements * size, b.select(none, elements, (elements - 1) * stride + 1) * size
    allowed = b.constant(1, I1)
    for operand, check in checks.items():
        begin, extent = (_one(e, each) for each in check.args)
        reach = dense if (operand == 0) == (op.info.space == "local") else spread
        range_ = bounds.Range(check, b.cast("ptrtoint", begin, "i64"), extent)
        allowed = allowed & range_.allowed(e, pointers[operand], reach, _first(e))
    return allowed
