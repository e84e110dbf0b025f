"""Expands collectives of a work-group: each vector computes its share, and a barrier combines the shares.

When all vectors have reached the barrier, the slot that each of them wrote is updated in place: it then holds the
total, or the prefix before the vector. So one slot is enough, and no second barrier is needed.
"""

from __future__ import annotations

from anyzero.compiler.analysis.uniformity import UNIFORM, VARYING
from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import Block, Body, Collective, Combine, Op, Slot

_INTRINSICS = {"smin": "smin", "smax": "smax", "umin": "umin", "umax": "umax", "fmin": "minnum", "fmax": "maxnum"}


def expand_collectives(body: Body) -> None:
    replaced: dict[Op, Op] = {}
    for block in body.blocks:
        if any(_of_group(op) for op in block.ops):
            ops, block.ops = block.ops, []
            for op in ops:
                if _of_group(op):
                    replaced[op] = _Taking(body, block, op.word).apart(op)
                else:
                    block.ops.append(op)
    if replaced:
        for block in body.blocks:
            for op in block.everything:
                op.args = [replaced.get(each, each) for each in op.args]
            if block.condition is not None:
                block.condition = replaced.get(block.condition, block.condition)


def _of_group(op: Op) -> bool:
    return op.name == "group" and op.info.scope == "group"


class _Taking:
    def __init__(self, body: Body, block: Block, word: int) -> None:
        self.body = body
        self.block = block
        self.word = word

    def op(self, name: str, type_: str, args: list[Op], info: object = None) -> Op:
        return self.block.append(Op(name, type_, args, info, word=self.word))

    def barrier(self, what: Combine) -> None:
        self.op("barrier", "", [], what).flags = "local global"

    def share(self, kind: str, op: Op, value: Op, operation: str = "") -> Op:
        return self.op("group", value.type, [value], Collective("sub_group", kind, operation or op.info.operation))

    def exchange(self, value: Op, kind: str, operation: str) -> Op:
        """Combines one number of each vector to the total, or to the prefix before each vector."""
        wide = self.op("cast", "i8", [value], "zext") if value.type == "i1" else value
        slot = Slot(wide.type, "share", UNIFORM)
        self.op("write", "", [wide], slot)
        self.barrier(Combine(kind, operation, slot))
        found = self.op("read", wide.type, [], slot)
        return self.op("icmp", "i1", [found, self.body.const("i8", 0)], "ne") if value.type == "i1" else found

    def apart(self, op: Op) -> Op:
        what: Collective = op.info
        value = op.args[0]
        match what.kind:
            case "reduce":
                return self.exchange(self.share("reduce", op, value), "total", what.operation)
            case "inclusive" | "exclusive":
                total = self.share("reduce", op, value)
                within = self.share(what.kind, op, value)
                return self.both(what.operation, self.exchange(total, "before", what.operation), within)
            case "any" | "all":
                operation = "or" if what.kind == "any" else "and"
                return self.exchange(self.share(what.kind, op, value), "total", operation)
            case "broadcast":
                return self.broadcast(op)
        raise CompileError(f"{what.kind} cannot be computed by a whole work-group", offset=op.word)

    def both(self, operation: str, before: Op, within: Op) -> Op:
        operation = operation.removeprefix("logical_")
        if operation in _INTRINSICS:
            return self.op("intrinsic", within.type, [before, within], _INTRINSICS[operation])
        return self.op(operation, within.type, [before, within])

    def broadcast(self, op: Op) -> Op:
        value, *places = op.args
        wide = self.op("cast", "i8", [value], "zext") if value.type == "i1" else value
        source = Slot(wide.type, "source", VARYING)
        self.op("write", "", [wide], source)
        ids = []
        for place in places:
            slot = Slot("i64", "place", UNIFORM)
            index = place if place.type == "i64" else self.op("cast", "i64", [place], "zext")
            # The specification requires a uniform id; the first vector's is used.
            first = self.op("group", "i64", [index], Collective("sub_group", "broadcast_first"))
            self.op("write", "", [first], slot)
            ids.append(slot)
        result = Slot(wide.type, "result", UNIFORM)
        self.op("write", "", [self.body.const(wide.type, 0)], result)
        self.barrier(Combine("pick", "", result, source, tuple(ids)))
        found = self.op("read", wide.type, [], result)
        return self.op("icmp", "i1", [found, self.body.const("i8", 0)], "ne") if value.type == "i1" else found
