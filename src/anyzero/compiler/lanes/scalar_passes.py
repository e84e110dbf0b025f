"""The passes over a kernel's scalars, before anything is chosen for lanes: the beginning of the list in `passes.py`."""

from __future__ import annotations

from typing import Final

from anyzero.compiler.lanes import bodies
from anyzero.compiler.lanes.bodies import on_body
from anyzero.compiler.passes import Condition, Pass
from anyzero.compiler.transform.cse import cse
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.expand_collectives import expand_collectives
from anyzero.compiler.transform.infer_address_spaces import infer_address_spaces
from anyzero.compiler.transform.mem2reg import mem2reg

KERNEL: Final = "kernel"
"""The scope of a pass that runs once for the kernel."""

SCALAR_PASSES: Final = (
    Pass(
        "translate",
        bodies.run_translate,
        KERNEL,
        "SPIR-V into the compiler's own form (`ir.py`): every call inlined, every vector and structure split into "
        "scalars, addresses in bytes. Integers of odd widths become the next plain ones with masks, or pairs of 64 "
        "bits",
        "all later passes see scalars of plain widths in one body",
        (
            *("translate/kernel.py", "transform/legalize_integers.py", "transform/wide_integers.py"),
            *("transform/wide_floats.py", "transform/legalize_functions.py", "analysis/uses.py"),
            *("transform/blocks.py", "transform/phis.py"),
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
        "blocks in reverse postorder; one latch and an exit for each loop",
        "analyses and linearisation rely on this form, and the passes before it changed the blocks",
        (
            *("transform/loop_simplify.py", "transform/block_order.py", "transform/single_latch.py"),
            *("transform/virtual_exits.py", "analysis/loops.py"),
        ),
        functions=True,
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
        "which arguments point to memory that the first work-item reads or writes, for check mode's races between "
        "commands",
        "loads of variables are values, and loads are not moved past branches yet",
        ("analysis/first_item.py",),
    ),
)
