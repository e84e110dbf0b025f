"""Passes of the list that need more of a unit than its body."""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.analysis.active_box import active_box
from anyzero.compiler.analysis.aliases import NOTHING_KNOWN, Aliases, unaliased_arguments
from anyzero.compiler.analysis.columns import may_have_columns
from anyzero.compiler.analysis.cost import mostly_wide
from anyzero.compiler.analysis.early_exits import outcomes_before_effects
from anyzero.compiler.analysis.first_item import first_item
from anyzero.compiler.analysis.group_uniformity import group_uniform
from anyzero.compiler.analysis.index_limits import Limits
from anyzero.compiler.analysis.row_columns import FEWEST, LINE, columns, tall
from anyzero.compiler.analysis.rows import apart, worth
from anyzero.compiler.analysis.spin_loops import may_wait
from anyzero.compiler.analysis.streaming_stores import find_streams
from anyzero.compiler.analysis.termination import termination
from anyzero.compiler.analysis.uniformity import analyse
from anyzero.compiler.ir import SIZES, Body, Masks, Op
from anyzero.compiler.lanes.units import FunctionUnit, KernelUnit, NumberingUnit, VersionUnit
from anyzero.compiler.lower.active_box import Checks
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.lower.lockstep_schedule import schedule_lockstep
from anyzero.compiler.lower.regions import Ready, lay_out
from anyzero.compiler.transform.access_notes import note_accesses, note_meetings
from anyzero.compiler.transform.block_accesses import expand_blocks
from anyzero.compiler.transform.bounds_checks import check_bounds
from anyzero.compiler.transform.cse import cse
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.derived_inductions import derive_inductions
from anyzero.compiler.transform.fission import crowded, split_loops
from anyzero.compiler.transform.forward_loads import forward_loads
from anyzero.compiler.transform.fuse_regions import fuse_regions
from anyzero.compiler.transform.global_ids import global_ids
from anyzero.compiler.transform.grid_stride import find_grid_stride
from anyzero.compiler.transform.interior_version import copied, forms_of, interior_version
from anyzero.compiler.transform.interleave import interleave
from anyzero.compiler.transform.lane_counts import count_lanes
from anyzero.compiler.transform.licm import licm
from anyzero.compiler.transform.linearise import connect, linearise
from anyzero.compiler.transform.loop_simplify import loop_simplify
from anyzero.compiler.transform.mem2reg import mem2reg
from anyzero.compiler.transform.merge_accesses import may_merge_more, merge_accesses
from anyzero.compiler.transform.merge_groups import merge_groups
from anyzero.compiler.transform.narrow_integers import narrow_integers
from anyzero.compiler.transform.outline import outline
from anyzero.compiler.transform.pack_components import may_pack, pack_components
from anyzero.compiler.transform.pipelined_loads import load_in_turn
from anyzero.compiler.transform.prefetch import insert_prefetches
from anyzero.compiler.transform.prefetch_streams import prefetch_streams
from anyzero.compiler.transform.private_sums import private_sums
from anyzero.compiler.transform.regions import split
from anyzero.compiler.transform.residency_checks import check_residency
from anyzero.compiler.transform.scalar_promotion import may_promote, promote_scalars
from anyzero.compiler.transform.shifts_to_casts import shifts_to_casts
from anyzero.compiler.transform.split_at_joins import split_at_joins
from anyzero.compiler.transform.ssa_repair import repair_ssa
from anyzero.compiler.transform.strip_mine import strip_mine
from anyzero.compiler.transform.texel_checks import check_texels
from anyzero.compiler.transform.unroll import unroll
from anyzero.compiler.transform.unroll_columns import unroll_columns
from anyzero.compiler.transform.unroll_tiles import unroll_tiles
from anyzero.compiler.transform.version_guards import chains, version_guards
from anyzero.compiler.transform.widen_induction import widen_induction
from anyzero.compiler.transform.widen_sums import widen_sums

Root = KernelUnit | FunctionUnit

UNALIASED = 1000
"""Up to so many operations, there may be a version for arguments that lead to separate allocations."""
UNALIASED_ROWS = 300
"""The same where there is a version for launches in rows: the kernel is compiled three times then."""


def on_body(change: Callable[[Body], object]) -> Callable[[Root], None]:
    """A pass that needs the body alone."""

    def run(unit: Root) -> None:
        change(unit.body)

    return run


# Passes of a kernel


def run_translate(unit: Root) -> None:
    unit.translate()
    shifts_to_casts(unit.body)


def run_unroll(unit: Root) -> None:
    unit.unrolled = unroll(unit.body)


def run_global_ids(unit: KernelUnit) -> None:
    translation = unit.translation
    if (found := global_ids(unit.body, translation.uses, translation.kernel.required_group_size)) is not None:
        translation.uses, unit.from_zero = found, True


def run_loop_simplify(unit: Root) -> None:
    unit.flow = loop_simplify(unit.body)


def run_grid_stride(unit: KernelUnit) -> None:
    found = find_grid_stride(unit.body, unit.flow)
    if found is not None:
        # Trip counts still depend on the bound of the loop when it is gone.
        unit.termination = termination(unit.body, unit.flow)
        found.remove(unit.body)
        unit.grid_stride, unit.flow = found.bound, loop_simplify(unit.body)


def run_derive_inductions(unit: KernelUnit) -> None:
    derive_inductions(unit.body, unit.flow.loops)


def run_licm(unit: KernelUnit) -> None:
    licm(unit.flow.loops)


def run_unroll_barriers(unit: KernelUnit) -> None:
    body = unit.body
    if unroll(body, barriers=True):
        for simplify in (mem2reg, cse, dce):
            simplify(body)
        unit.flow = loop_simplify(body)


def run_unroll_tiles(unit: KernelUnit) -> None:
    size = unit.translation.kernel.required_group_size
    assert size is not None
    if unroll_tiles(unit.body, size):
        for simplify in (cse, dce):
            simplify(unit.body)
        unit.flow = loop_simplify(unit.body)


def run_private_sums(unit: KernelUnit) -> None:
    limits = Limits(unit.flow.immediate, unit.translation.kernel.required_group_size)
    unit.sums = private_sums(unit.body, limits)
    if unit.sums:
        unit.entry = f"summed.{unit.entry}"


def run_narrow_integers(unit: KernelUnit) -> None:
    if narrow_integers(unit.body):
        dce(unit.body)


def run_spin_loops(unit: KernelUnit) -> None:
    unit.waits = may_wait(unit.body, unit.flow)


def run_termination(unit: KernelUnit) -> None:
    if unit.grid_stride is None:
        unit.termination = termination(unit.body, unit.flow)


def run_first_item(unit: KernelUnit) -> None:
    unit.first_item = first_item(unit.body)


def run_interleave(unit: KernelUnit) -> None:
    """Also in the body for launches that are not cut into rows. One for overlapping arguments has no private arrays."""
    for body in filter(None, (unit.body, unit.linear_body)):
        interleave(body, unit.lanes)


def run_scalar_promotion(unit: KernelUnit) -> None:
    if promote_scalars(unit.body, unit.flow, Aliases(NOTHING_KNOWN)):
        unit.flow = loop_simplify(unit.body)


def may_promote_scalars(unit: KernelUnit) -> bool:
    """Requires that each access need not be seen, and that narrow indices do not wrap around inside of a buffer."""
    options = unit.options
    seen = options.checks or options.count_lanes or options.residency_checks
    return not (seen or options.greater_than_4gb or unit.waits)


def may_separate(unit: KernelUnit) -> bool:
    """Copies of private sums and arrays would have to be made for both versions."""
    uses, body = unit.translation.uses, unit.body
    if unit.options.one_version or not may_promote_scalars(unit):
        return False
    plain = not any(op.name in ("atomic", "variable") for op in body.ops)
    most = UNALIASED if unit.linear_body is None else UNALIASED_ROWS
    return plain and not uses.sub_groups and sum(1 for _ in body.ops) <= most


def run_separate_arguments(unit: KernelUnit) -> None:
    body = unit.body
    pointers = {each.offset for each in unit.translation.arguments if each.kind in ("global", "constant")}
    found = unaliased_arguments(body, pointers)
    aliases = Aliases(found)
    if found.written and (may_promote(body, unit.flow, aliases) or may_merge_more(body, aliases)):
        unit.unaliased, unit.aliased_body = found, copied(body)[0]
        promote_scalars(body, unit.flow, aliases)
        forward_loads(body, aliases)
        dce(body)
        unit.flow = loop_simplify(body)


# Passes of a numbering


def run_pipelined_loads(unit: NumberingUnit) -> None:
    load_in_turn(unit.body, unit.flow.loops)


def has_vector_loops(unit: NumberingUnit) -> bool:
    return not unit.choices.linear and unit.choices.lanes > 1


def has_columns(unit: NumberingUnit) -> bool:
    """Requires that narrow indices do not wrap around inside of a buffer from one iteration to the next."""
    small = not unit.options.greater_than_4gb
    loops, thorough = unit.flow.loops.all, unit.options.thorough_columns
    return has_vector_loops(unit) and small and any(may_have_columns(loop, thorough) for loop in loops)


def run_unroll_columns(unit: NumberingUnit) -> None:
    shapes = analyse(unit.body, unit.flow, unit.choices.lanes, flat=unit.choices.flat)
    if unroll_columns(unit.body, unit.flow, shapes, unit.options.thorough_columns):
        unit.flow = loop_simplify(unit.body)


def has_components(unit: NumberingUnit) -> bool:
    """May two floats of each lane fill a register?"""
    choices, options = unit.choices, unit.options
    fits = 2 * SIZES["float"] * choices.lanes <= choices.target.register and not choices.narrow
    checked = options.check_memory or options.check_races or options.check_init or options.count_lanes
    return has_vector_loops(unit) and fits and not checked and may_pack(unit.flow)


def run_pack_components(unit: NumberingUnit) -> None:
    shapes = analyse(unit.body, unit.flow, unit.choices.lanes, flat=unit.choices.flat)
    if pack_components(unit.body, unit.flow, shapes):
        unit.flow = loop_simplify(unit.body)


def is_crowded(unit: NumberingUnit) -> bool:
    return has_vector_loops(unit) and crowded(unit.flow.loops, unit.choices.target.registers)


def run_fission(unit: NumberingUnit) -> None:
    choices, target = unit.choices, unit.choices.target
    shapes = analyse(unit.body, unit.flow, choices.lanes, flat=choices.flat)
    if split_loops(unit.body, unit.flow, shapes, choices.lanes, target.register, target.registers):
        unit.flow = loop_simplify(unit.body)


def run_interior_version(unit: NumberingUnit) -> None:
    found = interior_version(unit.body)
    if found is not None:
        unit.interior_body, unit.assumptions = found


def run_active_box(unit: NumberingUnit) -> None:
    if not outcomes_before_effects(unit.body):
        return
    found = active_box(unit.body, forms_of(unit.body))
    if found is not None:
        unit.checks = Checks.of(found)


def run_interior_groups(unit: NumberingUnit) -> None:
    found = interior_version(unit.body, unit.choices.group_size)
    if found is not None:
        unit.inner_body, unit.inner_assumptions = found


def run_merge_groups(unit: NumberingUnit) -> None:
    """As many groups as fill a register."""
    body, choices = unit.body, unit.choices
    wide = mostly_wide(body, analyse(body, unit.flow, choices.lanes))
    count = choices.target.lanes // (2 if wide or choices.narrow else 1) // choices.lanes
    if count > 1:
        unit.merged = count
        unit.merged_body = merge_groups(body if unit.inner_body is None else unit.inner_body, choices.lanes, count)


def copy_for_strips(unit: NumberingUnit) -> None:
    unit.strips_body = copied(unit.body if unit.interior_body is None else unit.interior_body)[0]


# Passes of a version


def run_version_loops(unit: VersionUnit) -> None:
    unit.flow = loop_simplify(unit.body)


def run_strip_mine(unit: VersionUnit) -> None:
    assert unit.flow is not None
    if strip_mine(unit.body, unit.flow, analyse(unit.body, unit.flow, unit.choices.lanes, flat=True)):
        unit.flow = loop_simplify(unit.body)
    else:
        unit.dropped = True


def run_bounds_checks(unit: VersionUnit) -> None:
    check_bounds(unit.body, unit.choices.lanes)


def run_texel_checks(unit: VersionUnit) -> None:
    check_texels(unit.body)


def run_uniformity(unit: VersionUnit) -> None:
    assert unit.flow is not None
    unit.shapes = analyse(unit.body, unit.flow, unit.choices.lanes, unit.choices.linear, unit.choices.flat)
    unit.barriers = any(op.name == "barrier" for op in unit.body.ops)


def run_version_guards(unit: VersionUnit) -> None:
    assert unit.flow is not None
    found = list(chains(unit.body, unit.flow))
    if found:
        choices = unit.choices
        shapes = analyse(unit.body, unit.flow, choices.lanes, choices.linear, choices.flat)
        if version_guards(unit.body, found, shapes):
            unit.flow = loop_simplify(unit.body)


def run_group_uniformity(unit: VersionUnit) -> None:
    assert unit.flow is not None
    unit.group_uniform = group_uniform(unit.body, unit.flow)


def run_merge_accesses(unit: VersionUnit) -> None:
    merge_accesses(unit.body, unit.shapes, unit.choices.lanes, Aliases(unit.choices.unaliased), local=not unit.unrolled)


def run_streaming_stores(unit: VersionUnit) -> None:
    assert unit.flow is not None
    unit.streams = find_streams(unit.body, unit.flow.loops, unit.shapes, unit.choices.lanes)


def run_prefetch(unit: VersionUnit) -> None:
    assert unit.flow is not None
    insert_prefetches(unit.body, unit.flow, unit.shapes, unit.choices.lanes)


def has_streams(unit: VersionUnit) -> bool:
    return unit.choices.flat and not unit.options.quick


def run_prefetch_streams(unit: VersionUnit) -> None:
    assert unit.flow is not None
    choices = unit.choices
    registers = choices.lanes * 4 // choices.target.register
    prefetch_streams(unit.body, unit.flow, unit.shapes, choices.lanes, registers)


def run_widen_induction(unit: VersionUnit) -> None:
    assert unit.flow is not None
    widen_induction(unit.body, unit.flow, unit.shapes)


def run_widen_sums(unit: VersionUnit) -> None:
    widen_sums(unit.body, unit.shapes, unit.choices.flat)


def run_notes(unit: VersionUnit) -> None:
    options = unit.options
    if options.notes:
        note_accesses(unit.body, unit.shapes, called=unit.name == "function")
    if options.check_sync:
        note_meetings(unit.body, unit.shapes)


def run_lane_counts(unit: VersionUnit) -> None:
    count_lanes(unit.body, unit.shapes)


def run_block_accesses(unit: VersionUnit) -> None:
    expand_blocks(unit.body, unit.choices.lanes)


def run_residency_checks(unit: VersionUnit) -> None:
    check_residency(unit.body, unit.shapes)


def run_linearise(unit: VersionUnit) -> None:
    assert unit.flow is not None
    unit.masks = linearise(unit.body, unit.flow, unit.shapes)
    connect(unit.body)


def run_ssa_repair(unit: VersionUnit) -> None:
    repair_ssa(unit.body, unit.shapes, unit.masks)


def run_outline(unit: VersionUnit) -> None:
    unit.pieces = outline(unit.body, unit.shapes, unit.masks)


def run_regions(unit: VersionUnit) -> None:
    body, choices = unit.body, unit.choices
    regions = split(body, unit.shapes, unit.masks, unit.unrolled)
    used = {arg for op in body.ops for arg in op.args}
    planar = any(op.name == "builtin" and op.info[0] in ("local_id", "global_id") and op.info[1] for op in body.ops)
    crossing = set() if choices.mask == "i1" else _crossing(body, unit.masks)
    storage = lay_out(body, regions, choices)
    unit.ready = Ready(
        *(body, regions, unit.shapes, unit.masks, storage, used, unit.streams, crossing),
        pieces=unit.pieces,
        planar=planar,
    )


def _crossing(body: Body, masks: Masks) -> set[Op]:
    """Booleans that are used outside of their block, and masks of blocks, which may become several LLVM blocks."""
    used = {arg for op in body.ops for arg in op.args if arg.type == "i1" and arg.block is not op.block}
    return used | {mask for mask in masks.of.values() if mask.name != "entry_mask"}


def run_rows(unit: VersionUnit) -> None:
    ready, choices, target = unit.ready, unit.choices, unit.choices.target
    rows = apart(ready.body, ready.masks, ready.storage.slots)
    if rows is None:
        return
    rows.count = choices.options.rows or worth(
        rows, ready.body, ready.shapes, choices.lanes, target.register, target.registers, choices.rows
    )
    if not choices.options.greater_than_4gb and not choices.options.check_memory:
        # Where narrow indices may wrap around inside of a buffer, consecutive rows need not be adjacent. Bounds checks
        # handle one row at a time.
        rows.columns = columns(ready.body, rows, ready.masks, ready.shapes)
    if rows.count == 1:
        most = LINE if choices.flat else choices.rows
        rows.count = tall(rows, ready.body, choices.lanes, target.register, target.registers, most)
    if rows.count < FEWEST or rows.count & (rows.count - 1):
        rows.columns = set()
    ready.rows = rows if rows.count > 1 else None


def run_lockstep(unit: VersionUnit) -> None:
    ready = unit.ready
    schedule = schedule_lockstep(ready.regions, unit.group_uniform, ready.shapes)
    if schedule is None:
        return
    cut = split_at_joins(ready.body, ready.regions, ready.shapes, ready.masks, schedule.known)
    if cut is not ready.regions:
        ready.regions = cut
        schedule = schedule_lockstep(cut, unit.group_uniform, ready.shapes)
    if schedule is not None and _is_row(unit.choices):
        fused = fuse_regions(ready.body, ready.regions, [step.next for step in schedule.steps], set(schedule.shared))
        if fused is not ready.regions:
            ready.regions = fused
            schedule = schedule_lockstep(fused, unit.group_uniform, ready.shapes)
    ready.schedule = schedule
    ready.storage = lay_out(ready.body, ready.regions, unit.choices, schedule.shared if schedule else ())
    ready.used = {arg for op in ready.body.ops for arg in op.args}


def _is_row(choices: Choices) -> bool:
    """Are all groups single rows of whole vectors?"""
    size = choices.group_size
    whole = size is not None and size[1:] == (1, 1) and choices.lanes > 1 and size[0] % choices.lanes == 0
    return whole and not choices.linear
