"""LLVM's text of a kernel: its regions, the loops around them, and the module."""

from __future__ import annotations

from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import Combine
from anyzero.compiler.lanes.units import ENTRY, FunctionUnit, KernelUnit, NumberingUnit
from anyzero.compiler.lanes.versions import BY_NAME
from anyzero.compiler.lower.combines import write_combine
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.lower.entry import either_entry, likely_entry, marked_entry, several_only
from anyzero.compiler.lower.flat import Strips, flat_entry
from anyzero.compiler.lower.group_batches import batch_size
from anyzero.compiler.lower.group_loops import STATE_BYTES, InteriorGroups, MergedGroups, group_entry
from anyzero.compiler.lower.group_pairs import are_paired
from anyzero.compiler.lower.local_memory import declare, initialized
from anyzero.compiler.lower.notes import group_notes
from anyzero.compiler.lower.private_sums import summing_entry
from anyzero.compiler.lower.regions import Written, write_function, write_pieces, write_region
from anyzero.compiler.lower.register_tiles import find_tiles
from anyzero.compiler.lower.row_lengths import row_lengths
from anyzero.compiler.transform.interior_version import Assumptions
from anyzero.compiler.transform.regions import ends_in_barrier
from anyzero.layouts.container_head import ROW_LENGTHS
from anyzero.lazy_dataclass import replace

SMALL_TILE = 256

LONG = 1000
"""From so many operations on, the body is a function that is not inlined into the work-item loops: LLVM would hoist all
its constants out of these loops, far more than there are registers.
"""

SHORT = 400
"""The same, where there is a version for groups away from the edges, which most groups run."""

MANY_REGIONS = 48
"""From so many regions on, each is a function of its own with its loops over vectors: LLVM's time for one function with
all of them grows faster than their number.
"""

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
"""All functions or none: functions with wide registers pass vectors in another way than functions without."""
_DECLARED = {"llvm.umin.i64", "llvm.umin.i32", "az_fault"}


def write_regions(unit: NumberingUnit) -> None:
    """Regions of the general version, and of the code for several rows or for the interior beside it."""
    ready, choices, rows = unit.general.ready, unit.choices, unit.rows
    unit.operations = sum(len(block.ops) for block in unit.general.body.blocks)
    unit.regions = 1 if ready.pieces else len(ready.regions)
    # Code for the edges, or for the last rows, is written once and called.
    edges = unit.interior is not None or (rows is not None and choices.flat)
    called = unit.called = edges or _longest(unit) > (LONG if unit.interior_groups is None else SHORT)
    _keep_tiles(unit)
    for index in range(unit.regions):
        if ready.pieces:
            write_pieces(ready, choices, unit.out, unit.before)
        elif called or not several_only(unit.row_count, max(choices.lanes, 1), choices.group_size):
            write_region(index, ready, choices, unit.out, unit.before, inline=not called, often=not edges)
        if rows is not None:
            inner = ready if unit.interior is None else unit.interior.ready
            write_region(index, inner, choices, unit.out, unit.before, rows)
    unit.per_vector = ready.storage.size + _state(unit)
    if unit.interior_groups is not None:
        inner, choices = unit.interior_groups.ready, unit.interior_groups.choices
        for index in range(len(inner.regions)):
            write_region(index, inner, choices, unit.out, unit.before)
        unit.per_vector = max(unit.per_vector, inner.storage.size)
    if unit.merged_groups is not None:
        ready, choices = unit.merged_groups.ready, unit.merged_groups.choices
        for index in range(len(ready.regions)):
            write_region(index, ready, choices, unit.out, unit.before)


def _keep_tiles(unit: NumberingUnit) -> None:
    """Looks for arrays that can stay in registers, in the version that most groups run."""
    made = unit.interior_groups or unit.general
    apart = made is unit.general and (unit.called or made.ready.pieces)
    if unit.rows is None and made.ready.schedule is not None and not apart and not _outlined(unit):
        made.ready.schedule.tiles = find_tiles(made.ready, made.choices)


def _outlined(unit: NumberingUnit) -> bool:
    """Is each region a function of its own?"""
    return unit.regions >= MANY_REGIONS


def _longest(unit: NumberingUnit) -> int:
    """How many operations would be inlined into one function."""
    if not _outlined(unit):
        return unit.operations
    regions = unit.general.ready.regions
    return max(sum(len(block.ops) for block in region.blocks) for region in regions)


def _state(unit: NumberingUnit) -> int:
    """Bytes of a vector's state: none in lockstep, else the number of its next region."""
    return STATE_BYTES if unit.regions > 1 and unit.general.ready.schedule is None else 0


def write_strips(unit: NumberingUnit) -> None:
    assert unit.strips is not None
    ready = unit.strips.ready
    for index in range(len(ready.regions)):
        write_region(index, ready, unit.strips.choices, unit.out, unit.before, ready.rows)
    unit.per_strip = ready.storage.size


def write_block_loops(unit: NumberingUnit) -> None:
    strips = None
    if unit.strips is not None:
        assert unit.strips.rows is not None
        ready = unit.strips.ready
        # Before AVX, what a strip keeps in memory costs more than the caches gain where rows are no power of two.
        strips = Strips(
            *(unit.strips.choices.prefix, unit.strips.rows.count, len(ready.regions), ready.storage.size),
            partial=_has_avx(unit),
        )
    twice, assumptions = BY_NAME["full vectors"].wants(unit), _assumptions(unit)
    large = unit.general.ready.streams.large(unit.choices.cache_bytes)
    checks = unit.checks
    # Accesses that are contiguous across rows take whole vectors.
    masked = unit.rows is not None and not unit.rows.columns
    if checks is not None:
        checks.settled = unit.interior is not None and unit.settled
    unit.out.functions.append(
        flat_entry(
            *(unit.entry, unit.choices, unit.before, twice, large, unit.row_count, assumptions, strips, checks, masked)
        )
    )


def _has_avx(unit: NumberingUnit) -> bool:
    return unit.choices.target.register >= 32


def _assumptions(unit: NumberingUnit) -> Assumptions | None:
    return None if unit.interior is None else unit.assumptions


def _interior_groups(unit: NumberingUnit) -> InteriorGroups | None:
    made = unit.interior_groups
    if made is None:
        return None
    assert made.ready.schedule is not None
    assert unit.inner_assumptions is not None
    return InteriorGroups(made.choices.prefix, made.ready.schedule, unit.inner_assumptions)


def _merged_groups(unit: NumberingUnit) -> MergedGroups | None:
    made = unit.merged_groups
    if made is None:
        return None
    assert made.ready.schedule is not None
    inner, size = unit.inner_assumptions, unit.choices.lanes
    assumptions = Assumptions() if inner is None else inner.of_neighbours(size, unit.merged)
    prefix, storage = made.choices.prefix, made.ready.storage
    return MergedGroups(prefix, made.ready.schedule, assumptions, unit.merged, storage.size)


def write_group_loops(unit: NumberingUnit) -> None:
    ready, choices, out = unit.general.ready, unit.choices, unit.out
    combines = _write_combines(unit)
    kept = unit.per_vector if unit.regions > 1 else 0
    local = initialized(unit.general.body.variables)
    declare(local, out)
    large = ready.streams.large(choices.cache_bytes)
    notes = group_notes(ready.regions, out) if out.note_sites else None

    schedule = ready.schedule
    if schedule is not None and (unit.called or unit.interior_groups is not None):
        # Code for the edges is not unrolled, nor are calls.
        schedule = replace(schedule, straight=False)

    def around(symbol: str, choices: Choices, twice: bool) -> list[str]:
        return group_entry(
            *(symbol, choices, unit.before, twice, unit.regions, kept, combines, schedule, large, unit.row_count),
            *(_assumptions(unit), local, _interior_groups(unit), _outlined(unit), notes, unit.batch, unit.paired),
            _merged_groups(unit),
        )

    if unit.merged_groups is None and _may_run_together(unit) and not (combines or local or notes):
        _run_together(unit)

    twice = BY_NAME["full vectors"].wants(unit)
    if not BY_NAME["likely group size"].wants(unit):
        out.functions += around(unit.entry, choices, twice)
        return
    assert choices.likely is not None
    usual, other = f"likely.{unit.entry}", f"any.{unit.entry}"
    out.functions += around(usual, replace(choices, group_size=choices.likely), twice)
    # Only a small tile implies the group size. A row may be shorter than the array that holds it, and a large tile is
    # often filled by fewer work-items.
    x, y, _ = choices.likely
    out.functions += around(other, choices, twice and (y == 1 or x * y > SMALL_TILE))
    out.functions.append(likely_entry(unit.entry, usual, other, choices.likely, choices))


def _may_run_together(unit: NumberingUnit) -> bool:
    """Can several groups run together, each in local memory of its own?"""
    choices, options = unit.choices, unit.options
    if choices.group_size is None or choices.lanes < 2 or not choices.whole_vectors:
        return False
    # A function finds local memory by itself, and checks of accesses know that of the launch.
    apart = _outlined(unit) or (unit.called and unit.interior_groups is None)
    return not (apart or options.one_version or options.check_memory or options.residency_checks)


def _run_together(unit: NumberingUnit) -> None:
    """Decides about batches and pairs."""
    size, lanes, inner = unit.choices.group_size, unit.choices.lanes, unit.interior_groups
    assert size is not None
    versions = [each.ready for each in (unit.general, inner) if each is not None]
    unit.batch = min(batch_size(each.schedule, size[0] // lanes * size[1] * size[2]) for each in versions)
    if unit.batch == 1 and are_paired(versions[-1], size):
        unit.batch, unit.paired = 2, True


def _write_combines(unit: NumberingUnit) -> dict[int, str]:
    """Functions by the number of the region that they run before."""
    ready, choices = unit.general.ready, unit.choices
    starts = {region.start: index for index, region in enumerate(ready.regions)}
    found = {}
    for block in ready.body.blocks:
        barrier = ends_in_barrier(block)
        if barrier is not None and isinstance(barrier.info, Combine):
            index = starts[block.successors[0]]
            found[index] = f"{choices.prefix}combine{index}"
            write_combine(found[index], barrier.info, ready.storage, _state(unit), unit.per_vector, choices, unit.out)
    return found


def write_choice_of_numbering(unit: KernelUnit) -> None:
    """Each of the numberings but the first is for launches with a mark; where there are two marks, the last one is for
    launches with both.
    """
    functions, choices = unit.out.functions, unit.choices
    entries = [each.entry for each in unit.numberings]
    if unit.row_length is not None:
        functions.append(row_lengths(ROW_LENGTHS.decode(), unit.row_length))
    marks = {"row_length": unit.row_length, "lane_dimension": unit.lane_dimension, "unaliased": unit.unaliased.written}
    found = [name for name, present in marks.items() if present][: len(entries) - 1]
    if not found:
        rows, linear = entries
        functions.append(either_entry(unit.entry, rows, linear, choices, unit.filled))
        return
    last = entries.pop()
    for mark in reversed(found):
        symbol = unit.entry if mark is found[0] else f"marked.{unit.entry}"
        functions.append(marked_entry(symbol, mark, last, entries.pop(), choices))
        last = symbol


def write_private_sums(unit: KernelUnit) -> None:
    inner, unit.entry = unit.entry, ENTRY
    unit.out.functions.append(summing_entry(ENTRY, inner, unit.sums, unit.choices))


def write_called(unit: FunctionUnit) -> None:
    ready = unit.version.ready
    if ready.storage.size and not unit.exported:
        raise CompileError("a function that is called by its address has too much private memory")
    write_function(unit.symbol, ready, unit.choices, unit.out)


def write_module(unit: KernelUnit | FunctionUnit) -> None:
    unit.text = module_text(unit.out, unit.choices)


def module_text(out: Written, choices: Choices) -> str:
    declarations = [text for name, text in out.declarations.items() if name not in _DECLARED]
    routines = [routine.text for routine in out.routines.values()]
    # Without a red zone, frames tell how much is spilled.
    every = f"attributes #0 = {{ nounwind noredzone {_NARROW if choices.narrow else ''} }}"
    functions, metadata = (out.functions, "") if choices.debug is None else choices.debug.finish(out.functions)
    return "\n".join([*out.globals.values(), *routines, *functions, *declarations, every, _ENDING, metadata])
