"""Trivial phis: those of one value, besides the phi itself."""

from __future__ import annotations

from anyzero.compiler.ir import Body, Op
from anyzero.compiler.transform.blocks import substitute


def remove_trivial_phis(body: Body) -> None:
    """Removes trivial phis until there are none; each removal may make others trivial."""
    phis = [phi for block in body.blocks for phi in block.phis]
    users: dict[Op, list[Op]] = {}
    for phi in phis:
        for arg in phi.args:
            if arg.name == "phi":
                users.setdefault(arg, []).append(phi)
    instead: dict[Op, Op] = {}

    def final(op: Op) -> Op:
        path = []
        while op in instead:
            path.append(op)
            op = instead[op]
        for step in path[:-1]:
            instead[step] = op
        return op

    waiting = phis[::-1]
    while waiting:
        phi = waiting.pop()
        if phi in instead:
            continue
        values = {final(arg) for arg in phi.args}
        values.discard(phi)
        if len(values) == 1:
            instead[phi] = values.pop()
            waiting += [user for user in users.get(phi, ()) if user not in instead]
    if instead:
        substitute(body, instead)
        for block in body.blocks:
            block.phis = [phi for phi in block.phis if phi not in instead]
