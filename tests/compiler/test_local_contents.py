"""Local variables with an initializer: every group begins with the contents, also on a thread that ran others."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler import reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import Module
from tests.compiler import native
from tests.compiler.reference.kernels import kernel

DECLARED = """
    %four = OpConstant %i32 4
    %row = OpTypeArray %i32 %four
    %local_row = OpTypePointer Workgroup %row
    %lid = OpVariable %input_v3i64 Input
"""

BODY = """
    %lids = OpLoad %v3i64 %lid
    %l = OpCompositeExtract %i64 %lids 0
    %cell = OpInBoundsAccessChain %local_i32 %table %l
    %old = OpLoad %i32 %cell
    OpStore %cell %c7
    %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
"""

BARRIER = """
    OpControlBarrier %c2 %c2 %c7
    %again = OpLoad %i32 %cell
    %both = OpIAdd %i32 %old %again
    OpStore %to %both
"""


def module(initial: str, rest: str = "OpStore %to %old") -> Module:
    declared = f"{DECLARED}{initial}\n%table = OpVariable %local_row Workgroup %first"
    return kernel(BODY + rest, "%global_i32", declared, "OpDecorate %lid BuiltIn LocalInvocationId")


NULL = "%first = OpConstantNull %row"
SOME = "%first = OpConstantComposite %row %c1 %c2 %c3 %c7"


@pytest.mark.parametrize("lanes", [None, 1, 4])
@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (module(NULL), [0, 0, 0, 0]),
        (module(SOME), [1, 2, 3, 7]),
        (module(NULL, BARRIER), [7, 7, 7, 7]),
    ],
)
def test_each_group_begins_with_the_contents(found: Module, expected: list[int], lanes: int | None) -> None:
    out = np.full(20, 99, np.int32)
    native.Loaded(compile_kernel(found, "main", Options(lanes=lanes)))([out], (20,), (4,))
    assert out.tolist() == expected * 5
    also = np.full(20, 99, np.int32)
    reference.run(found, "main", [also], 20, 4)
    assert also.tolist() == expected * 5


def test_only_variables_with_an_initializer_are_written() -> None:
    """What has none begins with whatever was there: the launch before may have left it."""
    declared = f"{DECLARED}\n%first = OpUndef %row\n%table = OpVariable %local_row Workgroup %first"
    found = kernel(BODY + "OpStore %to %old", "%global_i32", declared, "OpDecorate %lid BuiltIn LocalInvocationId")
    out = np.zeros(4, np.uint32)
    native.Loaded(compile_kernel(found, "main", Options(lanes=4)))([out], (4,), (4,))
    assert out.tolist() == [0xA5A5A5A5] * 4
