"""Cost model of vectorisation: an estimate of a kernel's time as vectors and as single work-items."""

from __future__ import annotations

from collections.abc import Iterator

from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.analysis.rows import served
from anyzero.compiler.analysis.uniformity import Flow, Shapes
from anyzero.compiler.ir import SIZES, Atomic, Block, Body, Op
from anyzero.compiler.operations import DIVISIONS, OPERATIONS

ROUNDS = 8
"""The assumed trip count of a loop."""
APART = 2.0
"""Factor on the trip count of a divergent loop: a vector stays until its last lane leaves."""
NEARLY_TOGETHER = 1.1
"""The same where the exit compares strided values: lanes leave within an iteration or two of each other."""
PICKED = 1.2
"""A scalarised load or store of one lane; address and value are moved between vector and scalar registers."""
SCATTERED = 2.0
"""The same for stores: a scatter takes longer than as many single stores."""
JOINED = 0.5
"""Factor on both for each four bytes where several iterations are one access, and a transposition in registers."""
SCALAR = 0.7
"""One scalar operation: processors have more units for them than for vectors."""
LOCKED = 20.0
"""An atomic operation on memory that other threads see."""
DEEPEST = 4
CHEAP_MATHS = frozenset({
    "mad", "fma", "fabs", "fmin", "fmax", "fclamp", "s_min", "s_max", "u_min", "u_max", "s_clamp", "u_clamp", "floor",
    "ceil", "rint", "trunc", "s_abs", "copysign", "popcount", "clz", "rotate", "s_mad24", "u_mad24",
})  # fmt: skip
_ONE_BY_ONE = frozenset({"exchange", "compare_exchange", "store", "flag_set", "flag_clear"})
_ROUNDED = frozenset({"fadd", "fmin", "fmax"})
MASKED_MOVES = 32
"""Bytes of a register from which on processors have loads and stores under a mask (AVX). Others branch for each lane.
"""
GATHERS = 64
"""Bytes of a register from which on loads of single lanes are gathers (AVX-512)."""
SELECTED = 1.3
"""Factor on the others in divergent loops: an inactive lane's address is replaced by another one before the load."""
ADDRESSING = 0.25
"""Operations that addressing modes absorb."""


def estimate(body: Body, flow: Flow, shapes: Shapes, lanes: int, register: int, joined: set[Op]) -> tuple[float, float]:
    """The cost of `lanes` work-items as a vector, and one by one. `register` is a vector register's size in bytes. Of
    the accesses in `joined`, several iterations will be one.
    """
    together = alone = 0.0
    for op, times, cost in _costs(body, flow, shapes, lanes, register, joined):
        together += cost
        alone += times * _scalar(op)
    return together, alone * lanes * SCALAR


def estimate_accesses(
    body: Body,
    flow: Flow,
    shapes: Shapes,
    lanes: int,
    register: int,
    joined: set[Op],
    among: set[Op] | None = None,
) -> float:
    """What of a vector's cost is for loads and stores, all or some."""
    costs = _costs(body, flow, shapes, lanes, register, joined)
    return sum(cost for op, _, cost in costs if op.name in ("load", "store") and (among is None or op in among))


def _costs(
    body: Body, flow: Flow, shapes: Shapes, lanes: int, register: int, joined: set[Op]
) -> Iterator[tuple[Op, float, float]]:
    """Each operation, how often it runs, and its cost as a vector."""
    used = {arg for op in body.ops for arg in op.args}
    longer = {loop: _apart(loop, shapes) for loop in flow.loops.all}
    masked = set() if register >= MASKED_MOVES else _masked(body, flow, shapes)
    for block in body.blocks:
        loops = flow.loops.around(block)
        times = float(ROUNDS ** min(len(loops), DEEPEST))
        apart = max((longer[loop] for loop in loops), default=1.0)
        for op in block.ops:
            if op.name == "atomic":
                cost = times * _atomic_lanes(op, shapes, lanes, op in used)
            elif op in joined:
                size = SIZES[op.type or op.args[1].type]
                cost = times * _lane_by_lane(op, lanes) * JOINED * size / 4
            elif block in masked and op.name in ("load", "store") and not shapes[op.args[0]].uniform:
                cost = times * apart * _lane_by_lane(op, lanes)
            else:
                cost = times * apart * vector_cost(op, shapes, lanes, register)
                if apart == APART and register < GATHERS and op.name == "load" and _is_picked(op, shapes):
                    cost *= SELECTED
            yield op, times, cost


def _apart(loop: Loop, shapes: Shapes) -> float:
    if loop not in shapes.divergent_loops:
        return 1.0
    conditions = [source.condition for source, _ in loop.exits]
    near = all(
        each is not None and each.name == "icmp" and not any(shapes[arg].varying for arg in each.args)
        for each in conditions
    )
    return NEARLY_TOGETHER if near else APART


def _masked(body: Body, flow: Flow, shapes: Shapes) -> set[Block]:
    """Blocks that lanes reach by a condition on data. Bounds of ids do not count, because most vectors are within them
    and run code without masks, and neither do exits of loops, because lanes mostly stay together.
    """
    leaving = {source for loop in flow.loops.all for source, _ in loop.exits}
    parting = {block for block in shapes.divergent if block not in leaving and not _is_bound(block, shapes)}
    found: set[Block] = set()
    for block in body.blocks:
        above = flow.immediate.get(block)
        if above is not None and (above in found or (above in parting and not flow.post_dominates(block, above))):
            found.add(block)
    return found


def _is_bound(block: Block, shapes: Shapes) -> bool:
    """Does its branch compare values that are strided or uniform?"""
    return block.condition is not None and _compares_ids(block.condition, shapes)


def _compares_ids(condition: Op, shapes: Shapes) -> bool:
    if condition.name in ("and", "or", "select"):
        return all(shapes[arg].uniform or _compares_ids(arg, shapes) for arg in condition.args)
    return condition.name == "icmp" and not any(shapes[arg].varying for arg in condition.args)


def _lane_by_lane(op: Op, lanes: int) -> float:
    return float(op.info.count * lanes) * (PICKED if op.name == "load" else SCATTERED)


def _scalar(op: Op) -> float:
    if op.name in ("load", "store"):
        return float(op.info.count)
    if op.name == "math":
        return 1.0 if op.info[0] in CHEAP_MATHS else 20.0
    if op.name == "atomic":
        return 3.0 if unlocked(op.info) else LOCKED
    scaled = op.name == "mul" and op.args[1].name == "const"
    return ADDRESSING if scaled else OPERATIONS[op.name].cost


NEAR = 1 << 16
"""The largest stride of ids whose division is done once for a vector."""


def vector_cost(op: Op, shapes: Shapes, lanes: int, register: int) -> float:
    """The cost of one vector operation."""
    if op.name in ("load", "store"):
        shape = shapes[op.args[0]]
        size = SIZES[op.type or op.args[1].type]
        count = op.info.count
        if shape.uniform:
            return float(count)
        if _is_picked(op, shapes):
            return _lane_by_lane(op, lanes)
        return float(count) * _registers(size, lanes, register) * (1 if shape.stride == size else 2)
    if shapes[op].uniform:
        return _scalar(op)
    if not shapes[op].varying:
        return 1.0
    width = _registers(SIZES.get(op.type, 4), lanes, register)
    if op.name in DIVISIONS and divides_row(op, shapes):
        return _scalar(op) + 3 * width
    if op.name in DIVISIONS and SIZES[op.type] == 8:
        return lanes * 10.0
    return _scalar(op) * width


def _is_picked(op: Op, shapes: Shapes) -> bool:
    """Does each lane load or store by itself, because lanes are not near enough to each other?"""
    shape = shapes[op.args[0]]
    size = SIZES[op.type or op.args[1].type]
    return not shape.uniform and (shape.stride is None or abs(shape.stride) > 4 * size * op.info.count)


def divides_row(op: Op, shapes: Shapes) -> bool:
    """Is it a division of ids by a uniform number, which takes one division of scalars? 32 bits are multiplied by the
    inverse of a constant.
    """
    dividend, divisor = op.args
    shape = shapes[dividend]
    near = shape.exact and shape.stride is not None and 0 < shape.stride <= NEAR
    wide = op.type == "i64" or (op.type == "i32" and divisor.name != "const")
    return wide and near and shapes[divisor].uniform


def _atomic_lanes(op: Op, shapes: Shapes, lanes: int, used: bool) -> float:
    """Scalarised operations of the active lanes; their operands are extracted from vectors."""
    if shapes[op.args[0]].uniform and op.info.kind not in _ONE_BY_ONE and not (used and op.info.kind in _ROUNDED):
        # The lanes' values are combined first.
        return _scalar(op) + PICKED * (16 if used else 4)
    return lanes * (_scalar(op) * SCALAR + (2 * PICKED if used else PICKED / 2))


def unlocked(what: Atomic) -> bool:
    """Is the memory visible to this thread alone? A group runs on one thread."""
    return what.space in ("local", "private") or what.scope == "item"


def _registers(size: int, lanes: int, register: int) -> float:
    return max(1.0, size * lanes / register)


WIDTHS = frozenset({"i8", "i16", "i32", "i64", "half", "float", "double"})
MANY = 32
"""Registers that suffice for all loop-carried values."""
FEW = 80
"""Operations of a kernel that is small enough for four registers to a vector."""
MULTIPLYING = 8
"""Registers to a vector where multiplications of integers depend on one another."""
LONG = 80
"""Blocks of a kernel that would take too long to compile with two registers to a vector: masks make code long."""


def chains(body: Body, flow: Flow, shapes: Shapes, flat: bool, registers: int, soon: bool = False) -> int:
    """How many registers of floats a vector should fill: independent operations hide latency, as long as `registers`
    suffice for the loop-carried values. `soon` says that the code is to be ready soon.
    """
    searches = _searches(body, flow, shapes)
    # Lanes are combined before an atomic operation: their number must be the same in both stages then.
    deep = searches and registers >= MANY and not soon and not any(op.name == "atomic" for op in body.ops)
    if flat and not soon and mostly_short(body, shapes):
        # More lanes take longer to compile.
        wanted = 4
    else:
        wanted = _wanted(body, flow, shapes, flat, registers, searches, deep)
    if flat and searches:
        return wanted
    while wanted > 1 and registers < MANY and wanted * _most_carried(flow, shapes) > registers * 3 // 4:
        wanted //= 2
    return wanted


def _most_carried(flow: Flow, shapes: Shapes) -> int:
    """Register pressure of the loops, in registers of a vector of floats: loop-carried values, loop invariants and the
    mask of active lanes.
    """
    return max((_carried(loop, shapes) for loop in flow.loops.all), default=0)


def _carried(loop: Loop, shapes: Shapes) -> int:
    values = {op for op in loop.header.phis if shapes[op].varying}
    for block in loop.blocks:
        values |= {
            arg
            for op in block.ops
            for arg in op.args
            if shapes[arg].varying and arg.block is not None and arg.block not in loop
        }
    return sum(max(SIZES[op.type] // 4, 1) for op in values) + (1 if loop in shapes.divergent_loops else 0)


def _wanted(body: Body, flow: Flow, shapes: Shapes, flat: bool, registers: int, searches: bool, deep: bool) -> int:
    """The limit that the operations set. `deep` says that loops wait for memory, and lanes are worth longer code."""
    if flat:
        # Rows are long. Few operations, none of them scalarised, leave enough registers for four; where several rows
        # can share loads, registers are better used for rows.
        few = sum(len(block.ops) for block in body.blocks) <= FEW and not any(
            op.name in ("load", "store", "atomic") and shapes[op.args[0]].varying for op in body.ops
        )
        few = few and not served(body, flow, shapes) and not leaves_out_first(body)
        # Divisions and roots of several vectors overlap in straight-line code, whatever is spilled.
        straight = registers < MANY and not flow.loops.all
        half = mostly_wide(body, shapes) and not straight and not searches
        most = MULTIPLYING if registers < MANY and _multiplies(flow, shapes) else 4
        return (most if few or deep else 2) // (2 if half else 1)
    # A kernel that reads ids in more than one dimension is likely to have narrow groups.
    narrow = any(op.name == "builtin" and op.info[0] in ("local_id", "global_id") and op.info[1] for op in body.ops)
    return 1 if narrow or (len(body.blocks) > LONG and not deep) else 2


def _multiplies(flow: Flow, shapes: Shapes) -> bool:
    """Does a loop multiply integers of 32 bits, and access no memory? Multiplications take ten cycles on Intel's
    processors, and two of them start in each: four registers would wait for one another.
    """
    return any(
        any(op.name == "mul" and op.type == "i32" and shapes[op].varying for block in loop.blocks for op in block.ops)
        and all(op.pure for block in loop.blocks for op in block.ops)
        for loop in flow.loops.all
    )


def leaves_out_first(body: Body) -> bool:
    """Are the first work-items of short rows left out, as by the check `x > 0` of a stencil? The first vector of each
    row then runs under a mask, as the last one does, and the shorter they are the better.
    """
    planar = any(op.name == "builtin" and op.info[0] == "global_id" and op.info[1] for op in body.ops)
    return planar and any(op.name == "icmp" and _is_left_edge(*op.args) for op in body.ops)


def _is_left_edge(one: Op, other: Op) -> bool:
    """A comparison of an id along rows with a constant, or of what is left of it after a subtraction (`x - 1 < n`)."""
    for id_, bound in ((one, other), (other, one)):
        less = False
        while id_.name == "cast" or (id_.name in ("add", "sub") and id_.args[1].name == "const"):
            less |= id_.name != "cast"
            id_ = id_.args[0]
        if id_.name == "builtin" and id_.info == ("global_id", 0) and (less or bound.name == "const"):
            return True
    return False


def _searches(body: Body, flow: Flow, shapes: Shapes) -> bool:
    """Does a loop chase pointers, each load's address depending on the previous one? Such a loop waits for memory, and
    twice as many lanes wait no longer.
    """
    return any(
        op.name == "load" and shapes[op.args[0]].varying
        for block in body.blocks
        if flow.loops.innermost[block] in shapes.divergent_loops
        for op in block.ops
    )


def strides_far(body: Body, shapes: Shapes) -> bool:
    """Do lanes access memory a constant distance apart, too far for loads of whole registers?"""
    return any(
        abs(stride) > 4 * SIZES[op.type or op.args[1].type] * op.info.count
        for op in body.ops
        if op.name in ("load", "store") and (stride := shapes[op.args[0]].stride) is not None
    )


def mostly_short(body: Body, shapes: Shapes) -> bool:
    """Does the kernel compute with bytes and shorts, of which a register holds two to four times as many as of floats?
    An atomic operation combines lanes, whose number must be the same before integers were narrowed.
    """
    sizes = [SIZES[op.type] for op in body.ops if op.type in WIDTHS and shapes[op].varying]
    few = sum(size <= 2 for size in sizes)
    return few > len(sizes) // 2 and not any(op.name == "atomic" for op in body.ops)


def mostly_bytes(body: Body, shapes: Shapes) -> bool:
    """Of a kernel with bytes and shorts: are there more bytes?"""
    sizes = [SIZES[op.type] for op in body.ops if op.type in WIDTHS and shapes[op].varying]
    return sizes.count(1) > sizes.count(2)


def mostly_wide(body: Body, shapes: Shapes) -> bool:
    """Does the kernel compute with numbers of 64 bits, which fill twice the registers?"""
    sizes = [SIZES[op.type] for op in body.ops if op.type in WIDTHS and shapes[op].varying]
    return sizes.count(8) > len(sizes) // 2
