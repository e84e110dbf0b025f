"""Indices of 32 bits that loops count with 64."""

from __future__ import annotations

from anyzero.compiler.analysis.uniformity import analyse
from anyzero.compiler.ir import Body
from anyzero.compiler.pipeline import simplified
from anyzero.compiler.spirv import read
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.loop_simplify import loop_simplify
from anyzero.compiler.transform.widen_induction import widen_induction
from benchmarks.kernels.case import FOLDER


def after(file: str, kernel: str) -> Body:
    body = simplified(read((FOLDER / f"{file}.spv").read_bytes()), kernel).body
    flow = loop_simplify(body)
    widen_induction(body, flow, analyse(body, flow, 16))
    check(body)
    dce(body)
    return body


def widened_in_loops(body: Body) -> int:
    flow = loop_simplify(body)
    return sum(
        op.name == "cast" and op.info == "sext" and op.block is not None and flow.loops.innermost[op.block] is not None
        for op in body.ops
    )


def test_given_sums_of_a_row_and_a_counter_then_loops_widen_nothing() -> None:
    for file in ("matmul", "matmul.O0", "matmul.v12"):
        assert widened_in_loops(after(file, "matmul_int")) == 0, file


def test_given_access_that_turns_may_leave_out_then_its_index_is_widened_each_time() -> None:
    # The second loop of the kernel reads one matrix or the other: nothing holds the two accesses together.
    kept = widened_in_loops(after("strips", "two_loops"))
    body = simplified(read((FOLDER / "strips.spv").read_bytes()), "two_loops").body
    assert 0 < kept < widened_in_loops(body)


def test_given_single_bytes_and_long_steps_then_nothing_is_taken_for_granted() -> None:
    before = simplified(read((FOLDER / "strips.spv").read_bytes()), "bytes").body
    assert widened_in_loops(after("strips", "bytes")) == widened_in_loops(before) > 0
