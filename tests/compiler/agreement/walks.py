"""Random ways through memory as compilers write them: loops by a pointer, packed vectors, whole structures."""

from __future__ import annotations

from tests.compiler.agreement.expressions import leaf, value
from tests.compiler.agreement.function import Code
from tests.compiler.agreement.indices import known_ids, masked
from tests.compiler.agreement.memory import slot
from tests.compiler.agreement.statements import states
from tests.compiler.agreement.writer import FLOATS, Value, length, scalar, vector

TURNS = 3
STEPS = (1, 2, -1, 5)


@states(3)
def walk(code: Code) -> None:
    """Adds up a few elements, each of them a step behind the one before."""
    buffers = [each for each in code.inputs if not each.members and each.storage == "CrossWorkgroup"]
    if not buffers:
        return
    buffer = code.draw.one_of(buffers)
    pointer = code.writer.pointer("CrossWorkgroup", buffer.type)
    step = code.const("i64", code.draw.one_of(STEPS))
    turns = code.op("BitwiseAnd", "i32", value(code, "i32", 1, code.draw.chance(50)), code.const("i32", TURNS))
    start = code.pointer("CrossWorkgroup", buffer.type, buffer.id, _middle(code, buffer.count).id, inside="InBoundsPtr")
    zero = leaf(code, buffer.type)
    header, body, exit_ = (code.new_label(each) for each in ("walk", "step", "arrived"))
    turn, at, sum_ = (code.writer.name(each) for each in ("turn", "at", "sum"))
    next_turn, next_at = code.writer.name("turn"), code.writer.name("at")
    next_sum, before, type_ = code.writer.name("sum"), code.label, code.writer.type(buffer.type)
    code.goto(header)
    code.begin(header)
    code.line(f"{turn} = OpPhi %i32 {code.const('i32', 0).id} {before} {next_turn} {body}")
    code.line(f"{at} = OpPhi {pointer} {start} {before} {next_at} {body}")
    code.line(f"{sum_} = OpPhi {type_} {zero.id} {before} {next_sum} {body}")
    here = len(code.values)
    code.branch(code.op("ULessThan", "bool", Value(turn, "i32"), turns), body, exit_)
    code.begin(body)
    found = code.load(buffer.type, at)
    opcode = "FAdd" if scalar(buffer.type) in FLOATS else "IAdd"
    code.line(f"{next_sum} = Op{opcode} {type_} {sum_} {found.id}")
    code.line(f"{next_at} = OpInBoundsPtrAccessChain {pointer} {at} {step.id}")
    code.line(f"{next_turn} = OpIAdd %i32 {turn} {code.const('i32', 1).id}")
    code.goto(header)
    del code.values[here:]
    code.begin(exit_)
    code.keep(Value(sum_, buffer.type))


def _middle(code: Code, count: int) -> Value:
    """An index that is far enough from both ends."""
    room = 16
    known = [each for each in known_ids(code) if each.most + 2 * room < count]
    if known and code.draw.chance(60):
        found = code.draw.one_of(known).value
    else:
        found = code.op("BitwiseAnd", "i64", value(code, "i64", 1), code.const("i64", count // 2 - 1))
    return code.op("IAdd", "i64", found, code.const("i64", room))


@states(2)
def several_at_once(code: Code) -> None:
    """All elements of the work-item, as one vector that is packed."""
    outputs = [
        each
        for each in code.outputs
        if each.layout in ("rows", "reversed")
        and each.slots in (2, 3, 4)
        and not each.members
        and length(each.type) == 1
    ]
    if not outputs:
        return
    output = code.draw.one_of(outputs)
    number = Value(code.ids["linear"].id, "i64")
    if output.layout == "reversed":
        number = code.op("ISub", "i64", code.const("i64", code.shape.items - 1), number)
    type_ = vector(output.type, output.slots)
    if code.draw.chance(50):
        found = value(code, type_, 2)
        code.emit("ExtInst", "void", "%cl", "vstoren", found.id, number.id, output.id)
    else:
        count = str(output.slots)
        code.keep(code.emit("ExtInst", type_, "%cl", "vloadn", number.id, output.id, count))


@states(2)
def whole_structure(code: Code) -> None:
    """Loads one, changes a member, and stores it or looks at another member."""
    buffers = [each for each in code.inputs if each.members]
    if not buffers:
        return
    buffer = code.draw.one_of(buffers)
    index = masked(code, buffer.count, 1).value
    from_ = code.pointer("CrossWorkgroup", buffer.type, buffer.id, index.id, inside="InBoundsPtr")
    found = code.load(buffer.type, from_, 1 if buffer.packed else 0)
    at = code.draw.number(0, len(buffer.members) - 1)
    if code.draw.chance(60):
        new = value(code, buffer.members[at], 2)
        found = code.emit("CompositeInsert", buffer.type, new.id, found.id, str(at))
    # Padding between the members of an unpacked structure is not compared.
    outputs = [each for each in code.outputs if each.type == buffer.type and each.packed]
    if outputs and code.draw.chance(60):
        output = code.draw.one_of(outputs)
        to = slot(code, output, code.draw.number(0, output.slots - 1))
        code.store(to, found, 1 if output.packed else 0)
    other = code.draw.number(0, len(buffer.members) - 1)
    code.keep(code.emit("CompositeExtract", buffer.members[other], found.id, str(other)))
