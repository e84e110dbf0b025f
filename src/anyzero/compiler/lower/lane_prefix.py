"""Lane-prefix versions of blocks: code for the first 1, 2, 4 … lanes, as in the steps of a tree in local memory.

Store-to-load forwarding fails for masked stores, and for loads that are not contained in one store: the load waits
until the store has reached the cache. So loads and stores are as long as the prefix.
"""

from __future__ import annotations

from anyzero.compiler.analysis.prefix_conditions import prefix_condition
from anyzero.compiler.ir import SIZES, Block, Op
from anyzero.compiler.llvm import I64, Type, Value
from anyzero.compiler.lower import prefix_masks
from anyzero.compiler.lower.emitter import Emitter

MOST = 16
"""The most operations of a block with such versions."""


def counts(e: Emitter, block: Block) -> list[int]:
    """The lengths of the prefixes that get versions; none where the block has one version."""
    if e.choices.options.one_version or not worth(e, block):
        return []
    bound = _bound(e, e.masks[block])
    assert bound is not None
    if bound.name != "const":
        return [1 << bit for bit in range(e.lanes.bit_length() - 1, -1, -1)]
    return [min(bound.info, e.lanes)] if bound.info > 0 and not bound.info & (bound.info - 1) else []


def worth(e: Emitter, block: Block) -> bool:
    """Does it write local memory under a prefix condition? What it writes comes from local memory, too, unless the
    prefix is a constant, which takes one version.
    """
    mask = e.masks.of.get(block)
    bound = None if mask is None else _bound(e, mask)
    if e.lanes < 2 or e.lanes & (e.lanes - 1) or bound is None:
        return False
    reads = [op for op in block.ops if op.name == "load" and not e.shape(op.args[0]).uniform]
    writes = [op for op in block.ops if op.name == "store"]
    if any(op in e.windows for op in writes):
        return False
    simple = all(op.pure or op.name in ("load", "store", "read", "mask_and") for op in block.ops)
    return (
        simple
        and bool(reads)
        and bool(writes)
        and all(
            _in_place(e, op, ("local", "global") if op.name == "load" and bound.name == "const" else ("local",))
            for op in [*reads, *writes]
        )
    )


def _bound(e: Emitter, mask: Op) -> Op | None:
    """The number of active lanes of the prefix."""
    if mask.name != "mask_and" or mask.args[0].name != "entry_mask":
        return None
    found = prefix_condition(mask.args[1], e.shapes, e.choices.flat)
    return None if found is None else found.bound


def _in_place(e: Emitter, op: Op, spaces: tuple[str, ...]) -> bool:
    """Contiguous accesses in these memories."""
    shape, access = e.shape(op.args[0]), op.info
    size = SIZES[op.type or op.args[1].type]
    return access.space in spaces and access.count == 1 and not access.volatile and shape.stride == size


def ways(e: Emitter, mask: Op, to: dict[int, str], otherwise: str) -> None:
    """Branches by the number of active lanes."""
    b = e.b
    number = prefix_masks.count(e, mask)
    if number is not None:
        known = b.select(e.all_exist(), number, b.constant(0, I64))
        cases = " ".join(f"i64 {count}, label %{label}" for count, label in to.items())
        b.line(f"switch {known.typed}, label %{otherwise} [ {cases} ]")
        return
    bits = e.bits(e.vector(mask))
    # `whole` is false in the code for the remainder of a row, so LLVM drops these versions there.
    bits = b.select(e.frame.given["whole"], bits, b.constant(0, I64))
    cases = " ".join(f"i64 {(1 << count) - 1}, label %{label}" for count, label in to.items())
    b.line(f"switch {bits.typed}, label %{otherwise} [ {cases} ]")


def mask(e: Emitter, count: int) -> Value:
    """The prefix as a constant mask, from which loads and stores take their length."""
    if count == e.lanes:
        return Value(e.b, "splat (i1 true)", Type("i1", e.lanes))
    found = e.b.each([lane < count for lane in range(e.lanes)], "i1")
    e.fronts[found.text] = count
    return found
