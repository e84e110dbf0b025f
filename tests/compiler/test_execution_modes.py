"""Execution modes that become facts about the compiled kernel."""

from __future__ import annotations

import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from tests.compiler.reference.kernels import kernel


@pytest.mark.parametrize(
    ("mode", "items"),
    [("", 0), ("MaxWorkgroupSizeINTEL 16 4 2", 128), ("MaxWorkgroupSizeINTEL 65536 65536 4", (1 << 32) - 1)],
)
def test_a_kernel_says_how_large_its_groups_may_be(mode: str, items: int) -> None:
    line = f"OpExecutionMode %main {mode}" if mode else ""
    module = kernel("OpStore %p0 %p1", "%global_i32 %i32", prologue=line)
    assert pipeline.compile_kernel(module, "main", Options()).max_group_items == items
