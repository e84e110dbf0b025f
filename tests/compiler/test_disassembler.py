"""The text of a module holds all of it."""

from __future__ import annotations

import pytest

from anyzero.compiler.spirv import disassemble, read
from anyzero.compiler.spirv.disassembler import disassemble_instruction
from anyzero.compiler.spirv.tables import MAGIC, Op
from tests.compiler.assembler import assemble
from tests.compiler.bodies import BODIES
from tests.compiler.samples import MODULES, function

EVERYTHING = {**MODULES, **{f"body {name}": body.module for name, body in BODIES.items()}}


@pytest.mark.parametrize("name", EVERYTHING)
def test_text_and_words_say_the_same(name: str) -> None:
    data = EVERYTHING[name]
    text = disassemble(read(data).words)
    assert assemble(text) == data
    assert "!0x" not in text


def test_text_is_readable() -> None:
    lines = [line.strip() for line in disassemble(read(MODULES["saxpy"]).words).splitlines()]
    assert lines[0].startswith("; SPIR-V 1.2, generator 0x0, bound ")
    assert lines[1] == "OpCapability Addresses"
    assert any(line.endswith('OpExtInstImport "OpenCL.std"') for line in lines)
    assert any(" OpLoad %" in line and line.endswith(" Aligned 32") for line in lines)
    assert any(" OpExtInst %" in line and " mad %" in line for line in lines)
    assert any(" OpFunctionParameter %" in line and line.endswith('; "y"') for line in lines)


@pytest.mark.parametrize("value", ["0.1", "-0.0", "inf", "1e-45", "!0x7fc00001", "!0x7f800001"])
def test_floats_come_back(value: str) -> None:
    data = assemble(function("OpReturn", declarations=f"%x = OpConstant %f32 {value}"))
    assert assemble(disassemble(read(data).words)) == data


@pytest.mark.parametrize(
    "value", ["plain", r"a \"quote\"", r"back\\slash", "Grüße", r"\x01\xff\xc3", "", "日本語; %1 ="]
)
def test_strings_come_back(value: str) -> None:
    data = assemble(function("OpReturn", prologue=f'%s = OpString "{value}"'))
    text = disassemble(read(data).words)
    assert assemble(text) == data
    assert all(line.isprintable() for line in text.splitlines())


def test_words_that_make_no_sense_are_shown_as_words() -> None:
    data = assemble(function("OpReturn")) + bytes([0, 0, 3, 0, 1, 0, 0, 0, 2, 0, 0, 0])
    text = disassemble(memoryview(data).cast("I").tolist())
    assert text.endswith("!0x30000 !0x1 !0x2\n")
    assert assemble(text) == data


@pytest.mark.parametrize("count", [1, 2])
def test_an_instruction_may_lack_all_that_belongs_to_it(count: int) -> None:
    for opcode in [value for value in vars(Op).values() if isinstance(value, int)]:
        words = [MAGIC, 0x10200, 0, 10, 0, count << 16 | opcode, *[1] * (count - 1)]
        assert len(disassemble(words).splitlines()) == 2


def test_an_instruction_is_cut_short_in_messages() -> None:
    words = [3 << 16 | 0xFFF0, 1, 2]
    assert disassemble_instruction(words, 0) == "opcode 65520"
    words = [4 << 16 | 128, 7, 8, 9]
    assert disassemble_instruction(words, 0) == "OpIAdd"
    words = [1002 << 16 | 30, 5, *range(1000)]
    assert len(disassemble_instruction(words, 0)) < 200
