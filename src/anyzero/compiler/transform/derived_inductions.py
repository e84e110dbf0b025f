"""Undoes strength reduction in loops with barriers: induction variables follow from the loop's counter again.

Newer front ends give a loop several of them: pointers that advance by a row, indices that advance by a tile. Each would
be kept across every barrier for each vector, while the counter is the same for the whole group.
"""

from __future__ import annotations

from typing import Protocol

from anyzero.compiler.analysis.induction import counter
from anyzero.compiler.analysis.loops import Loop, Loops
from anyzero.compiler.folding import signed, width
from anyzero.compiler.ir import Body, Op
from anyzero.compiler.transform.blocks import substitute
from anyzero.compiler.transform.dce import dce

_ADVANCES = {"ptr": ("offset",), "i32": ("add", "sub"), "i64": ("add", "sub")}


class _Emit(Protocol):
    def __call__(self, name: str, type_: str, args: list[Op], info: object = None) -> Op: ...


def derive_inductions(body: Body, loops: Loops) -> None:
    """Replaces phis that advance by the same amount in each iteration of a loop with a barrier in it."""
    by: dict[Op, Op] = {}
    for loop in loops.all:
        if len(loop.latches) == 1 and any(op.name == "barrier" for block in loop.blocks for op in block.ops):
            by |= _derived(body, loop)
    if by:
        substitute(body, by)
        dce(body)


def _derived(body: Body, loop: Loop) -> dict[Op, Op]:
    header = loop.header
    counted = next((phi for phi in header.phis if _counts(phi, loop)), None)
    if counted is None:
        return {}
    latch = header.predecessors.index(loop.latches[0])
    found: dict[Op, Op] = {}
    new: list[Op] = []
    turns: dict[str, Op] = {}

    def emit(name: str, type_: str, args: list[Op], info: object = None) -> Op:
        new.append(Op(name, type_, args, info, word=counted.word, block=header))
        return new[-1]

    for phi in header.phis:
        following, start = phi.args[latch], phi.args[1 - latch]
        advances = following.name in _ADVANCES.get(phi.type, ()) and following.args[0] is phi
        if phi is counted or not advances:
            continue
        step = following.args[1]
        if step.block is not None and step.block in loop:
            continue
        if step.type not in turns:
            turns[step.type] = _turn(body, loop, counted, step.type, emit)
        way = emit("mul", step.type, [turns[step.type], step])
        found[phi] = emit(following.name, phi.type, [start, way])
    header.ops[:0] = new
    return found


def _counts(phi: Op, loop: Loop) -> bool:
    """Does it count from a constant in steps of a power of two, without wrapping around?"""
    sum_ = counter(phi, loop)
    if sum_ is None or len(phi.args) != 2 or phi.type not in ("i32", "i64"):
        return False
    start = phi.args[1 - loop.header.predecessors.index(loop.latches[0])]
    step = signed(sum_.args[1].info, width(phi.type))
    exact = phi.type == "i64" or "nsw" in sum_.flags or "nuw" in sum_.flags
    return exact and start.name == "const" and step > 0 and step & (step - 1) == 0


def _turn(body: Body, loop: Loop, counted: Op, type_: str, emit: _Emit) -> Op:
    """The number of iterations before this one."""
    latch = loop.header.predecessors.index(loop.latches[0])
    start, step = counted.args[1 - latch], counted.args[latch].args[1]
    turn = counted
    if start.info:
        turn = emit("sub", turn.type, [turn, start])
    if step.info > 1:
        turn = emit("lshr", turn.type, [turn, body.const(turn.type, step.info.bit_length() - 1)])
    if turn.type == type_:
        return turn
    return emit("cast", type_, [turn], "trunc" if type_ == "i32" else "zext")
