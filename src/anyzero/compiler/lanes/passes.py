"""The passes from SPIR-V to machine code for the lanes of a CPU, in their order, each with the reason for its place.

docs/compiler.md shows this list as a table: `python -m anyzero.compiler` writes it.
"""

from __future__ import annotations

from typing import Final

from anyzero.compiler.lanes import bodies, choice, machine_code, versions, writing
from anyzero.compiler.lanes.bodies import on_body
from anyzero.compiler.lanes.units import FunctionUnit, KernelUnit
from anyzero.compiler.lanes.version_passes import VERSION_PASSES
from anyzero.compiler.passes import Condition, Pass, run
from anyzero.compiler.transform.cse import cse
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.expand_collectives import expand_collectives
from anyzero.compiler.transform.if_conversion import if_conversion
from anyzero.compiler.transform.infer_address_spaces import infer_address_spaces
from anyzero.compiler.transform.mem2reg import mem2reg

KERNEL: Final = "kernel"
"""Once for the kernel."""
NUMBERING: Final = "numbering"
"""For each way in which work-items are numbered along lanes."""


def run_called_functions(unit: KernelUnit | FunctionUnit) -> None:
    for each in unit.called():
        run(FUNCTION_PASSES, each)


_WHOLE_MODULE = Condition("kernels and exported functions", lambda unit: isinstance(unit, KernelUnit) or unit.exported)

PASSES: Final = (
    Pass(
        "translate",
        bodies.run_translate,
        KERNEL,
        "SPIR-V into the compiler's own form (`ir.py`): every call inlined, every vector and structure split into "
        "scalars, addresses in bytes. Integers of odd widths become the next plain ones with masks, or pairs of 64 "
        "bits, and sign extensions that clang wrote as shifts become casts",
        "all later passes see scalars of plain widths in one body",
        (
            *("translate/kernel.py", "transform/legalize_integers.py", "transform/wide_integers.py"),
            *("transform/wide_floats.py", "transform/legalize_functions.py", "analysis/uses.py"),
            *("transform/shifts_to_casts.py", "transform/blocks.py", "transform/phis.py"),
        ),
        functions=True,
    ),
    Pass(
        "mem2reg",
        on_body(mem2reg),
        KERNEL,
        "private variables become values, so that code compiled without optimisation is as good as any; a load through "
        "one of two pointers becomes two loads and a select. Operations with constant operands are folded",
        "variables become values before any analysis asks how values differ between lanes",
        (
            *("transform/mem2reg.py", "analysis/promotable.py", "analysis/addresses.py"),
            *("analysis/liveness.py", "transform/speculate_loads.py", "transform/simplify.py"),
        ),
        functions=True,
    ),
    Pass(
        "unroll",
        bodies.run_unroll,
        KERNEL,
        "loops of few, known iterations are unrolled",
        "the addresses of private arrays become constants",
        ("transform/unroll.py", "analysis/trip_count.py"),
        functions=True,
    ),
    Pass(
        "mem2reg-unrolled",
        on_body(mem2reg),
        KERNEL,
        "elements of private arrays become values",
        "short loops over private arrays hid that each element has a place of its own",
        ("transform/mem2reg.py",),
        Condition("a loop was unrolled", lambda unit: unit.unrolled),
        functions=True,
    ),
    Pass(
        "infer-address-spaces",
        on_body(infer_address_spaces),
        KERNEL,
        "accesses through generic pointers that can only point into one memory become accesses of that memory",
        "pointers that lay in variables are values now",
        ("transform/infer_address_spaces.py",),
        functions=True,
    ),
    Pass(
        "cse",
        on_body(cse),
        KERNEL,
        "an operation that was computed on every path before is not computed again",
        "unrolled iterations and inlined calls repeat each other",
        ("transform/cse.py",),
        functions=True,
    ),
    Pass(
        "dce",
        on_body(dce),
        KERNEL,
        "operations without users and effects are removed",
        "costs and rows are counted by operations later on",
        ("transform/dce.py",),
        functions=True,
    ),
    Pass(
        "if-conversion",
        on_body(if_conversion),
        KERNEL,
        "a side of a branch with at most two cheap operations is computed in any case, and selects take the place of "
        "the branch",
        "operations without users do not count; loops and costs are found afterwards",
        ("transform/if_conversion.py",),
        functions=True,
    ),
    Pass(
        "global-ids",
        bodies.run_global_ids,
        KERNEL,
        "`group_id * group_size + local_id` becomes the global id, where the kernel does not depend on its groups then",
        "sums are in one form, and the first choice that depends on the use of groups comes later",
        ("transform/global_ids.py",),
        Condition("no checks, which report ids with the launch's offset", lambda unit: not unit.options.checks),
    ),
    Pass(
        "expand-collectives",
        on_body(expand_collectives),
        KERNEL,
        "a work-group's collective becomes partial results, a barrier, and their combination",
        "its barriers must be there before any analysis of control flow",
        ("transform/expand_collectives.py",),
        functions=True,
    ),
    Pass(
        "loop-simplify",
        bodies.run_loop_simplify,
        KERNEL,
        "blocks in reverse postorder; one entry, one latch, an exit and a preheader for each loop",
        "analyses and linearisation rely on this form, and the passes before it changed the blocks",
        (
            *("transform/loop_simplify.py", "transform/block_order.py", "transform/single_entry.py"),
            *("transform/single_latch.py", "transform/virtual_exits.py", "transform/preheaders.py"),
            "analysis/loops.py",
        ),
        functions=True,
    ),
    Pass(
        "grid-stride",
        bodies.run_grid_stride,
        KERNEL,
        "the loop `for (i = global_id; i < n; i += global_size)` around a kernel is left to the loops over blocks",
        "needs loops, before loads are hoisted out of them",
        ("transform/grid_stride.py",),
        Condition("no groups, no checks", lambda unit: unit.translation.uses.flat and not unit.options.checks),
    ),
    Pass(
        "derive-inductions",
        bodies.run_derive_inductions,
        KERNEL,
        "in loops with barriers, pointers and indices that advance beside the counter are computed from it again",
        "needs loops; counters are recognised in one form afterwards",
        ("transform/derived_inductions.py", "analysis/induction.py"),
        Condition("barriers", lambda unit: unit.translation.uses.barriers),
    ),
    Pass(
        "licm",
        bodies.run_licm,
        KERNEL,
        "a load that no iteration of a loop changes is hoisted out of the loop",
        "before lanes are chosen: the cost of an operation counts as often as its loop iterates",
        ("transform/licm.py",),
    ),
    Pass(
        "spin-loops",
        bodies.run_spin_loops,
        KERNEL,
        "may the kernel wait for memory that others write? Then it never runs on a thread that has other work",
        "needs loops; once is enough for all versions",
        ("analysis/spin_loops.py",),
    ),
    Pass(
        "termination",
        bodies.run_termination,
        KERNEL,
        "the number of iterations depends on nothing, on arguments and the launch's size, or on memory. Only kernels "
        "that are known to end run on the thread of a caller that does not wait",
        "needs loops; once is enough for all versions",
        ("analysis/termination.py", "analysis/induction.py"),
    ),
    Pass(
        "first-item",
        bodies.run_first_item,
        KERNEL,
        "which arguments point to memory that the first work-item reads or writes, and what the others of its row "
        "write behind that, for check mode's races between commands and early reads by the host",
        "loads of variables are values, and loads are not moved past branches yet",
        ("analysis/first_item.py",),
    ),
    Pass(
        "scalar-promotion",
        bodies.run_scalar_promotion,
        KERNEL,
        "an element of memory that a loop updates in each iteration stays in a register, where the loop accesses no "
        "other memory that may be the same",
        "the waits of spin loops are known; costs are those of the loops that are left",
        ("transform/scalar_promotion.py", "analysis/aliases.py", "analysis/distances.py"),
        Condition(
            "buffers of at most 4 GiB, no checks and counters, which see each access, no loops that wait for memory",
            bodies.may_promote_scalars,
        ),
    ),
    Pass(
        "stage",
        choice.choose_stage,
        KERNEL,
        "the first stage has one version of the kernel, but all of a small one",
        "before the first choice that differs between stages",
        ("lanes/choice.py",),
    ),
    Pass(
        "delinearize",
        choice.choose_rows,
        KERNEL,
        "an id that the kernel divides by arguments or constants becomes a column and a row: launches that such rows "
        "fill run in two dimensions",
        "before all choices that depend on dimensions; needs loops and their costs",
        (
            *("transform/delinearize.py", "analysis/products.py", "analysis/divisions.py", "lanes/choice.py"),
            *("analysis/early_exits.py", "analysis/cost.py"),
        ),
        Condition("no groups; not in the first stage, not with checks", choice.may_delinearize),
    ),
    Pass(
        "separate-arguments",
        bodies.run_separate_arguments,
        KERNEL,
        "code that gains where each argument leads to memory of its own has a version for that: elements that loops "
        "update stay in registers, repeated loads are dropped, and more accesses can be merged",
        "before lanes are chosen, by the costs of this version",
        (
            *("transform/scalar_promotion.py", "transform/forward_loads.py", "transform/merge_accesses.py"),
            "analysis/aliases.py",
        ),
        Condition(
            "as for promoted scalars; up to 1,000 operations, 300 where there is a version for rows, no sub-groups, "
            "atomics and private arrays; not in the first stage",
            bodies.may_separate,
        ),
    ),
    Pass(
        "interchange",
        choice.choose_lane_dimension,
        KERNEL,
        "lanes along another dimension than the first one, where a vector costs less so: matrices whose rows are "
        "numbered by the first one",
        "needs loops and their costs; every pass from here on takes lanes for neighbours along the first dimension",
        ("transform/interchange.py", "lanes/choice.py", "analysis/cost.py"),
        Condition(
            "ids of several dimensions; no groups, images or grid-stride loop; not in the first stage, not with checks",
            choice.may_interchange,
        ),
    ),
    Pass(
        "register-width",
        choice.choose_registers,
        KERNEL,
        "kernels that memory limits use registers of half the size: with fewer lines of memory under way at a time, "
        "more of them are left to the prefetchers",
        "before the number of lanes, which follows from it",
        ("lanes/choice.py", "analysis/streaming_stores.py"),
    ),
    Pass(
        "private-sums",
        bodies.run_private_sums,
        KERNEL,
        "atomic operations without a result, on few elements of a buffer, become plain ones on copies of each thread, "
        "which are applied when the thread has run its groups",
        "the waits of spin loops are known; the number of lanes depends on what operations cost",
        ("transform/private_sums.py", "analysis/index_limits.py"),
        Condition(
            "no checks, no residency checks, no loops that wait for memory, not in the first stage",
            lambda unit: (
                not (unit.options.one_version or unit.options.checks or unit.options.residency_checks or unit.waits)
            ),
        ),
    ),
    Pass(
        "narrow-integers",
        bodies.run_narrow_integers,
        KERNEL,
        "what C promotes from bytes and shorts to `int` is computed in 16 bits, where ranges or the users of the "
        "results show that these suffice",
        "before the number of lanes, which depends on the width of most values",
        ("transform/narrow_integers.py", "analysis/narrow_values.py", "analysis/value_ranges.py"),
        Condition("not in the first stage", lambda unit: not unit.options.one_version),
    ),
    Pass(
        "choose-lanes",
        choice.choose_vector,
        KERNEL,
        "does a vector pay, and how many registers long is it?",
        "needs costs of the simplified body",
        (
            *("lanes/choice.py", "analysis/cost.py", "analysis/uniformity.py", "analysis/known_bits.py"),
            *("analysis/group_width.py", "analysis/row_walks.py"),
        ),
    ),
    Pass(
        "cut-sub-groups",
        choice.cut_sub_group,
        KERNEL,
        "a sub-group whose operations connect neighbours only becomes several shorter vectors",
        "it shortens the vectors that were chosen",
        ("lanes/choice.py", "analysis/clusters.py"),
        Condition(
            "sub-groups, and lanes are not set by the user",
            lambda unit: unit.translation.uses.sub_groups and not unit.options.lanes,
        ),
    ),
    Pass(
        "unroll-barriers",
        bodies.run_unroll_barriers,
        KERNEL,
        "tiny loops with a barrier in them, as those of a tree over a group, are unrolled: each step knows how many "
        "vectors and lanes it has",
        "behind the number of lanes, which unrolled code would change; before private arrays get their places",
        ("transform/unroll.py", "analysis/trip_count.py"),
        Condition(
            "not in the first stage: each step becomes regions of its own", lambda unit: not unit.options.one_version
        ),
    ),
    Pass(
        "unroll-tiles",
        bodies.run_unroll_tiles,
        KERNEL,
        "loops of few iterations that begin with a local id, as where a group fills a tile, are unrolled: the mask of "
        "each iteration is a constant",
        "behind the number of lanes, as above; before the body is copied for its versions",
        ("transform/unroll_tiles.py", "analysis/affine.py"),
        Condition(
            "groups of a known size; not in the first stage",
            lambda unit: not unit.options.one_version and unit.translation.kernel.required_group_size is not None,
        ),
    ),
    Pass(
        "interleave",
        bodies.run_interleave,
        KERNEL,
        "private arrays: the same element of all lanes is contiguous",
        "needs the number of lanes",
        ("transform/interleave.py",),
    ),
    Pass(
        "record-choices",
        choice.record_choices,
        KERNEL,
        "everything that was chosen, and the element type of masks, in one record",
        "the body is the one that all versions start from",
        ("lanes/choice.py", "lower/emitter.py", "analysis/short_elements.py"),
    ),
    Pass(
        "number-lanes",
        versions.number_lanes,
        KERNEL,
        "one copy of the body for each numbering of lanes",
        "the passes below use their body up",
        ("lanes/versions.py",),
    ),
    Pass(
        "undo-software-pipelining",
        bodies.run_pipelined_loads,
        NUMBERING,
        "a value that a loop loads one iteration ahead is loaded in the iteration that uses it",
        "before fission counts the values that a loop carries",
        ("transform/pipelined_loads.py", "analysis/plain_loops.py"),
        Condition(
            "no bounds checks, which a load that is not done would escape", lambda unit: not unit.options.check_memory
        ),
    ),
    Pass(
        "unroll-columns",
        bodies.run_unroll_columns,
        NUMBERING,
        "a loop in which each lane reads or writes along a row of a matrix is unrolled, so that several iterations of "
        "a lane are one access; conditions at run time keep loads from passing stores of the same memory",
        "before fission, which would separate the accesses",
        ("transform/unroll_columns.py", "analysis/columns.py", "analysis/row_order.py"),
        Condition(
            "lanes along rows, buffers of at most 4 GiB, loops that may have such accesses; loops with stores not in "
            "the first stage, and not with checks",
            bodies.has_columns,
        ),
    ),
    Pass(
        "pack-components",
        bodies.run_pack_components,
        NUMBERING,
        "sums over two neighbouring floats of each lane become one vector of both, in the order of memory",
        "after the loads are in the iterations that use them, and before fission counts registers",
        ("transform/pack_components.py", "analysis/plain_loops.py"),
        Condition(
            "lanes along rows that fill at most half of a register, and a loop that loads two floats and carries some; "
            "not with checks",
            bodies.has_components,
        ),
    ),
    Pass(
        "fission",
        bodies.run_fission,
        NUMBERING,
        "a loop that carries more sums than there are registers becomes several loops, each with a part of the sums",
        "before the body is copied for its versions",
        ("transform/fission.py", "analysis/lane_loads.py"),
        Condition("lanes along rows, and a loop carries more than there are registers", bodies.is_crowded),
    ),
    Pass(
        "active-box",
        bodies.run_active_box,
        NUMBERING,
        "the checks with which work-items end before any effect, where they are linear in one id: the loops over "
        "blocks visit no work-item beyond them",
        "before the body is copied for its versions",
        ("analysis/active_box.py", "analysis/early_exits.py", "lower/active_box.py", "lower/active_rows.py"),
        Condition(
            "kernels without groups; not in the first stage, and not with checks or counters, which see each work-item",
            lambda unit: (
                unit.choices.flat
                and unit.choices.grid_stride is None
                and not (unit.options.one_version or unit.options.checks or unit.options.count_lanes)
            ),
        ),
    ),
    Pass(
        "interior-version",
        bodies.run_interior_version,
        NUMBERING,
        "a copy for work-items whose bounds checks all pass, by conditions that are linear in ids and arguments",
        "it copies the body, which the general version uses up",
        ("transform/interior_version.py", "analysis/affine.py", "analysis/early_exits.py"),
        versions.BY_NAME["interior"].when,
    ),
    Pass(
        "interior-groups",
        bodies.run_interior_groups,
        NUMBERING,
        "a copy for groups whose bounds checks all pass: comparisons of local ids are settled by the group's size",
        "it copies the body, which the general version uses up",
        ("transform/interior_version.py", "analysis/affine.py", "analysis/early_exits.py"),
        versions.BY_NAME["interior groups"].when,
    ),
    Pass(
        "merge-groups",
        bodies.run_merge_groups,
        NUMBERING,
        "a copy for neighbouring groups as one, with rows that fill a register: work-items compute their ids and their "
        "places in local memory from their place in such a row, and sums that contain `group_id * group_size + "
        "local_id` stay strided",
        "after the version for groups away from the edges, whose body it copies where there is one",
        ("transform/merge_groups.py",),
        versions.BY_NAME["merged groups"].when,
    ),
    Pass(
        "copy-for-strips",
        bodies.copy_for_strips,
        NUMBERING,
        "a copy whose loops will be cut into strips",
        "after the interior version, whose body it copies where there is one",
        ("lanes/versions.py",),
        versions.BY_NAME["strips"].when,
    ),
    *VERSION_PASSES,
    Pass(
        "write-regions",
        writing.write_regions,
        NUMBERING,
        "LLVM's text of the regions, for one row and for several. The code asks at run time whether strides that only "
        "a bound could break hold. Arrays in local memory that small groups can keep in registers are found",
        "all versions are ready, and the kept ones are known",
        (
            *("lower/regions.py", "lower/emitter.py", "analysis/speculative_stride.py"),
            *("lower/tile_contents.py", "lower/static_lanes.py", "lower/windows.py"),
            "analysis/memory_dependence.py",
            "analysis/prefix_conditions.py",
        ),
    ),
    Pass(
        "write-strips",
        writing.write_strips,
        NUMBERING,
        "LLVM's text of the strip-mined version",
        "values that the other regions need before the loops come first",
        ("lower/regions.py",),
        Condition("strips", lambda unit: unit.strips is not None),
    ),
    Pass(
        "write-block-loops",
        writing.write_block_loops,
        NUMBERING,
        "loops over blocks of work-items, whose size the engine chooses",
        "needs the launch invariants of all regions, which are computed before the loops",
        ("lower/flat.py", "lower/launch_invariants.py"),
        Condition("kernels without groups", lambda unit: unit.choices.flat),
    ),
    Pass(
        "write-group-loops",
        writing.write_group_loops,
        NUMBERING,
        "loops over groups and their vectors, and functions that combine partial results of collectives",
        "needs the launch invariants of all regions, which are computed before the loops",
        (
            *("lower/group_loops.py", "lower/group_pairs.py", "lower/lockstep.py", "lower/register_tiles.py"),
            *("lower/region_functions.py", "lower/launch_invariants.py"),
        ),
        Condition("kernels with groups", lambda unit: not unit.choices.flat),
    ),
    Pass(
        "write-choice-of-numbering",
        writing.write_choice_of_numbering,
        KERNEL,
        "the entry point, which calls the code of one numbering or the other",
        "both are written",
        ("lower/entry.py", "lower/row_lengths.py"),
        Condition("several numberings", lambda unit: len(unit.numberings) > 1),
    ),
    Pass(
        "write-private-sums",
        writing.write_private_sums,
        KERNEL,
        "the entry point, which fills the thread's copies, calls the code for its groups, and applies them",
        "that code is written",
        ("lower/private_sums.py",),
        Condition("private sums", lambda unit: bool(unit.sums)),
    ),
    Pass(
        "write-function",
        writing.write_called,
        KERNEL,
        "LLVM's text of a function that is called by its address",
        "its version is ready",
        ("lower/regions.py", "lower/calls.py"),
        Condition("functions", lambda unit: isinstance(unit, FunctionUnit)),
        functions=True,
    ),
    Pass(
        "called-functions",
        run_called_functions,
        KERNEL,
        "the functions whose addresses the code takes, each by the passes of this list that are marked ƒ",
        "the written code tells which ones there are",
        ("lanes/passes.py", "lower/calls.py"),
        _WHOLE_MODULE,
        functions=True,
    ),
    Pass(
        "write-module",
        writing.write_module,
        KERNEL,
        "all functions, constants and declarations as one text",
        "nothing is added from here on",
        ("lanes/writing.py", "lower/debug_info.py", "lower/line_marks.py"),
        _WHOLE_MODULE,
        functions=True,
    ),
    Pass(
        "machine-code",
        machine_code.emit,
        KERNEL,
        "LLVM optimises the text and makes a relocatable ELF object; the frame tells how much is spilled",
        "last",
        ("targets/cpu.py", "targets/frame.py"),
        _WHOLE_MODULE,
        functions=True,
    ),
)

FUNCTION_PASSES: Final = tuple(each for each in PASSES if each.functions)
"""Of functions that are called by their address."""
