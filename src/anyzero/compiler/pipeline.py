"""From SPIR-V to machine code, step by step, with the reason for each place."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from anyzero.compiler.analysis.cost import vectors_pay
from anyzero.compiler.analysis.dominators import dominators
from anyzero.compiler.analysis.loops import find_loops
from anyzero.compiler.analysis.shapes import Flow, Shapes, analyse
from anyzero.compiler.analysis.uses import Uses
from anyzero.compiler.compiled import CompiledKernel, Globals, Options
from anyzero.compiler.ir import Body, Combine
from anyzero.compiler.lower.combines import write_combine
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.lower.entry import STATE_BYTES, flat_entry, group_entry
from anyzero.compiler.lower.regions import Storage, Written, lay_out, write_region
from anyzero.compiler.spirv.kernel import Kernel
from anyzero.compiler.spirv.module import Module
from anyzero.compiler.targets import cpu
from anyzero.compiler.transform.collectives import take_apart
from anyzero.compiler.transform.linearise import connect, linearise
from anyzero.compiler.transform.number import number
from anyzero.compiler.transform.one_latch import one_latch
from anyzero.compiler.transform.reach import repair
from anyzero.compiler.transform.regions import Region, ends_in_barrier, split

TWICE = 600
"""Up to so many operations, whole vectors and the rest of a row get code of their own."""

FEW = 80
"""Operations of a kernel that is small enough for four registers to a vector."""

ENTRY = "anyzero_kernel"

_ATTRIBUTES = """
attributes #0 = { alwaysinline nounwind "no-trapping-math"="true" }
attributes #1 = { nounwind "no-trapping-math"="true" }
!0 = !{!"branch_weights", i32 1, i32 2000000}
!1 = !{}
"""


def prepare(body: Body) -> Flow:
    """What the analyses and the linearisation rely on: numbered blocks, one latch for each loop."""
    number(body)
    immediate = dominators(body.blocks[0], lambda block: block.successors)
    loops = find_loops(body, immediate)
    if not loops.irreducible and one_latch(body, loops):
        immediate = dominators(body.blocks[0], lambda block: block.successors)
        loops = find_loops(body, immediate)
    return Flow(body, loops, immediate)


def choose_lanes(body: Body, flow: Flow, options: Options, target: cpu.Target, kernel: Kernel, uses: Uses) -> int:
    if flow.loops.irreducible:
        # Nothing to linearise where there is but one lane.
        return 1
    fixed = options.lanes or kernel.required_sub_group_size
    if fixed or uses.sub_groups:
        return fixed or target.lanes
    shapes = analyse(body, flow, target.lanes)
    if not vectors_pay(body, flow, shapes, target.lanes, target.register):
        return 1
    return target.lanes * chains(body, shapes, uses)


def chains(body: Body, shapes: Shapes, uses: Uses) -> int:
    """How many registers a vector should fill: operations that do not wait for each other keep the processor busy."""
    if is_flat(uses):
        # Rows are long. Few operations, none of which goes lane by lane, leave enough registers for four.
        few = sum(len(block.ops) for block in body.blocks) <= FEW and not any(
            op.name in ("load", "store") and shapes[op.args[0]].varying for op in body.ops
        )
        return 4 if few else 2
    # A kernel that asks for places in more than one dimension is likely to have narrow groups.
    narrow = any(op.name == "builtin" and op.info[0] in ("local_id", "global_id") and op.info[1] for op in body.ops)
    return 1 if narrow else 2


def is_flat(uses: Uses) -> bool:
    """May work-items of different groups share a vector?"""
    return not (uses.barriers or uses.local or uses.sub_groups or uses.calls) and not (
        {"local_id", "group_id"} & uses.builtins
    )


def compile_kernel(module: Module, name: str, options: Options, linked: Sequence[Module] = ()) -> CompiledKernel:
    """One kernel of a verified module. Raises CompileError, whose text says which instruction is the trouble."""
    from anyzero.compiler import translate
    from anyzero.compiler.transform.dead import remove_dead
    from anyzero.compiler.transform.promote import promote

    # Calls inlined and composites taken apart first: everything behind sees scalars in one body.
    translation = translate.kernel(module, name, linked)
    body, kernel, uses = translation.body, translation.kernel, translation.uses
    # Variables become values before anybody asks how values differ between lanes.
    promote(body)
    remove_dead(body)
    target = cpu.target(options.cpu, options.features)
    # Barriers that come of collectives must be there before the body is looked at.
    take_apart(body)
    flow = prepare(body)
    lanes = choose_lanes(body, flow, options, target, kernel, uses)
    choices = Choices(lanes, target.gathers if options.gathers is None else options.gathers, options.greater_than_4gb)
    text, storage, regions, flat = lower(body, flow, choices, translation.uses)
    object_, optimised = cpu.compile_text(text, target, options.level)
    dump(name, text, optimised, target, options.level)
    private = sum(variable.size for variable in body.variables if variable.space == "private")
    per_vector = storage.size + (STATE_BYTES if regions > 1 else 0)
    # Without barriers one vector's memory is enough: the next vector may overwrite it.
    return CompiledKernel(
        name=name,
        entry=ENTRY,
        object=object_,
        lanes=lanes,
        flat=flat,
        barriers=regions > 1,
        printf=uses.printf,
        sub_groups=uses.sub_groups,
        arguments=translation.arguments,
        args_bytes=translation.args_bytes,
        local_bytes=translation.local_bytes,
        private_bytes=private,
        spill_bytes=0,
        scratch_fixed=0 if regions > 1 else per_vector,
        scratch_per_vector=per_vector if regions > 1 else 0,
        required_group_size=kernel.required_group_size,
        max_group_items=0,
        required_sub_groups=kernel.sub_groups_per_group or 0,
        required_sub_group_size=kernel.required_sub_group_size or 0,
        attributes=" ".join(attributes(kernel)),
    )


def lower(body: Body, flow: Flow, choices: Choices, uses: Uses) -> tuple[str, Storage, int, bool]:
    """LLVM's text, the memory each vector needs, how many regions there are, and whether groups can be fused."""
    shapes = analyse(body, flow, choices.lanes)
    masks = linearise(body, flow, shapes)
    connect(body)
    repair(body, shapes, masks)
    # Last of what changes the body: from here on a value may have to cross from one region to another.
    regions = split(body, shapes, masks)
    storage = lay_out(body, regions, choices.lanes, shapes)
    out = Written()
    used = {arg for op in body.ops for arg in op.args}
    for index, region in enumerate(regions):
        write_region(index, region, regions, choices, shapes, masks, storage, used, out)
    size = sum(len(block.ops) for block in body.blocks)
    flat = is_flat(uses)
    if flat:
        entry = flat_entry(ENTRY, choices.lanes, size <= TWICE)
    else:
        per_vector = storage.size + STATE_BYTES if len(regions) > 1 else 0
        combines = write_combines(body, regions, storage, per_vector, choices.lanes, out)
        entry = group_entry(ENTRY, choices.lanes, size <= TWICE, len(regions), per_vector, combines)
    parts = [*out.globals.values(), *(routine.text for routine in out.routines.values()), *out.functions, entry]
    defined = "\n".join(parts)
    needed = {
        "llvm.umin.i64": "declare i64 @llvm.umin.i64(i64, i64)",
        "llvm.umin.i32": "declare i32 @llvm.umin.i32(i32, i32)",
    }
    needed["az_fault"] = "declare void @az_fault(ptr, i32, i64) cold noreturn nounwind"
    return "\n".join([defined, *{**needed, **out.declarations}.values(), _ATTRIBUTES]), storage, len(regions), flat


def write_combines(
    body: Body, regions: list[Region], storage: Storage, per_vector: int, lanes: int, out: Written
) -> dict[int, str]:
    """Functions by the number of the region that they run in front of."""
    starts = {region.start: index for index, region in enumerate(regions)}
    found = {}
    for block in body.blocks:
        barrier = ends_in_barrier(block)
        if barrier is not None and isinstance(barrier.info, Combine):
            index = starts[block.successors[0]]
            found[index] = f"combine{index}"
            write_combine(found[index], barrier.info, storage, per_vector, lanes, out)
    return found


def attributes(kernel: Kernel) -> list[str]:
    """As OpenCL C spells them, for zeKernelGetSourceAttributes."""
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


def layout_globals(module: Module) -> Globals:
    from anyzero.compiler import translate

    made = translate.layout(module)
    return Globals(made.image, made.size, made.alignment, tuple(made.relocations), made.names)


def dump(name: str, text: str, optimised: object, target: cpu.Target, level: int) -> None:
    """What ANYZERO_DUMP asks for: the LLVM IR as written, as optimised, and the assembly."""
    folder = os.environ.get("ANYZERO_DUMP", "")
    if folder:
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        safe = "".join(each if each.isalnum() else "_" for each in name)[:100]
        (path / f"{safe}.ll").write_text(text)
        (path / f"{safe}.opt.ll").write_text(str(optimised))
        (path / f"{safe}.s").write_text(cpu.assembly(optimised, target, level))
