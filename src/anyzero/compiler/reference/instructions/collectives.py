"""Collective operations: votes, broadcasts, shuffles, reductions, scans, group copies.

In a sub-group only the lanes that reached the instruction together take part. Reading from an inactive lane is
undefined; here it gives zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from anyzero.compiler.reference import layout, memory
from anyzero.compiler.reference.decoder import Decoder, Pause, handles
from anyzero.compiler.reference.errors import Divergence
from anyzero.compiler.reference.instructions.access import target
from anyzero.compiler.reference.instructions.lanewise import width_of
from anyzero.compiler.reference.meetings import Settle, meet, nothing
from anyzero.compiler.reference.minmax import fmax, fmin
from anyzero.compiler.reference.numbers import ROUND, signed
from anyzero.compiler.reference.work_item import Item
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import GroupOperation, Op, Scope
from anyzero.compiler.spirv.types import Pointer, Type, Vector, copied_element

Combine = Callable[[Any, Any], Any]

# By operation: the combining function for a width, and its identity.
_INTEGER: dict[str, Callable[[int, int], tuple[Combine, Any]]] = {
    "IAdd": lambda width, mask: (lambda a, b: (a + b) & mask, 0),
    "IMul": lambda width, mask: (lambda a, b: (a * b) & mask, 1),
    "UMin": lambda width, mask: (min, mask),
    "UMax": lambda width, mask: (max, 0),
    "SMin": lambda width, mask: (lambda a, b: min(a, b, key=lambda value: signed(value, width)), mask >> 1),
    "SMax": lambda width, mask: (lambda a, b: max(a, b, key=lambda value: signed(value, width)), (mask >> 1) + 1),
    "BitwiseAnd": lambda width, mask: (lambda a, b: a & b, mask),
    "BitwiseOr": lambda width, mask: (lambda a, b: a | b, 0),
    "BitwiseXor": lambda width, mask: (lambda a, b: a ^ b, 0),
}
_FLOAT: dict[str, Callable[[Callable[[float], float]], tuple[Combine, Any]]] = {
    "FAdd": lambda fit: (lambda a, b: fit(a + b), 0.0),
    "FMul": lambda fit: (lambda a, b: fit(a * b), 1.0),
    "FMin": lambda fit: (fmin, math.inf),
    "FMax": lambda fit: (fmax, -math.inf),
}
_LOGICAL: dict[str, tuple[Combine, Any]] = {
    "LogicalAnd": (lambda a, b: a and b, True),
    "LogicalOr": (lambda a, b: a or b, False),
    "LogicalXor": (lambda a, b: a != b, False),
}

_UNIFORM = {
    **{getattr(Op, f"Group{name}"): name for name in ("IAdd", "UMin", "UMax", "SMin", "SMax", "FAdd", "FMin", "FMax")},
    **{getattr(Op, f"Group{name}KHR"): name for name in ("IMul", "FMul", "BitwiseAnd", "BitwiseOr", "BitwiseXor")},
    **{getattr(Op, f"Group{name}KHR"): name for name in _LOGICAL},
}
_NON_UNIFORM = {getattr(Op, f"GroupNonUniform{name}"): name for name in (*_INTEGER, *_FLOAT, *_LOGICAL)}


def _operation(name: str, type_: Type) -> tuple[Combine, Any]:
    if name in _LOGICAL:
        combine, neutral = _LOGICAL[name]
    elif name in _FLOAT:
        combine, neutral = _FLOAT[name](ROUND[width_of(type_)])
    else:
        width = width_of(type_)
        combine, neutral = _INTEGER[name](width, (1 << width) - 1)
    if not isinstance(type_, Vector):
        return combine, neutral
    return lambda a, b: tuple(map(combine, a, b)), (neutral,) * type_.length


@handles(*_UNIFORM)
def arithmetic(decoder: Decoder, instruction: Instruction) -> Pause:
    return _arithmetic(decoder, instruction, _UNIFORM[instruction.opcode], uniform=True)


@handles(*_NON_UNIFORM)
def non_uniform_arithmetic(decoder: Decoder, instruction: Instruction) -> Pause:
    return _arithmetic(decoder, instruction, _NON_UNIFORM[instruction.opcode], uniform=False)


def _arithmetic(decoder: Decoder, instruction: Instruction, name: str, *, uniform: bool) -> Pause:
    scope, operation, value, *cluster = instruction.operands
    combine, neutral = _operation(name, decoder.type(instruction))
    size = decoder.constant(cluster[0]) if cluster else None

    def settle(items: Sequence[Item], values: Sequence[Any]) -> Sequence[Any]:
        if operation in (GroupOperation.Reduce, GroupOperation.ClusteredReduce):
            return _reduced(items, values, combine, size)
        so_far, before, upto = None, [], []
        for each in values:
            before.append(neutral if so_far is None else so_far)
            so_far = each if so_far is None else combine(so_far, each)
            upto.append(so_far)
        return upto if operation == GroupOperation.InclusiveScan else before

    return _of_values(decoder, instruction, decoder.constant(scope), (value,), settle, uniform=uniform)


def _reduced(items: Sequence[Item], values: Sequence[Any], combine: Combine, size: int | None) -> list[Any]:
    """Reduces over all lanes, or over clusters."""
    of = [item.lane // size if size else 0 for item in items]
    totals: dict[int, Any] = {}
    for cluster, value in zip(of, values, strict=True):
        totals[cluster] = combine(totals[cluster], value) if cluster in totals else value
    return [totals[cluster] for cluster in of]


def _of_values(
    decoder: Decoder, instruction: Instruction, scope: int, ids: tuple[int, ...], settle: Settle, *, uniform: bool
) -> Pause:
    """A meeting to which each work-item contributes the values of these operands; a single one unwrapped."""
    slots = decoder.slot_list(ids)
    if len(slots) == 1:
        (only,) = slots
        return meet(decoder, instruction, scope, lambda r: r[only], settle, uniform=uniform)
    return meet(decoder, instruction, scope, lambda r: [r[slot] for slot in slots], settle, uniform=uniform)


def _everywhere(answer: Callable[[Sequence[Any]], Any]) -> Settle:
    """The same result for all."""
    return lambda items, values: [answer(values)] * len(items)


def _all_equal(values: Sequence[Any]) -> bool:
    return all(value == values[0] for value in values)


_VOTES: dict[int, Callable[[Sequence[Any]], bool]] = {
    Op.GroupAll: all,
    Op.GroupAny: any,
    Op.GroupNonUniformAll: all,
    Op.GroupNonUniformAny: any,
    Op.GroupNonUniformAllEqual: _all_equal,
    Op.SubgroupAllKHR: all,
    Op.SubgroupAnyKHR: any,
    Op.SubgroupAllEqualKHR: _all_equal,
}


@handles(*_VOTES)
def vote(decoder: Decoder, instruction: Instruction) -> Pause:
    *named, value = instruction.operands
    scope = decoder.constant(named[0]) if named else Scope.Subgroup
    uniform = instruction.opcode in (Op.GroupAll, Op.GroupAny)
    settle = _everywhere(_VOTES[instruction.opcode])
    return _of_values(decoder, instruction, scope, (value,), settle, uniform=uniform)


@handles(Op.GroupNonUniformElect)
def elect(decoder: Decoder, instruction: Instruction) -> Pause:
    def settle(items: Sequence[Item], brought: Sequence[Any]) -> Sequence[bool]:
        return [item is items[0] for item in items]

    scope = decoder.constant(instruction.operands[0])
    return meet(decoder, instruction, scope, lambda r: None, settle, uniform=False)


@handles(Op.GroupNonUniformBallot, Op.SubgroupBallotKHR)
def ballot(decoder: Decoder, instruction: Instruction) -> Pause:
    *named, value = instruction.operands

    def settle(items: Sequence[Item], votes: Sequence[bool]) -> Sequence[Any]:
        bits = sum(1 << _number(item, scope) for item, vote in zip(items, votes, strict=True) if vote)
        return [tuple(bits >> (32 * index) & 0xFFFFFFFF for index in range(4))] * len(items)

    scope = decoder.constant(named[0]) if named else Scope.Subgroup
    return _of_values(decoder, instruction, scope, (value,), settle, uniform=False)


def _number(item: Item, scope: int) -> int:
    """The index of a work-item in the scope."""
    return item.lane if scope == Scope.Subgroup else item.index


@handles(Op.GroupBroadcast)
def broadcast(decoder: Decoder, instruction: Instruction) -> Pause:
    scope_id, value, who = instruction.operands
    scope, vector = decoder.constant(scope_id), isinstance(decoder.type_of(who), Vector)

    def settle(items: Sequence[Item], brought: Sequence[Any]) -> Sequence[Any]:
        named = brought[0][1] if vector else (brought[0][1],)
        wanted = [index for index, item in enumerate(items) if _is_named(item, named, scope)]
        if not wanted:
            raise Divergence(f"takes the value of work-item {named}, which has not reached the instruction")
        return [brought[wanted[0]][0]] * len(items)

    return _of_values(decoder, instruction, scope, (value, who), settle, uniform=True)


def _is_named(item: Item, named: Sequence[int], scope: int) -> bool:
    if scope == Scope.Subgroup:
        return item.lane == named[0]
    return item.local_id[: len(named)] == tuple(named) and not any(item.local_id[len(named) :])


@handles(Op.GroupNonUniformBroadcastFirst, Op.SubgroupFirstInvocationKHR)
def broadcast_first(decoder: Decoder, instruction: Instruction) -> Pause:
    *named, value = instruction.operands
    scope = decoder.constant(named[0]) if named else Scope.Subgroup
    return _of_values(decoder, instruction, scope, (value,), _everywhere(lambda values: values[0]), uniform=False)


# Source lane, from the lane, an operand and the number of lanes.
_SHUFFLES: dict[int, Callable[[int, int, int], int]] = {
    Op.GroupNonUniformBroadcast: lambda lane, other, lanes: other,
    Op.GroupNonUniformShuffle: lambda lane, other, lanes: other,
    Op.GroupNonUniformShuffleXor: lambda lane, mask, lanes: lane ^ mask,
    Op.GroupNonUniformShuffleUp: lambda lane, distance, lanes: lane - distance,
    Op.GroupNonUniformShuffleDown: lambda lane, distance, lanes: lane + distance,
    Op.GroupNonUniformRotateKHR: lambda lane, by, lanes: lane // lanes * lanes + (lane + by) % lanes,
    Op.SubgroupReadInvocationKHR: lambda lane, other, lanes: other,
    Op.SubgroupShuffleINTEL: lambda lane, other, lanes: other,
    Op.SubgroupShuffleXorINTEL: lambda lane, mask, lanes: lane ^ mask,
}
_WITHOUT_SCOPE = (Op.SubgroupReadInvocationKHR, Op.SubgroupShuffleINTEL, Op.SubgroupShuffleXorINTEL)


@handles(*_SHUFFLES)
def shuffle(decoder: Decoder, instruction: Instruction) -> Pause:
    operands, scope = instruction.operands, Scope.Subgroup
    if instruction.opcode not in _WITHOUT_SCOPE:
        scope, operands = decoder.constant(operands[0]), operands[1:]
    value, who, *cluster = operands
    size = decoder.constant(cluster[0]) if cluster else None
    source, zero = _SHUFFLES[instruction.opcode], layout.zero(decoder.type(instruction))

    def settle(items: Sequence[Item], brought: Sequence[Any]) -> Sequence[Any]:
        there = {_number(item, scope): each[0] for item, each in zip(items, brought, strict=True)}
        launch = items[0].group.launch
        lanes = size or (launch.sub_group_size if scope == Scope.Subgroup else math.prod(launch.group_size))
        wanted = [source(_number(item, scope), each[1], lanes) for item, each in zip(items, brought, strict=True)]
        return [there.get(lane, zero) for lane in wanted]

    return _of_values(decoder, instruction, scope, (value, who), settle, uniform=False)


@handles(Op.SubgroupShuffleDownINTEL, Op.SubgroupShuffleUpINTEL)
def shuffle_two(decoder: Decoder, instruction: Instruction) -> Pause:
    """Shuffles with two vectors: a shifted window over their concatenation."""
    down, zero = instruction.opcode == Op.SubgroupShuffleDownINTEL, layout.zero(decoder.type(instruction))

    def settle(items: Sequence[Item], brought: Sequence[Any]) -> Sequence[Any]:
        lanes = items[0].group.launch.sub_group_size
        row = {item.lane: each[0] for item, each in zip(items, brought, strict=True)}
        row.update({lanes + item.lane: each[1] for item, each in zip(items, brought, strict=True)})
        places = [
            item.lane + each[2] if down else lanes + item.lane - each[2]
            for item, each in zip(items, brought, strict=True)
        ]
        return [row.get(place, zero) for place in places]

    return _of_values(decoder, instruction, Scope.Subgroup, instruction.operands, settle, uniform=False)


@handles(Op.GroupAsyncCopy)
def async_copy(decoder: Decoder, instruction: Instruction) -> Pause:
    """Copies when all work-items have arrived; the result is valid after the event."""
    scope, destination, source, count, stride, event = instruction.operands
    type_, pointer = copied_element(target(decoder, destination)), decoder.type_of(destination)
    to_global = isinstance(pointer, Pointer) and memory.SPACE[pointer.storage_class] == memory.GLOBAL

    def settle(items: Sequence[Item], brought: Sequence[Any]) -> Sequence[Any]:
        to, from_, how_many, step, _ = brought[0]
        if any(each[:4] != brought[0][:4] for each in brought):
            raise Divergence("work-items of one group pass different operands to the copy")
        regions = items[0].regions
        for index in range(how_many):
            # The stride applies to global memory only.
            here, there = (index * step, index) if to_global else (index, index * step)
            data = memory.read(regions, from_ + there * type_.size, type_.stored)
            memory.write(regions, to + here * type_.size, data)
        return [each[4] or 1 for each in brought]

    operands = (destination, source, count, stride, event)
    return _of_values(decoder, instruction, decoder.constant(scope), operands, settle, uniform=True)


@handles(Op.GroupWaitEvents)
def wait_events(decoder: Decoder, instruction: Instruction) -> Pause:
    scope = decoder.constant(instruction.operands[0])
    return meet(decoder, instruction, scope, lambda r: None, nothing, uniform=True)
