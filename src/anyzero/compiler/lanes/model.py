"""The execution model of a CPU's lanes: the first unit of its list, and the record for launches at the end."""

from __future__ import annotations

from collections.abc import Mapping

from anyzero.compiler.compiled import Argument, CompiledKernel
from anyzero.compiler.errors import CompileError
from anyzero.compiler.lanes import machine_code
from anyzero.compiler.lanes.choice import for_function
from anyzero.compiler.lanes.passes import PASSES
from anyzero.compiler.lanes.units import ENTRY, FunctionUnit, KernelUnit
from anyzero.compiler.line_table import NO_LINES, LineTable
from anyzero.compiler.lower.lane_counts import counter_places
from anyzero.compiler.lower.regions import Written
from anyzero.compiler.passes import ExecutionModel, Source
from anyzero.compiler.spirv.kernel import Kernel
from anyzero.compiler.targets import cpu
from anyzero.compiler.transform.bounds_checks import WORD
from anyzero.layouts.container import ArgumentUse
from anyzero.lazy_dataclass import replace


def start(source: Source) -> KernelUnit:
    return KernelUnit(source, source.options, cpu.target(source.options.cpu, source.options.features))


def compiled(unit: KernelUnit) -> CompiledKernel:
    translation, last = unit.translation, unit.numberings[-1]
    # The translation's kernel also requires the group size that this code is compiled for; programs do not see that.
    kernel = unit.source.module.kernels[unit.source.name]
    barriers, lanes, end = last.regions > 1, unit.lanes, unit.termination
    # A vector's memory across regions, beside its private variables.
    kept = max(0, unit.per_vector - unit.private_bytes * lanes) if barriers else 0
    return CompiledKernel(
        name=unit.source.name,
        entry=unit.entry,
        object=unit.code.object,
        lanes=lanes,
        flat=unit.choices.flat,
        shares_rows=unit.choices.flat and last.row_count > 1,
        short_elements=unit.choices.flat and unit.short_elements,
        lane_dimension=unit.lane_dimension,
        divides_ids=unit.row_length is not None,
        barriers=barriers,
        printf=translation.uses.printf,
        sub_groups=translation.uses.sub_groups,
        arguments=tuple(_written(_used(each, unit), unit.out) for each in translation.arguments),
        args_bytes=translation.args_bytes,
        local_bytes=translation.local_bytes,
        private_bytes=unit.private_bytes,
        spill_bytes=-(-(kept + unit.code.spilled) // lanes),
        # Without barriers a vector is done before the next one begins, which may use the same memory.
        scratch_fixed=0 if barriers else unit.per_vector,
        scratch_per_vector=unit.per_vector * max(each.batch for each in unit.numberings)
        if barriers
        else max(each.per_strip for each in unit.numberings),
        required_group_size=kernel.required_group_size,
        max_group_items=kernel.max_group_items,
        required_sub_groups=kernel.sub_groups_per_group or 0,
        required_sub_group_size=kernel.required_sub_group_size or 0,
        attributes=" ".join(attributes(kernel)),
        waits=unit.waits,
        turns="unknown" if not end.known else "arguments" if end.varies else "constant",
        provisional=unit.options.quick and unit.options.level > 0,
        checked=unit.options.check_memory,
        noted=bool(unit.out.note_sites) or (unit.options.notes and bool(unit.out.check_sites)),
        fits_groups=_fits_groups(unit),
        lanes_because=unit.lanes_because,
        lines=_lines(unit),
        counters=counter_places(unit.out.counters),
    )


def _lines(unit: KernelUnit | FunctionUnit) -> LineTable:
    marks = unit.choices.debug
    return NO_LINES if marks is None else marks.table(unit.code.object, whole=bool(unit.out.counters))


def _fits_groups(unit: KernelUnit) -> bool:
    """May the kernel be compiled again for the group size of its launches? Not with functions by address, which kernels
    share, nor with sub-groups, whose size programs see. Code that is linked, debugged or not optimised has one stage.
    """
    options, translation = unit.options, unit.translation
    known = unit.choices.flat or translation.kernel.required_group_size is not None
    once = unit.source.linked or options.debug or options.level == 0
    return not (known or once or translation.uses.sub_groups or translation.uses.calls)


def _used(argument: Argument, unit: KernelUnit) -> Argument:
    """The argument, with how the kernel uses it."""
    end, first = unit.termination, unit.first_item
    if argument.kind == "image":
        return argument
    uses = (
        (ArgumentUse.COUNTS_TURNS, end.arguments),
        (ArgumentUse.FIRST_READS, first.reads),
        (ArgumentUse.FIRST_WRITES, first.writes),
        (ArgumentUse.FIRST_NEEDS_POSITIVE, first.positive),
        (ArgumentUse.LEADING_BELOW, first.limits),
        (ArgumentUse.SEPARATE_READS, unit.unaliased.read),
        (ArgumentUse.SEPARATE_WRITES, unit.unaliased.written),
    )
    within = range(argument.offset, argument.offset + argument.size)
    access = sum(use for use, offsets in uses if any(each in within for each in offsets))
    return replace(argument, access=access, leading_writes=_leading(unit).get(argument.offset, 0))


def _leading(unit: KernelUnit) -> Mapping[int, int]:
    """What leading work-items write. Of a number inside of a structure, launches do not know where it ends."""
    whole = {(each.offset, each.size) for each in unit.translation.arguments}
    first = unit.first_item
    return first.leading if whole.issuperset(first.limits.items()) else {}


def _written(argument: Argument, out: Written) -> Argument:
    """The argument, marked if a kernel that notes its accesses may write through it."""
    words = range(argument.offset // WORD, -(-(argument.offset + argument.size) // WORD))
    if argument.kind == "image" or not out.written_words.intersection(words):
        return argument
    return replace(argument, access=argument.access | ArgumentUse.MAY_WRITE)


def attributes(kernel: Kernel) -> list[str]:
    """In OpenCL C's spelling, for zeKernelGetSourceAttributes."""
    found = []
    if kernel.required_group_size:
        found.append(f"reqd_work_group_size({','.join(map(str, kernel.required_group_size))})")
    if kernel.group_size_hint:
        found.append(f"work_group_size_hint({','.join(map(str, kernel.group_size_hint))})")
    if kernel.required_sub_group_size:
        found.append(f"intel_reqd_sub_group_size({kernel.required_sub_group_size})")
    if kernel.vec_type_hint:
        found.append(f"vec_type_hint({kernel.vec_type_hint})")
    return found


def start_function(source: Source) -> FunctionUnit:
    """An exported function, for code that calls it by its address."""
    id_ = source.module.exports.get(source.name)
    if id_ is None or id_ not in source.module.functions:
        raise CompileError(f'the module exports no function "{source.name}"')
    modules = [source.module, *source.linked]
    # Counters are numbered for each kernel, and any kernel may call the function.
    options = replace(source.options, count_lanes=False)
    return FunctionUnit(modules, 0, id_, ENTRY, for_function(options, modules), name=source.name, exported=True)


def compiled_function(unit: FunctionUnit) -> CompiledKernel:
    return CompiledKernel(
        name=unit.name,
        entry=ENTRY,
        object=unit.code.object,
        lanes=unit.choices.lanes,
        flat=False,
        shares_rows=False,
        short_elements=False,
        barriers=False,
        printf=False,
        sub_groups=False,
        arguments=(),
        args_bytes=0,
        local_bytes=0,
        private_bytes=0,
        spill_bytes=0,
        scratch_fixed=0,
        scratch_per_vector=0,
        required_group_size=None,
        max_group_items=0,
        required_sub_groups=0,
        required_sub_group_size=0,
        attributes="",
        lines=_lines(unit),
    )


LANES = ExecutionModel(
    "lanes of a CPU",
    PASSES,
    start,
    compiled,
    forms=(
        ("body", "loop-simplify", KernelUnit.show),
        ("ir", "write-module", KernelUnit.show),
        ("llvm", "machine-code", machine_code.optimised),
        ("asm", "machine-code", machine_code.assembly),
    ),
)
