"""Group uniformity: values that all work-items of a group share, in every vector of it."""

from __future__ import annotations

from anyzero.compiler.analysis.uniformity import UNIFORM, VARYING, Finding, Flow, Shape, Shapes
from anyzero.compiler.ir import Block, Body, Combine, Op, Slot
from anyzero.compiler.operations import DIVISIONS, PURE

GROUP_IDS = frozenset({
    "group_id", "global_size", "group_size", "group_count", "global_offset", "work_dim", "sub_group_max_size",
    "sub_group_count",
})  # fmt: skip


def group_uniform(body: Body, flow: Flow) -> set[Op]:
    """Operations whose result is the same in all work-items of a group, each time that they execute it.

    Values of divergent loops are left out: work-items that left early keep the value of an older iteration.
    """
    shapes = Shapes()
    _Together(body, flow, shapes).run()
    apart = {block for loop in shapes.divergent_loops for block in loop.blocks}
    return {op for op, shape in shapes.of.items() if shape.uniform and op.block not in apart}


def same_for_group(op: Op) -> bool:
    """May the result be the same for the whole group if the operands are?"""
    if op.name == "builtin":
        return op.info[0] in GROUP_IDS
    if op.name == "variable":
        return bool(op.info.space != "private")
    if op.name == "load":
        # An unordered write in between would be a data race with the reads of the other work-items.
        return not op.info.volatile
    if op.name == "intrinsic":
        return bool(op.args)
    return op.name in DIVISIONS or (op.name in PURE and op.name not in ("entry_mask", "any"))


class _Together(Finding):
    """Uniformity of a whole group, taken as one vector whose lanes have varying ids."""

    def __init__(self, body: Body, flow: Flow, shapes: Shapes) -> None:
        super().__init__(body, flow, shapes, 0, False, False)
        self.totals: set[Slot] = {
            op.info.slot for op in body.ops if isinstance(op.info, Combine) and op.info.kind in ("total", "pick")
        }

    def _shape(self, op: Op, block: Block) -> Shape | None:
        if op.name == "read":
            return UNIFORM if op.info in self.totals else VARYING
        if not same_for_group(op):
            return VARYING
        given = [self._argument(each, block) for each in op.args]
        if any(shape is None for shape in given):
            return None
        return UNIFORM if all(shape is not None and shape.uniform for shape in given) else VARYING
