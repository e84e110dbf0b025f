"""Limits of indices: from types, masks and remainders, and from the comparisons that lead to a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from anyzero.compiler.dominators import Dominators
from anyzero.compiler.ir import WIDTHS, Block, Op
from anyzero.compiler.operations import OPPOSITE, SWAPPED

__all__ = ["Limits"]

STEPS = 200
"""Operations that a question may look at."""
GROUP_ITEMS = 1 << 31
"""No group has more work-items."""


class Limits:
    """The limit of a value where a block runs: as an unsigned number, the value is below it."""

    def __init__(self, immediate: Dominators[Block], group_size: tuple[int, int, int] | None = None) -> None:
        self._immediate = immediate
        self._group_size = group_size
        self._left = 0
        self._assumed: dict[Op, int] = {}
        """Limits of the phis whose operands are being looked at."""

    def of(self, value: Op, block: Block) -> int:
        self._left = STEPS
        return self._limit(value, block)

    def _limit(self, value: Op, block: Block, to: Block | None = None) -> int:
        """Where `to` is given, on the way from the block to that one."""
        most = 1 << WIDTHS.get(value.type, 64)
        self._left -= 1
        if self._left < 0:
            return most
        rule = _RULES.get(value.name)
        # What exceeds the type wraps around.
        found = most if rule is None else rule(self, value, block)
        limit, signed, positive = found if found <= most else most, most, False
        for predicate, bound in self._comparisons(value, block, to):
            match predicate:
                case "ult":
                    limit = min(limit, bound)
                case "ule" | "eq":
                    limit = min(limit, bound + 1)
                case "slt" if bound <= most // 2:
                    signed = min(signed, bound)
                case "sle" if bound < most // 2:
                    signed = min(signed, bound + 1)
                case "sge":
                    positive |= bound < most // 2
                case "sgt":
                    positive |= bound < most // 2 or bound == most - 1
        if positive or self._stays_positive(value, block):
            limit = min(limit, most // 2)
        return min(limit, signed) if limit <= most // 2 else limit

    def _comparisons(self, value: Op, block: Block, to: Block | None) -> Iterator[tuple[str, int]]:
        """Those with constants that hold on all paths to the block."""
        for condition, holds in self._conditions(block, to):
            if condition.name == "icmp" and value in condition.args:
                (left, right), predicate = condition.args, condition.info
                if left is not value:
                    right, predicate = left, SWAPPED[predicate]
                if right.name == "const":
                    yield predicate if holds else OPPOSITE[predicate], int(right.info)

    def _conditions(self, block: Block, to: Block | None) -> Iterator[tuple[Op, bool]]:
        """The conditions of the branches on every path to the block, and whether they hold."""
        if to is not None:
            yield from _condition(block, to)
        here: Block | None = block
        while here is not None:
            if len(here.predecessors) == 1:
                yield from _condition(here.predecessors[0], here)
            here = self._immediate.get(here)

    def _stays_positive(self, value: Op, block: Block) -> bool:
        """Is it positive as a signed number because its operands are?"""
        if value.name == "add" and "nsw" in value.flags:
            return all(self._positive(arg, block) for arg in value.args)
        return (
            value.name == "math"
            and value.info == ("s_max", 1)
            and any(self._positive(arg, block) for arg in value.args)
        )

    def _positive(self, value: Op, block: Block) -> bool:
        return self._limit(value, block) <= _half(value)

    # Rules

    def constant(self, value: Op, _: Block) -> int:
        return int(value.info) + 1

    def builtin(self, value: Op, _: Block) -> int:
        name, *dimension = value.info
        if name not in ("local_id", "group_size"):
            return 1 << 64
        size = GROUP_ITEMS - 1 if self._group_size is None or not dimension else self._group_size[dimension[0]]
        return size if name == "local_id" else size + 1

    def cast(self, value: Op, block: Block) -> int:
        if value.info not in ("zext", "sext", "trunc"):
            return 1 << 64
        limit = self._limit(value.args[0], block)
        return limit if value.info != "sext" or limit <= _half(value.args[0]) else 1 << 64

    def smallest(self, value: Op, block: Block) -> int:
        return min(self._limit(arg, block) for arg in value.args)

    def largest(self, value: Op, block: Block) -> int:
        return max(self._limit(arg, block) for arg in value.args[1:])

    def total(self, value: Op, block: Block) -> int:
        return sum(self._limit(arg, block) - 1 for arg in value.args) + 1

    def product(self, value: Op, block: Block) -> int:
        a, b = (self._limit(arg, block) - 1 for arg in value.args)
        return a * b + 1

    def shifted(self, value: Op, block: Block) -> int:
        by = value.args[1]
        if by.name != "const" or by.info >= WIDTHS.get(value.type, 64):
            return 1 << 64
        most, bits = self._limit(value.args[0], block) - 1, int(by.info)
        return (most << bits if value.name == "shl" else most >> bits) + 1

    def first(self, value: Op, block: Block) -> int:
        return self._limit(value.args[0], block)

    def remainder(self, value: Op, block: Block) -> int:
        # By zero it is undefined.
        return max(self._limit(value.args[1], block) - 1, 1)

    def maths(self, value: Op, block: Block) -> int:
        name, components = value.info
        if components == 1 and (
            name == "u_min" or (name == "s_min" and all(self._positive(arg, block) for arg in value.args))
        ):
            return self.smallest(value, block)
        if components == 1 and name in ("s_clamp", "u_clamp"):
            low, high = value.args[1:]
            # With the bounds the wrong way round it is undefined.
            if name == "u_clamp" or (self._positive(low, block) and self._positive(high, block)):
                return self._limit(high, block)
        return 1 << 64

    def merged(self, value: Op, _: Block) -> int:
        if value in self._assumed:
            return self._assumed[value]
        limit = self._largest_way(value, 1 << 64)
        if limit < 1 << WIDTHS.get(value.type, 64):
            return limit
        # Of a counter: if it has been below the bound of its loop, then it stays below.
        bound = self._bound(value)
        return limit if self._largest_way(value, bound) > bound else bound

    def _largest_way(self, phi: Op, assumed: int) -> int:
        self._assumed[phi] = assumed
        limit = max(self._limit(arg, above, phi.block) for arg, above in _ways(phi))
        del self._assumed[phi]
        return limit

    def _bound(self, phi: Op) -> int:
        """The largest constant that one of its values is compared with on its way."""
        bound = 0
        for arg, above in _ways(phi):
            for condition, _ in self._conditions(above, phi.block):
                if condition.name == "icmp" and arg in condition.args:
                    bound = max([bound, *(each.info for each in condition.args if each.name == "const")])
        return bound


def _half(value: Op) -> int:
    return 1 << (WIDTHS.get(value.type, 64) - 1)


def _condition(above: Block, block: Block) -> Iterator[tuple[Op, bool]]:
    if above.condition is not None and len(set(above.successors)) == 2:
        yield above.condition, above.successors[0] is block


def _ways(phi: Op) -> Iterator[tuple[Op, Block]]:
    assert phi.block is not None
    return zip(phi.args, phi.block.predecessors, strict=True)


_RULES: dict[str, Callable[[Limits, Op, Block], int]] = {
    "const": Limits.constant,
    "builtin": Limits.builtin,
    "cast": Limits.cast,
    "and": Limits.smallest,
    "select": Limits.largest,
    "add": Limits.total,
    "mul": Limits.product,
    "shl": Limits.shifted,
    "lshr": Limits.shifted,
    "udiv": Limits.first,
    "urem": Limits.remainder,
    "math": Limits.maths,
    "phi": Limits.merged,
}
"""By operation. A result of more than the type's numbers is none."""
