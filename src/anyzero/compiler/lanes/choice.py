"""Decisions for a whole kernel: how many lanes a vector has, in which registers, and the stage of compilation."""

from __future__ import annotations

from collections.abc import Sequence

from anyzero.compiler.analysis.clusters import closed
from anyzero.compiler.analysis.columns import find_columns, may_have_columns
from anyzero.compiler.analysis.cost import (
    chains,
    estimate,
    estimate_accesses,
    leaves_out_first,
    mostly_bytes,
    mostly_short,
    mostly_wide,
    strides_far,
)
from anyzero.compiler.analysis.group_width import group_width, likely_group, most_lanes, suited
from anyzero.compiler.analysis.products import Product
from anyzero.compiler.analysis.row_walks import row_walks
from anyzero.compiler.analysis.rows import MOST
from anyzero.compiler.analysis.short_elements import short_elements
from anyzero.compiler.analysis.streaming_stores import memory_bound
from anyzero.compiler.analysis.uniformity import Flow, Shapes, analyse
from anyzero.compiler.analysis.uses import Uses
from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Body, Op
from anyzero.compiler.lanes.units import KernelUnit
from anyzero.compiler.lower.debug_info import collector
from anyzero.compiler.lower.emitter import STRAIGHT, Choices
from anyzero.compiler.lower.memory import MOST_APART
from anyzero.compiler.spirv.kernel import Kernel
from anyzero.compiler.spirv.module import Module
from anyzero.compiler.targets import cpu
from anyzero.compiler.transform.delinearize import delinearize, find_row_lengths
from anyzero.compiler.transform.interchange import interchange
from anyzero.compiler.transform.interior_version import copied
from anyzero.compiler.transform.loop_simplify import loop_simplify
from anyzero.lazy_dataclass import replace

USUAL_ROWS = 4
"""Assumed width of a group in two dimensions whose size is unknown."""

NEIGHBOURS = 8
"""Lanes of a GPU's thread, and of a register of 256 bits."""

FEW = 16
"""Vector registers of processors before AVX-512."""

ADDRESSES = 16
"""The most lanes of kernels that write along rows: each lane has an address of its own in a general register, and eight
iterations of a load and a store fill the vector registers.
"""

SHORTEST = 4
"""Masks of bytes fill a multiple of 32 bits."""

MOSTLY_WALKS = 0.4
"""The part of a vector's cost from which on accesses along rows decide the number of lanes."""

WORTH_INTERCHANGE = 0.8
"""The part of the cost of a vector's accesses that is left where lanes along another dimension pay."""

ROW_REGISTERS = 2
"""Registers of lanes that a row of constant length fills at least, as a vector may be so long."""
LENGTHS = 3
"""The most lengths of rows that are tried: each makes a body, and its analyses."""

SMALL = 16
"""Up to so many operations, a kernel without loops has all its versions in the first stage."""


def may_delinearize(unit: KernelUnit) -> bool:
    return unit.translation.uses.flat and not (unit.options.one_version or unit.options.checks)


def choose_rows(unit: KernelUnit) -> None:
    """Two dimensions, where a vector costs no more than with one, with rows of the length that costs least."""
    lanes, body, flow = unit.target.lanes, unit.body, unit.flow
    lengths = find_row_lengths(body, ROW_REGISTERS * lanes)[:LENGTHS]
    if (loop := unit.grid_stride) is not None:
        count = Product(1, frozenset({("argument", loop.type, loop.offset)}))
        lengths = [each for each in lengths if each.items == count]
    least = linear = _vector_costs(unit)[0] if lengths else 0.0
    for rows in lengths:
        unit.body = copied(body)[0]
        _own_arrays(unit.body)
        delinearize(unit.body, rows)
        unit.flow = loop_simplify(unit.body)
        cost = _vector_costs(unit)[0]
        if rows.length.constant:
            # The last vector of a row is mostly not full.
            cost *= -(-rows.length.factor // lanes) * lanes / rows.length.factor
        # Shifts and masks by constants cost little: rows have to gain something.
        if cost <= least and (cost < linear or not rows.length.constant):
            least, unit.row_length, unit.linear_body = cost, rows, body
            chosen = unit.body, unit.flow
    unit.body, unit.flow = chosen if unit.row_length is not None else (body, flow)


def _own_arrays(body: Body) -> None:
    """Private arrays of a copied body lie in memory as its own accesses need them."""
    own = {each: replace(each) for each in body.variables if each.space == "private"}
    body.variables = [own.get(each, each) for each in body.variables]
    for op in body.ops if own else ():
        if op.name == "variable":
            op.info = own.get(op.info, op.info)


def may_interchange(unit: KernelUnit) -> bool:
    """Images have neighbours along the first dimension."""
    images = any(op.name in ("image_read", "image_write") for op in unit.body.ops)
    alone = unit.translation.uses.flat and unit.grid_stride is None and unit.linear_body is None
    return alone and not (images or unit.options.one_version or unit.options.checks) and bool(_further(unit.body))


def _further(body: Body) -> list[int]:
    """The dimensions of the kernel's ids but the first one."""
    return sorted({op.info[1] for op in body.ops if op.name == "builtin" and op.info[0] == "global_id"} - {0})


def choose_lane_dimension(unit: KernelUnit) -> None:
    """The dimension along which a vector's accesses cost least."""
    usual, accesses = _vector_costs(unit)
    least = accesses * WORTH_INTERCHANGE
    for dimension in _further(unit.body):
        interchange(unit.body, dimension)
        cost, accesses = _vector_costs(unit)
        interchange(unit.body, dimension)
        if cost <= usual and accesses < least:
            unit.lane_dimension, least = dimension, accesses
    if unit.lane_dimension:
        interchange(unit.body, unit.lane_dimension)


def _vector_costs(unit: KernelUnit) -> tuple[float, float]:
    """The cost of a vector, and what of it is for accesses."""
    body, flow, target = unit.body, unit.flow, unit.target
    shapes = analyse(body, flow, target.lanes, flat=True)
    costs = body, flow, shapes, target.lanes, target.register, _joined(flow, shapes, unit.options)
    return estimate(*costs)[0], estimate_accesses(*costs)


def choose_registers(unit: KernelUnit) -> None:
    target = unit.target
    special = target.halves or target.slow_masked_streams
    streams = special and memory_bound(unit.body, unit.flow, target.lanes)
    unit.narrow = target.halves and streams
    unit.slow_masks = not target.wide or (target.slow_masked_streams and streams and not leaves_out_first(unit.body))


def choose_stage(unit: KernelUnit) -> None:
    """The first stage has one version of a kernel, or all of them where that takes little time."""
    options = unit.options
    small = not unit.flow.loops.all and sum(len(block.ops) for block in unit.body.blocks) <= SMALL
    unit.options = replace(options, quick=options.quick or options.level == 0, all_versions=small and options.level > 0)


def choose_vector(unit: KernelUnit) -> None:
    kernel, uses = unit.translation.kernel, unit.translation.uses
    unit.lanes, unit.lanes_because = choose_lanes(
        unit.body, unit.flow, unit.options, unit.target, kernel, uses, unit.narrow
    )


def cut_sub_group(unit: KernelUnit) -> None:
    """Shorter sub-groups, where no size is required and the kernel's clusters allow it."""
    required = unit.translation.kernel.required_sub_group_size or 0
    if width := vector_of(unit.body, unit.lanes, unit.target, free=not required):
        unit.sub_group, unit.lanes = required, width
        unit.lanes_because += f", and its lanes only speak to their neighbours among {width}"


def record_choices(unit: KernelUnit) -> None:
    """The choices as one record, in the form that the lowering takes."""
    kernel, body, flat = unit.translation.kernel, unit.body, unit.translation.uses.flat
    size = kernel.required_group_size
    unit.short_elements = flat and short_elements(body, unit.flow, unit.lanes)
    unit.private_bytes = sum(variable.size for variable in body.variables if variable.space == "private")
    unit.choices = Choices(
        unit.lanes,
        unit.target,
        unit.options,
        sub_group=unit.sub_group,
        flat=flat,
        group_size=size,
        likely=None if flat or size else kernel.group_size_hint or likely_group(body),
        rows=MOST if flat else USUAL_ROWS if size is None else size[1],
        narrow=unit.narrow,
        from_zero=unit.from_zero,
        grid_stride=unit.grid_stride,
        slow_masks=unit.slow_masks,
        mask=mask_element(body, unit.flow, unit.target, unit.lanes),
        args_bytes=unit.translation.args_bytes,
        debug=collector(unit.options, unit.modules),
    )


def for_function(options: Options, modules: Sequence[Module]) -> Choices:
    """The choices of an exported function: kernels of any module may call it, so all have a register's lanes."""
    target = cpu.target(options.cpu, options.features)
    lanes = options.lanes or target.sub_group
    mask = "i1" if target.wide or lanes < 2 else "i32"
    return Choices(lanes, target, options, mask=mask, debug=collector(options, modules))


def choose_lanes(
    body: Body, flow: Flow, options: Options, target: cpu.Target, kernel: Kernel, uses: Uses, narrow: bool = False
) -> tuple[int, str]:
    """The number of lanes, and the reason in words. `narrow` says that registers of half the size are used."""
    if options.lanes:
        return options.lanes, "as asked for"
    if kernel.required_sub_group_size:
        return kernel.required_sub_group_size, "the kernel requires sub-groups of this size"
    if uses.sub_groups:
        return target.sub_group, "a sub-group is a vector register of floats"
    if uses.calls:
        # Kernels of other modules may call them.
        return target.sub_group, "functions that are called by address all have the lanes of a register"
    shapes = analyse(body, flow, target.lanes, flat=uses.flat)
    joined = _joined(flow, shapes, options)
    together, alone = estimate(body, flow, shapes, target.lanes, target.register, joined)
    costs = f"{target.lanes} work-items cost {together:.0f} as a vector, {alone:.0f} one by one"
    if together >= alone:
        return 1, f"a vector would not pay: {costs}"
    flat = uses.flat
    if flat and _mostly_walks(body, flow, shapes, options, target, joined, together):
        return SHORTEST, f"few rows of a matrix are accessed at a time, which may share sets of the cache; {costs}"
    # A vector of several registers takes as many for each value: few values fit.
    wanted = chains(body, flow, shapes, flat, target.registers, soon=options.quick)
    registers = 1 if options.large_registers else min(wanted, 2) if narrow else wanted
    if registers * target.lanes > MOST_APART and strides_far(body, shapes):
        # Scalar loads of so many lanes are unrolled, and faster than gathers.
        registers = MOST_APART // target.lanes
    if joined and registers * target.lanes > ADDRESSES:
        registers = max(1, ADDRESSES // target.lanes)
    if registers > 1 and target.registers <= FEW and _shared_columns(body, flow, shapes):
        registers = 1
    lanes, rows = target.lanes * registers, "blocks are chosen at run time" if flat else "groups stay apart"
    width = None if flat else group_width(body, kernel)
    if width is not None:
        most = min(most_lanes(body, shapes, target.lanes, target.register >= 32), MOST_APART)
        # Long rows are those of one dimension, which two registers serve well.
        if options.large_registers or (registers > 1 and width > STRAIGHT * most):
            most = lanes
        lanes, rows = suited(width, lanes, most), f"rows of a group have {width} work-items"
    registers = max(1, lanes // target.lanes)
    several = f"{registers} registers" if registers > 1 else "one register"
    halves = ", in halves because memory is the limit" if narrow else ""
    return lanes, f"{several} of floats{halves}; {rows}; {costs}"


def _mostly_walks(
    body: Body, flow: Flow, shapes: Shapes, options: Options, target: cpu.Target, joined: set[Op], cost: float
) -> bool:
    """Does a vector spend its time on rows, one for each lane, of which it accesses an element at a time?"""
    found = row_walks(body, flow, shapes)
    if not found:
        return False
    thorough = options.thorough_columns
    for loop in flow.loops.all:
        columns = find_columns(loop, shapes, thorough)
        found -= columns.accesses if columns is not None else set()
    spent = estimate_accesses(body, flow, shapes, target.lanes, target.register, joined, found)
    return spent >= MOSTLY_WALKS * cost


def _joined(flow: Flow, shapes: Shapes, options: Options) -> set[Op]:
    """Accesses of which several iterations will be one: those of the final code, in loops that write along rows."""
    if not options.thorough_columns or options.greater_than_4gb:
        return set()
    found = (
        find_columns(loop, shapes, thorough=True) for loop in flow.loops.all if may_have_columns(loop, thorough=True)
    )
    writes = (each for each in found if each is not None and any(op.name == "store" for op in each.accesses))
    return {op for each in writes for op in each.accesses}


def _shared_columns(body: Body, flow: Flow, shapes: Shapes) -> bool:
    """Do lanes read along rows of a matrix that rows of work-items share? Several iterations of a load take a register
    each for every register of lanes, beside the sums of several rows.
    """
    planar = any(op.name == "builtin" and op.info == ("global_id", 1) for op in body.ops)
    return planar and any(find_columns(loop, shapes, thorough=False) is not None for loop in flow.loops.all)


def mask_element(body: Body, flow: Flow, target: cpu.Target, lanes: int) -> str:
    """The element type of masks between blocks: bits if the processor has mask registers, else as wide as data."""
    if target.wide or lanes < 2:
        return "i1"
    shapes = analyse(body, flow, lanes)
    if lanes % SHORTEST == 0 and mostly_short(body, shapes):
        return "i8" if mostly_bytes(body, shapes) else "i16"
    return "i64" if mostly_wide(body, shapes) else "i32"


def vector_of(body: Body, size: int, target: cpu.Target, *, free: bool) -> int:
    """The length of the vectors that a sub-group is split into, where these are shorter than it; else 0.

    `free` says that the sub-group's size is the compiler's choice.
    """
    width = NEIGHBOURS
    # Where registers hold a whole sub-group, shorter vectors pay in narrow groups only.
    narrow = target.halves or any(op.name == "builtin" and op.info == ("local_id", 1) for op in body.ops)
    return width if width < size and (size > target.lanes or narrow) and closed(body, width, free) else 0
