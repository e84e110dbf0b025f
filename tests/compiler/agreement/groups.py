"""Work-items of random kernels together: local memory and barriers, collectives, atomics in any order."""

from __future__ import annotations

from tests.compiler.agreement.expressions import value
from tests.compiler.agreement.function import Code
from tests.compiler.agreement.indices import masked
from tests.compiler.agreement.memory import slot
from tests.compiler.agreement.statements import states
from tests.compiler.agreement.writer import INTEGERS, WIDTH, Value

_SCANS = ("Reduce", "InclusiveScan", "ExclusiveScan")
_COMBINED = (
    "IAdd", "SMin", "UMin", "SMax", "UMax", "IMulKHR", "BitwiseAndKHR", "BitwiseOrKHR", "BitwiseXorKHR",
)  # fmt: skip
_SUB_GROUP = ("IAdd", "IMul", "SMin", "UMin", "SMax", "UMax", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
_ATOMICS = ("AtomicIAdd", "AtomicISub", "AtomicAnd", "AtomicOr", "AtomicXor", "AtomicSMin", "AtomicUMax")


def _scope(code: Code, number: int) -> str:
    return code.const("i32", number).id


def barrier(code: Code) -> None:
    group = _scope(code, 2)
    code.line(f"OpControlBarrier {group} {group} {code.const('i32', 0x110).id}")


@states(4, together=True)
def exchange(code: Code) -> None:
    """Each work-item leaves something for another."""
    if not code.locals:
        return
    memory = code.draw.one_of(code.locals)
    at = code.ids["local_linear"]
    found = value(code, memory.type, 2)
    # Somebody may still be reading what was there before.
    barrier(code)
    code.store(_local(code, memory.id, memory.type, at, memory.storage), found)
    barrier(code)
    items = code.const("i64", code.shape.group_items)
    whose = code.op("IAdd", "i64", at, code.const("i64", code.draw.number(0, 20)))
    if code.draw.chance(30):
        whose = code.op("UConvert", "i64", value(code, "i32", 1))
    other = code.op("UMod", "i64", whose, items)
    code.keep(code.load(memory.type, _local(code, memory.id, memory.type, other, memory.storage)))


def _local(code: Code, base: str, type_: str, at: Value, storage: str) -> str:
    return code.pointer("Workgroup", type_, base, at.id, inside="InBoundsPtr" if storage == "argument" else "InBounds")


@states(3, together=True)
def collective(code: Code) -> None:
    """Of the whole group."""
    scope = _scope(code, 2)
    type_ = code.draw.one_of(INTEGERS)
    match code.draw.one_of(("combine", "combine", "vote", "broadcast")):
        case "combine":
            how = code.draw.one_of(_SCANS)
            name = code.draw.one_of(_COMBINED)
            given = value(code, type_, 2)
            code.keep(code.emit(f"Group{name}", type_, scope, how, given.id, uniform=how == "Reduce"))
        case "vote":
            given = value(code, "bool", 2)
            code.keep(code.emit(code.draw.one_of(("GroupAny", "GroupAll")), "bool", scope, given.id, uniform=True))
        case "broadcast":
            given = value(code, code.draw.one_of((type_, "f32", "f64", "i8")), 2)
            sizes = code.shape.group_size
            dimensions = max([1, *(axis + 1 for axis in range(3) if sizes[axis] > 1)])
            places = [code.const("i64", code.draw.number(0, sizes[axis] - 1)).id for axis in range(dimensions)]
            place = places[0] if dimensions == 1 else code.writer.composite(f"v{dimensions}i64", places)
            if dimensions > 1:
                code.writer.type(f"v{dimensions}i64")
            code.keep(code.emit("GroupBroadcast", given.type, scope, given.id, place, uniform=True))


@states(3, together=True)
def sub_group(code: Code) -> None:
    lanes = code.shape.sub_group
    if not lanes:
        return
    whole = code.shape.group_items % lanes == 0
    scope, lane = _scope(code, 3), code.ids["lane"]
    type_ = code.draw.one_of((*INTEGERS, "f32", "f64"))
    given = value(code, type_, 2)
    options = ["first", "combined"]
    if whole:
        options += ["shuffle", "xor", "up", "down"]
    match code.draw.one_of(options):
        case "first":
            code.keep(code.emit("GroupNonUniformBroadcastFirst", type_, scope, given.id))
        case "combined":
            combined(code)
        case "shuffle":
            place = code.op("BitwiseAnd", "i32", value(code, "i32", 2), code.const("i32", lanes - 1))
            code.keep(code.emit("GroupNonUniformShuffle", type_, scope, given.id, place.id))
        case "xor":
            by = code.const("i32", code.draw.number(0, lanes - 1))
            code.keep(code.emit("GroupNonUniformShuffleXor", type_, scope, given.id, by.id))
        case "up":
            by = code.draw.number(0, lanes - 1)
            found = code.emit("GroupNonUniformShuffleUp", type_, scope, given.id, code.const("i32", by).id)
            inside = code.op("UGreaterThanEqual", "bool", lane, code.const("i64", by))
            code.op("Select", type_, inside, found, given)
        case "down":
            by = code.draw.number(0, lanes - 1)
            found = code.emit("GroupNonUniformShuffleDown", type_, scope, given.id, code.const("i32", by).id)
            inside = code.op("ULessThan", "bool", lane, code.const("i64", lanes - by))
            code.op("Select", type_, inside, found, given)


@states(1)
def combined(code: Code) -> None:
    """The active work-items of a sub-group."""
    if not code.shape.sub_group or not code.kernel or not code.structured:
        return
    scope = _scope(code, 3)
    match code.draw.one_of(("combine", "combine", "vote", "elect", "ballot")):
        case "combine":
            type_ = code.draw.one_of(INTEGERS)
            how, name = code.draw.one_of(_SCANS), code.draw.one_of(_SUB_GROUP)
            code.keep(code.emit(f"GroupNonUniform{name}", type_, scope, how, value(code, type_, 2).id))
        case "vote":
            name = code.draw.one_of(("Any", "All"))
            code.keep(code.emit(f"GroupNonUniform{name}", "bool", scope, value(code, "bool", 2).id))
        case "elect":
            code.keep(code.emit("GroupNonUniformElect", "bool", scope))
        case "ballot":
            bits = code.emit("GroupNonUniformBallot", "v4i32", scope, value(code, "bool", 2).id)
            how = code.draw.one_of(_SCANS)
            code.keep(code.emit("GroupNonUniformBallotBitCount", "i32", scope, how, bits.id))


@states(2)
def count(code: Code) -> None:
    """Atomics whose sum is the same in any order; nobody looks at it before the kernel is over."""
    if not code.counters:
        return
    at = code.draw.number(0, len(code.counters) - 1)
    buffer, opcode = code.counters[at], _ATOMICS[at % len(_ATOMICS)]
    given = value(code, buffer.type, 2)
    place = masked(code, buffer.count, 1, code.draw.chance(30))
    pointer = code.pointer("CrossWorkgroup", buffer.type, buffer.id, place.value.id, inside="InBoundsPtr")
    code.emit(opcode, buffer.type, pointer, _scope(code, 1), code.const("i32", 0).id, given.id)


@states(2)
def own_atomic(code: Code) -> None:
    """On memory that the work-item has to itself, so that it is known what was there before."""
    outputs = [each for each in code.outputs if each.type in ("i32", "i64")]
    if not outputs:
        return
    output = code.draw.one_of(outputs)
    pointer = slot(code, output, code.draw.number(0, output.slots - 1))
    device, relaxed = _scope(code, 1), code.const("i32", 0).id
    given = value(code, output.type, 2)
    opcode = code.draw.one_of((*_ATOMICS, "AtomicExchange", "AtomicCompareExchange", "AtomicLoad", "AtomicStore"))
    if opcode == "AtomicCompareExchange":
        expected = value(code, output.type, 1)
        code.keep(code.emit(opcode, output.type, pointer, device, relaxed, relaxed, given.id, expected.id))
    elif opcode == "AtomicLoad":
        code.keep(code.emit(opcode, output.type, pointer, device, relaxed))
    elif opcode == "AtomicStore":
        code.line(f"OpAtomicStore {pointer} {device} {relaxed} {given.id}")
    else:
        code.keep(code.emit(opcode, output.type, pointer, device, relaxed, given.id))


@states(2, together=True)
def counted_locally(code: Code) -> None:
    """Work-items add to a few numbers in local memory; then all look at the sums."""
    memories = [each for each in code.locals if each.type in ("i32", "i64")]
    if not memories:
        return
    memory = code.draw.one_of(memories)
    at = code.ids["local_linear"]
    barrier(code)
    code.store(_local(code, memory.id, memory.type, at, memory.storage), code.const(memory.type, 0))
    barrier(code)
    items = code.shape.group_items
    narrow = code.draw.one_of([each for each in INTEGERS if code.shape.group_items < 1 << WIDTH[each] - 1])
    where = code.op("UMod", narrow, value(code, narrow, 2, code.draw.chance(30)), code.const(narrow, items))
    if narrow != "i64":
        where = code.op("UConvert", "i64", where)
    given = value(code, memory.type, 2)
    opcode = code.draw.one_of(("AtomicIAdd", "AtomicISub", "AtomicXor", "AtomicSMax", "AtomicUMax", "AtomicOr"))
    pointer = _local(code, memory.id, memory.type, where, memory.storage)
    code.emit(opcode, memory.type, pointer, _scope(code, 2), code.const("i32", 0).id, given.id)
    barrier(code)
    other = code.op("UMod", "i64", value(code, "i64", 1), code.const("i64", items))
    code.keep(code.load(memory.type, _local(code, memory.id, memory.type, other, memory.storage)))


@states(2, together=True)
def halved(code: Code) -> None:
    """A tree of sums along each row: at every step half of the work-items that are left have nothing to do any more."""
    memories = [each for each in code.locals if each.type in ("i32", "i64")]
    if not memories or len(code.loops) >= 2 or "local_x" not in code.ids:
        return
    memory = code.draw.one_of(memories)
    at, x = code.ids["local_linear"], code.ids["local_x"]
    own = _local(code, memory.id, memory.type, at, memory.storage)
    given = value(code, memory.type, 2)
    barrier(code)
    code.store(own, given)
    barrier(code)
    header, body, add, again, exit_ = (code.new_label(each) for each in ("header", "body", "add", "again", "exit"))
    here, next_ = code.writer.name("width"), code.writer.name("width")
    before = code.label
    code.goto(header)
    code.begin(header)
    width = Value(here, "i64", True)
    start, one = code.const("i64", code.shape.group_size[0] // 2), code.const("i64", 1)
    code.line(f"{here} = OpPhi %i64 {start.id} {before} {next_} {again}")
    code.branch(code.op("UGreaterThan", "bool", width, code.const("i64", 0)), body, exit_)
    code.begin(body)
    kept = len(code.values)
    swapped = code.draw.chance(30)
    among = code.op("SGreaterThan", "bool", width, x) if swapped else code.op("ULessThan", "bool", x, width)
    code.branch(among, add, again)
    code.begin(add)
    far = _local(code, memory.id, memory.type, code.op("IAdd", "i64", at, width), memory.storage)
    code.store(own, code.op("IAdd", memory.type, code.load(memory.type, own), code.load(memory.type, far)))
    code.goto(again)
    code.begin(again)
    barrier(code)
    code.line(f"{next_} = OpShiftRightLogical %i64 {here} {one.id}")
    code.goto(header)
    del code.values[kept:]
    code.begin(exit_)
    code.keep(code.load(memory.type, own))
    barrier(code)
