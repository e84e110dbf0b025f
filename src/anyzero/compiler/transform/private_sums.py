"""Private sums: each thread collects atomic operations without a result, and applies them when it has run its groups.

Threads that update the same counters wait for each other's cache lines, and a locked instruction takes twenty times as
long as a plain one, even alone. Where the elements that a kernel may update are few, each thread has a copy of them,
which stays from group to group: `lower/private_sums.py`. Other threads see the updates at once or later, in any order:
nothing in the kernel can tell, because it does not access global memory behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from anyzero.compiler.analysis.addresses import known_space, root
from anyzero.compiler.analysis.index_limits import Limits
from anyzero.compiler.ir import SIZES, Atomic, Block, Body, Op, Variable
from anyzero.compiler.operations import BLOCK_READS, BLOCK_WRITES, OPERATIONS
from anyzero.lazy_namedtuple import NamedTuple

MOST_BYTES = 4096
"""Of all copies. They are filled and searched at each turn of a thread, which takes some microseconds."""

LINE = 64
"""Bytes that are filled and searched at once."""

KINDS = {"sub": "add"} | {each: each for each in ("add", "and", "or", "xor", "smin", "smax", "umin", "umax", "fadd")}
"""The operations that may be done in any order and in parts, with the one that applies the parts."""

_OWN = ("private", "local", "constant")
"""Memory that no pointer to global memory leads to."""


class Sum(NamedTuple):
    """The elements of one buffer that a kernel may update."""

    argument: int
    """The offset of the pointer among the arguments."""
    kind: str
    element: str
    variable: Variable
    """Their copy."""


def private_sums(body: Body, limits: Limits) -> list[Sum]:
    """Makes atomic operations on buffers operations on the thread's copies, and returns these."""
    chosen = _without_observers(body, _candidates(body, limits))
    buffers: dict[Op, int] = {}
    for op, end in chosen.items():
        base = root(op.args[0])
        buffers[base] = max(end, buffers.get(base, 0))
    # Pointers may lead to the same memory, where operations of different kinds have an order.
    alike = len({(KINDS[op.info.kind], op.type) for op in chosen}) == 1
    if not alike or sum(buffers.values()) > MOST_BYTES:
        return []
    kind, element = next((KINDS[op.info.kind], op.type) for op in chosen)
    sums, copies, place = [], {}, 0
    for base, end in buffers.items():
        variable = Variable(end, LINE, "local", "sums", place, of_thread=True)
        place += padded(end)
        copies[base] = Op("variable", "ptr", info=variable, block=body.blocks[0])
        sums.append(Sum(base.info, kind, element, variable))
    body.variables += [each.variable for each in sums]
    body.blocks[0].ops[:0] = copies.values()
    for op in chosen:
        op.args[0] = _moved(op, copies)
        op.info = Atomic(op.info.kind, "group", "local")
    return sums


def padded(size: int) -> int:
    """Bytes of whole lines."""
    return -(-size // LINE) * LINE


def _candidates(body: Body, limits: Limits) -> dict[Op, int]:
    """Atomic operations whose address is an argument plus a small number, with the end of what they may update."""
    used = {arg for op in body.ops for arg in op.args}
    used |= {block.condition for block in body.blocks if block.condition is not None}
    found = {}
    for block in body.blocks:
        for op in block.ops:
            if op.name != "atomic" or op.info.kind not in KINDS or op in used or op.info.volatile:
                continue
            base = root(op.args[0])
            if base.name == "argument" and op.info.scope != "system" and op.type in SIZES:
                end = sum(limits.of(each, block) - 1 for each in _offsets(op.args[0])) + SIZES[op.type]
                if end <= MOST_BYTES:
                    found[op] = end
    return found


def _offsets(pointer: Op) -> Iterator[Op]:
    while pointer.name == "offset":
        yield pointer.args[1]
        pointer = pointer.args[0]


def _without_observers(body: Body, candidates: dict[Op, int]) -> dict[Op, int]:
    """Those behind which no work-item may access global memory in another way."""
    before: dict[Op, int] | None = None
    while candidates and candidates != before:
        before = candidates
        observed = _observed(body, candidates)
        candidates = {op: end for op, end in candidates.items() if not observed(op)}
    return candidates


def _observed(body: Body, candidates: dict[Op, int]) -> Callable[[Op], bool]:
    """May another access of global memory follow an operation?"""
    last: dict[Block, int] = {}
    """The place of the last such access of each block."""
    for block in body.blocks:
        for place, op in enumerate(block.ops):
            if op not in candidates and _observes(op):
                last[block] = place
    leads: set[Block] = set()
    """Blocks from which one is reached."""
    waiting = list(last)
    while waiting:
        for above in waiting.pop().predecessors:
            if above not in leads:
                leads.add(above)
                waiting.append(above)

    def observed(op: Op) -> bool:
        assert op.block is not None
        return op.block in leads or op.block.ops.index(op) < last.get(op.block, 0)

    return observed


def _observes(op: Op) -> bool:
    if op.name == "group":
        return op.info.kind in BLOCK_READS | BLOCK_WRITES
    facts = OPERATIONS[op.name]
    if not {facts.reads, facts.writes} & {"memory", "image"}:
        return False
    pointers = op.args[: facts.pointers]
    return not pointers or any((known_space(each) or op.info.space) not in _OWN for each in pointers)


def _moved(op: Op, copies: dict[Op, Op]) -> Op:
    """The same address in the copy."""
    assert op.block is not None
    found = copies[root(op.args[0])]
    place = op.block.ops.index(op)
    for each in reversed(list(_offsets(op.args[0]))):
        found = Op("offset", "ptr", [found, each], word=op.word, block=op.block)
        op.block.ops.insert(place, found)
        place += 1
    return found
