"""Writes a region as an LLVM function: what one vector of work-items does from one barrier to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from anyzero.compiler.analysis.shapes import Shapes
from anyzero.compiler.builtins.routine import Routine
from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import Block, Body, Op, Slot, Variable
from anyzero.compiler.lower import arithmetic, atomics, calls, groups, images, memory
from anyzero.compiler.lower.emitter import Choices, Emitter, Frame
from anyzero.compiler.lower.llvm import I64, PTR, Builder, Type, Value
from anyzero.compiler.lower.whole import Rounds
from anyzero.compiler.transform.linearise import Masks
from anyzero.compiler.transform.regions import Region, ends_in_barrier

CHAPTERS = (arithmetic, atomics, calls, groups, images, memory)
"""Importing them fills the table of handlers."""

PARAMETERS = (
    ("arguments", PTR), ("grid", PTR), ("worker", PTR), ("spill", PTR),
    ("global_x", I64), ("global_y", I64), ("global_z", I64),
    ("local_x", I64), ("local_y", I64), ("local_z", I64),
    ("group_x", I64), ("group_y", I64), ("group_z", I64),
    ("vector", I64), ("vectors", I64),
)  # fmt: skip
"""What every region is given, besides the mask: where things are, and the ids of lane 0."""

DONE = -1
"""What a region answers when the work-items are at their end; else the number of the region that comes next."""


@dataclass(slots=True, eq=False)
class Storage:
    """Memory that each vector keeps across barriers."""

    slots: dict[Slot, int] = field(default_factory=dict)
    private: dict[Variable, int] = field(default_factory=dict)
    size: int = 0


@dataclass(slots=True, eq=False)
class Written:
    """Functions, and what they need to be a module."""

    functions: list[str] = field(default_factory=list)
    declarations: dict[str, str] = field(default_factory=dict)
    globals: dict[str, str] = field(default_factory=dict)
    routines: dict[str, Routine] = field(default_factory=dict)
    constants: dict[Variable, int] = field(default_factory=dict)
    called: set[tuple[int, int]] = field(default_factory=set)
    """Functions whose addresses are taken: module and id."""


def lay_out(body: Body, regions: list[Region], lanes: int) -> Storage:
    """Places for slots that outlive barriers; for private variables too where there are barriers or they are large."""
    storage = Storage()

    def place(size: int, alignment: int) -> int:
        at = -(-storage.size // alignment) * alignment
        storage.size = at + size
        return at

    width = max(lanes, 1)
    for block in body.blocks:
        for op in block.ops:
            slot = op.info
            if op.name in ("read", "write") and slot.across and slot not in storage.slots:
                whole = lanes > 1 and (slot.shape.varying or not slot.shape.exact)
                size = Type(slot.type).bits // 8 or 1
                storage.slots[slot] = place(size * width, 64) if whole else place(8, 8)
    private = [variable for variable in body.variables if variable.space == "private"]
    together = sum(variable.size * width for variable in private)
    asked = any(op.name == "space_of" for block in body.blocks for op in block.ops)
    if len(regions) > 1 or together > LARGEST_ON_STACK or asked:
        for variable in private:
            storage.private[variable] = place(max(variable.size, 1) * width, max(64, variable.alignment))
    storage.size = -(-storage.size // 128) * 128
    return storage


LARGEST_ON_STACK = 16 << 10


@dataclass(slots=True, eq=False)
class Ready:
    """A body that is cut into regions, and all that is known of it."""

    body: Body
    regions: list[Region]
    shapes: Shapes
    masks: Masks
    storage: Storage
    used: set[Op]
    """Operations whose results somebody asks for."""


def write_region(number: int, ready: Ready, choices: Choices, out: Written) -> None:
    lanes = choices.lanes if choices.lanes > 1 else 0
    b = Builder()
    mask = Value(b, "%mask", Type("i1", lanes)) if lanes else None
    parameters = ", ".join(f"{type_} %{name}" for name, type_ in PARAMETERS) + (f", {mask.typed}" if mask else "")
    head = f"define internal i32 @{choices.prefix}region{number}({parameters}) #0 {{"
    starts = {each.start: index for index, each in enumerate(ready.regions)}

    def leave(block: Block) -> str:
        return f"ret i32 {DONE if ends_in_barrier(block) is None else starts[block.successors[0]]}"

    _write(head, [], _frame(b, mask, ready.storage), ready.regions[number], leave, ready, choices, out)


def write_function(symbol: str, ready: Ready, choices: Choices, out: Written) -> None:
    """One that is called by its address, see `calls`."""
    lanes = choices.lanes if choices.lanes > 1 else 0
    if len(ready.regions) > 1:
        raise CompileError("a function that is called by its address waits at a barrier")
    b = Builder()
    lines = []
    for place, (name, type_) in enumerate(PARAMETERS):
        lines += [f"  %{name}.p = getelementptr i8, ptr %context, i64 {8 * place}"]
        lines += [f"  %{name} = load {type_}, ptr %{name}.p, align 8"]
    mask = None
    if lanes:
        mask = Value(b, "%mask", Type("i1", lanes))
        narrow = "%bits" if lanes == 64 else "%few"
        lines += [] if lanes == 64 else [f"  %few = trunc i64 %bits to i{lanes}"]
        lines += [f"  %mask = bitcast i{lanes} {narrow} to <{lanes} x i1>"]
    frame = _frame(b, mask, ready.storage)
    frame.context, frame.rows = Value(b, "%context", PTR), Value(b, "%rows", PTR)
    head = f"define void @{symbol}(ptr %context, ptr %rows, i64 %bits) #1 prefix i64 {calls.mark(lanes)} {{"
    _write(head, lines, frame, ready.regions[0], lambda _: "ret void", ready, choices, out)


def _frame(b: Builder, mask: Value | None, storage: Storage) -> Frame:
    given = {name: Value(b, f"%{name}", type_) for name, type_ in PARAMETERS}
    frame = Frame(given["arguments"], given["grid"], given["worker"], mask, given=given)
    for what in ("global", "local", "group"):
        for dimension, axis in enumerate("xyz"):
            frame.ids[f"{what}_id", dimension] = given[f"{what}_{axis}"]
    frame.ids["sub_group_id", 0] = given["vector"]
    frame.ids["sub_group_count", 0] = given["vectors"]
    frame.spill, frame.spilled, frame.private = given["spill"], storage.slots, storage.private
    return frame


def _write(
    head: str,
    start: list[str],
    frame: Frame,
    region: Region,
    leave: Callable[[Block], str],
    ready: Ready,
    choices: Choices,
    out: Written,
) -> None:
    b = frame.arguments.builder
    e = Emitter(choices, ready.shapes, ready.masks, frame, b)
    e.used, e.constants = ready.used, out.constants
    rounds = Rounds(e, ready.body)
    for block in region.blocks:
        b.label(f"B{block.number}")
        rounds.write_block(block)
        if ends_in_barrier(block) is not None or not block.successors:
            b.line(leave(block))
        elif len(block.successors) == 1:
            b.line(f"br label %B{block.successors[0].number}")
        else:
            assert block.condition is not None
            first, second = (f"label %B{each.number}" for each in block.successors)
            b.line(f"br {e.scalar(block.condition).typed}, {first}, {second}")
    lines = [head, "entry:", *start, *e.allocations, f"  br label %B{region.start.number}", *b.lines, "}"]
    out.functions.append("\n".join(lines))
    out.declarations.update(b.intrinsics)
    out.globals.update(e.globals)
    out.called |= e.functions
    _need(e.routines, out)


def _need(routines: dict[str, Routine], out: Written) -> None:
    for routine in routines.values():
        if routine.symbol not in out.routines:
            out.routines[routine.symbol] = routine
            out.declarations.update(routine.intrinsics)
            _need({each.symbol: each for each in routine.needs}, out)
