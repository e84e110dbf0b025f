"""Memory that is asked for some rounds before a loop reads it."""

from __future__ import annotations

import pytest

from anyzero.compiler.analysis.uniformity import analyse
from anyzero.compiler.ir import Body, Op
from anyzero.compiler.pipeline import simplified
from anyzero.compiler.spirv import read
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.loop_simplify import loop_simplify
from anyzero.compiler.transform.prefetch import ROUNDS, insert_prefetches
from benchmarks.kernels.case import FOLDER


def after(file: str, kernel: str, lanes: int = 16) -> Body:
    body = simplified(read((FOLDER / f"{file}.spv").read_bytes()), kernel).body
    flow = loop_simplify(body)
    insert_prefetches(body, flow, analyse(body, flow, lanes), lanes)
    check(body)
    return body


def asked(body: Body) -> list[Op]:
    return [op for op in body.ops if op.name == "prefetch"]


@pytest.mark.parametrize("file", ["histogram", "histogram.O0"])
def test_given_steps_of_a_group_then_a_loop_asks_for_what_it_reads_later(file: str) -> None:
    body = after(file, "histogram")
    # Local memory, which two other loops go through, is in the caches.
    (found,) = asked(body)
    place, far = found.args[0], found.args[0].args[1]
    (load,) = [op for op in body.ops if op.name == "load" and op.args[0] is place.args[0]]
    assert load.info.space == "global"
    assert (found.info, far.args[1].info) == (1, ROUNDS)
    assert far.args[0].name == ("builtin" if file.endswith("O0") else "cast")


@pytest.mark.parametrize(("file", "kernel"), [
    *(("matmul", "matmul_int"), ("nbody", "nbody_f32"), ("spmv", "spmv"), ("reduction", "reduce_int")),
])  # fmt: skip
def test_given_steps_of_one_then_it_is_left_to_the_processor(file: str, kernel: str) -> None:
    assert not asked(after(file, kernel))


def test_given_one_lane_then_no_neighbours_are_asked_for() -> None:
    assert not asked(after("histogram", "histogram", lanes=1))
