"""Neighbouring groups that run as one, whose rows fill a register: each with its own ids and its own local memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import pipeline, reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.passes import Pass
from anyzero.compiler.spirv import Module, read
from benchmarks.kernels.shapes import FAMILIES
from tests.compiler.agreement.cases import module_of
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded, Local

SMOOTH = next(each for each in FAMILIES if each.key == "smooth")
NARROW = "haswell"
"""Rows of four fill half of a register."""
WIDE = "znver4"
"""Rows of eight do; code for it is not run."""


@az.kernel
def mirrored(out: az.ptr[az.i32], data: az.ptr[az.i32], width: az.i64) -> None:
    """Values go through the tile twice, and show the group that they come from."""
    tile = az.local[az.i32, 64]
    x, y, wide, high = az.local_id(0), az.local_id(1), az.local_size(0), az.local_size(1)
    at = (az.group_id(1) * high + y) * width + az.group_id(0) * wide + x
    group = az.i32(az.group_id(0) + 100 * az.group_id(1))
    tile[y * wide + x] = data[at] + 1000 * group
    az.barrier()
    turned = tile[(high - 1 - y) * wide + (x ^ 1)]
    az.barrier()
    tile[y * wide + x] = turned ^ group
    az.barrier()
    out[at] = tile[y * wide + (wide - 1 - x)]


@az.kernel
def in_part(out: az.ptr[az.i32], data: az.ptr[az.i32], width: az.i64) -> None:
    """Some work-items of each row write, in some groups."""
    tile = az.local[az.i32, 64]
    x, y, wide = az.i32(az.local_id(0)), az.i32(az.local_id(1)), az.i32(az.local_size(0))
    at = az.i32(az.global_id(1)) * az.i32(width) + az.i32(az.global_id(0))
    tile[y * wide + x] = 2 * data[at]
    az.barrier()
    if x < 3 and az.group_id(0) != 2:
        out[at] = tile[y * wide + x + 1]


@az.kernel
def rows_of_groups(out: az.ptr[az.i32], data: az.ptr[az.i32], width: az.i64) -> None:
    """Each group has a row of its own in memory: neighbours are far apart."""
    tile = az.local[az.i32, 64]
    x = az.i32(az.local_id(0)) + az.i32(az.local_id(1)) * az.i32(az.local_size(0))
    group = az.i32(az.group_id(1)) * az.i32(az.num_groups(0)) + az.i32(az.group_id(0))
    items = az.i32(az.local_size(0)) * az.i32(az.local_size(1))
    tile[x] = data[group * items + x]
    az.barrier()
    out[group * items + x] = tile[x ^ 1]


@az.kernel
def looked_up(out: az.ptr[az.i32], data: az.ptr[az.i32], width: az.i64) -> None:
    """The place in the tile depends on data, so the tile is in memory."""
    tile = az.local[az.i32, 64]
    x, y, wide = az.i32(az.local_id(0)), az.i32(az.local_id(1)), az.i32(az.local_size(0))
    at = az.i32(az.global_id(1)) * az.i32(width) + az.i32(az.global_id(0))
    tile[y * wide + x] = data[at]
    az.barrier()
    out[at] = tile[y * wide + (data[at] & 3)]


@az.kernel
def counted(out: az.ptr[az.i32], data: az.ptr[az.i32], width: az.i64) -> None:
    """Beside a tile in registers, an atomic operation on local memory."""
    tile = az.local[az.i32, 64]
    count = az.local[az.i32, 1]
    x, y, wide = az.i32(az.local_id(0)), az.i32(az.local_id(1)), az.i32(az.local_size(0))
    at = az.i32(az.global_id(1)) * az.i32(width) + az.i32(az.global_id(0))
    tile[y * wide + x] = data[at]
    if x + y == 0:
        count[0] = 0
    az.barrier()
    az.atomic_add(count, 0, 1)
    az.barrier()
    out[at] = tile[y * wide + (x ^ 1)] + count[0]


def merged(module: Module, name: str, options: Options) -> int:
    """How many groups run as one."""
    found: list[int] = []

    def observe(done: Pass, unit: object) -> None:
        if done.name == "write-group-loops":
            found.append(unit.merged if unit.merged_groups is not None else 1)  # type: ignore[attr-defined]

    pipeline.compile_kernel(module, name, options, observe=observe)
    return found[0]


def check(
    module: Module,
    name: str,
    options: Options,
    given: list[Any],
    columns: int,
    rows: int,
    strip: int,
    offset: tuple[int, int, int] = (0, 0, 0),
) -> None:
    """The kernel on so many groups, against the reference."""
    assert options.group is not None
    group = options.group[:2]
    size = (columns * group[0], rows * group[1])

    def wrong() -> int:
        made, wanted = ([each.copy() if isinstance(each, np.ndarray) else each for each in given] for _ in range(2))
        Loaded(pipeline.compile_kernel(module, name, options))(made, size, group, offset, strip=strip)
        wanted = [reference.Local(each.size) if isinstance(each, Local) else each for each in wanted]
        reference.run(module, name, wanted, size, group, offset)
        return int((made[0] != wanted[0]).sum())

    outcome = isolated(wrong)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == 0


def integers(width: int, high: int) -> list[Any]:
    data = np.random.default_rng(width).integers(-99, 99, width * high, np.int32)
    return [np.zeros(width * high, np.int32), data, np.int64(width)]


@pytest.mark.parametrize(("columns", "rows", "strip"), [(1, 3, 1), (2, 1, 2), (3, 2, 3), (6, 2, 3), (7, 1, 4)])
@pytest.mark.parametrize("kernel", [mirrored, in_part], ids=lambda each: each.__name__)
def test_given_any_number_of_groups_then_each_has_its_own_values(
    kernel: Any, columns: int, rows: int, strip: int
) -> None:
    module, options = read(kernel.spirv), Options(level=1, cpu=NARROW, group=(4, 4, 1))
    assert merged(module, kernel.__name__, options) == 2
    check(module, kernel.__name__, options, integers(4 * columns, 4 * rows), columns, rows, strip)


@pytest.mark.parametrize("group", [(8, 8, 1), (4, 8, 1)])
def test_given_this_machine_then_each_group_has_its_own_values(group: tuple[int, int, int]) -> None:
    """With registers of 512 bits, several times as many groups run as one."""
    columns, rows = 11, 2
    given = integers(group[0] * columns, group[1] * rows)
    check(read(mirrored.spirv), "mirrored", Options(level=1, group=group), given, columns, rows, 8)


@pytest.mark.parametrize("offset", [(0, 0, 0), (5, 2, 0)])
def test_given_an_offset_then_it_is_in_the_global_ids_alone(offset: tuple[int, int, int]) -> None:
    width, high = 4 * 6 + offset[0], 4 * 2 + offset[1]
    module, options = read(in_part.spirv), Options(level=1, cpu=NARROW, group=(4, 4, 1))
    check(module, "in_part", options, integers(width, high), 6, 2, 6, offset)


@pytest.mark.parametrize(("n", "group"), [(8, (4, 4)), (39, (4, 4)), (48, (4, 8)), (37, (4, 6)), (4, (4, 8))])
@pytest.mark.parametrize("strip", [1, 3, 100])
def test_given_a_stencil_then_groups_at_edges_run_alone(n: int, group: tuple[int, int], strip: int) -> None:
    case = SMOOTH.make("smooth", n, group)
    module, options = module_of(case.spv), Options(level=1, cpu=NARROW, group=(*group, 1))
    assert merged(module, "smooth", options) == 2
    columns, rows = (-(-n // each) for each in group)
    data = np.random.default_rng(n).integers(-99, 99, (n, n)).astype(np.float32)
    given = [np.zeros((n, n), np.float32), data, Local(4 * (group[0] + 2) * (group[1] + 2)), np.int32(n)]
    check(module, "smooth", options, given, columns, rows, min(strip, columns))


@pytest.mark.parametrize(("cpu", "group", "count"), [(WIDE, (8, 8), 2), (WIDE, (8, 4), 2), (WIDE, (4, 8), 4)])
def test_given_long_registers_then_groups_fill_them(cpu: str, group: tuple[int, int], count: int) -> None:
    module = module_of(SMOOTH.make("smooth", 64, group).spv)
    assert merged(module, "smooth", Options(level=1, cpu=cpu, group=(*group, 1))) == count


USUAL = Options(level=1, cpu=WIDE, group=(8, 8, 1))


@pytest.mark.parametrize(
    "options",
    [
        replace(USUAL, group=None),
        replace(USUAL, group=(16, 8, 1)),
        replace(USUAL, group=(12, 8, 1)),
        replace(USUAL, cpu=NARROW),
        replace(USUAL, lanes=8),
        replace(USUAL, quick=True),
        replace(USUAL, check_memory=True),
        replace(USUAL, check_races=True),
        replace(USUAL, count_lanes=True),
        replace(USUAL, greater_than_4gb=True),
    ],
)
def test_given_long_rows_a_wish_or_checks_then_groups_run_alone(options: Options) -> None:
    assert merged(module_of(SMOOTH.make("smooth", 64, (8, 8)).spv), "smooth", options) == 1


@pytest.mark.parametrize("kernel", [rows_of_groups, looked_up, counted], ids=lambda each: each.__name__)
def test_given_groups_far_apart_or_memory_of_the_group_then_they_run_alone(kernel: Any) -> None:
    """Accesses would be gathers, or the local memory of all groups would have to be there."""
    module, options = read(kernel.spirv), Options(level=1, cpu=NARROW, group=(4, 4, 1))
    assert merged(module, kernel.__name__, options) == 1
    check(module, kernel.__name__, options, integers(4 * 6, 4 * 2), 6, 2, 6)
