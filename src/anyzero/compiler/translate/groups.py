"""Group and sub-group operations, in the forms of OpenCL, KHR and INTEL."""

from __future__ import annotations

from anyzero.compiler.ir import Access, Collective, Op
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import GroupOperation
from anyzero.compiler.spirv.tables import Op as Opcode
from anyzero.compiler.spirv.tables import Scope as Range
from anyzero.compiler.spirv.types import Vector, copied_element
from anyzero.compiler.translate.chapter import translates
from anyzero.compiler.translate.conversions import recast
from anyzero.compiler.translate.scope import Scope
from anyzero.compiler.translate.trees import Tree, each, scalar

_OPERATIONS = {
    **dict.fromkeys([Opcode.GroupIAdd, Opcode.GroupNonUniformIAdd], "add"),
    **dict.fromkeys([Opcode.GroupIMulKHR, Opcode.GroupNonUniformIMul], "mul"),
    **dict.fromkeys([Opcode.GroupSMin, Opcode.GroupNonUniformSMin], "smin"),
    **dict.fromkeys([Opcode.GroupSMax, Opcode.GroupNonUniformSMax], "smax"),
    **dict.fromkeys([Opcode.GroupUMin, Opcode.GroupNonUniformUMin], "umin"),
    **dict.fromkeys([Opcode.GroupUMax, Opcode.GroupNonUniformUMax], "umax"),
    **dict.fromkeys([Opcode.GroupFAdd, Opcode.GroupNonUniformFAdd], "fadd"),
    **dict.fromkeys([Opcode.GroupFMulKHR, Opcode.GroupNonUniformFMul], "fmul"),
    **dict.fromkeys([Opcode.GroupFMin, Opcode.GroupNonUniformFMin], "fmin"),
    **dict.fromkeys([Opcode.GroupFMax, Opcode.GroupNonUniformFMax], "fmax"),
    **dict.fromkeys([Opcode.GroupBitwiseAndKHR, Opcode.GroupNonUniformBitwiseAnd], "and"),
    **dict.fromkeys([Opcode.GroupBitwiseOrKHR, Opcode.GroupNonUniformBitwiseOr], "or"),
    **dict.fromkeys([Opcode.GroupBitwiseXorKHR, Opcode.GroupNonUniformBitwiseXor], "xor"),
    **dict.fromkeys([Opcode.GroupLogicalAndKHR, Opcode.GroupNonUniformLogicalAnd], "logical_and"),
    **dict.fromkeys([Opcode.GroupLogicalOrKHR, Opcode.GroupNonUniformLogicalOr], "logical_or"),
    **dict.fromkeys([Opcode.GroupLogicalXorKHR, Opcode.GroupNonUniformLogicalXor], "logical_xor"),
}
_KINDS = {
    GroupOperation.Reduce: "reduce",
    GroupOperation.ClusteredReduce: "reduce",
    GroupOperation.InclusiveScan: "inclusive",
    GroupOperation.ExclusiveScan: "exclusive",
}
_SHUFFLES = {
    Opcode.GroupNonUniformBroadcast: "broadcast",
    Opcode.GroupNonUniformShuffle: "shuffle",
    Opcode.GroupNonUniformShuffleXor: "shuffle_xor",
    Opcode.GroupNonUniformShuffleUp: "shuffle_up",
    Opcode.GroupNonUniformShuffleDown: "shuffle_down",
    Opcode.GroupNonUniformRotateKHR: "shuffle_rotate",
}
_VOTES = {
    Opcode.GroupAll: "all",
    Opcode.GroupNonUniformAll: "all",
    Opcode.SubgroupAllKHR: "all",
    Opcode.GroupAny: "any",
    Opcode.GroupNonUniformAny: "any",
    Opcode.SubgroupAnyKHR: "any",
    Opcode.GroupNonUniformAllEqual: "all_equal",
    Opcode.SubgroupAllEqualKHR: "all_equal",
}
_ALWAYS_SUB_GROUPS = {
    *(Opcode.SubgroupAllKHR, Opcode.SubgroupAnyKHR, Opcode.SubgroupAllEqualKHR),
    *(Opcode.SubgroupBallotKHR, Opcode.SubgroupFirstInvocationKHR, Opcode.SubgroupReadInvocationKHR),
}


_UNIFORM = frozenset([*list(_OPERATIONS)[::2], Opcode.GroupAll, Opcode.GroupAny, Opcode.GroupBroadcast])
"""Instructions that all work-items of the sub-group must reach together: the first of each pair above, and others."""


def _marked(i: Instruction, op: Op) -> Op:
    if i.opcode in _UNIFORM:
        op.flags = "converged"
    return op


def _scope(f: Scope, i: Instruction) -> tuple[str, tuple[int, ...]]:
    """The scope and the remaining operands; KHR's older instructions apply to sub-groups only."""
    if i.opcode in _ALWAYS_SUB_GROUPS:
        return "sub_group", i.operands
    return "sub_group" if f.integer(i.operands[0]) == Range.Subgroup else "group", i.operands[1:]


@translates(*_OPERATIONS)
def reduce_or_scan(f: Scope, i: Instruction) -> Tree:
    scope, (operation, value, *cluster) = _scope(f, i)
    size = f.integer(cluster[0]) if cluster else 0
    collective = Collective(scope, _KINDS[operation], _OPERATIONS[i.opcode], size)
    return each(lambda a: _marked(i, f.b.group(a.type, collective, a)), f.value(value))


@translates(*_VOTES)
def vote(f: Scope, i: Instruction) -> Tree:
    scope, (id_,) = _scope(f, i)
    found: Op | None = None
    for value in f.components(id_):
        answer = _marked(i, f.b.group("i1", Collective(scope, _VOTES[i.opcode]), value))
        found = answer if found is None else f.b.and_(found, answer)
    assert found is not None
    return found


@translates(Opcode.GroupNonUniformElect)
def elect(f: Scope, i: Instruction) -> Tree:
    return f.b.group("i1", Collective(_scope(f, i)[0], "elect"))


@translates(Opcode.GroupBroadcast)
def broadcast(f: Scope, i: Instruction) -> Tree:
    """The source work-item is given by one index, or by one per dimension."""
    b, (scope, (value, item)) = f.b, _scope(f, i)
    indices = [b.resized(index, "i64") for index in f.components(item)]
    if len(indices) == 2:
        indices.append(b.const("i64", 0))
    return each(lambda a: _marked(i, b.group(a.type, Collective(scope, "broadcast"), a, *indices)), f.value(value))


@translates(*_SHUFFLES)
def shuffle(f: Scope, i: Instruction) -> Tree:
    scope, (value, item, *cluster) = _scope(f, i)
    by = f.b.resized(f.scalar(item), "i32")
    collective = Collective(scope, _SHUFFLES[i.opcode], cluster=f.integer(cluster[0]) if cluster else 0)
    return each(lambda a: f.b.group(a.type, collective, a, by), f.value(value))


@translates(Opcode.SubgroupReadInvocationKHR)
def read_invocation(f: Scope, i: Instruction) -> Tree:
    lane = f.b.resized(f.scalar(i.operands[1]), "i32")
    return each(lambda a: f.b.group(a.type, Collective("sub_group", "broadcast"), a, lane), f.value(i.operands[0]))


@translates(Opcode.GroupNonUniformBroadcastFirst, Opcode.SubgroupFirstInvocationKHR)
def broadcast_first(f: Scope, i: Instruction) -> Tree:
    scope, (value,) = _scope(f, i)
    return each(lambda a: f.b.group(a.type, Collective(scope, "broadcast_first"), a), f.value(value))


@translates(Opcode.GroupNonUniformBallot, Opcode.SubgroupBallotKHR)
def ballot(f: Scope, i: Instruction) -> Tree:
    scope, (value,) = _scope(f, i)
    votes = f.b.group("i32", Collective(scope, "ballot", count=4), f.scalar(value))
    return tuple(f.b.parts(votes, 4))


@translates(Opcode.GroupNonUniformInverseBallot)
def inverse_ballot(f: Scope, i: Instruction) -> Tree:
    scope, (votes,) = _scope(f, i)
    return f.b.group("i1", Collective(scope, "inverse_ballot"), *f.components(votes))


@translates(Opcode.GroupNonUniformBallotBitExtract)
def ballot_bit(f: Scope, i: Instruction) -> Tree:
    scope, (votes, index) = _scope(f, i)
    lane = f.b.resized(f.scalar(index), "i32")
    return f.b.group("i1", Collective(scope, "ballot_bit"), *f.components(votes), lane)


_COUNTS = {
    GroupOperation.Reduce: "ballot_count",
    GroupOperation.InclusiveScan: "ballot_inclusive",
    GroupOperation.ExclusiveScan: "ballot_exclusive",
}


@translates(Opcode.GroupNonUniformBallotBitCount)
def ballot_count(f: Scope, i: Instruction) -> Tree:
    scope, (operation, votes) = _scope(f, i)
    return _number(f, i, Collective(scope, _COUNTS[operation]), votes)


@translates(Opcode.GroupNonUniformBallotFindLSB, Opcode.GroupNonUniformBallotFindMSB)
def ballot_find(f: Scope, i: Instruction) -> Tree:
    scope, (votes,) = _scope(f, i)
    kind = "ballot_lsb" if i.opcode == Opcode.GroupNonUniformBallotFindLSB else "ballot_msb"
    return _number(f, i, Collective(scope, kind), votes)


def _number(f: Scope, i: Instruction, collective: Collective, votes: int) -> Op:
    return f.b.resized(f.b.group("i32", collective, *f.components(votes)), scalar(f.types[i.result_id]))


@translates(Opcode.SubgroupShuffleINTEL, Opcode.SubgroupShuffleXorINTEL)
def intel_shuffle(f: Scope, i: Instruction) -> Tree:
    kind = "shuffle" if i.opcode == Opcode.SubgroupShuffleINTEL else "shuffle_xor"
    by = f.b.resized(f.scalar(i.operands[1]), "i32")
    return each(lambda a: f.b.group(a.type, Collective("sub_group", kind), a, by), f.value(i.operands[0]))


@translates(Opcode.SubgroupShuffleUpINTEL, Opcode.SubgroupShuffleDownINTEL)
def intel_shuffle_two(f: Scope, i: Instruction) -> Tree:
    kind = "intel_shuffle_up" if i.opcode == Opcode.SubgroupShuffleUpINTEL else "intel_shuffle_down"
    first, second, distance = i.operands
    by = f.b.resized(f.scalar(distance), "i32")
    collective = Collective("sub_group", kind)
    return each(lambda a, b: f.b.group(a.type, collective, a, b, by), f.value(first), f.value(second))


@translates(Opcode.SubgroupBlockReadINTEL)
def block_read(f: Scope, i: Instruction) -> Tree:
    type_ = f.types[i.result_id]
    assert type_.scalar is not None
    collective = Collective("sub_group", "block_read", count=type_.count)
    found = f.b.parts(f.b.group(scalar(type_.scalar), collective, f.scalar(i.operands[0])), type_.count)
    return tuple(found) if isinstance(type_, Vector) else found[0]


@translates(Opcode.SubgroupBlockWriteINTEL)
def block_write(f: Scope, i: Instruction) -> None:
    components = f.components(i.operands[1])
    collective = Collective("sub_group", "block_write", count=len(components))
    f.b.group("", collective, f.scalar(i.operands[0]), *components)


@translates(Opcode.SubgroupBlockPrefetchINTEL)
def block_prefetch(f: Scope, i: Instruction) -> None:
    """No operation: hardware prefetching suffices."""


@translates(Opcode.SubgroupImageBlockReadINTEL)
def image_block_read(f: Scope, i: Instruction) -> Tree:
    type_ = f.types[i.result_id]
    assert type_.scalar is not None
    collective = Collective("sub_group", "image_block_read", count=type_.count)
    found = f.b.parts(f.b.group(scalar(type_.scalar), collective, *_image_place(f, i)), type_.count)
    return tuple(found) if isinstance(type_, Vector) else found[0]


@translates(Opcode.SubgroupImageBlockWriteINTEL)
def image_block_write(f: Scope, i: Instruction) -> None:
    components = f.components(i.operands[2])
    collective = Collective("sub_group", "image_block_write", count=len(components))
    f.b.group("", collective, *_image_place(f, i), *components)


def _image_place(f: Scope, i: Instruction) -> list[Op]:
    """The image, the byte offset in a row, and the row."""
    image, coordinate = i.operands[:2]
    return [f.scalar(image), *(f.b.resized(each, "i32", signed=True) for each in f.components(coordinate))]


@translates(Opcode.GroupAsyncCopy)
def async_copy(f: Scope, i: Instruction) -> Tree:
    """Copies synchronously; waiting for its event is a no-op."""
    b, (_, to, from_, count, stride, _) = f.b, i.operands
    pointee = copied_element(f.pointer(to).pointee)
    access = Access(pointee.size, pointee.alignment, space=f.space(to))
    numbers = [b.resized(f.scalar(id_), "i64") for id_ in (count, stride)]
    b.emit("group_copy", "", [f.scalar(to), f.scalar(from_), *numbers], access)
    return b.const("i64", 0)


@translates(Opcode.GroupWaitEvents)
def wait_events(f: Scope, i: Instruction) -> None:
    f.b.emit("barrier", "", [], "group").flags = "local global"


@translates(Opcode.ReadClockKHR)
def clock(f: Scope, i: Instruction) -> Tree:
    now = f.b.emit("intrinsic", "i64", [], "readcyclecounter")
    return recast(f.b, now, f.types[i.result_id])
