"""Which stores may go past the caches, and from which size of a launch on."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from anyzero.compiler.analysis.streaming_stores import Streams, find_streams, memory_bound
from anyzero.compiler.analysis.uniformity import Flow, analyse
from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Access, Body, Op
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import read
from anyzero.compiler.transform.loop_simplify import loop_simplify
from benchmarks.kernels.case import FOLDER
from tests.compiler.lowering.draft import LANES, Draft

KIB = 1 << 10


def prepared(draft: Callable[[Draft], None]) -> tuple[Body, Flow]:
    d = Draft()
    draft(d)
    body = d.done()
    return body, loop_simplify(body)


def found(draft: Callable[[Draft], None], lanes: int = LANES) -> Streams:
    body, flow = prepared(draft)
    return find_streams(body, flow.loops, analyse(body, flow, lanes), lanes)


def out(d: Draft, size: int = 4, dimension: int = 0) -> Op:
    return d.element(d.argument("ptr"), d.id(dimension=dimension), size)


def given(d: Draft) -> Op:
    return d.get(d.element(d.argument("ptr", 8), d.id()))[0]


def test_given_neighbours_that_nobody_reads_then_they_are_a_stream() -> None:
    streams = found(lambda d: d.put(out(d), given(d)))
    assert (len(streams.stores), streams.bytes) == (1, 8)
    assert streams.large(32 * KIB) == 4 * KIB


def test_given_caches_of_no_size_then_every_launch_is_large() -> None:
    assert found(lambda d: d.put(out(d), given(d))).large(0) == 1


def test_given_no_stream_then_no_launch_is_large() -> None:
    assert found(lambda d: None).large(0) == 0


def test_given_several_reads_of_a_buffer_then_it_counts_once() -> None:
    def sum_of_neighbours(d: Draft) -> None:
        at = d.element(d.argument("ptr", 8), d.id())
        d.put(out(d), d.add(d.get(at)[0], d.get(d.offset(at, 4))[0]))

    assert found(sum_of_neighbours).bytes == 8


def in_place(d: Draft) -> None:
    at = out(d)
    d.put(at, d.add(d.get(at)[0], given(d)))


def one_place(d: Draft) -> None:
    d.put(out(d, dimension=1), given(d))


def apart(d: Draft) -> None:
    d.put(out(d, size=8), given(d))


def bytes_(d: Draft) -> None:
    """A vector of these is a quarter of a line."""
    d.put(out(d, size=1), d.cast("trunc", given(d), "i8"), alignment=1)


def counted(d: Draft) -> None:
    """Whoever sees the count may expect to see what was stored."""
    value = given(d)
    d.put(out(d), value)
    d.count_up(d.argument("ptr", 16), value)


def volatile(d: Draft) -> None:
    d.store(out(d), [given(d)], Access(1, 4, volatile=True, space="global"))


def loaded_pointer(d: Draft) -> None:
    base = d.get(d.argument("ptr", 16), "ptr", alignment=8)[0]
    d.put(d.element(base, d.id()), given(d))


def again_and_again(d: Draft) -> None:
    value, at = given(d), out(d)
    head, body, behind = d.place(3)
    d.goto(head)
    d.at(head)
    d.branch(d.below(d.argument("i64", 24), 3), body, behind)
    d.at(body)
    d.put(at, value)
    d.goto(head)
    d.at(behind)


@pytest.mark.parametrize(
    "draft", [in_place, one_place, apart, bytes_, counted, volatile, loaded_pointer, again_and_again]
)
def test_given_anything_else_then_it_is_none(draft: Callable[[Draft], None]) -> None:
    assert not found(draft).stores


def test_given_more_lanes_then_bytes_fill_lines_too() -> None:
    assert found(bytes_, lanes=64).stores


def copy(d: Draft) -> None:
    d.put(out(d), given(d))


def computed(d: Draft) -> None:
    value = given(d)
    for _ in range(4):
        value = d.mul(value, value)
    d.put(out(d), value)


def divided(d: Draft) -> None:
    d.put(out(d), d.emit("udiv", "i32", [given(d), d.const("i32", 3)]))


@pytest.mark.parametrize("draft", [copy, in_place, bytes_])
def test_given_little_more_than_memory_then_that_is_the_bound(draft: Callable[[Draft], None]) -> None:
    assert memory_bound(*prepared(draft), LANES)


@pytest.mark.parametrize("draft", [computed, divided, apart, counted, loaded_pointer, again_and_again])
def test_given_more_work_or_strides_then_memory_is_not_the_bound(draft: Callable[[Draft], None]) -> None:
    assert not memory_bound(*prepared(draft), LANES)


WIDE = "+avx512f,+avx512vl,+avx512bw,+avx512dq,+avx2,+fma"


@pytest.mark.parametrize(("cpu", "register"), [("znver4", "ymm"), ("skylake-avx512", "zmm")])
def test_given_a_processor_that_halves_vectors_then_narrow_registers_are_used(
    cpu: str, register: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANYZERO_DUMP", str(tmp_path))
    module = read((FOLDER / "saxpy.spv").read_bytes())
    compile_kernel(module, "triad", Options(cpu=cpu, features=WIDE))
    assert set(re.findall(r"movntps\s+%([a-z]+)", (tmp_path / "triad.s").read_text())) == {register}
