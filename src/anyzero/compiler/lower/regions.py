"""Writes a region as an LLVM function: what one vector of work-items does from one barrier to the next."""

from __future__ import annotations

from dataclasses import dataclass, field

from anyzero.compiler.analysis.shapes import Shapes
from anyzero.compiler.builtins.routine import Routine
from anyzero.compiler.ir import Body, Op, Slot, Variable
from anyzero.compiler.lower import arithmetic, atomics, groups, images, memory
from anyzero.compiler.lower.emitter import Choices, Emitter, Frame
from anyzero.compiler.lower.llvm import I64, PTR, Builder, Type, Value
from anyzero.compiler.transform.linearise import Masks
from anyzero.compiler.transform.regions import Region, ends_in_barrier

CHAPTERS = (arithmetic, atomics, groups, images, memory)
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


def lay_out(body: Body, regions: list[Region], lanes: int, shapes: Shapes) -> Storage:
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


def write_region(
    number: int,
    region: Region,
    regions: list[Region],
    choices: Choices,
    shapes: Shapes,
    masks: Masks,
    storage: Storage,
    used: set[Op],
    out: Written,
) -> None:
    b = Builder()
    lanes = choices.lanes if choices.lanes > 1 else 0
    given = {name: Value(b, f"%{name}", type_) for name, type_ in PARAMETERS}
    mask = Value(b, "%mask", Type("i1", lanes)) if lanes else None
    frame = Frame(given["arguments"], given["grid"], given["worker"], mask)
    for what in ("global", "local", "group"):
        for dimension, axis in enumerate("xyz"):
            frame.ids[f"{what}_id", dimension] = given[f"{what}_{axis}"]
    frame.ids["sub_group_id", 0] = given["vector"]
    frame.ids["sub_group_count", 0] = given["vectors"]
    frame.spill, frame.spilled, frame.private = given["spill"], storage.slots, storage.private
    e = Emitter(choices, shapes, masks, frame, b)
    e.used = used
    starts = {each.start: index for index, each in enumerate(regions)}
    for block in region.blocks:
        b.label(f"B{block.number}")
        e.write_block(block)
        if ends_in_barrier(block) is not None:
            b.line(f"ret i32 {starts[block.successors[0]]}")
        elif not block.successors:
            b.line(f"ret i32 {DONE}")
        elif len(block.successors) == 1:
            b.line(f"br label %B{block.successors[0].number}")
        else:
            assert block.condition is not None
            condition = e.scalar(block.condition)
            first, second = (f"label %B{each.number}" for each in block.successors)
            b.line(f"br {condition.typed}, {first}, {second}")
    parameters = ", ".join(f"{type_} %{name}" for name, type_ in PARAMETERS) + (f", {mask.typed}" if mask else "")
    lines = [f"define internal i32 @region{number}({parameters}) #0 {{", "entry:", *e.allocations]
    lines += [f"  br label %B{region.start.number}", *b.lines, "}"]
    out.functions.append("\n".join(lines))
    out.declarations.update(b.intrinsics)
    out.globals.update(e.globals)
    _need(e.routines, out)


def _need(routines: dict[str, Routine], out: Written) -> None:
    for routine in routines.values():
        if routine.symbol not in out.routines:
            out.routines[routine.symbol] = routine
            out.declarations.update(routine.intrinsics)
            _need({each.symbol: each for each in routine.needs}, out)
