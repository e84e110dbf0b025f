"""Neighbouring groups that run vector by vector, side by side: each in local memory of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import pipeline, reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.passes import Pass
from anyzero.compiler.spirv import Module, read
from anyzero.layouts.kernel import LOCAL_ROOM
from benchmarks.kernels.shapes import FAMILIES
from tests.compiler.agreement.cases import module_of
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded, Local

SMOOTH = next(each for each in FAMILIES if each.key == "smooth")
CPU = "haswell"
"""Arrays of such groups are in registers where registers are longer."""


@az.kernel
def scaled(out: az.ptr[az.i32], data: az.ptr[az.i32], factors: az.ptr[az.i32], width: az.i32) -> None:
    """A value of the whole group is kept across the barrier, and a value of each work-item as well."""
    tile = az.local[az.i32, 256]
    x, y = az.i32(az.local_id(0)), az.i32(az.local_id(1))
    place = y * 16 + x
    at = az.i32(az.global_id(1)) * width + az.i32(az.global_id(0))
    factor = factors[az.group_id(1) * az.num_groups(0) + az.group_id(0)]
    own = data[at]
    tile[place] = own - data[at + 1]
    az.barrier()
    out[at] = tile[255 - place] * factor + own


@az.kernel
def in_steps(out: az.ptr[az.i32], data: az.ptr[az.i32], factors: az.ptr[az.i32], width: az.i32) -> None:
    """Values travel through the tile twice."""
    tile = az.local[az.i32, 256]
    x, y = az.i32(az.local_id(0)), az.i32(az.local_id(1))
    at = az.i32(az.global_id(1)) * width + az.i32(az.global_id(0))
    tile[y * 16 + x] = data[at] ^ data[at + 1]
    az.barrier()
    turned = tile[x * 16 + y]
    az.barrier()
    tile[(15 - y) * 16 + x] = turned + factors[az.group_id(0)]
    az.barrier()
    out[at] = tile[y * 16 + x]


@az.kernel
def turned(out: az.ptr[az.i32], data: az.ptr[az.i32], width: az.i32) -> None:
    """Each work-item reads one element."""
    tile = az.local[az.i32, 256]
    x, y = az.i32(az.local_id(0)), az.i32(az.local_id(1))
    tile[y * 16 + x] = data[az.i32(az.global_id(1)) * width + az.i32(az.global_id(0))]
    az.barrier()
    out[(az.i32(az.group_id(0)) * 16 + y) * width + az.i32(az.group_id(1)) * 16 + x] = tile[x * 16 + y]


def paired(module: Module, name: str, options: Options) -> bool:
    found: list[bool] = []

    def observe(done: Pass, unit: object) -> None:
        if done.name == "write-group-loops":
            found.append(unit.paired)  # type: ignore[attr-defined]

    pipeline.compile_kernel(module, name, options, observe=observe)
    return found[0]


def check(module: Module, name: str, options: Options, given: list[Any], columns: int, rows: int, strip: int) -> None:
    """The kernel on so many groups, against the reference."""
    assert options.group is not None
    group = options.group[:2]
    size = (columns * group[0], rows * group[1])

    def wrong() -> int:
        made, wanted = ([each.copy() if isinstance(each, np.ndarray) else each for each in given] for _ in range(2))
        Loaded(pipeline.compile_kernel(module, name, options))(made, size, group, strip=strip)
        wanted = [reference.Local(each.size) if isinstance(each, Local) else each for each in wanted]
        reference.run(module, name, wanted, size, group)
        return int((made[0] != wanted[0]).sum())

    outcome = isolated(wrong)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == 0


@pytest.mark.parametrize(("columns", "rows", "strip"), [(1, 3, 1), (2, 1, 2), (3, 2, 3), (5, 2, 2), (7, 1, 3)])
@pytest.mark.parametrize("kernel", [scaled, in_steps], ids=lambda each: each.__name__)
def test_given_any_number_of_groups_then_each_has_its_own_values(
    kernel: Any, columns: int, rows: int, strip: int
) -> None:
    module, options = read(kernel.spirv), Options(level=1, cpu=CPU, group=(16, 16, 1))
    assert paired(module, kernel.__name__, options)
    width, high = 16 * columns, 16 * rows
    random = np.random.default_rng(columns)
    data, factors = (random.integers(-99, 99, size, np.int32) for size in (width * high + 1, columns * rows))
    given = [np.zeros(width * high, np.int32), data, factors, np.int32(width)]
    check(module, kernel.__name__, options, given, columns, rows, strip)


@pytest.mark.parametrize(
    ("n", "group"), [(16, (16, 16)), (75, (16, 16)), (96, (16, 16)), (70, (16, 24)), (50, (8, 16))]
)
@pytest.mark.parametrize("strip", [1, 2, 100])
def test_given_a_stencil_then_groups_at_edges_run_alone(n: int, group: tuple[int, int], strip: int) -> None:
    case = SMOOTH.make("smooth", n, group)
    module, options = module_of(case.spv), Options(level=1, cpu=CPU, group=(*group, 1), lanes=group[0])
    assert paired(module, "smooth", options)
    columns, rows = (-(-n // each) for each in group)
    data = np.random.default_rng(n).integers(-99, 99, (n, n)).astype(np.float32)
    given = [np.zeros((n, n), np.float32), data, Local(4 * (group[0] + 2) * (group[1] + 2)), np.int32(n)]
    check(module, "smooth", options, given, columns, rows, min(strip, columns))


@pytest.mark.parametrize("local", [LOCAL_ROOM // 2, LOCAL_ROOM // 2 + 1, LOCAL_ROOM + 1, 4 * LOCAL_ROOM])
def test_given_much_local_memory_then_groups_run_alone(local: int) -> None:
    """More than there is room for would run over what lies in front of it."""
    case = SMOOTH.make("smooth", 70, (16, 16))
    data = np.random.default_rng(1).integers(-99, 99, (70, 70)).astype(np.float32)
    given = [np.zeros((70, 70), np.float32), data, Local(local), np.int32(70)]
    check(module_of(case.spv), "smooth", Options(level=1, cpu=CPU, group=(16, 16, 1)), given, 5, 5, 5)


@pytest.mark.parametrize(
    "options",
    [
        Options(level=1, cpu=CPU),
        Options(level=1, cpu=CPU, group=(32, 16, 1)),
        Options(level=1, cpu=CPU, group=(16, 1, 1)),
        Options(level=1, cpu=CPU, group=(8, 8, 1)),
        Options(level=1, cpu=CPU, group=(16, 16, 1), quick=True),
        Options(level=1, cpu=CPU, group=(16, 16, 1), check_memory=True),
    ],
)
def test_given_long_rows_tiles_in_registers_or_checks_then_groups_run_alone(options: Options) -> None:
    assert not paired(module_of(SMOOTH.make("smooth", 64, (16, 16)).spv), "smooth", options)


def test_given_no_lines_that_groups_share_then_groups_run_alone() -> None:
    assert not paired(read(turned.spirv), "turned", Options(level=1, cpu=CPU, group=(16, 16, 1)))
