"""The box of active work-items: bounds of the global ids beyond which every work-item ends at once, without any effect.

Kernels are launched with more work-items than there are elements, and begin with a check: `if (x >= n || y >= n)
return;`. The checks before the first effect are linear in an id and in arguments, so the launch itself shows which part
of it has work to do, and the loops need not visit the rest.
"""

from __future__ import annotations

from anyzero.compiler.analysis.affine import Form, Forms
from anyzero.compiler.analysis.early_exits import outcomes_before_effects
from anyzero.compiler.ir import Body, Op
from anyzero.lazy_dataclass import dataclass, field

__all__ = ["ActiveBox", "active_box"]


@dataclass(slots=True)
class ActiveBox:
    sides: list[Form] = field(default_factory=list)
    """Sums of one global id, arguments and constants; where one of them is negative, a work-item ends at once."""
    operands: list[tuple[Form, str, bool]] = field(default_factory=list)
    """Operands of the comparisons, with their types and whether they are unsigned: the sides are what the kernel
    computes only where none of them wraps around in the whole launch.
    """


def active_box(body: Body, forms: Forms) -> ActiveBox | None:
    """None where no check bounds an id."""
    found = ActiveBox()
    for op, wanted in outcomes_before_effects(body).items():
        if op.name == "icmp" and op.args[0].type in ("i32", "i64"):
            _add(op, wanted, forms, found)
    return found if found.sides else None


def _add(op: Op, wanted: bool, forms: Forms, found: ActiveBox) -> None:
    first, second = (forms.of(arg) for arg in op.args)
    if first is None or second is None or op.info in ("eq", "ne"):
        return
    apart = first.plus(second, -1)
    if apart is None or not _bounds_an_id(apart):
        return
    kind = op.info[-2:]
    # Numbers that are not equal are at least one apart.
    distance = int((kind[1] == "t") == wanted)
    side = Form((), -distance, -distance).plus(apart, -1 if (kind[0] == "l") == wanted else 1)
    if side is not None:
        found.sides.append(side)
        found.operands += [(form, op.args[0].type, op.info[0] == "u") for form in (first, second)]


def _bounds_an_id(form: Form) -> bool:
    """Is it a single global id, once, and otherwise the same for all work-items?"""
    if len(form.ids) != 1 or form.low != form.high:
        return False
    (_, what), factor = form.ids[0]
    return isinstance(what, tuple) and what[0] == "global_id" and abs(factor) == 1
