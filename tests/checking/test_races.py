"""Races, uninitialized reads and work-items that miss a barrier are found, with both places; nothing is found in right
kernels.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anyzero as az
from benchmarks.kernels.ours import Anyzero
from tests.checking.programs import checked
from tests.kernels.suite import BENCHMARKS
from tests.patience import PATIENCE
from tests.thorough import every

PROGRAM = Path(__file__).with_name("racing_kernels.py")
SOURCE = Path(__file__).with_name("racing.cl")

FOUND = {
    # rule, work-item, the other one, how often, words of the message
    "no_barrier": ("local-race", 0, "written by work-item (15, ", 16, "reads 4 bytes of the local variable"),
    "no_second_barrier": ("local-race", 0, "read by work-item (15, ", 16, "writes 4 bytes of the local variable"),
    "tree_without_barrier": ("local-race", 0, "written by work-item (8, ", 15, "with no barrier between them"),
    "all_write_one": ("local-race", 1, "written by work-item (0, ", 1, "which another work-item writes"),
    "histogram_without_barrier": (
        "local-race",
        0,
        "written by work-item (1, ",
        16,
        "has an atomic operation on 4 bytes",
    ),
    "same_element": ("global-race", 1, "written by work-item (0, ", 32, "of the device allocation at offset 0"),
    "counter": ("global-race", 0, "read by work-item ", 2, "which another work-item reads"),
    "shift_in_place": ("global-race", 1, "read by work-item (0, ", 62, "at offset 4, which another work-item reads"),
    "between_groups": (
        "global-race",
        8,
        "written by work-item (0, ",
        7,
        "which another work-item writes in another group",
    ),
    "within_a_group": ("global-race", 1, "written by work-item (0, ", 56, "with no barrier between them"),
    "atomic_and_plain": ("global-race", 0, "used by an atomic operation by work-item ", 2, "changes atomically"),
    "bytes_apart": ("global-race", 0, "written by work-item (1, ", 63, "writes 1 byte"),
    "same_index_of_groups": ("global-race", None, "written by work-item ", None, "writes in another group"),
    "steps_of_a_loop": ("global-race", 0, "written by work-item (1, ", 32, "which another work-item writes"),
    "reads_nothing": ("uninitialized-read", 0, "", 64, "which nothing has written since it was allocated"),
    "reads_a_part": ("uninitialized-read", 60, "", 4, "at offset 240"),
    "adds_to_nothing": ("uninitialized-read", 0, "", 1, "has an atomic operation on 4 bytes of the device allocation"),
    "local_nothing": ("uninitialized-local", 0, "", 1, "which no work-item of the group has written"),
    "barrier_in_a_branch": ("divergent-barrier", 4, "missing is work-item (0, ", 1, "12 of 16 work-items of the group"),
    "early_return": (
        "divergent-barrier",
        16,
        "missing is work-item (20, ",
        1,
        "4 of 16 work-items of the group reach a",
    ),
    "loop_of_own_length": ("divergent-barrier", 1, "missing is work-item (0, ", 63, "63 of 64 work-items of the group"),
    "sum_in_a_branch": (
        "divergent-barrier",
        4,
        "missing is work-item (0, ",
        1,
        "reach a collective operation of the group",
    ),
    "sub_group_in_a_branch": ("divergent-sub-group", 0, "missing is work-item (1, ", None, "operation reduce"),
    "read_other": (
        "local-race",
        0,
        "written by work-item (1, ",
        16,
        'reads 4 bytes of the local variable "read_other.tile',
    ),
    "read_argument": ("local-race", 0, "written by work-item (15, ", 16, "reads 4 bytes of a local argument"),
    "write_then_write": ("local-race", 0, "written by work-item (1, ", 16, "which another work-item writes"),
    "wrong_fence_local": (
        "missing-fence",
        0,
        "written by work-item (15, ",
        16,
        "the barrier between them has no fence",
    ),
    "halo": ("local-race", None, "written by work-item ", None, "with no barrier between them"),
    "wrong_fence_global": (
        "missing-fence",
        0,
        "written by work-item (1, ",
        32,
        "the barrier between them has no fence",
    ),
    "histogram_without_atomics": ("global-race", None, "by work-item ", None, "which another work-item"),
    "whole_and_part": ("global-race", None, "by work-item ", None, "writes 16 bytes of the device allocation"),
    "neighbours_group": ("global-race", 16, "written by work-item (0, ", None, "in another group"),
    "decides_by_nothing": ("uninitialized-read", 0, "", 64, "which nothing has written since it was allocated"),
    "sums_nothing": ("uninitialized-local", 0, "", None, "which no work-item of the group has written"),
    "two_barriers": ("divergent-barrier", 1, "missing is work-item (0, ", 1, "8 of 16 work-items of the group"),
    "sub_group_of_some": ("divergent-sub-group", None, "missing is work-item ", None, "of the sub-group reach"),
}

Found = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """By the name of the kernel."""
    folder = tmp_path_factory.mktemp("found")
    environment = os.environ | {"ANYZERO_CHECK": "races,init,sync", "ANYZERO_CHECK_REPORT": str(folder)}
    command = [sys.executable, str(PROGRAM)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    found: Found = {}
    for path in folder.iterdir():
        for line in path.read_text().splitlines():
            each = json.loads(line)
            found.setdefault(each["kernel"], []).append(each)
    return found


def line_of(name: str) -> tuple[str, int]:
    for path, mark in ((PROGRAM, "# "), (SOURCE, "// ")):
        for number, text in enumerate(path.read_text().splitlines(), 1):
            if text.endswith(f"  {mark}{name}"):
                return path.name, number
    raise AssertionError(name)


@pytest.mark.parametrize("name", FOUND)
def test_given_a_mistake_then_it_is_found_with_both_places(name: str, findings: Found) -> None:
    rule, item, other, count, words = FOUND[name]
    each = findings[name][0]
    assert each["rule"] == rule
    assert words in each["message"]
    assert item is None or each["work_item"].startswith(f"({item}, 0, 0), local id")
    assert other in each.get("other", "")
    assert count is None or each["count"] == count
    file, line = line_of(name)
    assert f'{file}", line {line}, in {name}' in each["stack"]
    if rule.endswith("race") or rule == "missing-fence":
        assert f'{file}", line ' in each["other"]


def test_given_right_kernels_then_nothing_is_found(findings: Found) -> None:
    assert set(findings) == set(FOUND)


def test_given_one_mistake_then_no_other_rule_is_reported(findings: Found) -> None:
    assert {name: {each["rule"] for each in found} for name, found in findings.items()} == {
        name: {FOUND[name][0]} for name in findings
    }


def test_given_a_block_then_races_are_found_in_it() -> None:
    with checked("races") as found:

        @az.kernel
        def last_one(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
            a[0] = az.i32(az.global_id(0))

        with az.device().context() as context:
            last_one[32](context.zeros(1, "i4"))
    assert found.the_only().rule.name == "global-race"
    assert "last_one" in found.the_only().kernel


def test_given_overlapping_stores_then_their_common_bytes_are_compared() -> None:
    pytest.importorskip("ziglang")
    source = """
        kernel void zeros(global char* a) { vstore4((char4)(0), 0, a + get_global_id(0)); }
        kernel void numbers(global char* a) { vstore4((char4)(0, 1, 2, 3), 0, a + get_global_id(0)); }"""
    with checked("races") as found, az.device().context() as context:
        module = context.module(source=source)
        for name in ("zeros", "numbers"):
            module[name][64](context.zeros(68, "i1"))
    assert found.the_only().kernel == "numbers"


def test_given_a_read_out_of_bounds_then_it_is_no_race_with_the_other_buffer() -> None:
    with checked("memory", "races", "init") as found, az.device().context() as context:

        @az.kernel
        def reads_outside(a: az.ptr[az.i32], index: az.ptr[az.i32], b: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
            i = az.i32(az.global_id(0))
            b[i] = a[index[i]] + 1
            a[i] = 0

        whole = context.zeros(64, "i4")
        other = context.empty(64, "i4")
        distance = (other.pointer - whole.pointer) // 4
        index = context.to_device(distance + np.arange(64, dtype="i4")[::-1].copy())
        reads_outside[64](whole, index, other)
    assert found.the_only().rule.name == "out-of-bounds-read"


def test_given_stop_then_the_kernel_ends_at_a_race() -> None:
    @az.kernel
    def two_places(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
        a[0] = az.i32(az.global_id(0))

    session = az.check("races", stop=True, raises=False)
    with session, az.device().context() as context, pytest.raises(az.Error):
        two_places[32](context.zeros(1, "i4"))
    assert [each.rule.name for each in session.findings] == ["global-race"]


def test_given_more_launches_then_they_are_in_order() -> None:
    with checked("races") as found:

        @az.kernel
        def shifted(a: az.ptr[az.i32], by: az.i32):  # type: ignore[no-untyped-def]
            a[az.i32(az.global_id(0)) + by] = by

        with az.device().context() as context:
            a = context.zeros(64, "i4")
            for by in range(4):
                shifted[32](a, by)
    assert not found


@pytest.mark.parametrize("kinds", [("races", "init"), ("sync",)], ids="_".join)
def test_given_the_kernels_of_the_benchmarks_then_nothing_is_found(kinds: tuple[str, ...]) -> None:
    """With `sync` alone, there are all versions of a kernel, such as those that run several rows at once."""
    named = [each for each in BENCHMARKS if each.name in ("matmul_tiled", "transpose", "reduce_int", "scan_group")]
    with checked(*kinds) as found:
        device = Anyzero()
        for case in {each.name: each for each in (*named, *every(3, BENCHMARKS))}.values():
            prepared = device.prepare(case, case.arguments())
            prepared.run()
    assert not found, [str(each) for each in found]
