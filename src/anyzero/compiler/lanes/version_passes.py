"""The passes of each version of a body, in their order: a section of the list in `passes.py`."""

from __future__ import annotations

from typing import Final

from anyzero.compiler.lanes import bodies, versions
from anyzero.compiler.passes import Condition, Pass

VERSION: Final = "version"
"""For each version of the body."""

_WITHIN_4GB = Condition("buffers of at most 4 GiB", lambda unit: not unit.options.greater_than_4gb)

VERSION_PASSES: Final = (
    Pass(
        "loop-simplify-copy",
        bodies.run_version_loops,
        VERSION,
        "the loops of a copied body",
        "every pass below needs them",
        ("transform/loop_simplify.py",),
        Condition("interior, interior groups, merged groups, strips", lambda unit: unit.flow is None),
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
        "texel-checks",
        bodies.run_texel_checks,
        VERSION,
        "a call in front of each access of an image: the engine compares the coordinates with the image's size, and "
        "finds texels that nothing has written",
        "behind all copies of the body, and in front of notes: an image access has none",
        ("transform/texel_checks.py", "lower/bounds.py"),
        Condition("`ANYZERO_CHECK=memory,races,init`", lambda unit: unit.options.check_memory or unit.options.notes),
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
        "merge-accesses",
        bodies.run_merge_accesses,
        VERSION,
        "loads of neighbouring elements, as `a[2 * i]` and `a[2 * i + 1]`, become one of several components; so do "
        "stores",
        "needs uniformity, and comes before the analysis that describes stores",
        ("transform/merge_accesses.py", "analysis/distances.py"),
        Condition(
            "several lanes, buffers of at most 4 GiB, no checks of accesses",
            lambda unit: (
                unit.choices.lanes > 1
                and not (unit.options.greater_than_4gb or unit.options.check_memory or unit.options.notes)
            ),
        ),
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
        "prefetch-streams",
        bodies.run_prefetch_streams,
        VERSION,
        "kernels that compute much with neighbouring numbers prefetch those of later vectors",
        "needs uniformity, and loads that are merged",
        ("transform/prefetch_streams.py",),
        Condition("kernels without groups; not in the first stage", bodies.has_streams),
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
        "a body of more than 1,200 operations becomes functions of some 600 each; long branches and loops are cut "
        "from 12,000 on: parts of LLVM take time quadratic in a function's length",
        "masks count as operations, and slots carry values across the cuts",
        ("transform/outline.py", "transform/outline_branches.py"),
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
)
