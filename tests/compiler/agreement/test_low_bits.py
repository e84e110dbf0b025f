"""Ids in a group, of which bits are cut off, shifted out and put together: compiled code beside the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.agreement.test_found import agree, kernel

CONSTANTS = "\n".join(f"%n{number} = OpConstant %i64 {number}" for number in (2, 3, 4, 5, 8, 12, 16, 31, 32, 48, 96))

OPERATIONS = {
    "cut off below": ("OpBitwiseAnd", (31, 16, 48, 12)),
    "shifted out": ("OpShiftRightLogical", (5, 4, 3, 2)),
    "shifted out with a sign": ("OpShiftRightArithmetic", (5, 4, 2)),
    "divided": ("OpUDiv", (32, 16, 8, 2)),
    "divided with a sign": ("OpSDiv", (32, 16, 8, 2)),
    "the rest": ("OpUMod", (32, 16, 8, 2)),
    "put together": ("OpBitwiseOr", (32, 96, 16, 8)),
    "turned over": ("OpBitwiseXor", (32, 96, 16, 8)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_bits_of_local_ids(name: str) -> None:
    opcode, numbers = OPERATIONS[name]
    lines = ["%twice = OpIMul %i64 %g %n2", "%sum0 = OpIAdd %i64 %g %n3"]
    count = 0
    for value in ("%g", "%twice"):
        for number in numbers:
            lines += [
                f"%found{count} = {opcode} %i64 {value} %n{number}",
                f"%more{count} = OpIMul %i64 %sum{count} %n5",
                f"%sum{count + 1} = OpIAdd %i64 %more{count} %found{count}",
            ]
            count += 1
    text = kernel("\n".join([*lines, f"OpStore %at %sum{count}"]), "%global_i64", CONSTANTS)
    agree(text.replace("GlobalInvocationId", "LocalInvocationId"), np.zeros(40, np.int64))
