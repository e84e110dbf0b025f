"""Versioning of guarded accesses: a chain of `if`s around accesses gets a copy without them, for vectors in which every
condition holds.

Kernels that keep a tile in registers write it element by element, each behind its own bounds check: `if (m > 0) …;
if (m > 1) …`. As masked code, each element tests and makes a mask of its own. All but the tiles at the edges are
whole: one test in front of the chain chooses straight code, in which neighbouring elements become one access.
"""

from __future__ import annotations

from collections.abc import Iterator

from anyzero.compiler.analysis.uniformity import Flow, Shapes
from anyzero.compiler.folding import signed
from anyzero.compiler.ir import WIDTHS, Block, Body, Op
from anyzero.compiler.operations import OPPOSITE
from anyzero.lazy_dataclass import dataclass

__all__ = ["chains", "version_guards"]

FEWEST = 4
"""The fewest conditions that a chain is worth copying for,"""
EACH = 2
"""and the fewest for each test in front of it."""
MOST = 1000
"""The most operations that are copied."""
TESTS = 4
"""The most tests in front of a chain."""


@dataclass(slots=True, eq=False)
class Chain:
    """Blocks that run one after the other where all conditions hold, from `blocks[0]` to before `end`."""

    blocks: list[Block]
    end: Block
    taken: dict[Block, bool]
    """For each conditional branch, the outcome that leads along the chain."""


def chains(body: Body, flow: Flow) -> Iterator[Chain]:
    """The longest chains, none of which is part of another."""
    known: set[Block] = set()
    for block in body.blocks:
        if block.condition is not None and block not in known:
            found = _chain(block, flow)
            if found is not None and len(found.taken) >= FEWEST:
                known.update(found.blocks)
                yield found


def version_guards(body: Body, found: list[Chain], shapes: Shapes) -> bool:
    """Copies the chains that are worth it; True if any was, and the flow graph has to be analysed again."""
    users: dict[Op, list[Block]] = {}
    for block in body.blocks:
        for op in block.ops:
            for arg in op.args:
                users.setdefault(arg, []).append(block)
        for phi in block.phis:
            for source, arg in zip(block.predecessors, phi.args, strict=True):
                users.setdefault(arg, []).append(source)
        if block.condition is not None:
            users.setdefault(block.condition, []).append(block)
    made = [each for each in found if _worth(each, shapes) and _closed(each, users) and _write(body, each)]
    return bool(made)


def _chain(first: Block, flow: Flow) -> Chain | None:
    """Segments from one block that all paths pass to the next, as long as they are nested `if`s without an `else`."""
    chain = Chain([], first, {})
    inside: set[Block] = set()
    while True:
        segment = _segment(chain.end, flow, first)
        if segment is None:
            break
        blocks, taken = segment
        entered = blocks if chain.blocks else blocks[1:]
        if any(each not in inside and each not in blocks for block in entered for each in block.predecessors):
            break
        inside.update(blocks)
        chain.blocks += blocks
        chain.taken |= taken
        chain.end = flow.post[chain.end]
    return chain if chain.taken else None


def _segment(first: Block, flow: Flow, start: Block) -> tuple[list[Block], dict[Block, bool]] | None:
    """The blocks from one that all paths pass to before the next such block."""
    last = flow.post.get(first)
    blocks: list[Block] = []
    taken: dict[Block, bool] = {}
    block = first
    around = flow.loops.innermost[start]
    while block is not last:
        if flow.loops.innermost.get(block) is not around or not block.successors:
            return None
        if any(each.number <= block.number for each in block.successors):
            return None
        if block is not start and not all(op.pure or op.name in ("load", "store") for op in block.ops):
            return None
        blocks.append(block)
        if block.condition is None:
            block = block.successors[0]
            continue
        join = flow.post.get(block)
        if join not in block.successors or block.successors[0] is block.successors[1]:
            return None
        taken[block] = block.successors[1] is join
        block = block.successors[0 if taken[block] else 1]
    return blocks, taken


def _worth(chain: Chain, shapes: Shapes) -> bool:
    """Without divergent branches there are no masks; without accesses there is nothing to gain."""
    guarded = [op for block in chain.blocks[1:] for op in block.ops]
    accesses = sum(not op.pure for op in guarded)
    return accesses >= FEWEST and len(guarded) <= MOST and any(block in shapes.divergent for block in chain.taken)


def _closed(chain: Chain, users: dict[Op, list[Block]]) -> bool:
    """Are the values of the chain used in the chain only? Those of the first block are computed in front of both."""
    inside = set(chain.blocks)
    return all(user in inside for block in chain.blocks[1:] for op in block.everything for user in users.get(op, ()))


def _write(body: Body, chain: Chain) -> bool:
    first, *rest = chain.blocks
    fails = _tests(body, chain)
    if fails is None or len(fails) > TESTS or len(chain.taken) < EACH * len(fails):
        return False
    copy = Block(0, predecessors=[first], successors=[chain.end])
    values: dict[Op, Op] = {}
    before = first
    for block in rest:
        place = block.predecessors.index(before)
        values |= {phi: values.get(phi.args[place], phi.args[place]) for phi in block.phis}
        for op in block.ops:
            args = [values.get(arg, arg) for arg in op.args]
            values[op] = copy.append(Op(op.name, op.type, args, op.info, op.flags, op.word))
        before = block
    place = chain.end.predecessors.index(before)
    for phi in chain.end.phis:
        phi.args.append(values.get(phi.args[place], phi.args[place]))
    chain.end.predecessors.append(copy)

    general = Block(0, predecessors=[first], condition=first.condition, successors=first.successors)
    for target in general.successors:
        target.predecessors[target.predecessors.index(first)] = general
    any_fails = None
    for name, args, info in fails:
        test = first.append(Op(name, "i1", args, info))
        any_fails = test if any_fails is None else first.append(Op("or", "i1", [any_fails, test]))
    assert any_fails is not None
    first.condition = first.append(Op("any", "i1", [any_fails]))
    first.successors = [general, copy]
    body.blocks += [general, copy]
    return True


_Test = tuple[str, list[Op], str | None]
"""Name, operands and info of an operation."""


def _tests(body: Body, chain: Chain) -> list[_Test] | None:
    """The operations that tell whether a condition fails, of comparisons with constants only the strictest; None where
    a condition is not known in front of the chain.
    """
    within = set(chain.blocks[1:])
    strictest: dict[tuple[Op, str], Op] = {}
    others: dict[tuple[Op, ...], _Test] = {}
    for block, holds in chain.taken.items():
        condition = block.condition
        assert condition is not None
        if condition.block not in within:
            # An `or` of a value with itself: the value.
            name, other = ("xor", body.const("i1", 1)) if holds else ("or", condition)
            others[condition, body.const("i1", holds)] = name, [condition, other], None
            continue
        if condition.name != "icmp" or any(arg.block in within for arg in condition.args):
            return None
        value, bound = condition.args
        kind = condition.info if holds else OPPOSITE[condition.info]
        if bound.name != "const" or kind in ("eq", "ne"):
            return None
        if (value, kind) not in strictest or _stricter(bound, strictest[value, kind], kind):
            strictest[value, kind] = bound
    return [
        *(("icmp", [value, bound], OPPOSITE[kind]) for (value, kind), bound in strictest.items()),
        *others.values(),
    ]


def _stricter(bound: Op, other: Op, kind: str) -> bool:
    first, second = (int(op.info) if kind[0] == "u" else signed(int(op.info), WIDTHS[op.type]) for op in (bound, other))
    return first > second if kind[1] == "g" else first < second
