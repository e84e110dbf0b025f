"""Several rows at once, and kernels that take for granted that no edge is near: with edges everywhere."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from anyzero.compiler.analysis.rows import MOST
from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import read, verify
from anyzero.compiler.targets import cpu
from benchmarks.kernels.programs import convolution, matmul, streaming
from tests.compiler.agreement.cases import compiled, through_code, through_compiler
from tests.compiler.agreement.comparison import disagreement
from tests.compiler.agreement.function import Shape
from tests.compiler.agreement.generator import Program
from tests.compiler.agreement.test_found import kernel
from tests.compiler.assembler import assemble
from tests.thorough import every, turn

ROWS = [None, 2, 3, 4]
WIDE = Options(cpu="skylake-avx512", lanes=16)
"""For tests that read the text and do not run it: the number of rows, and gathers, depend on the processor."""


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("lanes", [8, 16, None])
def test_a_stencil_is_right_at_its_edges(lanes: int | None, rows: int | None) -> None:
    """The image may end before the work-items do."""
    code = compiled(convolution("convolve", 5), Options(level=1, lanes=lanes, rows=rows))
    for size, group in (((5, 5), (5, 5)), ((48, 40), (16, 5)), ((80, 84), (40, 7))):
        each = replace(convolution("convolve", min(size)), global_size=size, group_size=group)
        assert each.mismatch(through_code(each, code)) is None, (size, group)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("lanes", [1, 8, 16, None])
@pytest.mark.parametrize(("name", "groups"), [("matmul_int", [(14, 7), (7, 2)]), ("matmul_size_t", [(70, 5)])])
def test_a_product_of_matrices_needs_no_whole_blocks(
    name: str, groups: list[tuple[int, int]], lanes: int | None, rows: int | None
) -> None:
    code = compiled(matmul(name, 70), Options(level=1, lanes=lanes, rows=rows))
    for group in groups:
        each = replace(matmul(name, 70), group_size=group)
        assert each.mismatch(through_code(each, code)) is None, group


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("lanes", [1, 4, 16, 32])
def test_rows_wait_for_each_other(lanes: int, rows: int | None) -> None:
    each = matmul("matmul_tiled", 48)
    assert each.mismatch(through_compiler(each, Options(level=1, lanes=lanes, rows=rows))) is None


SHAPES = [
    Shape((40, 6, 1), (20, 3, 1), (0, 0, 0), 0),
    Shape((40, 6, 2), (40, 6, 1), (3, 5, 1), 0),
    Shape((40, 6, 1), (20, 6, 1), ((1 << 31) - 20, (1 << 31) - 3, 0), 0),
    Shape((40, 6, 1), (40, 2, 1), ((1 << 32) - 20, (1 << 32) - 3, 0), 0),
]
COMPARISONS = ["SLessThan", "SLessThanEqual", "SGreaterThan", "SGreaterThanEqual", "ULessThan", "ULessThanEqual"]
COMPARISONS += ["UGreaterThan", "UGreaterThanEqual", "IEqual", "INotEqual"]
WAYS = [Options(level=1, lanes=lanes, rows=rows) for lanes, rows in ((4, 2), (8, 3), (16, 2))]


def launch(text: str, shape: Shape, *arguments: object) -> Program:
    return Program(text, [np.zeros(shape.items, np.int32), *arguments], [], shape)


NUMBERS = """
    %minus = OpConstant %i32 4294967294
    %c20 = OpConstant %i32 20
    %reading = OpTypePointer CrossWorkgroup %i32
"""
IDS = """
    %h = OpCompositeExtract %i64 %ids 1
    %x = OpUConvert %i32 %g
    %y = OpUConvert %i32 %h
    %near = OpIAdd %i32 %x %minus
    %far = OpISub %i32 %p1 %x
"""


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_may_come_out_either_way(name: str) -> None:
    pairs = ["%near %p1", "%p1 %near", "%far %c3", "%near %c20", "%c3 %x"]
    for number, pair in enumerate(pairs):
        for limit in turn(number + COMPARISONS.index(name), (17, 38, -5)):
            body = f"""
                {IDS}
                %first = Op{name} %bool {pair}
                %second = OpSLessThan %bool %y %p2
                %both = OpLogicalAnd %bool %first %second
                OpSelectionMerge %end None
                OpBranchConditional %both %inside %end
                %inside = OpLabel
                %sum = OpIAdd %i32 %x %y
                OpStore %at %sum Aligned 4
                OpBranch %end
                %end = OpLabel
            """
            shape = SHAPES[limit % len(SHAPES)]
            text = kernel(body, "%global_i32 %i32 %i32", NUMBERS)
            program = launch(text, shape, np.int32(limit), np.int32(4))
            assert disagreement(program, ways=turn(number, WAYS)) is None, pair


HELD = {
    "s_clamp": "%held = OpExtInst %i32 %cl s_clamp %near %c0 %last",
    "s_max and s_min": "%a = OpExtInst %i32 %cl s_max %near %c0\n %held = OpExtInst %i32 %cl s_min %last %a",
    "u_min": "%held = OpExtInst %i32 %cl u_min %near %last",
    "selected": """
        %low = OpSLessThan %bool %near %c0
        %a = OpSelect %i32 %low %c0 %near
        %high = OpSGreaterThan %bool %a %last
        %held = OpSelect %i32 %high %last %a
    """,
}


@pytest.mark.parametrize("how", HELD)
def test_indices_are_held_inside_of_bounds(how: str) -> None:
    body = f"""
        {IDS}
        %last = OpISub %i32 %p1 %c1
        {HELD[how]}
        %wide = OpSConvert %i64 %held
        %there = OpInBoundsPtrAccessChain %global_i32 %p2 %wide
        %value = OpLoad %i32 %there Aligned 4
        %sum = OpIAdd %i32 %value %y
        OpStore %at %sum Aligned 4
    """
    values = np.arange(100, 164, dtype=np.int32)
    text = kernel(body, "%global_i32 %i32 %global_i32", NUMBERS)
    for number, (ids, shapes) in enumerate((("GlobalInvocationId", SHAPES), ("LocalInvocationId", SHAPES[1:]))):
        asked = text.replace("GlobalInvocationId", ids)
        counts = [np.int32(count) for count in (1, 21, 37, 64)]
        launches = [launch(asked, shape, count, values) for shape in every(2, shapes) for count in counts]
        assert disagreement(*launches, ways=turn(number + list(HELD).index(how), WAYS)) is None


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What LLVM is given."""
    texts: list[str] = []
    compile_text = cpu.compile_text

    def noted(text: str, *how: Any) -> object:
        texts.append(text)
        return compile_text(text, *how)

    monkeypatch.setattr(cpu, "compile_text", noted)
    return texts


def part(text: str, name: str) -> str:
    found = re.search(rf"define internal i32 @{re.escape(name)}\(.*?\n}}", text, re.DOTALL)
    assert found
    return found[0]


def test_away_from_the_edges_a_stencil_reads_neighbours_as_such(written: list[str]) -> None:
    compiled(convolution("convolve", 64), WIDE)
    assert "s_clamp" in part(written[0], "region0")
    inner = part(written[0], "region0.rows")
    assert "s_clamp" not in inner
    assert "gather" not in inner
    assert [line for line in inner.splitlines() if "icmp" in line and "<16 x" in line] == []


def test_what_all_rows_read_is_loaded_once(written: list[str]) -> None:
    compiled(matmul("matmul_int", 64), WIDE)
    several = part(written[0], "region0.rows")
    assert several.count("@llvm.masked.load") == 1
    assert several.count("@llvm.masked.store") == MOST


def test_a_kernel_of_one_row_runs_one(written: list[str]) -> None:
    compiled(streaming("saxpy", 64), replace(WIDE, rows=4))
    assert "%global_y.1" not in written[0]


CHECKED = """
    %h = OpCompositeExtract %i64 %ids 1
    %x = OpUConvert %i32 %g
    %y = OpUConvert %i32 %h
    %x_inside = OpSLessThan %bool %x %p3
    OpBranchConditional %x_inside %check %end
    %check = OpLabel
    %y_inside = OpSLessThan %bool %y %p3
    OpBranchConditional %y_inside %begin %end
    %begin = OpLabel
    %row = OpIMul %i32 %y %p3
    OpBranch %loop
    %loop = OpLabel
    %k = OpPhi %i32 %c0 %begin %next %loop
    %sum = OpPhi %i32 %c0 %begin %more %loop
    %left = OpIAdd %i32 %row %k
    %left_wide = OpSConvert %i64 %left
    %left_at = OpInBoundsPtrAccessChain %global_i32 %p1 %left_wide
    %a = OpLoad %i32 %left_at Aligned 4
    %above = OpIMul %i32 %k %p3
    %right = OpIAdd %i32 %above %x
    %right_wide = OpSConvert %i64 %right
    %right_at = OpInBoundsPtrAccessChain %global_i32 %p2 %right_wide
    %b = OpLoad %i32 %right_at Aligned 4
    %product = OpIMul %i32 %a %b
    %more = OpIAdd %i32 %sum %product
    %next = OpIAdd %i32 %k %c1
    %again = OpSLessThan %bool %next %p3
    OpBranchConditional %again %loop %out
    %out = OpLabel
    %place = OpIAdd %i32 %row %x
    %place_wide = OpSConvert %i64 %place
    %to = OpInBoundsPtrAccessChain %global_i32 %p0 %place_wide
    OpStore %to %more Aligned 4
    OpBranch %end
    %end = OpLabel
"""


def test_rows_that_are_checked_run_together_where_all_are_inside(written: list[str]) -> None:
    n = 37
    numbers = np.random.default_rng(1).integers(-9, 9, (2, n, n), np.int32)
    text = kernel(CHECKED, "%global_i32 %global_i32 %global_i32 %i32")
    ways = [Options(level=1, lanes=lanes) for lanes in (8, 16, None)]
    given = [np.zeros((n, n), np.int32), *numbers, np.int32(n)]
    shapes = [Shape((40, 40, 1), group, (0, 0, 0), 0) for group in ((40, 4, 1), (20, 1, 1), (10, 10, 1))]
    assert disagreement(*(Program(text, given, [], shape) for shape in shapes), ways=ways) is None
    module = read(assemble(text, (1, 6)))
    verify(module)
    compile_kernel(module, "main", WIDE)
    several = part(written[-1], "region0.rows")
    assert several.count("@llvm.masked.load") == 1
    assert several.count("@llvm.masked.store") == MOST
