"""Sums over two neighbouring floats of each lane: one vector of both where they are computed alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import pipeline, reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import PAIR
from anyzero.compiler.passes import Pass
from anyzero.compiler.spirv import read
from tests.compiler.agreement.comparison import disagreement
from tests.compiler.agreement.function import Shape
from tests.compiler.agreement.generator import Program
from tests.compiler.agreement.isolation import isolated
from tests.compiler.agreement.test_found import kernel as written
from tests.compiler.assembler import assemble
from tests.compiler.native import Loaded

N = 52
"""Work-items: not a multiple of the lanes."""

GROUP = 26

HALVES = Options(level=1, cpu="haswell", lanes=4)
"""Vectors of lanes that fill half of a register."""


@az.kernel
def columns(out: az.ptr[az.f32], a: az.ptr[az.float2], b: az.ptr[az.f32], n: az.i32) -> None:
    """Two sums from different values; the factor is the same in all lanes."""
    i = az.i32(az.global_id(0))
    first, second = az.f32(i), az.f32(0.5)
    for k in range(n):
        pair, factor = a[k * N + i], b[k]
        first += pair.x * factor
        second += pair.y * factor
    out[2 * i] = first
    out[2 * i + 1] = second


@az.kernel
def tile(out: az.ptr[az.f32], a: az.ptr[az.float2], b: az.ptr[az.f32], n: az.i32) -> None:
    """Two pairs of sums, with factors of the lanes' own, in two loops."""
    i = az.i32(az.global_id(0))
    w, x, y, z = az.f32(0), az.f32(0), az.f32(0), az.f32(0)
    for k in range(n):
        pair, factor = a[k * N + i], b[k]
        own = b[k + i]
        w += pair.x * factor
        x += pair.y * factor
        y -= own * pair.x
        z -= own * pair.y
    for k in range(n):
        pair, factor = a[k * N + i], b[k]
        w = factor - pair.x - w
        x = factor - pair.y - x
    out[2 * i] = w + y
    out[2 * i + 1] = x * 2.0 - z


@az.kernel
def swapped(out: az.ptr[az.f32], a: az.ptr[az.float2], b: az.ptr[az.f32], n: az.i32) -> None:
    """The second component comes first."""
    i = az.i32(az.global_id(0))
    first, second = az.f32(0), az.f32(0)
    for k in range(n):
        pair, factor = a[k * N + i], b[k]
        first += pair.y + factor
        second += pair.x + factor
    out[2 * i] = first
    out[2 * i + 1] = second


@az.kernel
def stored(out: az.ptr[az.f32], a: az.ptr[az.float2], b: az.ptr[az.f32], n: az.i32) -> None:
    """The loop itself stores one of the sums."""
    i = az.i32(az.global_id(0))
    first, second = az.f32(0), az.f32(0)
    for k in range(n):
        pair, factor = a[k * N + i], b[k]
        first += pair.x * factor
        second += pair.y * factor
        out[2 * i + (k & 1)] = first
    out[2 * i + 1] = second


@az.kernel
def watched(out: az.ptr[az.f32], a: az.ptr[az.float2], b: az.ptr[az.f32], n: az.i32) -> None:
    """The loop itself uses one of the sums after its update."""
    i = az.i32(az.global_id(0))
    first, second, largest = az.f32(0), az.f32(0), az.f32(0)
    for k in range(n):
        pair, factor = a[k * N + i], b[k]
        first += pair.x * factor
        second += pair.y * factor
        largest = max(largest, second)
    out[2 * i] = first
    out[2 * i + 1] = second + largest


@az.kernel
def delayed(out: az.ptr[az.f32], a: az.ptr[az.float2], b: az.ptr[az.f32], n: az.i32) -> None:
    """The loop itself uses one of the sums before its update."""
    i = az.i32(az.global_id(0))
    first, second, largest = az.f32(0), az.f32(0), az.f32(0)
    for k in range(n):
        pair, factor = a[k * N + i], b[k]
        largest = max(largest, first)
        first += pair.x * factor
        second += pair.y * factor
    out[2 * i] = first - largest
    out[2 * i + 1] = second


@az.kernel
def crossed(out: az.ptr[az.f32], a: az.ptr[az.float2], b: az.ptr[az.f32], n: az.i32) -> None:
    """Each sum takes both components."""
    i = az.i32(az.global_id(0))
    first, second = az.f32(0), az.f32(0)
    for k in range(n):
        pair, factor = a[k * N + i], b[k]
        first += pair.x * pair.y
        second += (pair.x - pair.y) * factor
    out[2 * i] = first
    out[2 * i + 1] = second


@az.kernel
def unlike(out: az.ptr[az.f32], a: az.ptr[az.float2], b: az.ptr[az.f32], n: az.i32) -> None:
    """The sums have different factors, or one is subtracted."""
    i = az.i32(az.global_id(0))
    w, x, y, z = az.f32(0), az.f32(0), az.f32(0), az.f32(0)
    for k in range(n):
        pair, factor = a[k * N + i], b[k]
        w += pair.x * factor
        x += pair.y * b[k + 1]
        y += pair.x
        z -= pair.y
    out[2 * i] = w + y
    out[2 * i + 1] = x - z


@az.kernel
def turned(out: az.ptr[az.f32], a: az.ptr[az.float2], b: az.ptr[az.f32], n: az.i32) -> None:
    """One sum is subtracted from its component, from the other its component is subtracted."""
    i = az.i32(az.global_id(0))
    first, second = az.f32(0), az.f32(0)
    for k in range(n):
        pair = a[k * N + i]
        first = pair.x - first
        second = second - pair.y
    out[2 * i] = first + b[0]
    out[2 * i + 1] = second


@az.kernel
def long(out: az.ptr[az.f32], a: az.ptr[az.float2], b: az.ptr[az.f32], n: az.i32) -> None:
    """Many operations lie between components and sums."""
    i = az.i32(az.global_id(0))
    first, second = az.f32(0), az.f32(0)
    for k in range(n):
        pair, c = a[k * N + i], b[k]
        first += ((((((((pair.x + c) - 1.0) + c) - 2.0) + c) - 3.0) + c) - 4.0) + c
        second += ((((((((pair.y + c) - 1.0) + c) - 2.0) + c) - 3.0) + c) - 4.0) + c
    out[2 * i] = first
    out[2 * i + 1] = second


@az.kernel
def carried(out: az.ptr[az.f32], a: az.ptr[az.float2], b: az.ptr[az.f32], n: az.i32) -> None:
    """Both components have a factor that the loop changes, and computes from more than one value."""
    i = az.i32(az.global_id(0))
    first, second, factor = az.f32(0), az.f32(0), az.f32(1)
    for k in range(n):
        pair = a[k * N + i]
        both = (factor + 1.0) * b[k]
        first += pair.x * both
        second += pair.y * both
        factor = 1.0 - factor
    out[2 * i] = first
    out[2 * i + 1] = second + factor


@az.kernel
def ending_inside(out: az.ptr[az.f32], a: az.ptr[az.float2], b: az.ptr[az.f32], n: az.i32) -> None:
    """The loop ends in its middle, before the sums are updated."""
    i = az.i32(az.global_id(0))
    k, first, second = az.i32(0), az.f32(0), az.f32(0)
    while True:
        if k >= n:
            break
        pair, factor = a[k * N + i], b[k]
        first += pair.x * factor
        second += pair.y * factor
        k += 1
    out[2 * i] = first
    out[2 * i + 1] = second


@az.kernel
def chained(out: az.ptr[az.f32], a: az.ptr[az.float2], b: az.ptr[az.f32], n: az.i32) -> None:
    """One sum enters the other."""
    i = az.i32(az.global_id(0))
    first, second = az.f32(0), az.f32(0)
    for k in range(n):
        pair, factor = a[k * N + i], b[k]
        first += pair.x * factor
        second += pair.y * first
    out[2 * i] = first
    out[2 * i + 1] = second


@az.kernel
def apart(out: az.ptr[az.f32], a: az.ptr[az.float2], b: az.ptr[az.f32], n: az.i32) -> None:
    """Every other pair belongs to another lane."""
    i = az.i32(az.global_id(0))
    first, second = az.f32(0), az.f32(0)
    for k in range(n):
        pair, factor = a[2 * i + k], b[k]
        first += pair.x * factor
        second += pair.y * factor
    out[2 * i] = first
    out[2 * i + 1] = second


@az.kernel
def uneven(out: az.ptr[az.f32], a: az.ptr[az.float2], b: az.ptr[az.f32], n: az.i32) -> None:
    """Each lane has a count of its own."""
    i = az.i32(az.global_id(0))
    first, second = az.f32(0), az.f32(0)
    for k in range(n if i % 3 else n // 2):
        pair, factor = a[k * N + i], b[k]
        first += pair.x * factor
        second += pair.y * factor
    out[2 * i] = first
    out[2 * i + 1] = second


@az.kernel
def fenced(out: az.ptr[az.f32], a: az.ptr[az.float2], b: az.ptr[az.f32], n: az.i32) -> None:
    """The sums are used behind a barrier, and the loop has one."""
    i = az.i32(az.global_id(0))
    own = az.i32(az.local_id(0))
    shared = az.local[az.f32, 2 * GROUP]
    first, second = az.f32(0), az.f32(0)
    for _ in range(2):
        for k in range(n):
            pair, factor = a[k * N + i], b[k]
            first += pair.x * factor
            second += pair.y * factor
        shared[2 * own] = second
        shared[2 * own + 1] = first
        az.barrier()
        second += shared[2 * (GROUP - 1 - own)]
        az.barrier()
    out[2 * i] = first
    out[2 * i + 1] = second


ONE_BLOCK = written(
    """
    OpBranch %loop
    %loop = OpLabel
    %k = OpPhi %i64 %l0 %entry %next %loop
    %first = OpPhi %f32 %half %entry %more %loop
    %second = OpPhi %f32 %half %entry %also %loop
    %row = OpIMul %i64 %k %l40
    %place = OpIAdd %i64 %row %g
    %from = OpInBoundsPtrAccessChain %global_v2f32 %p1 %place
    %pair = OpLoad %v2f32 %from Aligned 8
    %x = OpCompositeExtract %f32 %pair 0
    %y = OpCompositeExtract %f32 %pair 1
    %factor_at = OpInBoundsPtrAccessChain %global_f32 %p2 %k
    %factor = OpLoad %f32 %factor_at Aligned 4
    %by_x = OpFMul %f32 %x %factor
    %by_y = OpFMul %f32 %y %factor
    %more = OpFAdd %f32 %first %by_x
    %also = OpFAdd %f32 %second %by_y
    %next = OpIAdd %i64 %k %l1
    %again = OpULessThan %bool %next %p3
    OpBranchConditional %again %loop %out
    %out = OpLabel
    %before = OpPhi %f32 %first %loop
    %both = OpFAdd %f32 %second %also
    %result = OpCompositeConstruct %v2f32 %before %both
    OpStore %at %result Aligned 8
    """,
    "%global_v2f32 %global_v2f32 %global_f32 %i64",
    """
    %v2f32 = OpTypeVector %f32 2
    %global_v2f32 = OpTypePointer CrossWorkgroup %v2f32
    %l40 = OpConstant %i64 40
    """,
)
"""A loop of one block, behind which the sums before their last update are used."""


def test_given_a_loop_of_one_block_then_sums_before_their_last_update_are_right() -> None:
    random = np.random.default_rng(1)
    a, b = (random.integers(-4, 5, size).astype(np.float32) for size in (2 * 40 * 7, 7))
    shape = Shape((40, 1, 1), (20, 1, 1), (0, 0, 0), 0)
    given = [Program(ONE_BLOCK, [np.zeros(80, np.float32), a, b, np.int64(n)], [], shape) for n in (1, 2, 7)]
    assert disagreement(*given, ways=WAYS) is None
    module = read(assemble(ONE_BLOCK, (1, 6)))
    found: list[str] = []

    def observe(done: Pass, unit: Any) -> None:
        if done.name == "pack-components":
            found.extend(op.name for block in unit.body.blocks for op in block.phis if op.type == PAIR)

    pipeline.compile_kernel(module, "main", HALVES, observe=observe)
    assert found == ["phi"]


PACKED = {columns: 1, tile: 3, swapped: 1, carried: 1, ending_inside: 1, fenced: 1}
"""Kernels that have so many pairs of sums."""
KEPT = (stored, watched, delayed, turned, long, crossed, unlike, chained, apart, uneven)
WAYS = [HALVES, Options(level=1, cpu="haswell", lanes=8), Options(level=1, lanes=8), Options(level=1)]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.cpu or 'native'}-{way.lanes}")
@pytest.mark.parametrize("kernel", [*PACKED, *KEPT], ids=lambda each: each.__name__)
def test_all_sums_are_right(kernel: Any, way: Options) -> None:
    module = read(kernel.spirv)

    def wrong() -> list[int]:
        run = Loaded(pipeline.compile_kernel(module, kernel.__name__, way))
        found = []
        for n in (0, 1, 7):
            random = np.random.default_rng(n)
            # Small integers: every sum is exact, fused or not.
            a = random.integers(-4, 5, 2 * N * 8).astype(np.float32)
            b = random.integers(-4, 5, N + 8).astype(np.float32)
            made, expected = (np.full(2 * N, 9, np.float32) for _ in range(2))
            run([made, a, b, np.int32(n)], (N,), (GROUP,))
            reference.run(module, kernel.__name__, [expected, a, b, np.int32(n)], (N,), (GROUP,))
            found += [] if (made == expected).all() else [n]
        return found

    outcome = isolated(wrong)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == []


def _packed(kernel: Any, options: Options) -> list[tuple[str, list[int | None]]]:
    """Operations and phis of both components, with the indices of operands that are components."""
    found: list[tuple[str, list[int | None]]] = []

    def observe(done: Pass, unit: Any) -> None:
        if done.name == "pack-components":
            for block in unit.body.blocks:
                for op in (*block.phis, *block.ops):
                    if op.type == PAIR:
                        found.append((op.name, [arg.info if arg.name == "part" else None for arg in op.args]))

    pipeline.compile_kernel(read(kernel.spirv), kernel.__name__, options, observe=observe)
    return found


def _pairs(kernel: Any, options: Options) -> int:
    """Sums that are pairs."""
    return sum(name == "phi" for name, _ in _packed(kernel, options))


@pytest.mark.parametrize(("kernel", "count"), PACKED.items(), ids=lambda each: getattr(each, "__name__", ""))
def test_sums_that_are_computed_alike_are_packed(kernel: Any, count: int) -> None:
    assert _pairs(kernel, HALVES) == count


@pytest.mark.parametrize("kernel", PACKED, ids=lambda each: each.__name__)
def test_components_are_packed_in_the_order_of_memory(kernel: Any) -> None:
    packs = [parts for name, parts in _packed(kernel, HALVES) if name == "pack" and parts != [None, None]]
    assert packs
    assert all(each == [0, 1] for each in packs)


def test_factors_of_both_components_are_computed_once() -> None:
    assert [name for name, _ in _packed(carried, HALVES) if name not in ("pack", "phi")] == ["math"]


@pytest.mark.parametrize("kernel", KEPT, ids=lambda each: each.__name__)
def test_other_sums_stay(kernel: Any) -> None:
    assert _pairs(kernel, HALVES) == 0


def test_sums_of_lanes_that_fill_a_register_stay() -> None:
    assert _pairs(columns, Options(level=1, cpu="haswell", lanes=8)) == 0


def test_given_checks_of_memory_then_sums_stay() -> None:
    assert _pairs(columns, Options(level=1, cpu="haswell", lanes=4, check_memory=True)) == 0
