"""The generated tables: complete, and light enough to import anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from anyzero.compiler.spirv import grammar, tables
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.tables import Capability, Decoration, Dim, FunctionControl, Op, OpenCL
from codegen import spirv_tables

SPEC = Path(__file__).resolve().parents[2] / "spec" / "spirv"


def test_numbers_and_names() -> None:
    assert (Op.Load, Op.FunctionCall, Op.SubgroupShuffleINTEL) == (61, 57, 5571)
    assert (Dim.Dim2D, FunctionControl.None_, Capability.Kernel, OpenCL.fma) == (1, 0, 6, 26)
    assert grammar.opcode_name(61) == "OpLoad"
    assert grammar.opcode_name(65_000) == "opcode 65000"
    assert grammar.opencl_name(OpenCL.s_max) == "s_max"
    assert grammar.enumerant_name("Dim", Dim.Dim3D) == "3D"
    assert grammar.enumerant_name("FunctionControl", 0) == "None"
    assert grammar.enumerant_name("Capability", Capability.USMStorageClassesINTEL) == "USMStorageClassesALTERA"


def test_every_instruction_has_a_name_and_a_layout_of_known_kinds() -> None:
    literals = {"LiteralInteger", "LiteralString", "LiteralFloat", "LiteralContextDependentNumber"}
    literals |= {"LiteralExtInstInteger", "LiteralSpecConstantOpInteger"}
    known = literals | tables.ENUMS.keys() | grammar.IDS | grammar.PAIRS.keys()
    assert {kind.rstrip("?*") for layout in tables.LAYOUTS for kind in layout.split()} <= known
    assert all(grammar.opcode_name(opcode).startswith("Op") for opcode in tables.LAYOUT_OF_OP)
    assert len(tables.LAYOUT_OF_OP) > 800
    assert len(tables.LAYOUT_OF_OPENCL) == 162


def test_shapes() -> None:
    assert grammar.SHAPES[Op.IAdd] == (3, 2, 2)
    assert grammar.SHAPES[Op.Return] == (1, 0, 0)
    assert grammar.SHAPES[Op.Store][:2] == (1, 2)
    assert grammar.SHAPES[Op.Store].longest > 5
    assert grammar.SHAPES[Op.Phi].shortest == 0
    assert grammar.SHAPES[Op.Variable] == (3, 1, 2)


def test_operands_behind_values() -> None:
    assert grammar.parameters("Decoration", Decoration.LinkageAttributes) == ["LiteralString", "LinkageType"]
    assert grammar.parameters("MemoryAccess", 0x20002) == ["LiteralInteger", "IdRef"]
    assert grammar.parameters("StorageClass", 5) == []


def test_operands_that_do_not_fit() -> None:
    with pytest.raises(SpirvError, match="ends before its IdRef"):
        grammar.operands(Op.IAdd, [4 << 16 | Op.IAdd, 1, 2, 3], 0, 4, grammar.Context())
    with pytest.raises(SpirvError, match="has 1 more words"):
        grammar.operands(Op.Return, [2 << 16 | Op.Return, 1], 0, 2, grammar.Context())
    with pytest.raises(SpirvError, match="is unknown"):
        grammar.operands(65_000, [1 << 16 | 65_000], 0, 1, grammar.Context())


def test_names_become_names_of_python() -> None:
    assert spirv_tables.identifier("Dim", "2D") == "Dim2D"
    assert spirv_tables.identifier("MemoryAccess", "None") == "None_"
    assert spirv_tables.identifier("Op", "Load") == "Load"
