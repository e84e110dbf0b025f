"""Scalar promotion: an element of memory that a loop updates in each iteration stays in a register.

`for (k …) c[i] += a[k] * b[k]` loads and stores `c[i]` each time, because `c` might be `a`. Where it is known not to
be, the element is loaded before the loop and stored behind it. That store must not overwrite what another work-item has
written: the loop stores the element in any case, or the work-item has stored it before.
"""

from __future__ import annotations

from anyzero.compiler.analysis.aliases import Aliases
from anyzero.compiler.analysis.distances import address_of, bytes_of
from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.analysis.uniformity import Flow
from anyzero.compiler.ir import Access, Block, Body, Op, Variable
from anyzero.compiler.operations import REMOVABLE, SAME
from anyzero.compiler.transform.block_order import split_edge
from anyzero.compiler.transform.mem2reg import mem2reg
from anyzero.compiler.transform.preheaders import computed_before
from anyzero.lazy_dataclass import dataclass, replace

__all__ = ["may_promote", "promote_scalars"]

MOST = 16
"""Elements that one loop keeps."""


@dataclass(slots=True, eq=False)
class _Element:
    """An element of memory with all accesses of it in a loop."""

    loop: Loop
    outside: Block
    accesses: list[Op]


def may_promote(body: Body, flow: Flow, aliases: Aliases) -> bool:
    return bool(_Search(body, flow, aliases).found())


def promote_scalars(body: Body, flow: Flow, aliases: Aliases) -> bool:
    """True if any element was promoted, and the flow graph has to be analysed again."""
    found = _Search(body, flow, aliases).found()
    for each in found:
        _promote(body, each)
    if found:
        mem2reg(body)
    return bool(found)


class _Search:
    def __init__(self, body: Body, flow: Flow, aliases: Aliases) -> None:
        self.flow, self.aliases = flow, aliases
        stores = [op for op in body.ops if op.name == "store"]
        self.alone = all(_is_quiet(op) for op in body.ops)
        """Does nothing in the body order accesses of several work-items?"""
        self.stores: dict[object, list[Op]] = {}
        for op in stores:
            self.stores.setdefault(_place(op), []).append(op)

    def found(self) -> list[_Element]:
        if not self.stores:
            return []
        elements: list[_Element] = []
        promoted: set[Op] = set()
        # An element that several nested loops update stays in its register in all of them.
        for loop in self.flow.loops.all:
            for each in self._of_loop(loop):
                if not promoted.intersection(each.accesses):
                    promoted.update(each.accesses)
                    elements.append(each)
        return elements

    def _of_loop(self, loop: Loop) -> list[_Element]:
        outside = [block for block in loop.header.predecessors if block not in loop]
        if len(outside) != 1 or len(outside[0].successors) != 1 or not loop.exits:
            return []
        ops = [op for block in loop.blocks for op in block.ops]
        if not all(_is_quiet(op) for op in ops):
            return []
        accesses = [op for op in ops if op.name in ("load", "store")]
        together: dict[object, list[Op]] = {}
        for op in accesses:
            together.setdefault(_place(op), []).append(op)
        found = [
            _Element(loop, outside[0], same)
            for same in together.values()
            if self._stays(loop, outside[0], same) and self._meets_no_other(same, accesses)
        ]
        return found if sum(each.accesses[0].info.count for each in found) <= MOST else []

    def _stays(self, loop: Loop, outside: Block, same: list[Op]) -> bool:
        """Is it one element in all iterations, stored in any case?"""
        stores = [op for op in same if op.name == "store"]
        if not stores or same[0].info.space not in ("global", "local"):
            return False
        always = all(self._any_before(stores, leaving) for leaving, _ in loop.exits)
        earlier = [op for op in self.stores[_place(same[0])] if op.block not in loop.blocks]
        stored = always or (self.alone and self._any_before(earlier, outside))
        return stored and _is_invariant(same[0].args[0], loop)

    def _any_before(self, stores: list[Op], block: Block) -> bool:
        """Does every path to the end of a block pass one of them?"""
        return any(op.block is not None and self.flow.immediate.dominates(op.block, block) for op in stores)

    def _meets_no_other(self, same: list[Op], accesses: list[Op]) -> bool:
        (store, *_) = (op for op in same if op.name == "store")
        return all(op in same or self.aliases.never(store, op) for op in accesses)


def _is_quiet(op: Op) -> bool:
    """Does it wait for nothing, and access memory as only a load or store does?"""
    return (op.name in REMOVABLE or op.name == "store") and not (op.name in ("load", "store") and op.info.volatile)


def _place(op: Op) -> object:
    address = address_of(op.args[0])
    type_ = op.type if op.name == "load" else op.args[1].type
    return address.key, address.constant, type_, op.info.count, op.info.space


def _is_invariant(op: Op, loop: Loop) -> bool:
    """Can it be computed before the loop?"""
    seen: set[Op] = set()
    waiting = [op]
    while waiting:
        op = waiting.pop()
        if op in seen or op.block not in loop.blocks:
            continue
        if op.name not in SAME:
            return False
        seen.add(op)
        waiting += op.args
    return True


def _promote(body: Body, each: _Element) -> None:
    first = each.accesses[0]
    access = replace(first.info, alignment=max(op.info.alignment for op in each.accesses), nontemporal=False)
    type_ = first.type if first.name == "load" else first.args[1].type
    element = Variable(bytes_of(first), access.alignment, "private", "promoted")
    own = replace(access, space="private")
    outside = each.outside
    pointer = computed_before(first.args[0], each.loop, outside, {})
    entry = body.blocks[0]
    variable = Op("variable", "ptr", [], element, block=entry)
    entry.ops.insert(0, variable)
    _move(outside, type_, (pointer, access), (variable, own), first.word)
    for op in each.accesses:
        op.args[0], op.info = variable, own
    for leaving, target in each.loop.exits:
        between = split_edge(body, leaving, target)
        _move(between, type_, (variable, own), (pointer, access), first.word)
    body.variables.append(element)


def _move(block: Block, type_: str, source: tuple[Op, Access], target: tuple[Op, Access], word: int) -> None:
    (pointer, access), (to, stored) = source, target
    loaded = block.append(Op("load", type_, [pointer], access, word=word))
    parts = [loaded]
    if access.count > 1:
        parts = [block.append(Op("part", type_, [loaded], index, word=word)) for index in range(access.count)]
    block.append(Op("store", "", [to, *parts], stored, word=word))
