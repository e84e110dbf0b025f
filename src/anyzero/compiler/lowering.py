"""From the compiler's own form to LLVM's text, in the order that the steps rely on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from anyzero.compiler.analysis.columns import may_have_columns
from anyzero.compiler.analysis.group_uniformity import group_uniform
from anyzero.compiler.analysis.lane_loads import known_lane
from anyzero.compiler.analysis.loops import Loops, find_loops
from anyzero.compiler.analysis.row_columns import FEWEST, LINE, columns, may_have_row_columns, tall
from anyzero.compiler.analysis.rows import Rows, apart, can_share, worth
from anyzero.compiler.analysis.streaming_stores import find_streams
from anyzero.compiler.analysis.uniformity import Flow, analyse
from anyzero.compiler.dominators import Dominators, dominators
from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import Block, Body, Combine, Masks, Op
from anyzero.compiler.lower.calls import symbol
from anyzero.compiler.lower.combines import write_combine
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.lower.entry import STATE_BYTES, either_entry, group_entry, likely_entry, several_only
from anyzero.compiler.lower.flat import Strips, flat_entry
from anyzero.compiler.lower.launch_invariants import LaunchInvariants
from anyzero.compiler.lower.local_memory import declare, initialized
from anyzero.compiler.lower.lockstep_plan import plan_lockstep
from anyzero.compiler.lower.regions import Ready, Written, lay_out, write_function, write_pieces, write_region
from anyzero.compiler.transform.block_order import number
from anyzero.compiler.transform.fission import crowded, split_loops
from anyzero.compiler.transform.interior_version import Assumptions, copied, interior_version
from anyzero.compiler.transform.join_turns import join_turns
from anyzero.compiler.transform.linearise import connect, linearise
from anyzero.compiler.transform.outline import outline
from anyzero.compiler.transform.pipelined_loads import load_in_turn
from anyzero.compiler.transform.prefetch import insert_prefetches
from anyzero.compiler.transform.regions import ends_in_barrier, split
from anyzero.compiler.transform.residency_checks import check_residency
from anyzero.compiler.transform.single_latch import single_latch
from anyzero.compiler.transform.split_at_joins import split_at_joins
from anyzero.compiler.transform.ssa_repair import repair_ssa
from anyzero.compiler.transform.strip_mine import strip_mine
from anyzero.compiler.transform.virtual_exits import virtual_exits
from anyzero.compiler.transform.widen_induction import widen_induction

TWICE = 150
"""Up to so many operations, whole vectors and the rest of a row get code of their own."""

LIKELY = 300
"""Up to so many operations, the size of groups that a kernel seems to be written for gets code of its own."""

SMALL_TILE = 256

SETTLED = 400
"""Up to so many operations, there may be a version of the kernel for away from the edges."""

LONG = 1000
"""From so many operations on, the body is a function that is called, not part of the loops over work-items: LLVM would
compute all its constants in front of these loops, far more than there are registers.
"""

MOST_FUNCTIONS = 1000

_ENDING = """
declare i64 @llvm.umin.i64(i64, i64)
declare i32 @llvm.umin.i32(i32, i32)
declare void @llvm.x86.sse.sfence()
declare void @az_fault(ptr, i32, i64) cold noreturn nounwind
; sspstrong: a kernel that writes past its private arrays must not return to what it wrote there.
attributes #1 = { sspstrong "no-trapping-math"="true" "probe-stack"="inline-asm" }
!0 = !{!"branch_weights", i32 1, i32 2000000}
!1 = !{}
!2 = !{i32 1}
"""
_NARROW = '"min-legal-vector-width"="0" "prefer-vector-width"="256"'
"""All functions or none: those with wide registers and those without hand vectors over in different ways."""
_DECLARED = {"llvm.umin.i64", "llvm.umin.i32", "az_fault"}

Translate = Callable[[int, int], Body]
"""Gives the body of a function that is called by its address, from the number of its module and its id."""


@dataclass(slots=True)
class Lowered:
    text: str
    regions: int
    per_vector: int
    """Bytes that every vector keeps; without barriers, those of one vector are enough for all."""
    rows: int
    """That run at once at most."""
    per_strip: int = 0
    """Bytes that every vector of a block keeps where loops are cut into strips; 0 where none are."""


class _Sizes(NamedTuple):
    regions: int
    per_vector: int
    rows: int
    per_strip: int


def prepare(body: Body) -> Flow:
    """What the analyses and the linearisation rely on: numbered blocks, one latch and a way out for each loop."""
    number(body)
    immediate, loops = _loops(body)
    for change in (single_latch, virtual_exits):
        if not loops.irreducible and change(body, loops):
            immediate, loops = _loops(body)
    return Flow(body, loops, immediate)


def _loops(body: Body) -> tuple[Dominators[Block], Loops]:
    immediate = dominators(body.blocks[0], lambda block: block.successors)
    return immediate, find_loops(body, immediate)


def _ready(body: Body, flow: Flow, choices: Choices, may_cut: bool = False) -> Ready:
    """`may_cut` says that a long body may come in pieces."""
    shapes = analyse(body, flow, choices.lanes, choices.linear, choices.flat)
    waits = any(op.name == "barrier" for op in body.ops)
    same = group_uniform(body, flow) if waits else set()
    streams = find_streams(body, flow.loops, shapes, choices.lanes)
    insert_prefetches(body, flow, shapes)
    if not choices.options.greater_than_4gb:
        widen_induction(body, flow, shapes)
    if choices.options.residency_checks:
        # Behind everything that moves or removes accesses; each stays with its check from here on.
        check_residency(body, shapes)
    masks = linearise(body, flow, shapes)
    connect(body)
    repair_ssa(body, shapes, masks)
    pieces = may_cut and not waits and outline(body)
    # Last of what changes the body: from here on a value may have to cross from one region to another.
    regions = split(body, shapes, masks)
    storage = lay_out(body, regions, choices)
    used = {arg for op in body.ops for arg in op.args}
    planar = any(op.name == "builtin" and op.info[0] in ("local_id", "global_id") and op.info[1] for op in body.ops)
    crossing = set() if choices.mask == "i1" else _crossing(body, masks)
    ready = Ready(body, regions, shapes, masks, storage, used, streams, crossing, pieces=pieces, planar=planar)
    if pieces:
        return ready
    ready.rows = _rows(ready, choices)
    if ready.rows is None and len(regions) > 1:
        _go_in_step(ready, same, choices)
    return ready


def _crossing(body: Body, masks: Masks) -> set[Op]:
    """Truth values that other blocks ask for, and masks of blocks, which may be written as several for LLVM."""
    used = {arg for op in body.ops for arg in op.args if arg.type == "i1" and arg.block is not op.block}
    return used | {mask for mask in masks.of.values() if mask.name != "entry_mask"}


def _go_in_step(ready: Ready, same: set[Op], choices: Choices) -> None:
    """Where all vectors of a group go the same way; `same` is what its work-items agree on."""
    plan = plan_lockstep(ready.regions, same, ready.shapes)
    if plan is None:
        return
    cut = split_at_joins(ready.body, ready.regions, ready.shapes, ready.masks, plan.known)
    if cut is not ready.regions:
        ready.regions = cut
        plan = plan_lockstep(cut, same, ready.shapes)
    ready.plan = plan
    ready.storage = lay_out(ready.body, ready.regions, choices, plan.shared if plan else ())
    ready.used = {arg for op in ready.body.ops for arg in op.args}


def lower_kernel(
    entry: str, body: Callable[[], tuple[Body, Flow]], choices: Choices, both: bool, function: Translate
) -> Lowered:
    """`body` gives it anew each time, because lowering uses it up. `both` asks for vectors along rows and across
    them.
    """
    out = Written()
    if not both:
        sizes = _lower(entry, *body(), choices, out)
    elif choices.options.quick:
        # Any group can be numbered from its first work-item to its last; rows only make more accesses neighbours.
        sizes = _lower(entry, *body(), replace(choices, linear=True), out)
    else:
        sizes = _Sizes(0, 0, 1, 0)
        for linear in (False, True):
            now, flow = body()
            # All lanes that a work-item names are there in code of which vectors fill the rows.
            choices.filled |= not linear and any(known_lane(op, choices.lanes) is not None for op in now.ops)
            prefix = "linear." if linear else "rows."
            way = replace(choices, prefix=prefix, linear=linear, filled=choices.filled and not linear)
            found = _lower(f"{prefix}{entry}", now, flow, way, out)
            sizes = _Sizes(found.regions, max(sizes.per_vector, found.per_vector), 1, 0)
        out.functions.append(either_entry(entry, f"rows.{entry}", f"linear.{entry}", choices))
    _write_called(choices, function, out)
    return Lowered(_module(out, choices), *sizes)


def _lower(entry: str, body: Body, flow: Flow, choices: Choices, out: Written) -> _Sizes:
    # Loads a turn ahead are carried from turn to turn, so before anybody counts what is.
    load_in_turn(body, flow.loops)
    flow = _reshaped(body, flow, choices)
    quick = choices.options.quick
    simpler = None if quick or choices.linear or choices.lanes < 2 or _too_much(body) else interior_version(body)
    spare = None
    if not quick and choices.flat and choices.lanes > 1 and can_share(body):
        spare = copied(body if simpler is None else simpler[0])[0]
    ready = _ready(body, flow, choices, may_cut=True)
    inner = None if simpler is None else _inner(*simpler, ready, choices)
    count = 1 if ready.pieces else len(ready.regions)
    rows = inner.rows if inner is not None else ready.rows
    several = 1 if rows is None else rows.count
    operations = sum(len(block.ops) for block in body.blocks)
    twice = rows is None and operations <= TWICE and not quick
    # What runs at the edges only, or for the last rows, is written once and called.
    edges = inner is not None or (rows is not None and choices.flat)
    called = edges or operations > LONG
    before = LaunchInvariants()
    for index in range(count):
        if ready.pieces:
            write_pieces(ready, choices, out, before)
        elif called or not several_only(several, max(choices.lanes, 1), choices.group_size):
            write_region(index, ready, choices, out, before, inline=not called, often=not edges)
        if rows is not None:
            write_region(index, ready if inner is None else inner.ready, choices, out, before, rows)
    # Vectors that go the same way need not remember where they are.
    state = STATE_BYTES if count > 1 and ready.plan is None else 0
    per_vector = ready.storage.size + state
    large = ready.streams.large(choices.cache_bytes)
    granted = None if inner is None else inner.granted
    strips = None
    if choices.flat:
        strips = None if rows is None or spare is None else _strips(spare, choices, out, before)
        around = flat_entry(entry, choices, before, twice, large, several, granted, strips)
    else:
        combines = _write_combines(ready, state, per_vector, choices, out)
        kept = per_vector if count > 1 else 0
        local = initialized(body.variables)
        declare(local, out)

        def around_groups(symbol: str, choices: Choices, twice: bool) -> str:
            return group_entry(
                symbol, choices, before, twice, count, kept, combines, ready.plan, large, several, granted, local
            )

        if not quick and count > 1 and operations <= LIKELY and _fills(choices.likely, choices.lanes):
            assert choices.likely is not None
            usual, other = f"likely.{entry}", f"any.{entry}"
            out.functions.append(around_groups(usual, replace(choices, group_size=choices.likely), twice))
            # A small tile leaves little choice. A row may be shorter than the array that has room for it, and a large
            # tile is often filled by fewer work-items.
            x, y, _ = choices.likely
            out.functions.append(around_groups(other, choices, twice and (y == 1 or x * y > SMALL_TILE)))
            around = likely_entry(entry, usual, other, choices.likely, choices)
        else:
            around = around_groups(entry, choices, twice)
    out.functions.append(around)
    return _Sizes(count, per_vector, several, 0 if strips is None else strips.per_vector)


def _reshaped(body: Body, flow: Flow, choices: Choices) -> Flow:
    """With other loops for those that would gather in each iteration, or carry more than there are registers."""
    target = choices.target
    if choices.linear or choices.lanes < 2 or flow.loops.irreducible:
        return flow
    # Narrow indices must not wrap around inside of a buffer from one iteration to the next.
    if not choices.options.greater_than_4gb and any(map(may_have_columns, flow.loops.all)):
        shapes = analyse(body, flow, choices.lanes, flat=choices.flat)
        flow = prepare(body) if join_turns(body, flow, shapes) else flow
    if crowded(flow.loops, target.registers):
        shapes = analyse(body, flow, choices.lanes, flat=choices.flat)
        changed = split_loops(body, flow, shapes, choices.lanes, target.register, target.registers)
        flow = prepare(body) if changed else flow
    return flow


def _fills(size: tuple[int, int, int] | None, lanes: int) -> bool:
    """Do vectors fill the rows of such groups? Then knowing it saves masks and loops."""
    return size is not None and lanes > 1 and size[0] % lanes == 0


def _strips(body: Body, choices: Choices, out: Written, before: LaunchInvariants) -> Strips | None:
    """The kernel once more with its loops cut into strips, where that keeps what rows read in the caches."""
    flow = prepare(body)
    if not strip_mine(body, flow, analyse(body, flow, choices.lanes, flat=True)):
        return None
    choices = replace(choices, prefix="strips.")
    ready = _ready(body, prepare(body), choices)
    if ready.rows is None:
        return None
    for index in range(len(ready.regions)):
        write_region(index, ready, choices, out, before, ready.rows)
    return Strips(choices.prefix, ready.rows.count, len(ready.regions), ready.storage.size)


@dataclass(slots=True)
class _Inner:
    """A simpler kernel for where no edge is near."""

    ready: Ready
    rows: Rows
    granted: Assumptions


def _inner(body: Body, granted: Assumptions, general: Ready, choices: Choices) -> _Inner | None:
    """The simpler kernel, where it reads neighbours as such that the other one cannot, lets several rows run at once,
    or has fewer accesses under masks on a processor where those are slow.
    """
    alike = can_share(body) or may_have_row_columns(body)
    sharing = (choices.options.rows or 1) > 1 or (choices.rows > 1 and alike)
    slow = 0 if choices.target.wide else _masked(general)
    if not sharing and not slow and not (granted.held and _picked(general)):
        return None
    ready = _ready(body, prepare(body), choices)
    rows = ready.rows
    if rows is None and _picked(ready) >= _picked(general) and (not slow or _masked(ready) >= slow):
        return None
    return _Inner(ready, rows or Rows(1, set(), set()), granted)


def _masked(ready: Ready) -> int:
    """Loads and stores of several lanes that are not done by all lanes of a whole vector."""
    return sum(
        op.name in ("load", "store") and mask.name != "entry_mask" and not ready.shapes[op.args[0]].uniform
        for block, mask in ready.masks.of.items()
        for op in block.ops
    )


def _picked(ready: Ready) -> int:
    """Loads whose lanes may lie anywhere."""
    return sum(op.name == "load" and ready.shapes[op.args[0]].varying for op in ready.body.ops)


def _too_much(body: Body) -> bool:
    """Too long to be written twice, or with something that is kept or waited for."""
    operations = 0
    for op in body.ops:
        operations += 1
        if op.name in ("barrier", "group", "call", "printf"):
            return True
    return operations > SETTLED or any(variable.space == "private" for variable in body.variables)


def _rows(ready: Ready, choices: Choices) -> Rows | None:
    """What rows do for themselves, where several should run at once."""
    if choices.linear or choices.options.quick or (choices.options.rows or choices.rows) < 2:
        return None
    rows = apart(ready.body, ready.masks, ready.storage.slots)
    if rows is None:
        return None
    target = choices.target
    rows.count = choices.options.rows or worth(
        rows, ready.body, ready.shapes, choices.lanes, target.register, target.registers, choices.rows
    )
    if not choices.options.greater_than_4gb:
        # Where narrow indices may wrap around inside of a buffer, a row need not lie beside the next one.
        rows.columns = columns(ready.body, rows, ready.masks, ready.shapes)
    if rows.count == 1:
        most = LINE if choices.flat else choices.rows
        rows.count = tall(rows, ready.body, choices.lanes, target.register, target.registers, most)
    if rows.count < FEWEST or rows.count & (rows.count - 1):
        rows.columns = set()
    return rows if rows.count > 1 else None


def lower_function(entry: str, body: Body, choices: Choices, function: Translate) -> Lowered:
    """A function that is called by its address, as a module of its own."""
    ready = _ready(body, _reducible(body, choices), choices)
    out = Written()
    write_function(entry, ready, choices, out)
    _write_called(choices, function, out)
    return Lowered(_module(out, choices), 1, ready.storage.size, 1)


def _reducible(body: Body, choices: Choices) -> Flow:
    flow = prepare(body)
    if flow.loops.irreducible and choices.lanes > 1:
        raise CompileError("a function that is called by its address has a loop with several entries")
    return flow


def _write_called(choices: Choices, function: Translate, out: Written) -> None:
    """Functions whose addresses are taken, and those whose addresses they take."""
    written: set[tuple[int, int]] = set()
    while waiting := out.called - written:
        for which in sorted(waiting):
            written.add(which)
            if len(written) > MOST_FUNCTIONS:
                raise CompileError(f"the addresses of more than {MOST_FUNCTIONS} functions are taken")
            body = function(*which)
            ready = _ready(body, _reducible(body, choices), choices)
            if ready.storage.size:
                raise CompileError("a function that is called by its address has too much private memory")
            write_function(symbol(*which), ready, choices, out)


def _write_combines(ready: Ready, state: int, per_vector: int, choices: Choices, out: Written) -> dict[int, str]:
    """Functions by the number of the region that they run in front of."""
    starts = {region.start: index for index, region in enumerate(ready.regions)}
    found = {}
    for block in ready.body.blocks:
        barrier = ends_in_barrier(block)
        if barrier is not None and isinstance(barrier.info, Combine):
            index = starts[block.successors[0]]
            found[index] = f"{choices.prefix}combine{index}"
            write_combine(found[index], barrier.info, ready.storage, state, per_vector, choices, out)
    return found


def _module(out: Written, choices: Choices) -> str:
    declarations = [text for name, text in out.declarations.items() if name not in _DECLARED]
    routines = [routine.text for routine in out.routines.values()]
    # Without a red zone, frames tell how much is spilled.
    every = f"attributes #0 = {{ nounwind noredzone {_NARROW if choices.narrow else ''} }}"
    functions, metadata = (out.functions, "") if choices.debug is None else choices.debug.finish(out.functions)
    return "\n".join([*out.globals.values(), *routines, *functions, *declarations, every, _ENDING, metadata])
