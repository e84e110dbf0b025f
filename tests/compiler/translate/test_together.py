"""Atomics, barriers, collectives and images: which operations they become."""

from __future__ import annotations

import pytest

from anyzero.compiler.ir import Access, Atomic, Collective, ImageAccess, Op
from anyzero.compiler.spirv import read
from tests.compiler.samples import MODULES, function
from tests.compiler.translate.programs import AT, body_of, kernel, ran

SCOPES = "%c4 = OpConstant %i32 4\n%both = OpConstant %i32 0x300\n%strict = OpConstant %i32 0x210"


def ops(body: str, parameters: str, name: str, result: str = "void", declarations: str = "") -> list[Op]:
    text = function(body, parameters=parameters, result=result, declarations=SCOPES + "\n" + declarations)
    return [op for op in body_of(text).ops if op.name == name]


@pytest.mark.parametrize(
    ("line", "before", "after"),
    [
        ("%r = OpAtomicIAdd %i32 %p0 %c1 %c0 %c7", 5, 12),
        ("%r = OpAtomicISub %i32 %p0 %c1 %c0 %c7", 5, 2**32 - 2),
        ("%r = OpAtomicIIncrement %i32 %p0 %c1 %c0", 5, 6),
        ("%r = OpAtomicIDecrement %i32 %p0 %c1 %c0", 5, 4),
        ("%r = OpAtomicExchange %i32 %p0 %c1 %c0 %c7", 5, 7),
        ("%r = OpAtomicCompareExchange %i32 %p0 %c1 %c0 %c0 %c7 %c3", 5, 5),
        ("%r = OpAtomicCompareExchange %i32 %p0 %c1 %c0 %c0 %c7 %c3", 3, 7),
        ("%r = OpAtomicSMin %i32 %p0 %c1 %c0 %c7", 2**32 - 1, 2**32 - 1),
        ("%r = OpAtomicUMin %i32 %p0 %c1 %c0 %c7", 2**32 - 1, 7),
        ("%r = OpAtomicLoad %i32 %p0 %c1 %c0", 5, 5),
    ],
)
def test_atomics_give_what_was_there(line: str, before: int, after: int) -> None:
    text = function(f"{line}\nOpReturnValue %r", parameters="%global_i32", result="i32")
    result, (memory,) = ran(text, AT[0], regions=(before.to_bytes(4, "little"),))
    assert (result, int.from_bytes(memory, "little")) == ([before], after)


@pytest.mark.parametrize("flag", [0, 1, 7])
def test_flags(flag: int) -> None:
    body = "%r = OpAtomicFlagTestAndSet %bool %p0 %c1 %c0\nOpAtomicFlagClear %p1 %c1 %c0\nOpReturnValue %r"
    text = function(body, parameters="%global_i32 %global_i32", result="bool")
    word = flag.to_bytes(4, "little")
    expected = [flag != 0], [(1).to_bytes(4, "little"), bytes(4)]
    assert ran(text, AT[0], AT[1], regions=(word, word)) == expected


@pytest.mark.parametrize(("scope", "name"), [(0, "system"), (1, "device"), (2, "group"), (3, "sub_group"), (4, "item")])
def test_the_scope_and_the_memory_of_an_atomic(scope: int, name: str) -> None:
    (op,) = ops(f"%r = OpAtomicIAdd %i32 %p0 %c{scope} %c0 %c7\nOpReturn", "%local_i32", "atomic")
    assert op.info == Atomic("add", name, "local", relaxed=True)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("OpControlBarrier %c2 %c2 %strict", [("barrier", "group")]),
        ("OpControlBarrier %c3 %c3 %strict", [("barrier", "sub_group")]),
        ("OpControlBarrier %c2 %c1 %strict", [("fence", "device"), ("barrier", "group")]),
        ("OpControlBarrierArriveINTEL %c2 %c2 %strict", []),
        ("OpControlBarrierWaitINTEL %c2 %c2 %strict", [("barrier", "group")]),
        ("OpMemoryBarrier %c1 %strict", [("fence", "device")]),
        ("OpMemoryBarrier %c1 %c0", []),
        ("OpMemoryBarrier %c4 %strict", []),
    ],
)
def test_barriers_and_fences(line: str, expected: list[tuple[str, str]]) -> None:
    text = function(f"{line}\nOpReturn", declarations=SCOPES)
    assert [(op.name, op.info) for op in body_of(text).ops] == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("OpGroupIAdd %i32 %c2 Reduce %p0", Collective("group", "reduce", "add")),
        ("OpGroupSMax %i32 %c3 InclusiveScan %p0", Collective("sub_group", "inclusive", "smax")),
        ("OpGroupNonUniformUMin %i32 %c3 ClusteredReduce %p0 %c2", Collective("sub_group", "reduce", "umin", 2)),
        ("OpGroupNonUniformShuffle %i32 %c3 %p0 %c1", Collective("sub_group", "shuffle")),
        ("OpGroupNonUniformRotateKHR %i32 %c3 %p0 %c1 %c2", Collective("sub_group", "shuffle_rotate", cluster=2)),
        ("OpSubgroupFirstInvocationKHR %i32 %p0", Collective("sub_group", "broadcast_first")),
        ("OpSubgroupShuffleXorINTEL %i32 %p0 %c1", Collective("sub_group", "shuffle_xor")),
        ("OpSubgroupShuffleUpINTEL %i32 %p0 %p0 %c1", Collective("sub_group", "intel_shuffle_up")),
    ],
)
def test_collectives(line: str, expected: Collective) -> None:
    (op,) = ops(f"%r = {line}\nOpReturnValue %r", "%i32", "group", "i32")
    assert op.info == expected


def test_collectives_of_vectors_are_as_many_as_components() -> None:
    found = ops("%r = OpGroupIAdd %v4i32 %c2 Reduce %p0\nOpReturnValue %r", "%v4i32", "group", "v4i32")
    assert len(found) == 4


def test_broadcasts_name_a_work_item() -> None:
    body = "%r = OpGroupBroadcast %i32 %c2 %p0 {}\nOpReturnValue %r"
    (op,) = ops(body.format("%p1"), "%i32 %i64", "group", "i32")
    assert [arg.type for arg in op.args] == ["i32", "i64"]
    (op,) = ops(body.format("%p1"), "%i32 %v2i32", "group", "i32")
    assert [arg.type for arg in op.args] == ["i32", "i64", "i64", "i64"]
    assert op.args[3].info == 0


def test_ballots_are_four_words() -> None:
    text = function(
        """
        %b = OpGroupNonUniformBallot %v4i32 %c3 %p0
        %n = OpGroupNonUniformBallotBitCount %i64 %c3 ExclusiveScan %b
        OpReturnValue %n
        """,
        parameters="%bool",
        result="i64",
    )
    first, second = (op for op in body_of(text).ops if op.name == "group")
    assert first.info == Collective("sub_group", "ballot", count=4)
    assert second.info == Collective("sub_group", "ballot_exclusive")
    assert len(second.args) == 4


def test_asynchronous_copies_are_done_by_all_together() -> None:
    declared = """
        %event = OpTypeEvent
        %private_event = OpTypePointer Function %event
        %none = OpConstantNull %event
    """
    body = """
        %events = OpVariable %private_event Function
        %e = OpGroupAsyncCopy %event %c2 %p0 %p1 %p2 %l1 %none
        OpStore %events %e
        OpGroupWaitEvents %c2 %c1 %events
        OpReturn
    """
    text = function(body, parameters="%local_i32 %global_i32 %i64", declarations=declared)
    found = {op.name: op for op in body_of(text).ops}
    assert found["group_copy"].info == Access(4, 4, space="local")
    assert found["barrier"].info == "group"


def test_images() -> None:
    made = kernel(read(MODULES["images"]), "images")
    assert [each.kind for each in made.arguments] == ["image", "image", "sampler", "value"]
    assert [each.access for each in made.arguments[:2]] == [0, 1]
    found = [op for op in made.body.ops if op.name.startswith("image")]
    sampled, plain = (op for op in found if op.name == "image_read")
    assert sampled.info == ImageAccess(0, 2, float_coordinates=False, sampler=True)
    assert plain.info == ImageAccess(0, 2)
    (write,) = (op for op in found if op.name == "image_write")
    assert write.info == ImageAccess(0, 3)
    assert [op.info for op in found if op.name == "image_query"] == [0]
    assert len([op for op in made.body.ops if op.name == "part"]) == 8
