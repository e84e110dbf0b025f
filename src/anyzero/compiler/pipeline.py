"""From SPIR-V to machine code, step by step, with the reason for each place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anyzero import config
from anyzero.compiler import dump, translate
from anyzero.compiler.analysis.clusters import closed
from anyzero.compiler.analysis.cost import chains, estimate, mostly_wide
from anyzero.compiler.analysis.group_width import group_width, likely_group, most_lanes, suited
from anyzero.compiler.analysis.rows import MOST
from anyzero.compiler.analysis.spin_loops import may_wait
from anyzero.compiler.analysis.streaming_stores import memory_bound
from anyzero.compiler.analysis.termination import Termination, termination
from anyzero.compiler.analysis.uniformity import Flow, analyse
from anyzero.compiler.analysis.uses import Uses
from anyzero.compiler.compiled import Argument, CompiledKernel, Options
from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import Body, Variable
from anyzero.compiler.lower.debug_info import DebugInfo
from anyzero.compiler.lower.emitter import STRAIGHT, Choices
from anyzero.compiler.lower.memory import MOST_APART
from anyzero.compiler.lowering import lower_function, lower_kernel, prepare
from anyzero.compiler.spirv.float_controls import USUAL, FloatControls
from anyzero.compiler.spirv.kernel import Kernel
from anyzero.compiler.spirv.module import Module
from anyzero.compiler.targets import cpu
from anyzero.compiler.transform.cse import cse
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.expand_collectives import expand_collectives
from anyzero.compiler.transform.infer_address_spaces import infer_address_spaces
from anyzero.compiler.transform.interior_version import copied
from anyzero.compiler.transform.interleave import interleave
from anyzero.compiler.transform.licm import licm
from anyzero.compiler.transform.mem2reg import mem2reg
from anyzero.compiler.transform.unroll import unroll

ENTRY = "anyzero_kernel"

USUAL_ROWS = 4
"""Of a group in two dimensions whose size is not known."""

NEIGHBOURS = 8
"""Lanes of a GPU's thread, and of a register of 256 bits."""

SMALL = 16
"""Up to so many operations, a kernel without loops is compiled once."""

MOST_PRIVATE = (1 << 31) - 1
"""Bytes that the work-items of a vector may have together."""


def compile_kernel(module: Module, name: str, options: Options, linked: Sequence[Module] = ()) -> CompiledKernel:
    """One kernel of a verified module. Raises CompileError, whose text says which instruction is the trouble."""
    # Calls inlined and composites taken apart first: everything behind sees scalars in one body.
    translation = simplified(module, name, linked, options.debug)
    body, kernel, uses = translation.body, translation.kernel, translation.uses
    target = cpu.target(options.cpu, options.features)
    flow = prepare(body)
    # Before lanes are chosen: what is read in each round counts as much as there are rounds.
    licm(flow.loops)
    waits, end = may_wait(body, flow.loops), termination(body, flow)
    # Narrow registers have fewer lines of memory under way at a time, which leaves more of them to the prefetchers.
    narrow = target.halves and memory_bound(body, flow, target.lanes)
    flat = is_flat(uses)
    # Where all of it takes little time, a second stage would only take more.
    small = not flow.loops.all and sum(len(block.ops) for block in body.blocks) <= SMALL
    options = replace(options, quick=options.level == 0 or (options.quick and not small))
    lanes, why = choose_lanes(body, flow, options, target, kernel, uses, narrow)
    sub_group = 0
    required = kernel.required_sub_group_size or 0
    if uses.sub_groups and not options.lanes and (width := vector_of(body, lanes, target, free=not required)):
        # Where no size is required, a sub-group may as well be the shorter vector.
        sub_group, lanes = required, width
        why += f", and its lanes only speak to their neighbours among {width}"
    interleave(body, lanes)
    choices = Choices(
        lanes,
        target,
        options,
        sub_group=sub_group,
        flat=flat,
        group_size=kernel.required_group_size,
        likely=None if flat or kernel.required_group_size else kernel.group_size_hint or likely_group(body),
        rows=MOST if flat else _rows_of(kernel),
        narrow=narrow,
        mask=mask_element(body, flow, target, lanes),
        args_bytes=translation.args_bytes,
        debug=DebugInfo() if options.debug else None,
    )
    private = sum(variable.size for variable in body.variables if variable.space == "private")
    modules = [module, *linked]
    ready = [(body, flow)]

    # Sub-groups are made of neighbours by number, also where rows are no multiple of their size.
    both = uses.sub_groups and lanes > 1
    # Lowering uses a body up. A copy costs a tenth of translating and simplifying it again.
    spare = copied(body)[0] if both and not options.quick else None

    def again() -> tuple[Body, Flow]:
        if ready:
            return ready.pop()
        assert spare is not None
        return spare, prepare(spare)

    def functions(at: int, id_: int) -> Body:
        return _function(modules, at, id_, kernel.floats, options.debug)

    lowered = lower_kernel(ENTRY, again, choices, both, functions)
    barriers = lowered.regions > 1
    if lowered.per_vector > MOST_PRIVATE:
        raise CompileError(f"its private memory takes {lowered.per_vector} bytes for {lanes} work-items at once")
    code = _machine_code(name, lowered.text, target, options)
    # What a vector keeps from one region to the next, beside its private memory.
    kept = max(0, lowered.per_vector - private * lanes) if barriers else 0
    return CompiledKernel(
        name=name,
        entry=ENTRY,
        object=code.object,
        lanes=lanes,
        flat=choices.flat,
        shares_rows=choices.flat and lowered.rows > 1,
        barriers=barriers,
        printf=uses.printf,
        sub_groups=uses.sub_groups,
        arguments=tuple(_deciding(each, end) for each in translation.arguments),
        args_bytes=translation.args_bytes,
        local_bytes=translation.local_bytes,
        private_bytes=private,
        spill_bytes=-(-(kept + code.spilled) // lanes),
        # Without barriers a vector is done before the next one begins, which may use the same memory.
        scratch_fixed=0 if barriers else lowered.per_vector,
        scratch_per_vector=lowered.per_vector if barriers else lowered.per_strip,
        required_group_size=kernel.required_group_size,
        max_group_items=kernel.max_group_items,
        required_sub_groups=kernel.sub_groups_per_group or 0,
        required_sub_group_size=kernel.required_sub_group_size or 0,
        attributes=" ".join(attributes(kernel)),
        waits=waits,
        turns="unknown" if not end.known else "arguments" if end.varies else "constant",
        provisional=options.quick and options.level > 0,
        lanes_because=why,
    )


def _deciding(argument: Argument, end: Termination) -> Argument:
    """The argument, marked where it decides how often loops turn."""
    if not any(argument.offset <= offset < argument.offset + argument.size for offset in end.arguments):
        return argument
    return replace(argument, access=1)


def simplified(module: Module, name: str, linked: Sequence[Module] = (), debug: bool = False) -> translate.Translation:
    """A kernel in the compiler's own form, as it is when lanes are chosen; for those who want to look at it."""
    translation = translate.kernel(module, name, linked, debug)
    _simplify(translation.body)
    return translation


def compile_function(module: Module, name: str, options: Options, linked: Sequence[Module] = ()) -> CompiledKernel:
    """An exported function, for those who call it by its address."""
    id_ = module.exports.get(name)
    if id_ is None or id_ not in module.functions:
        raise CompileError(f'the module exports no function "{name}"')
    target = cpu.target(options.cpu, options.features)
    lanes = options.lanes or target.sub_group
    mask = "i1" if target.wide or lanes < 2 else "i32"
    choices = Choices(lanes, target, options, mask=mask, debug=DebugInfo() if options.debug else None)
    modules = [module, *linked]

    def functions(at: int, id_: int) -> Body:
        return _function(modules, at, id_, USUAL, options.debug)

    lowered = lower_function(ENTRY, functions(0, id_), choices, functions)
    return CompiledKernel(
        name=name,
        entry=ENTRY,
        object=_machine_code(name, lowered.text, target, options).object,
        lanes=lanes,
        flat=False,
        shares_rows=False,
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
    )


def _rows_of(kernel: Kernel) -> int:
    """How many rows a group is likely to have, or how many it is known to have."""
    return USUAL_ROWS if kernel.required_group_size is None else kernel.required_group_size[1]


def _function(modules: Sequence[Module], at: int, id_: int, floats: FloatControls, debug: bool) -> Body:
    """A function's body; modules are numbered as in the list, not as the function's own module sees them."""
    order = [at, *(place for place in range(len(modules)) if place != at)]
    body = translate.function(modules[at], id_, [modules[place] for place in order[1:]], floats=floats, debug=debug)
    for op in body.ops:
        if op.name == "function":
            op.info = order[op.info[0]], op.info[1]
    for variable in _all(body.variables):
        variable.module = order[variable.module]
        variable.functions = tuple((place, (order[at], id_)) for place, (at, id_) in variable.functions)
    _simplify(body)
    return body


def _all(variables: Sequence[Variable]) -> list[Variable]:
    """With those whose addresses they hold, each once."""
    found = dict.fromkeys(variables)
    waiting = list(found)
    while waiting:
        new = {target: None for _, target, _ in waiting.pop().addresses if target not in found}
        found |= new
        waiting += new
    return list(found)


def _simplify(body: Body) -> None:
    # Variables become values before anybody asks how values differ between lanes.
    mem2reg(body)
    # Short loops over private arrays hide that each element has a place of its own; unrolled, they become values too.
    if unroll(body):
        mem2reg(body)
    infer_address_spaces(body)
    cse(body)
    dce(body)
    # Barriers that come of collectives must be there before the body is looked at.
    expand_collectives(body)


def choose_lanes(
    body: Body, flow: Flow, options: Options, target: cpu.Target, kernel: Kernel, uses: Uses, narrow: bool = False
) -> tuple[int, str]:
    """How many, and why, in words. `narrow` says that registers of half the size are used."""
    if flow.loops.irreducible:
        # Nothing to linearise where there is but one lane.
        return 1, "a loop has several entries, which only one lane can run"
    if options.lanes:
        return options.lanes, "as asked for"
    if kernel.required_sub_group_size:
        return kernel.required_sub_group_size, "the kernel requires sub-groups of this size"
    if uses.sub_groups:
        return target.sub_group, "a sub-group is a vector register of floats"
    if uses.calls:
        # Perhaps by kernels of other modules.
        return target.sub_group, "functions that are called by address all have the lanes of a register"
    shapes = analyse(body, flow, target.lanes)
    together, alone = estimate(body, flow, shapes, target.lanes, target.register)
    costs = f"{target.lanes} work-items cost {together:.0f} as a vector, {alone:.0f} one by one"
    if together >= alone:
        return 1, f"a vector would not pay: {costs}"
    flat = is_flat(uses)
    # A value of a vector that is several registers long takes as many: few values find room.
    wanted = chains(body, flow, shapes, flat, target.registers)
    registers = 1 if options.large_registers else min(wanted, 2 if narrow else 4)
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


def mask_element(body: Body, flow: Flow, target: cpu.Target, lanes: int) -> str:
    """What masks are between blocks: bits where the processor has registers for them, else as wide as the data."""
    if target.wide or lanes < 2:
        return "i1"
    return "i64" if mostly_wide(body, analyse(body, flow, lanes)) else "i32"


def vector_of(body: Body, size: int, target: cpu.Target, *, free: bool) -> int:
    """The lanes of the vectors that a sub-group may run as, where these are shorter than it; else 0.

    `free` says that the sub-group's size is the compiler's choice.
    """
    width = NEIGHBOURS
    # Where registers hold a whole sub-group, shorter vectors pay in narrow groups only.
    narrow = target.halves or any(op.name == "builtin" and op.info == ("local_id", 1) for op in body.ops)
    return width if width < size and (size > target.lanes or narrow) and closed(body, width, free) else 0


def is_flat(uses: Uses) -> bool:
    """May work-items of different groups share a vector, and groups be cut?"""
    return not (uses.barriers or uses.local or uses.sub_groups or uses.calls) and not (
        {"local_id", "group_id", "group_size", "group_count"} & uses.builtins
    )


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


def _machine_code(name: str, text: str, target: cpu.Target, options: Options) -> cpu.Compiled:
    made = cpu.compile_text(text, target, options.level, options.quick)
    if folder := config.read(only=["dump"]).dump:
        assembly = cpu.assembly(made.optimised, target, 0 if options.quick else options.level)
        dump.write(folder, name, {"ll": text, "opt.ll": str(made.optimised), "s": assembly})
    return made
