"""Kernels for devices without on-demand paging ask before each access, for the lanes that make it and for no others."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.analysis.uniformity import analyse
from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import simplified
from anyzero.compiler.spirv import read
from anyzero.compiler.spirv.module import Module
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.loop_simplify import loop_simplify
from anyzero.compiler.transform.residency_checks import check_residency
from benchmarks.kernels.case import FOLDER
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel

_RESIDENT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64), ctypes.c_uint64, ctypes.c_uint64)

_APART = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_uint64] * 4)


def asked(module: Module, arrays: list[np.ndarray], items: int, lanes: int) -> list[tuple[int, int, int]]:
    """What the kernel "main" asks for when it runs in one group: the number of an array, an offset in it, and bytes."""
    found: list[tuple[int, int, int]] = []

    def note(address: int, size: int) -> None:
        offsets = [(place, address - each.ctypes.data) for place, each in enumerate(arrays)]
        place, offset = next(one for one in offsets if 0 <= one[1] < arrays[one[0]].nbytes)
        found.append((place, offset, size))

    @_RESIDENT
    def resident(_: int, addresses: ctypes._Pointer[ctypes.c_uint64], mask: int, size: int) -> None:
        for lane in range(64):
            if mask >> lane & 1:
                note(addresses[lane], size)

    @_APART
    def apart(_: int, first: int, stride: int, mask: int, size: int) -> None:
        for lane in range(64):
            if mask >> lane & 1:
                note(first + lane * stride, size)

    made = pipeline.compile_kernel(module, "main", Options(level=1, lanes=lanes, residency_checks=True))
    Loaded(made, engine={"az_resident": resident, "az_resident_apart": apart})(list(arrays), (items,), (items,))
    return found


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_given_a_branch_then_only_lanes_inside_ask(lanes: int) -> None:
    body = """
        %from = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        %n = OpLoad %i32 %from Aligned 4
        %few = OpULessThan %bool %n %c7
        OpSelectionMerge %join None
        OpBranchConditional %few %then %join
        %then = OpLabel
        %to = OpInBoundsPtrAccessChain %global_i32 %p1 %n
        %old = OpAtomicIAdd %i32 %to %c1 %c0 %c1
        OpBranch %join
        %join = OpLabel"""
    picked = np.array([3, 9, 1, 70000, 3, 8, 6], np.uint32)
    counts = np.zeros(7, np.uint32)
    found = asked(kernel(body, "%global_i32 %global_i32"), [picked, counts], 7, lanes)
    assert sorted(found) == [
        *((0, 4 * item, 4) for item in range(7)),
        *((1, 4 * place, 4) for place in (1, 3, 3, 6)),
    ]
    assert counts.tolist() == [0, 1, 0, 2, 0, 0, 1]


@pytest.mark.parametrize("lanes", [1, 4])
def test_given_a_block_of_a_sub_group_then_each_row_is_asked_for(lanes: int) -> None:
    body = """
        %v = OpSubgroupBlockReadINTEL %v2i32 %p0
        OpSubgroupBlockWriteINTEL %p1 %v"""
    source, out = np.arange(8, dtype=np.uint32), np.zeros(8, np.uint32)
    found = asked(kernel(body, "%global_i32 %global_i32"), [source, out], lanes, lanes)
    assert sorted(set(found)) == [(place, 4 * item, 4) for place in (0, 1) for item in range(2 * lanes)]


def test_given_sizes_of_the_run_time_then_the_whole_range_is_asked_for() -> None:
    body = """
        %n = OpLoad %i32 %p2 Aligned 4
        %size = OpUConvert %i64 %n
        OpCopyMemorySized %p0 %p1 %size Aligned 4"""
    arrays = [np.zeros(8, np.uint32), np.arange(8, dtype=np.uint32), np.array([20], np.uint32)]
    found = asked(kernel(body, "%global_i32 %global_i32 %global_i32"), arrays, 1, 1)
    assert sorted(found) == [(0, 0, 20), (1, 0, 20), (2, 0, 4)]


@pytest.mark.parametrize(("name", "count"), [("constants", 2), ("read_program", 2)])
def test_given_memory_of_the_kernel_itself_then_nobody_asks(name: str, count: int) -> None:
    """Constant tables and program-scope variables; a pointer found in one of them is asked about."""
    body = simplified(read((FOLDER / "pointers.spv").read_bytes()), name).body
    flow = loop_simplify(body)
    check_residency(body, analyse(body, flow, 8))
    check(body)
    assert sum(op.name == "resident" for op in body.ops) == count
