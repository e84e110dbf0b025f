"""Conditions that hold for a prefix of a row: its work-items up to some id."""

from __future__ import annotations

from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.ir import Op
from anyzero.compiler.operations import SWAPPED
from anyzero.lazy_namedtuple import NamedTuple


class PrefixCondition(NamedTuple):
    """The comparison of `id` and `bound`; `id == 0` counts as `id < 1`."""

    id: Op
    bound: Op | None
    """None for 1."""
    predicate: str


def prefix_condition(mask: Op, shapes: Shapes, flat: bool) -> PrefixCondition | None:
    """The condition as a prefix of the row: true for work-items below some id. Narrow ids count where they cannot wrap
    around within a vector.
    """
    if mask.name != "icmp":
        return None
    low, high, predicate = *mask.args, mask.info
    if predicate in ("sgt", "sge", "ugt", "uge"):
        low, high, predicate = high, low, SWAPPED[predicate]
    zero = predicate == "eq" and high.name == "const" and high.info == 0
    if not zero and predicate not in ("slt", "sle", "ult", "ule"):
        return None
    inner = low
    if inner.name == "cast" and inner.info in ("sext", "zext") and inner.args[0].type == "i32":
        inner = inner.args[0]
    narrow = inner.name == "cast" and inner.info == "trunc" and inner.type == "i32"
    inner = inner.args[0] if narrow else inner
    if inner.name != "builtin" or shapes[inner].stride != 1 or not shapes[high].uniform:
        return None
    if narrow and not flat and inner.info[0] == "global_id":
        return None
    return PrefixCondition(low, None, "ult") if zero else PrefixCondition(low, high, predicate)
