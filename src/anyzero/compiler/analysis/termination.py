"""Termination: whether a kernel is known to end, and the inputs that its trip counts depend on.

A launch that took next to no time may run on the caller's own thread the next time, if the next launch is certain to be
as short. A kernel without loops is. A kernel with loops is where each trip count is a small constant, or depends on
nothing but arguments and the size of the launch, which are the same again. Trip counts that depend on memory are
unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anyzero.compiler import folding
from anyzero.compiler.analysis.addresses import root
from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.analysis.uniformity import Flow
from anyzero.compiler.dominators import Dominators
from anyzero.compiler.folding import width
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.operations import DIVISIONS, PURE
from anyzero.lazy_dataclass import dataclass

FEW = 1024
"""Iterations of a loop nest that take a negligible time."""

_FROM_ELSEWHERE = frozenset({"image_query", "sampler", "function", "parameter", "local_argument"})
_FOLLOWS = (PURE | DIVISIONS) - _FROM_ELSEWHERE
"""Operations whose value follows from their operands."""
_COUNTS = ("add", "sub")


@dataclass(slots=True, frozen=True)
class Termination:
    """The inputs that the trip counts of a kernel depend on."""

    known: bool
    """Do they depend on arguments and the size of the launch alone?"""
    varies: bool = False
    """Do they depend on any input, or are all trip counts constant?"""
    arguments: frozenset[int] = frozenset()
    """Offsets in the block of arguments."""


UNKNOWN = Termination(known=False)


def termination(body: Body, flow: Flow) -> Termination:
    if any(op.name == "call" for op in body.ops):
        return UNKNOWN
    slice_ = _Slice(flow)
    headers = set()
    for loop in flow.loops.all:
        exits = loop.exits
        if _turns(loop, flow.immediate) <= FEW:
            continue
        if not exits:
            return UNKNOWN
        slice_.add(block.condition for block, _ in exits)
        headers.add(loop.header)
    slice_.add(_guards(headers, flow))
    return slice_.found()


class _Slice:
    """The backward slice of a set of values, by data and control dependences."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.seen: set[Op] = set()
        self.waiting: list[Op] = []
        self.headers = {loop.header: loop for loop in flow.loops.all}
        self.chosen: set[Block] = set()
        """Blocks whose control dependences are in the slice."""

    def add(self, ops: Iterable[Op | None]) -> None:
        self.waiting += [op for op in ops if op is not None]

    def found(self) -> Termination:
        varies, arguments = False, set()
        while self.waiting:
            op = self.waiting.pop()
            if op in self.seen:
                continue
            self.seen.add(op)
            if op.name in ("argument", "argument_address"):
                arguments.add(op.info)
            elif op.name == "builtin":
                varies = True
            elif op.name == "load" and root(op.args[0]).name == "argument_address":
                pass  # a load from a structure passed by value, which is an argument
            elif op.name not in _FOLLOWS:
                return UNKNOWN
            self.add(op.args)
            if op.name == "phi" and op.block is not None and op.block not in self.chosen:
                self.chosen.add(op.block)
                self._choices(op.block)
        return Termination(True, varies or bool(arguments), frozenset(arguments))

    def _choices(self, block: Block) -> None:
        """Adds the conditions that choose a phi's value."""
        loop = self.headers.get(block)
        if loop is None:
            self.add(_ways(block, self.flow))
            return
        # The trip count, and the path through each iteration where there are several latches.
        self.add(source.condition for source, _ in loop.exits)
        if len(loop.latches) > 1:
            self.add(each.condition for each in loop.blocks)
        if len(block.predecessors) > len(loop.latches) + 1:
            self.add(_ways(block, self.flow))


def _guards(blocks: set[Block], flow: Flow) -> Iterator[Op | None]:
    """Conditions of the branches that decide whether any of the blocks is reached at all."""
    if not blocks:
        return
    between: dict[Block, bool] = {}
    """Does any of them lie between a block and its immediate post-dominator?"""
    decides: dict[Block, bool] = {flow.sink: False}
    for block in reversed(flow.order):
        end = flow.post[block]
        between[block] = any(_passes(target, end, blocks, between, flow) for target in flow.forward[block])
        decides[block] = between[block] or decides[end]
        if decides[block]:
            yield block.condition


def _passes(block: Block, end: Block, blocks: set[Block], between: dict[Block, bool], flow: Flow) -> bool:
    while block is not end:
        if block in blocks or between[block]:
            return True
        block = flow.post[block]
    return False


def _ways(block: Block, flow: Flow) -> list[Op | None]:
    """Conditions of the branches that decide from where a block is reached."""
    return [above.condition for above in _before(block, flow.immediate[block])]


def _before(block: Block, first: Block) -> set[Block]:
    """The blocks on acyclic paths from `first` to this one."""
    found: set[Block] = set()
    waiting = [block]
    while waiting:
        for above in waiting.pop().predecessors:
            if above.number < block.number and above not in found:
                found.add(above)
                if above is not first:
                    waiting.append(above)
    return found


def _turns(loop: Loop, immediate: Dominators[Block]) -> int:
    """A bound of the iterations of a loop nest, from the trip counts that are known; more than FEW if unknown."""
    iterations = min((_counted(loop, edge, immediate) for edge in loop.exits), default=FEW + 1)
    outer = loop.parent
    while outer is not None and iterations <= FEW:
        around = min((_counted(outer, edge, immediate) for edge in outer.exits), default=FEW + 1)
        iterations *= around if around <= FEW else 1
        outer = outer.parent
    return iterations


def _counted(loop: Loop, edge: tuple[Block, Block], immediate: Dominators[Block]) -> int:
    """The iteration in which a loop leaves by this edge, if every iteration reaches it and counts by a constant."""
    source, target = edge
    condition = source.condition
    if condition is None or condition.name != "icmp" or len(loop.latches) != 1:
        return FEW + 1
    if not immediate.dominates(source, loop.latches[0]):
        return FEW + 1
    for place in (0, 1):
        bound = condition.args[1 - place]
        progress = _progress(condition.args[place], loop)
        if bound.name != "const" or progress is None:
            continue
        value, step = progress
        bits = width(bound.type)
        for iteration in range(FEW):
            operands = (value, bound.info) if place == 0 else (bound.info, value)
            holds = bool(folding.compared(condition.info, bits, *operands))
            if source.successors[0 if holds else 1] is target:
                return iteration
            value = (value + step) % (1 << bits)
    return FEW + 1


def _progress(op: Op, loop: Loop) -> tuple[int, int] | None:
    """First value and step of an induction variable: a phi of the loop, or such a phi's next value."""
    phi, added = op, 0
    if op.name in _COUNTS and op.block in loop.blocks and op.args[1].name == "const":
        phi, added = op.args[0], op.args[1].info * (1 if op.name == "add" else -1)
    if phi.name != "phi" or phi.block is not loop.header or len(phi.args) != 2:
        return None
    carried = loop.header.predecessors.index(loop.latches[0])
    start, following = phi.args[1 - carried], phi.args[carried]
    if start.name != "const" or following.name not in _COUNTS or following.args[0] is not phi:
        return None
    if following.args[1].name != "const":
        return None
    step = following.args[1].info * (1 if following.name == "add" else -1)
    return (start.info + added) % (1 << width(op.type)), step
