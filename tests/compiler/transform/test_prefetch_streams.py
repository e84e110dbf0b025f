"""Memory that kernels without loops prefetch for later vectors."""

from __future__ import annotations

import math
from typing import Any

import pytest

import anyzero as az
from anyzero.compiler.analysis.uniformity import analyse
from anyzero.compiler.ir import Body, Op
from anyzero.compiler.pipeline import simplified
from anyzero.compiler.spirv import Module, read
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.loop_simplify import loop_simplify
from anyzero.compiler.transform.prefetch_streams import AHEAD, prefetch_streams
from benchmarks.kernels.case import FOLDER

LANES = 64


def after(module: Module, kernel: str, lanes: int = LANES) -> Body:
    body = simplified(module, kernel).body
    flow = loop_simplify(body)
    prefetch_streams(body, flow, analyse(body, flow, lanes), lanes, registers=lanes // 16)
    check(body)
    return body


def prefetched(body: Body) -> list[Op]:
    return [op for op in body.ops if op.name == "prefetch"]


@az.kernel
def waves(out: az.ptr[az.f32], a: az.ptr[az.f32], table: az.ptr[az.f32], at: az.ptr[az.i32], n: az.i32) -> None:
    i = az.i32(az.global_id(0))
    if i < n:
        x = a[i] + table[0] + table[at[i]]
        out[i] = math.sin(x) + math.cos(x) + math.exp(x) + math.log(x) + math.sqrt(x) + math.tan(x)


@az.kernel
def in_a_plane(out: az.ptr[az.f32], a: az.ptr[az.f32], n: az.i32) -> None:
    i = az.i32(az.global_id(1)) * n + az.i32(az.global_id(0))
    x = a[i]
    out[i] = math.sin(x) + math.cos(x) + math.exp(x) + math.log(x) + math.sqrt(x) + math.tan(x)


@az.kernel
def in_a_loop(out: az.ptr[az.f32], a: az.ptr[az.f32], n: az.i32) -> None:
    i = az.i32(az.global_id(0))
    x = a[i]
    for _ in range(n):
        x = math.sin(x) + math.cos(x) + math.exp(x) + math.log(x) + math.sqrt(x) + math.tan(x)
    out[i] = x


@pytest.mark.parametrize(("kernel", "size"), [("black_scholes_f32", 4), ("black_scholes_f64", 8)])
def test_given_much_work_then_each_stream_is_prefetched(kernel: str, size: int) -> None:
    body = after(read((FOLDER / "black_scholes.spv").read_bytes()), kernel)
    found = prefetched(body)
    loads = [op for op in body.ops if op.name == "load"]
    assert [op.args[0].args[0] for op in found] == [op.args[0] for op in loads]
    assert {(op.args[0].args[1].info, op.info) for op in found} == {(AHEAD, size)}


def test_given_other_loads_then_only_contiguous_ones_are_prefetched() -> None:
    """`a[i]` and `at[i]`, but neither an element that all lanes read nor any element of the table."""
    assert len(prefetched(after(read(waves.spirv), "waves"))) == 2


@pytest.mark.parametrize("kernel", [in_a_plane, in_a_loop], ids=lambda each: each.__name__)
def test_given_rows_or_loops_then_nothing_is_prefetched(kernel: Any) -> None:
    assert not prefetched(after(read(kernel.spirv), kernel.__name__))


def test_given_little_work_then_nothing_is_prefetched() -> None:
    assert not prefetched(after(read((FOLDER / "saxpy.spv").read_bytes()), "saxpy"))
    assert not prefetched(after(read(waves.spirv), "waves", lanes=16))


def test_given_one_lane_then_nothing_is_prefetched() -> None:
    assert not prefetched(after(read(waves.spirv), "waves", lanes=1))
