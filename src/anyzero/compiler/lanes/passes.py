"""The passes from SPIR-V to machine code for the lanes of a CPU, in their order, each with the reason for its place.

docs/compiler.md shows this list as a table: `python -m anyzero.compiler` writes it.
"""

from __future__ import annotations

from typing import Final

from anyzero.compiler.lanes import bodies, choice, machine_code, versions, writing
from anyzero.compiler.lanes.scalar_passes import KERNEL, SCALAR_PASSES
from anyzero.compiler.lanes.units import FunctionUnit, KernelUnit
from anyzero.compiler.passes import Condition, Pass, run

NUMBERING: Final = "numbering"
"""For each way in which work-items are numbered along lanes."""
VERSION: Final = "version"
"""For each version of the body."""


def run_called_functions(unit: KernelUnit | FunctionUnit) -> None:
    for each in unit.called():
        run(FUNCTION_PASSES, each)


_WHOLE_MODULE = Condition("kernels and exported functions", lambda unit: isinstance(unit, KernelUnit) or unit.exported)
_WITHIN_4GB = Condition("buffers of at most 4 GiB", lambda unit: not unit.options.greater_than_4gb)

PASSES: Final = (
    *SCALAR_PASSES,
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
        "stage",
        choice.choose_stage,
        KERNEL,
        "the first stage has one version of the kernel, but all of a small one",
        "before the first choice that differs between stages",
        ("lanes/choice.py",),
    ),
    Pass(
        "choose-lanes",
        choice.choose_vector,
        KERNEL,
        "does a vector pay, and how many registers long is it?",
        "needs costs of the simplified body",
        (
            *("lanes/choice.py", "analysis/cost.py", "analysis/uniformity.py", "analysis/known_bits.py"),
            "analysis/group_width.py",
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
        ("lanes/choice.py", "lower/emitter.py"),
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
        "a loop in which each lane reads along a row of a matrix is unrolled, so that several iterations of a lane are "
        "one load",
        "before fission, which would separate the loads",
        ("transform/unroll_columns.py", "analysis/columns.py"),
        Condition("lanes along rows, buffers of at most 4 GiB, loops that may have such loads", bodies.has_columns),
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
        "interior-version",
        bodies.run_interior_version,
        NUMBERING,
        "a copy for work-items whose bounds checks all pass, by conditions that are linear in ids and arguments",
        "it copies the body, which the general version uses up",
        ("transform/interior_version.py", "analysis/affine.py"),
        versions.BY_NAME["interior"].when,
    ),
    Pass(
        "interior-groups",
        bodies.run_interior_groups,
        NUMBERING,
        "a copy for groups whose bounds checks all pass: comparisons of local ids are settled by the group's size",
        "it copies the body, which the general version uses up",
        ("transform/interior_version.py", "analysis/affine.py"),
        versions.BY_NAME["interior groups"].when,
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
    Pass(
        "loop-simplify-copy",
        bodies.run_version_loops,
        VERSION,
        "the loops of a copied body",
        "every pass below needs them",
        ("transform/loop_simplify.py",),
        Condition("interior, interior groups, strips", lambda unit: unit.flow is None),
    ),
    Pass(
        "strip-mine",
        bodies.run_strip_mine,
        VERSION,
        "loops that read far apart from iteration to iteration, as those of a product of matrices, are cut into strips "
        "of 64 iterations; a version without such loops is dropped",
        "it changes loops, which the analyses below describe",
        ("transform/strip_mine.py",),
        Condition("strips", lambda unit: unit.name == "strips"),
    ),
    Pass(
        "block-accesses",
        bodies.run_block_accesses,
        VERSION,
        "block reads and writes of sub-groups become a load or a store of each component",
        "checks of accesses see loads and stores only",
        ("transform/block_accesses.py",),
        Condition("`ANYZERO_CHECK=memory,races,init`", lambda unit: unit.options.check_memory or unit.options.notes),
        functions=True,
    ),
    Pass(
        "bounds-checks",
        bodies.run_bounds_checks,
        VERSION,
        "a comparison of each access with the bounds of the memory that its pointer was made from",
        "behind all copies of the body; the analyses below describe the bounds as well",
        ("transform/bounds_checks.py", "lower/bounds.py"),
        Condition("`ANYZERO_CHECK=memory`", lambda unit: unit.options.check_memory),
        functions=True,
    ),
    Pass(
        "version-guards",
        bodies.run_version_guards,
        VERSION,
        "a chain of `if`s around accesses, as where a tile is written element by element, gets a copy without them, "
        "for vectors in which all conditions hold",
        "before uniformity: the values of the copy are uniform or strided where the chain's are phis",
        ("transform/version_guards.py",),
        Condition(
            "several lanes; not in the first stage, and not with checks, which count each access once",
            lambda unit: (
                unit.choices.lanes > 1
                and not (unit.options.one_version or unit.options.check_memory or unit.options.notes)
            ),
        ),
    ),
    Pass(
        "uniformity",
        bodies.run_uniformity,
        VERSION,
        "values that are the same in all lanes, or a constant apart; branches that lanes take differently",
        "all changes of loops are done",
        ("analysis/uniformity.py", "analysis/known_bits.py", "analysis/induction.py"),
        functions=True,
    ),
    Pass(
        "merge-accesses",
        bodies.run_merge_accesses,
        VERSION,
        "loads and stores of neighbouring components in a block become one, where that makes a vector's access "
        "contiguous",
        "needs strides; before the analyses that describe each access",
        ("transform/merge_accesses.py",),
        Condition("no bounds checks, which each belong to one access", lambda unit: not unit.options.check_memory),
        functions=True,
    ),
    Pass(
        "group-uniformity",
        bodies.run_group_uniformity,
        VERSION,
        "values that are the same in all work-items of a group",
        "needs control flow as the kernel has it, before linearisation",
        ("analysis/group_uniformity.py",),
        Condition("barriers", lambda unit: unit.barriers),
        functions=True,
    ),
    Pass(
        "streaming-stores",
        bodies.run_streaming_stores,
        VERSION,
        "stores that may bypass the caches",
        "needs control flow as the kernel has it, before linearisation",
        ("analysis/streaming_stores.py",),
        functions=True,
    ),
    Pass(
        "prefetch",
        bodies.run_prefetch,
        VERSION,
        "loops with steps of unknown length prefetch what they read later",
        "needs uniformity, and the loops' own counters, which widening replaces",
        ("transform/prefetch.py",),
        functions=True,
    ),
    Pass(
        "widen-induction",
        bodies.run_widen_induction,
        VERSION,
        "indices of 32 bits that grow by a constant in each iteration are widened before the loop, and counted "
        "with 64 bits",
        "needs uniformity, and loops that are still loops of scalars",
        ("transform/widen_induction.py",),
        _WITHIN_4GB,
        functions=True,
    ),
    Pass(
        "widen-sums",
        bodies.run_widen_sums,
        VERSION,
        "sums of 32 bits that do not wrap around are added with 64 bits: neighbours share an index, and differ in the "
        "displacements of their addresses",
        "after the indices of loops, which are widened as a whole",
        ("transform/widen_sums.py",),
        functions=True,
    ),
    Pass(
        "residency-checks",
        bodies.run_residency_checks,
        VERSION,
        "a check before each access ([architecture.md](architecture.md#residency))",
        "after everything that moves or removes accesses: each stays with its check from here on",
        ("transform/residency_checks.py",),
        Condition("devices without on-demand paging", lambda unit: unit.options.residency_checks),
        functions=True,
    ),
    Pass(
        "notes",
        bodies.run_notes,
        VERSION,
        "the engine is told of each access of memory that work-items share, and of the lanes that reach barriers and "
        "collective operations",
        "after everything that moves or removes accesses, and before control flow becomes masks",
        ("transform/access_notes.py", "lower/notes.py"),
        Condition("`ANYZERO_CHECK=races,init,sync`", lambda unit: unit.options.notes or unit.options.check_sync),
        functions=True,
    ),
    Pass(
        "lane-counts",
        bodies.run_lane_counts,
        VERSION,
        "a counter of executions and active lanes at the start of each block",
        "after everything that copies or removes blocks, and before control flow becomes masks",
        ("transform/lane_counts.py", "lower/lane_counts.py"),
        Condition("profiles with lanes", lambda unit: unit.options.count_lanes),
        functions=True,
    ),
    Pass(
        "linearise",
        bodies.run_linearise,
        VERSION,
        "every divergent branch becomes straight code under masks",
        "the passes before it reason about branches, the passes after it about masks",
        ("transform/linearise.py", "analysis/joins.py", "transform/pending.py"),
        functions=True,
    ),
    Pass(
        "ssa-repair",
        bodies.run_ssa_repair,
        VERSION,
        "values reach their users again after blocks were moved, through slots",
        "linearisation broke dominance",
        ("transform/ssa_repair.py",),
        functions=True,
    ),
    Pass(
        "outline",
        bodies.run_outline,
        VERSION,
        "a body of more than 1,200 operations becomes functions of some 600 each, where it can be cut: parts of LLVM "
        "take time quadratic in a function's length",
        "masks count as operations, and slots carry values across the cuts",
        ("transform/outline.py",),
        Condition("general, without barriers", lambda unit: unit.general and not unit.barriers),
    ),
    Pass(
        "regions",
        bodies.run_regions,
        VERSION,
        "the body is cut at the barriers of the group; slots that outlive barriers get their places",
        "last of the passes that change every body: a value may have to cross from one region to another from here on",
        ("transform/regions.py", "analysis/liveness.py", "lower/regions.py"),
        functions=True,
    ),
    Pass(
        "rows",
        bodies.run_rows,
        VERSION,
        "how many rows of work-items run at once, which operations each does by itself, and which accesses are "
        "contiguous across rows",
        "needs regions, and masks that show whether rows may go different ways",
        ("analysis/rows.py", "analysis/row_columns.py"),
        Condition(
            versions.BY_NAME["several rows"].when.text,
            lambda unit: not unit.pieces and versions.BY_NAME["several rows"].wants(unit),
        ),
        functions=True,
    ),
    Pass(
        "lockstep",
        bodies.run_lockstep,
        VERSION,
        "where all vectors of a group take the same path from barrier to barrier, group-uniform values are kept "
        "once for the group; regions end where paths from several barriers join, and neighbours are fused where an "
        "order of the vectors makes the barrier between them redundant",
        "needs regions; rows that run at once exclude it",
        ("lower/lockstep_schedule.py", "transform/split_at_joins.py", "transform/fuse_regions.py"),
        Condition(
            "several regions, one row at a time",
            lambda unit: not unit.pieces and unit.rows is None and len(unit.ready.regions) > 1,
        ),
        functions=True,
    ),
    Pass(
        "write-regions",
        writing.write_regions,
        NUMBERING,
        "LLVM's text of the regions, for one row and for several. The code asks at run time whether strides that only "
        "a bound could break hold",
        "all versions are ready, and the kept ones are known",
        (
            *("lower/regions.py", "lower/emitter.py", "analysis/speculative_stride.py"),
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
        ("lower/group_loops.py", "lower/lockstep.py", "lower/region_functions.py", "lower/launch_invariants.py"),
        Condition("kernels with groups", lambda unit: not unit.choices.flat),
    ),
    Pass(
        "write-choice-of-numbering",
        writing.write_choice_of_numbering,
        KERNEL,
        "the entry point, which calls the code for rows or for linear numbers",
        "both are written",
        ("lower/entry.py",),
        Condition("two numberings", lambda unit: len(unit.numberings) > 1),
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
