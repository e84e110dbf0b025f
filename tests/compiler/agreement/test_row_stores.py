"""Work-items that each write along a row of a matrix: several iterations are one store, and keep their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import pipeline, reference
from anyzero.compiler.analysis.uniformity import analyse
from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Op
from anyzero.compiler.spirv import read
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.loop_simplify import loop_simplify
from anyzero.compiler.transform.unroll_columns import unroll_columns
from tests.compiler.native import Loaded

ROWS = 75
"""Not a multiple of any vector."""
ROOM = 24
"""Elements between rows: accesses that are shifted stay in the row of their work-item."""
WAYS = [Options(lanes=16), *(Options(cpu=cpu, lanes=8) for cpu in ("haswell", "x86-64-v2")), Options(lanes=32)]
LENGTHS = (0, 1, 7, 8, 9, 16, 35)
"""Fewer iterations than are unrolled, as many, and some that are left."""

Kernel = Callable[..., Any]


@az.kernel
def scaled(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """In place, with a factor for each column."""
    i = az.i32(az.global_id(0))
    for j in range(n):
        a[i * p + j] = a[i * p + j] * b[j] + s


@az.kernel
def copied(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """From row to row, for some of the work-items."""
    i = az.i32(az.global_id(0))
    if i % 5 != 1:
        for j in range(n):
            a[i * p + j] = b[i * p + j] + s


@az.kernel
def filled(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """Nothing is read along rows."""
    i = az.i32(az.global_id(0))
    for j in range(n):
        a[i * p + j] = b[j] * i + s


@az.kernel
def turned(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """Rows are read, and columns written."""
    i = az.i32(az.global_id(0))
    for j in range(n):
        a[j * 80 + i] = b[i * p + j] + s


@az.kernel
def placed(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """Memory tells where rows are, which is not read for the others."""
    i = az.i32(az.global_id(0))
    if i % 3 != 1:
        row = p * (b[i] & 1) + 2 * p * i
        for j in range(n):
            a[row + j] = b[i * p + j] + s


@az.kernel
def waiting(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """Work-items of a group read each other's rows behind a barrier."""
    i = az.i32(az.global_id(0))
    for j in range(n):
        a[i * p + j] = b[i * p + j] + s
    az.barrier()
    other = i - az.i32(az.local_id(0)) + az.i32(az.local_size(0)) - az.i32(1) - az.i32(az.local_id(0))
    for j in range(n):
        b[i * p + j] = a[other * p + j] * 3
    az.barrier()
    for j in range(n):
        a[i * p + j] += b[other * p + j]


@az.kernel
def sums(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """Prefix sums, whose total is used behind the loop."""
    i = az.i32(az.global_id(0))
    total = s
    for j in range(n):
        total += b[i * p + j]
        a[i * p + j] = total
    a[i * p + n + 3] = total


@az.kernel
def chained(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """Each iteration reads what the one before has written."""
    i = az.i32(az.global_id(0))
    for j in range(n):
        a[i * p + j + 1] = a[i * p + j] * 3 + b[i * p + j] + s


@az.kernel
def far_chained(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """Each iteration reads what the fifth one before has written."""
    i = az.i32(az.global_id(0))
    for j in range(n):
        a[i * p + j + 5] = a[i * p + j] * 3 + b[i * p + j] + s


@az.kernel
def ahead(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """Each iteration reads what the next one writes."""
    i = az.i32(az.global_id(0))
    for j in range(n):
        a[i * p + j] = a[i * p + j + 1] * 3 + b[i * p + j] + s


@az.kernel
def again(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """The second store of the next iteration writes over the first one."""
    i = az.i32(az.global_id(0))
    for j in range(n):
        x = b[i * p + j] + s
        a[i * p + j + 1] = x
        a[i * p + j] = x * 3


@az.kernel
def over(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """The first store of the next iteration writes over the second one."""
    i = az.i32(az.global_id(0))
    for j in range(n):
        x = b[i * p + j] + s
        a[i * p + j] = x * 3
        a[i * p + j + 1] = x


@az.kernel
def between(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """A load between two stores of what the first one writes."""
    i = az.i32(az.global_id(0))
    for j in range(n):
        a[i * p + j + 1] = b[i * p + j] + s
        a[i * p + j] = a[i * p + j + 1] * 3


@az.kernel
def shifted(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """The distance is known at run time."""
    i = az.i32(az.global_id(0))
    for j in range(n):
        a[i * p + j + 11] = a[i * p + j + 11 + s] * 3 + j


@az.kernel
def shifted_by_lane(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """The distance differs between lanes: few of them read what they have written."""
    i = az.i32(az.global_id(0))
    by = s
    if i % 5 != 2:
        by = az.i32(11)
    for j in range(n):
        a[i * p + j + 11] = a[i * p + j + 11 + by] * 3 + j


@az.kernel
def stored_twice(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """Two stores, the distance of which is known at run time, and a load behind them."""
    i = az.i32(az.global_id(0))
    total = az.i32(0)
    for j in range(n):
        a[i * p + j + 11] = b[i * p + j]
        a[i * p + j + 11 + s] = b[i * p + j] * 7
        total = total * 3 + a[i * p + j + 10]
    a[i * p] = total


@az.kernel
def standing(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """A load that does not move reads what one of the iterations writes."""
    i = az.i32(az.global_id(0))
    for j in range(n):
        a[i * p + j] = a[i * p + 11 + s] * 3 + j


@az.kernel
def standing_store(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """A store that does not move writes what one of the iterations reads."""
    i = az.i32(az.global_id(0))
    total = az.i32(0)
    for j in range(n):
        total = total * 3 + a[i * p + j]
        a[i * p + 11 + s] = total


@az.kernel
def every_second(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32, s: az.i32) -> None:
    """A load that moves by another distance than the store."""
    i = az.i32(az.global_id(0))
    for j in range(n // 2):
        a[i * p + j + 11 + s] = a[i * p + 2 * j] * 3 + j


@az.kernel
def bytes_in_place(a: az.ptr[az.u8], b: az.ptr[az.u8], n: az.i32, p: az.i32, s: az.i32) -> None:
    i = az.i32(az.global_id(0))
    for j in range(n):
        x = az.i32(a[i * p + j]) * 2 + s
        a[i * p + j] = az.u8(min(x, 255))


@az.kernel
def shorts(a: az.ptr[az.i16], b: az.ptr[az.i16], n: az.i32, p: az.i32, s: az.i32) -> None:
    """One work-item in five runs another path."""
    i = az.i32(az.global_id(0))
    if i % 5 != 1:
        for j in range(n):
            a[i * p + j] = az.i16(az.i32(b[i * p + j]) * 3 + s)


@az.kernel
def widened(a: az.ptr[az.i32], b: az.ptr[az.u8], n: az.i32, p: az.i32, s: az.i32) -> None:
    """Elements of two sizes."""
    i = az.i32(az.global_id(0))
    for j in range(n):
        a[i * p + j] = az.i32(b[i * p + j]) + s


@az.kernel
def byte_sums(a: az.ptr[az.i32], b: az.ptr[az.u8], n: az.i32, p: az.i32, s: az.i32) -> None:
    i = az.i32(az.global_id(0))
    total = s
    for j in range(n):
        total = total * 3 + az.i32(b[i * p + j])
    a[i] = total


@az.kernel
def fixed_bytes(a: az.ptr[az.u8], b: az.ptr[az.u8], n: az.i32, p: az.i32, s: az.i32) -> None:
    """Rows whose distance is constant."""
    i = az.i32(az.global_id(0))
    for j in range(n):
        a[i * 96 + j] = b[i * 96 + j] ^ az.u8(s)


@az.kernel
def shifted_bytes(a: az.ptr[az.u8], b: az.ptr[az.u8], n: az.i32, p: az.i32, s: az.i32) -> None:
    i = az.i32(az.global_id(0))
    for j in range(n):
        a[i * p + j + 11] = a[i * p + j + 11 + s] * az.u8(3) + az.u8(j)


@az.kernel
def doubles(a: az.ptr[az.f64], b: az.ptr[az.f64], n: az.i32, p: az.i32, s: az.i32) -> None:
    i = az.i32(az.global_id(0))
    for j in range(n):
        a[i * p + j] = a[i * p + j] * 2.0 + b[i * p + j]


PLAIN = [scaled, copied, filled, placed, sums, ahead, again]
ORDERED = [chained, far_chained, over, between]
TYPED = [bytes_in_place, shorts, widened, byte_sums, fixed_bytes, doubles]
SHIFTED = [shifted, shifted_by_lane, shifted_bytes, stored_twice, standing, standing_store, every_second]


def memory(n: int) -> tuple[int, list[Any]]:
    pitch = n + ROOM
    random = np.random.default_rng(n)
    return pitch, [random.integers(-99, 99, 2 * max(ROWS, 80) * max(pitch, 96), np.int32) for _ in range(2)]


def run_both(kernel: Kernel, code: Loaded, n: int, shift: int, group: int = ROWS) -> None:
    module = read(kernel.spirv)  # type: ignore[attr-defined]
    pitch, given = memory(n)
    if kernel in (doubles,):
        given = [each.astype(np.float64) for each in given]
    made, expected = ([each.copy() for each in given] for _ in range(2))
    sizes = np.int32(n), np.int32(pitch), np.int32(shift)
    code([*made, *sizes], (ROWS,), (group,))
    reference.run(module, kernel.__name__, [*expected, *sizes], (ROWS,), (group,))
    assert (made[0] == expected[0]).all(), (n, shift)


def loaded(kernel: Kernel, way: Options) -> Loaded:
    return Loaded(pipeline.compile_kernel(read(kernel.spirv), kernel.__name__, way))  # type: ignore[attr-defined]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.cpu or 'native'}-{way.lanes}")
@pytest.mark.parametrize("kernel", [*PLAIN, *ORDERED, *TYPED, turned], ids=lambda each: each.__name__)
def test_given_any_number_of_iterations_then_all_are_run_in_order(kernel: Kernel, way: Options) -> None:
    code = loaded(kernel, way)
    for n in LENGTHS:
        run_both(kernel, code, n, 5)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.cpu or 'native'}-{way.lanes}")
@pytest.mark.parametrize("kernel", SHIFTED, ids=lambda each: each.__name__)
def test_given_a_distance_at_run_time_then_iterations_keep_their_order(kernel: Kernel, way: Options) -> None:
    code = loaded(kernel, way)
    for shift in range(-11, 12):
        run_both(kernel, code, 27, shift)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.cpu or 'native'}-{way.lanes}")
def test_given_barriers_then_rows_of_others_are_complete(way: Options) -> None:
    code = loaded(waiting, way)
    for n in LENGTHS:
        run_both(waiting, code, n, 5, group=25)


@az.kernel
def onward(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32, p: az.i32) -> None:
    i = az.i32(az.global_id(0))
    for j in range(n):
        a[i * p + j] = b[i * p + j] * 3 + j


@az.kernel
def onward_within(a: az.ptr[az.i32], n: az.i32, p: az.i32, to: az.i32, start: az.i32) -> None:
    i = az.i32(az.global_id(0))
    for j in range(n):
        a[i * p + j + to] = a[i * p + j + start] * 3 + j


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.cpu or 'native'}-{way.lanes}")
def test_given_buffers_that_overlap_then_iterations_keep_their_order(way: Options) -> None:
    code = loaded(onward, way)
    n = 27
    for to in range(23):
        pitch, (given, _) = memory(n)
        made, expected = given.copy(), given.copy()
        code([made[to:], made[11:], np.int32(n), np.int32(pitch)], (ROWS,), (ROWS,))
        sizes = [np.int32(each) for each in (n, pitch, to, 11)]
        reference.run(read(onward_within.spirv), "onward_within", [expected, *sizes], (ROWS,), (ROWS,))
        assert (made == expected).all(), to


def _accesses(kernel: Kernel, thorough: bool = True) -> dict[str, int]:
    """The most components of a load and of a store."""
    module = read(kernel.spirv)  # type: ignore[attr-defined]
    body = pipeline.simplified(module, kernel.__name__).body
    flow = loop_simplify(body)
    unroll_columns(body, flow, analyse(body, flow, 16, flat=True), thorough)
    loop_simplify(body)
    check(body)

    def most(ops: list[Op]) -> int:
        return max(op.info.count for op in ops)

    return {name: most([op for op in body.ops if op.name == name]) for name in ("load", "store")}


@pytest.mark.parametrize("kernel", [scaled, copied, sums, ahead, again, shifted], ids=lambda each: each.__name__)
def test_given_rows_that_are_written_then_several_iterations_are_one_access(kernel: Kernel) -> None:
    assert _accesses(kernel) == {"load": 8, "store": 8}
    assert _accesses(kernel, thorough=False) == {"load": 1, "store": 1}


@pytest.mark.parametrize(("kernel", "count"), [(bytes_in_place, 16), (shorts, 8), (widened, 8), (doubles, 4)])
def test_given_other_elements_then_rows_of_a_register_are_one_access(kernel: Kernel, count: int) -> None:
    assert _accesses(kernel) == {"load": count, "store": count}
    assert _accesses(kernel, thorough=False) == {"load": 1, "store": 1}


def test_given_rows_that_are_only_written_then_stores_are_joined() -> None:
    assert _accesses(filled) == {"load": 1, "store": 8}


@pytest.mark.parametrize("kernel", ORDERED, ids=lambda each: each.__name__)
def test_given_an_order_of_iterations_then_the_loop_stays(kernel: Kernel) -> None:
    assert _accesses(kernel) == {"load": 1, "store": 1}
