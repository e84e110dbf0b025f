"""Products of matrices as GPUs compute them: 64 sums in each work-item, lanes that broadcast what they loaded, and
loads a turn ahead.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.analysis.uniformity import analyse
from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Access, Op
from anyzero.compiler.spirv.module import Module
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.fission import crowded, split_loops
from anyzero.compiler.transform.loop_simplify import loop_simplify
from anyzero.compiler.transform.pipelined_loads import load_in_turn
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel

LANES, OWN, PICKED = 8, 2, 4
SUMS = [(own, lane, place) for lane in range(LANES) for place in range(PICKED) for own in range(OWN)]
PROLOGUE = """
    OpExecutionMode %main SubgroupSize 8
    OpDecorate %lane_id BuiltIn SubgroupLocalInvocationId
    OpDecorate %group_number BuiltIn SubgroupId
    OpDecorate %group_count BuiltIn NumSubgroups
    OpDecorate %work_group BuiltIn WorkgroupId"""
DECLARATIONS = """
    %global_v2i32 = OpTypePointer CrossWorkgroup %v2i32
    %global_v4i32 = OpTypePointer CrossWorkgroup %v4i32
    %input_i32 = OpTypePointer Input %i32
    %lane_id = OpVariable %input_i32 Input
    %group_number = OpVariable %input_i32 Input
    %group_count = OpVariable %input_i32 Input
    %work_group = OpVariable %input_v3i64 Input
    %n4 = OpConstant %i32 4
    %n5 = OpConstant %i32 5
    %n6 = OpConstant %i32 6
    %n8 = OpConstant %i32 8
    %n64 = OpConstant %i32 64"""
BEGIN = """
    %lane = OpLoad %i32 %lane_id
    %number = OpLoad %i32 %group_number
    %count = OpLoad %i32 %group_count
    %places = OpLoad %v3i64 %work_group
    %wide = OpCompositeExtract %i64 %places 1
    %above = OpUConvert %i32 %wide
    %before = OpIMul %i32 %above %count
    %tile = OpIAdd %i32 %before %number
    %part = OpUDiv %i32 %lane %n8
    %start = OpIMul %i32 %part %n8
    %panel0 = OpIMul %i32 %tile %p3
    %panel = OpIMul %i32 %panel0 %n8
    %first = OpIAdd %i32 %panel %lane"""


def _loads(turn: str, a: str, b: str) -> str:
    return f"""
    %pa{turn} = OpInBoundsPtrAccessChain %global_v2i32 %p1 {a}
    %a{turn} = OpLoad %v2i32 %pa{turn} Aligned 8
    %pb{turn} = OpInBoundsPtrAccessChain %global_v4i32 %p2 {b}
    %b{turn} = OpLoad %v4i32 %pb{turn} Aligned 16"""


def _turn(a: str, b: str) -> str:
    lanes = ["%c0", "%c1", "%c2", "%c3", "%n4", "%n5", "%n6", "%c7"]
    lines = [f"%own{own} = OpCompositeExtract %i32 {a} {own}" for own in range(OWN)]
    lines += [f"%their{place} = OpCompositeExtract %i32 {b} {place}" for place in range(PICKED)]
    for lane in range(LANES):
        lines.append(f"%at{lane} = OpIAdd %i32 %start {lanes[lane]}")
        for place in range(PICKED):
            lines.append(f"%v{lane}_{place} = OpSubgroupShuffleINTEL %i32 %their{place} %at{lane}")
    for own, lane, place in SUMS:
        lines.append(f"%m{own}_{lane}_{place} = OpIMul %i32 %own{own} %v{lane}_{place}")
        lines.append(f"%n{own}_{lane}_{place} = OpIAdd %i32 %s{own}_{lane}_{place} %m{own}_{lane}_{place}")
    return "\n".join(lines)


def _phi(name: str, type_: str, first: str, after: str, latch: str) -> str:
    return f"{name} = OpPhi {type_} {first} %entry {after} {latch}"


def _stores(letter: str) -> str:
    lines = ["%mine0 = OpIMul %i32 %tile %n8", "%mine1 = OpIAdd %i32 %mine0 %lane", "%mine = OpIMul %i32 %mine1 %n64"]
    lines.append("%o0 = OpInBoundsPtrAccessChain %global_i32 %p0 %mine")
    for index, sum_ in enumerate(SUMS):
        name = "{}_{}_{}".format(*sum_)
        lines.append(f"OpStore %o{index} %{letter}{name} Aligned 4")
        if index + 1 < len(SUMS):
            lines.append(f"%o{index + 1} = OpInBoundsPtrAccessChain %global_i32 %o{index} %c1")
    return "\n".join(lines)


@cache
def _product(ahead: bool) -> Module:
    """With loads a turn ahead and the question in front of a turn; or without, and the question behind it."""
    latch = "%work" if ahead else "%head"
    phis = [_phi("%k", "%i32", "%c0", "%k1", latch), _phi("%a", "%i32", "%a0" if ahead else "%first", "%a1", latch)]
    phis.append(_phi("%b", "%i32", "%b0" if ahead else "%lane", "%b1", latch))
    phis += [_phi("%s{}_{}_{}".format(*sum_), "%i32", "%c0", "%n{}_{}_{}".format(*sum_), latch) for sum_ in SUMS]
    step = "%k1 = OpIAdd %i32 %k %c1\n%a1 = OpIAdd %i32 %a %n8\n%b1 = OpIAdd %i32 %b %n8"
    if ahead:
        phis += [_phi("%xa", "%v2i32", "%ax", "%ay", latch), _phi("%xb", "%v4i32", "%bx", "%by", latch)]
        body = f"""
    {BEGIN}
    {_loads("x", "%first", "%lane")}
    %a0 = OpIAdd %i32 %first %n8
    %b0 = OpIAdd %i32 %lane %n8
    OpBranch %head
    %head = OpLabel
    {chr(10).join(phis)}
    %more = OpSLessThan %bool %k %p3
    OpBranchConditional %more %work %done
    %work = OpLabel
    {_turn("%xa", "%xb")}
    {_loads("y", "%a", "%b")}
    {step}
    OpBranch %head
    %done = OpLabel
    {_stores("s")}"""
    else:
        body = f"""
    {BEGIN}
    OpBranch %head
    %head = OpLabel
    {chr(10).join(phis)}
    {_loads("x", "%a", "%b")}
    {_turn("%ax", "%bx")}
    {step}
    %over = OpSGreaterThanEqual %bool %k1 %p3
    OpBranchConditional %over %done %head
    %done = OpLabel
    {_stores("n")}"""
    return kernel(body, "%global_i32 %global_v2i32 %global_v4i32 %i32", DECLARATIONS, PROLOGUE)


@cache
def _compiled(ahead: bool, target: str) -> Loaded:
    return Loaded(pipeline.compile_kernel(_product(ahead), "main", Options(level=1, cpu=target)))


@pytest.mark.parametrize("target", ["haswell", ""])
@pytest.mark.parametrize(
    ("ahead", "turns"), [(True, 0), (True, 1), (True, 300), (False, 1), (False, 128), (False, 257)]
)
@pytest.mark.parametrize("group", [(8, 2), (4, 4)])
def test_sums_are_those_of_the_product(group: tuple[int, int], ahead: bool, turns: int, target: str) -> None:
    tiles = 2 * group[0] * group[1] // LANES
    random = np.random.default_rng(turns)
    a = random.integers(-9, 9, (tiles, turns + 1, LANES, OWN), dtype=np.int32)
    b = random.integers(-9, 9, (turns + 1, LANES, PICKED), dtype=np.int32)
    found = np.zeros((tiles, LANES, LANES, PICKED, OWN), np.int32)
    if turns:
        # A panel ends where the next one begins; the last load of a turn ahead is of no interest.
        packed = np.concatenate([a[:, :turns].reshape(-1), a[-1, turns].reshape(-1)])
    else:
        packed = a.reshape(-1).copy()
    _compiled(ahead, target)([found, packed, b, turns], (group[0], 2 * group[1]), group)
    wanted = np.einsum("tkmo,klp->tmlpo", a[:, :turns], b[:turns])
    assert (found == wanted).all()


def _loops(ahead: bool) -> tuple[list[list[Op]], list[Op]]:
    """The phis of the loops, and the loads in them."""
    body = pipeline.simplified(_product(ahead), "main").body
    flow = loop_simplify(body)
    load_in_turn(body, flow.loops)
    check(body)
    assert crowded(flow.loops, 16)
    assert split_loops(body, flow, analyse(body, flow, LANES), LANES, 32, 16)
    flow = loop_simplify(body)
    check(body)
    inner = [loop for loop in flow.loops.all if loop.parent is not None]
    loads = [op for loop in inner for block in loop.blocks for op in block.ops if op.name == "load"]
    return [loop.header.phis for loop in inner], loads


@pytest.mark.parametrize("ahead", [True, False])
def test_given_more_sums_than_registers_then_each_loop_carries_what_fits(ahead: bool) -> None:
    loops, loads = _loops(ahead)
    assert len(loops) == 6
    # The sums, two addresses and two counters; nothing that was loaded.
    assert max(map(len, loops)) <= 12 + 4
    assert len(loads) == 2 * len(loops)


def test_given_a_loop_that_writes_memory_then_it_loads_ahead_as_before() -> None:
    body = pipeline.simplified(_product(True), "main").body
    (loop,) = loop_simplify(body).loops.all
    latch = loop.latches[0]
    load = next(op for op in latch.ops if op.name == "load" and op.info.count == OWN)
    value = next(op for op in latch.ops if op.name == "part" and op.args[0] is load)
    latch.append(Op("store", "", [load.args[0], value], Access(alignment=4, space="global")))
    assert not load_in_turn(body, loop_simplify(body).loops)
