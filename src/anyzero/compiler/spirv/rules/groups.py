"""Group and sub-group operations, in the forms of OpenCL, KHR and INTEL."""

from __future__ import annotations

from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.grammar import enumerant_name
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.rules.check import Check, is_number, rule, shape, wrong, wrong_result
from anyzero.compiler.spirv.tables import GroupOperation, Op, Scope, StorageClass
from anyzero.compiler.spirv.types import Bool, Event, Float, Image, Int, Pointer, Type, Vector, Void

_COLLECTIVE = (GroupOperation.Reduce, GroupOperation.InclusiveScan, GroupOperation.ExclusiveScan)


def _result(check: Check, instruction: Instruction, *kinds: type[Type]) -> Type:
    type_ = check.types[instruction.type_id]
    if not isinstance(type_, kinds):
        raise wrong_result(instruction, type_)
    return type_


def _components(check: Check, instruction: Instruction, *kinds: type[Type]) -> Type:
    type_ = check.types[instruction.type_id]
    if not isinstance(type_.scalar, kinds):
        raise wrong_result(instruction, type_)
    return type_


def _truth(check: Check, id_: int) -> None:
    if not isinstance(check.values[id_], Bool):
        raise wrong(id_, check.values[id_], "a boolean")


def _ballot(check: Check, id_: int) -> None:
    type_ = check.values[id_]
    if not isinstance(type_, Vector) or type_.length != 4 or not shape(type_, Int) or type_.bits != 128:
        raise wrong(id_, type_, "<4 x i32>")


@rule(Op.GroupAll, Op.GroupAny, Op.GroupNonUniformAll, Op.GroupNonUniformAny)
def vote(check: Check, instruction: Instruction) -> None:
    _result(check, instruction, Bool)
    check.group(instruction.operands[0])
    _truth(check, instruction.operands[1])


@rule(Op.SubgroupAllKHR, Op.SubgroupAnyKHR, Op.SubgroupAllEqualKHR)
def sub_group_vote(check: Check, instruction: Instruction) -> None:
    _result(check, instruction, Bool)
    _truth(check, instruction.operands[0])


@rule(Op.GroupNonUniformAllEqual)
def all_equal(check: Check, instruction: Instruction) -> None:
    _result(check, instruction, Bool)
    check.group(instruction.operands[0])
    if not isinstance(check.values[instruction.operands[1]].scalar, (Int, Float, Bool)):
        raise wrong(instruction.operands[1], check.values[instruction.operands[1]], "a number")


@rule(Op.GroupNonUniformElect)
def elect(check: Check, instruction: Instruction) -> None:
    _result(check, instruction, Bool)
    check.group(instruction.operands[0])


@rule(Op.GroupBroadcast)
def broadcast(check: Check, instruction: Instruction) -> None:
    """The source work-item is given by one index, or by two or three for as many dimensions."""
    scope, value, item = instruction.operands
    check.group(scope)
    check.is_(value, _components(check, instruction, Int, Float, Bool))
    if not shape(check.values[item], Int) or check.values[item].count > 3:
        raise wrong(item, check.values[item], "one to three integers")


@rule(Op.GroupNonUniformBroadcast, Op.GroupNonUniformShuffle, Op.GroupNonUniformShuffleXor)
@rule(Op.GroupNonUniformShuffleUp, Op.GroupNonUniformShuffleDown, Op.GroupNonUniformRotateKHR)
def shuffle(check: Check, instruction: Instruction) -> None:
    scope, value, item, *cluster = instruction.operands
    check.group(scope)
    check.is_(value, _components(check, instruction, Int, Float, Bool))
    check.integer(item)
    for size in cluster:
        _cluster(check, size)


def _cluster(check: Check, id_: int) -> None:
    size = check.constant(id_)
    if not size or size & (size - 1):
        raise SpirvError(f"clusters of {size} work-items are not possible")


@rule(Op.GroupNonUniformBroadcastFirst)
def broadcast_first(check: Check, instruction: Instruction) -> None:
    check.group(instruction.operands[0])
    check.is_(instruction.operands[1], _components(check, instruction, Int, Float, Bool))


@rule(Op.SubgroupFirstInvocationKHR)
def first_invocation(check: Check, instruction: Instruction) -> None:
    check.is_(instruction.operands[0], _components(check, instruction, Int, Float, Bool))


@rule(Op.SubgroupReadInvocationKHR)
def read_invocation(check: Check, instruction: Instruction) -> None:
    check.is_(instruction.operands[0], _components(check, instruction, Int, Float, Bool))
    check.integer(instruction.operands[1])


@rule(Op.GroupNonUniformBallot)
def ballot(check: Check, instruction: Instruction) -> None:
    check.group(instruction.operands[0])
    _truth(check, instruction.operands[1])
    _is_ballot(check, instruction)


@rule(Op.SubgroupBallotKHR)
def sub_group_ballot(check: Check, instruction: Instruction) -> None:
    _truth(check, instruction.operands[0])
    _is_ballot(check, instruction)


def _is_ballot(check: Check, instruction: Instruction) -> None:
    type_ = check.types[instruction.type_id]
    if not isinstance(type_, Vector) or type_.length != 4 or not shape(type_, Int) or type_.bits != 128:
        raise wrong_result(instruction, type_)


@rule(Op.GroupNonUniformInverseBallot)
def inverse_ballot(check: Check, instruction: Instruction) -> None:
    _result(check, instruction, Bool)
    check.group(instruction.operands[0])
    _ballot(check, instruction.operands[1])


@rule(Op.GroupNonUniformBallotBitExtract)
def ballot_bit(check: Check, instruction: Instruction) -> None:
    _result(check, instruction, Bool)
    check.group(instruction.operands[0])
    _ballot(check, instruction.operands[1])
    check.integer(instruction.operands[2])


@rule(Op.GroupNonUniformBallotBitCount)
def ballot_count(check: Check, instruction: Instruction) -> None:
    scope, operation, value = instruction.operands
    _result(check, instruction, Int)
    check.group(scope)
    _operation(operation, _COLLECTIVE)
    _ballot(check, value)


@rule(Op.GroupNonUniformBallotFindLSB, Op.GroupNonUniformBallotFindMSB)
def ballot_find(check: Check, instruction: Instruction) -> None:
    _result(check, instruction, Int)
    check.group(instruction.operands[0])
    _ballot(check, instruction.operands[1])


def _operation(value: int, allowed: tuple[int, ...]) -> None:
    if value not in allowed:
        raise SpirvError(f"the group operation {enumerant_name('GroupOperation', value)} is not possible here")


@rule(Op.GroupIAdd, Op.GroupUMin, Op.GroupSMin, Op.GroupUMax, Op.GroupSMax, Op.GroupIMulKHR)
@rule(Op.GroupBitwiseAndKHR, Op.GroupBitwiseOrKHR, Op.GroupBitwiseXorKHR)
def integers(check: Check, instruction: Instruction) -> None:
    _collective(check, instruction, Int)


@rule(Op.GroupFAdd, Op.GroupFMin, Op.GroupFMax, Op.GroupFMulKHR)
def floats(check: Check, instruction: Instruction) -> None:
    _collective(check, instruction, Float)


@rule(Op.GroupLogicalAndKHR, Op.GroupLogicalOrKHR, Op.GroupLogicalXorKHR)
def truth_values(check: Check, instruction: Instruction) -> None:
    _collective(check, instruction, Bool)


def _collective(check: Check, instruction: Instruction, kind: type[Type]) -> None:
    scope, operation, value = instruction.operands
    check.group(scope)
    _operation(operation, _COLLECTIVE)
    check.is_(value, _components(check, instruction, kind))


@rule(Op.GroupNonUniformIAdd, Op.GroupNonUniformIMul, Op.GroupNonUniformSMin, Op.GroupNonUniformUMin)
@rule(Op.GroupNonUniformSMax, Op.GroupNonUniformUMax)
@rule(Op.GroupNonUniformBitwiseAnd, Op.GroupNonUniformBitwiseOr, Op.GroupNonUniformBitwiseXor)
def non_uniform_integers(check: Check, instruction: Instruction) -> None:
    _non_uniform(check, instruction, Int)


@rule(Op.GroupNonUniformFAdd, Op.GroupNonUniformFMul, Op.GroupNonUniformFMin, Op.GroupNonUniformFMax)
def non_uniform_floats(check: Check, instruction: Instruction) -> None:
    _non_uniform(check, instruction, Float)


@rule(Op.GroupNonUniformLogicalAnd, Op.GroupNonUniformLogicalOr, Op.GroupNonUniformLogicalXor)
def non_uniform_truth_values(check: Check, instruction: Instruction) -> None:
    _non_uniform(check, instruction, Bool)


def _non_uniform(check: Check, instruction: Instruction, kind: type[Type]) -> None:
    scope, operation, value, *cluster = instruction.operands
    check.group(scope)
    _operation(operation, (*_COLLECTIVE, GroupOperation.ClusteredReduce))
    check.is_(value, _components(check, instruction, kind))
    if (operation == GroupOperation.ClusteredReduce) != bool(cluster):
        raise SpirvError("needs a cluster size if it reduces clusters, and must not have one otherwise")
    for size in cluster:
        _cluster(check, size)


@rule(Op.SubgroupShuffleINTEL, Op.SubgroupShuffleXorINTEL)
def intel_shuffle(check: Check, instruction: Instruction) -> None:
    check.is_(instruction.operands[0], _components(check, instruction, Int, Float))
    check.integer(instruction.operands[1])


@rule(Op.SubgroupShuffleDownINTEL, Op.SubgroupShuffleUpINTEL)
def intel_shuffle_two(check: Check, instruction: Instruction) -> None:
    type_ = _components(check, instruction, Int, Float)
    check.is_(instruction.operands[0], type_)
    check.is_(instruction.operands[1], type_)
    check.integer(instruction.operands[2])


@rule(Op.SubgroupBlockReadINTEL)
def block_read(check: Check, instruction: Instruction) -> None:
    type_ = _components(check, instruction, Int)
    if check.pointer(instruction.operands[0]).pointee is not type_.scalar:
        raise wrong(instruction.operands[0], check.values[instruction.operands[0]], f"a pointer to {type_.scalar}")


@rule(Op.SubgroupBlockWriteINTEL)
def block_write(check: Check, instruction: Instruction) -> None:
    pointer, data = instruction.operands
    if not is_number(check.values[data]) or check.pointer(pointer).pointee is not check.values[data].scalar:
        raise wrong(pointer, check.values[pointer], f"a pointer to components of {check.values[data]}")


@rule(Op.SubgroupBlockPrefetchINTEL)
def block_prefetch(check: Check, instruction: Instruction) -> None:
    check.pointer(instruction.operands[0])
    check.integer(instruction.operands[1])


@rule(Op.SubgroupImageBlockReadINTEL)
def image_block_read(check: Check, instruction: Instruction) -> None:
    _components(check, instruction, Int)
    _image_block(check, *instruction.operands)


@rule(Op.SubgroupImageBlockWriteINTEL)
def image_block_write(check: Check, instruction: Instruction) -> None:
    image, coordinate, data = instruction.operands
    _image_block(check, image, coordinate)
    if not is_number(check.values[data]):
        raise wrong(data, check.values[data], "numbers")


def _image_block(check: Check, image: int, coordinate: int) -> None:
    if not isinstance(check.values[image], Image):
        raise wrong(image, check.values[image], "an image")
    if not shape(check.values[coordinate], Int, 2):
        raise wrong(coordinate, check.values[coordinate], "two integers")


@rule(Op.GroupAsyncCopy)
def async_copy(check: Check, instruction: Instruction) -> None:
    scope, destination, source, count, stride, event = instruction.operands
    check.scope(scope, Scope.Workgroup)
    type_ = _result(check, instruction, Event)
    to, from_ = check.pointer(destination), check.pointer(source)
    if to.pointee is not from_.pointee or not to.pointee.sized:
        raise wrong(source, from_, f"a pointer to {to.pointee}")
    if {to.storage_class, from_.storage_class} != {StorageClass.Workgroup, StorageClass.CrossWorkgroup}:
        raise SpirvError(f"copies from {from_.space} to {to.space} memory, not between local and global")
    check.integer(count)
    check.integer(stride)
    check.is_(event, type_)


@rule(Op.GroupWaitEvents)
def wait_events(check: Check, instruction: Instruction) -> None:
    scope, count, events = instruction.operands
    check.scope(scope, Scope.Workgroup)
    check.integer(count)
    pointer = check.values[events]
    if not isinstance(pointer, Pointer) or not isinstance(pointer.pointee, Event):
        raise wrong(events, pointer, "a pointer to events")


@rule(Op.ReadClockKHR)
def clock(check: Check, instruction: Instruction) -> None:
    type_ = check.types[instruction.type_id]
    check.scope(instruction.operands[0])
    if not shape(type_, Int) or isinstance(type_, Void) or type_.bits != 64:
        raise wrong_result(instruction, type_)
