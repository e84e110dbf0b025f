"""Full-mask versions of blocks: code without masks for when all lanes are active, beside that for any mask.

In most iterations of a divergent loop all lanes are active. Their version has no masks, and takes addresses from lane 0
instead of the first active lane. For steps of a tree in local memory see `lane_prefix`.
"""

from __future__ import annotations

from functools import cached_property

from anyzero.compiler.ir import SIZES, Block, Body, Masks, Op
from anyzero.compiler.llvm import Value
from anyzero.compiler.lower import lane_prefix
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.scalarize import whole_or_part
from anyzero.compiler.transform.linearise import LOOP_MASK
from anyzero.lazy_dataclass import dataclass

MOST = 64
"""The most operations of a block that has two versions."""

_ADDRESSES = frozenset({"offset", "cast", "mul", "shl", "add"})
"""Operations that an access computes its addresses from again, lane by lane or with narrow indices."""


class Elsewhere:
    """Values of a body that are needed outside of their block; found when the first one is asked for."""

    def __init__(self, body: Body, masks: Masks) -> None:
        self._body = body
        self._masks = masks

    def __contains__(self, op: Op) -> bool:
        return op in self._values

    @cached_property
    def _values(self) -> set[Op]:
        blocks = self._body.blocks
        home = {op: block for block in blocks for op in block.ops}
        used = {arg for block in blocks for op in block.ops for arg in op.args if home.get(arg) is not block}
        waiting = [op for op in used if op.name in _ADDRESSES]
        while waiting:
            inner = [arg for arg in waiting.pop().args if arg not in used]
            used.update(inner)
            waiting += [op for op in inner if op.name in _ADDRESSES]
        conditions = {block.condition for block in blocks if block.condition is not None}
        return used | conditions | set(self._masks.of.values())


class Rounds:
    """Writes the blocks of a body, some of them in two versions."""

    def __init__(self, e: Emitter, elsewhere: Elsewhere, often: bool) -> None:
        """`often` says that this code is not only for the edges."""
        self.e = e
        self.elsewhere = elsewhere
        self.often = often

    def write_block(self, block: Block) -> None:
        e = self.e
        counts = self._counts(block)
        once, ops = _parted(block) if counts else ([], [])
        if not counts or (len(counts) > 1 and len(ops) > lane_prefix.MOST):
            e.write_block(block)
            return
        mask = e.masks[block]
        if e.choices.mask != "i1":
            asked = {arg for op in ops for arg in op.args}
            e.crossing |= {op for op in once if op.type == "i1" and op in asked}
        e.block = block
        e.forget_since({})
        e.write(once)
        masked = e.vector(mask)
        known, labels, join = e.known, [e.label() for _ in [*counts, 0]], e.label()
        if counts == [e.lanes]:
            known, labels[0], labels[1], join = whole_or_part(e)
        else:
            lane_prefix.ways(e, mask, dict(zip(counts, labels, strict=False)), labels[-1])
        versions = []
        for count, label in zip([*counts, 0], labels, strict=True):
            e.start(label)
            e.vectors[mask] = lane_prefix.mask(e, count) if count else masked
            e.remember(known)
            e.write(ops)
            versions.append(_taken(e, ops))
            e.b.jump(join)
        e.start(join)
        e.forget_since(known)
        self._join(ops, versions)

    def _counts(self, block: Block) -> list[int]:
        """The prefix lengths for which the block has versions, besides the one for any mask."""
        e = self.e
        return lane_prefix.counts(e, block) or ([e.lanes] if _worth(e, block, self.often) else [])

    def _join(self, ops: list[Op], versions: list[_Version]) -> None:
        e = self.e
        first = versions[0]
        for op in ops:
            if op not in self.elsewhere:
                continue
            if op in first.scalars:
                e.scalars[op] = _either(e, [(each.scalars[op], each.end) for each in versions])
            if op in first.vectors:
                e.vectors[op] = _either(e, [(each.vectors[op], each.end) for each in versions])
            if op in first.parts:
                places = range(len(first.parts[op]))
                e.parts[op] = [_either(e, [(each.parts[op][at], each.end) for each in versions]) for at in places]
        # Behind all phis, as LLVM wants it.
        for op in ops:
            if op.type == "i1" and op in e.vectors:
                e.vectors[op] = e.truth(e.vectors[op])


def _worth(e: Emitter, block: Block, often: bool) -> bool:
    mask = e.masks.of.get(block)
    if not e.lanes or mask is None or len(block.ops) > MOST:
        return False
    accesses = [op for op in block.ops if op.name in ("load", "store") and op not in e.windows]
    if often and e.choices.mask != "i1" and mask.name != "entry_mask":
        # Masked stores take ten times as long on some processors, and gathers are scalarised.
        return any(not e.shape(op.args[0]).uniform for op in accesses)
    return _of_loop(mask) and any(_gains(e, op) for op in accesses)


def _of_loop(mask: Op) -> bool:
    if mask.name in ("mask_and", "mask_andn"):
        # The loop's condition comes first.
        mask = mask.args[0]
    return mask.name == "read" and mask.info.name == LOOP_MASK


def _gains(e: Emitter, op: Op) -> bool:
    shape = e.shape(op.args[0])
    small = SIZES[op.type or op.args[1].type] < 4
    # A hardware scatter takes as long with all lanes.
    scattered = shape.varying and e.choices.target.wide and e.choices.gathers
    return not shape.uniform and ((op.name == "store" and not scattered) or small or not shape.exact)


def _parted(block: Block) -> tuple[list[Op], list[Op]]:
    """Splits a block's operations: first those that do not depend on the mask, then those that do."""
    once: list[Op] = []
    twice: dict[Op, None] = {}
    written: set[object] = set()
    for op in block.ops:
        same = op.pure or (op.name == "read" and op.info not in written)
        if same and not any(arg in twice for arg in op.args):
            once.append(op)
        else:
            twice[op] = None
            written.add(op.info if op.name == "write" else None)
    return once, list(twice)


@dataclass(slots=True)
class _Version:
    """The results of its operations."""

    scalars: dict[Op, Value]
    vectors: dict[Op, Value]
    parts: dict[Op, list[Value]]
    end: str
    """The label of its last block."""


def _taken(e: Emitter, ops: list[Op]) -> _Version:
    """The version that was just written; its results are no longer available to other code."""
    scalars = {op: e.scalars.pop(op) for op in ops if op in e.scalars}
    vectors = {op: e.vectors.pop(op) for op in ops if op in e.vectors}
    vectors |= {op: e.held(value) for op, value in vectors.items() if op.type == "i1"}
    parts = {op: e.parts.pop(op) for op in ops if op in e.parts}
    return _Version(scalars, vectors, parts, e.last_label())


def _either(e: Emitter, ways: list[tuple[Value, str]]) -> Value:
    first = ways[0][0]
    if all(value.text == first.text for value, _ in ways):
        return first
    return e.b.phi(*ways)
