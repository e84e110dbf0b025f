"""Structures that differ in nothing but where their members lie, copied into each other."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.reference import run
from anyzero.compiler.spirv import SpirvError
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel

DECLARED = """
    %pair = OpTypeArray %i8 %c2
    %packed = OpTypeStruct %i8 %i32 %pair
    %loose = OpTypeStruct %i8 %i32 %pair
    %to_packed = OpTypePointer CrossWorkgroup %packed
    %to_loose = OpTypePointer CrossWorkgroup %loose"""
BODY = """
    %from = OpInBoundsPtrAccessChain %to_packed %p1 %i
    %value = OpLoad %packed %from Aligned 1
    %copy = OpCopyLogical {type} {value}
    %to = OpInBoundsPtrAccessChain %to_loose %p0 %i
    OpStore %to %copy Aligned 4"""
PACKED = "OpDecorate %packed CPacked"
LOOSE = np.dtype([("a", np.uint8), ("b", np.uint32), ("c", np.uint8, 2)], align=True)
TIGHT = np.dtype([("a", np.uint8), ("b", np.uint32), ("c", np.uint8, 2)])


@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_members_are_copied(lanes: int) -> None:
    module = kernel(BODY.format(type="%loose", value="%value"), "%to_loose %to_packed", DECLARED, PACKED)
    given = np.random.default_rng(1).integers(0, 256, 40 * TIGHT.itemsize, np.uint8)
    wanted, found = (np.zeros(40 * LOOSE.itemsize, np.uint8) for _ in range(2))
    run(module, "main", [wanted, given], 40)
    Loaded(pipeline.compile_kernel(module, "main", Options(lanes=lanes)))([found, given], (40,), (20,))
    for name in ("a", "b", "c"):
        assert (found.view(LOOSE)[name] == given.view(TIGHT)[name]).all()
        assert (found.view(LOOSE)[name] == wanted.view(LOOSE)[name]).all()


def test_what_has_other_members_is_refused() -> None:
    with pytest.raises(SpirvError, match="with the members of"):
        kernel(BODY.format(type="%loose", value="%c7"), "%to_loose %to_packed", DECLARED, PACKED)
