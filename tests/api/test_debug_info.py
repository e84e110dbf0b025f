"""Debug information of modules that were built with -g."""

from __future__ import annotations

import anyzero as az
from tests.compiler.assembler import assemble
from tests.compiler.dwarf import lines, names, section, symbols
from tests.compiler.samples import PROLOGUE, TYPES

KERNEL = """
    %{name} = OpFunction %void None %main_type
    %{name}_p = OpFunctionParameter %global_i32
    %{name}_entry = OpLabel
    OpLine %file {line} 5
    OpStore %{name}_p %c7
    OpReturn
    OpFunctionEnd
"""
SOURCE = f"""
    {PROLOGUE}
    OpEntryPoint Kernel %first "first"
    OpEntryPoint Kernel %second "second"
    %file = OpString "two.cl"
    {TYPES}
    %main_type = OpTypeFunction %void %global_i32
    {KERNEL.format(name="first", line=11)}
    {KERNEL.format(name="second", line=2222)}
"""


def test_all_kernels_are_in_one_file() -> None:
    with az.device().context() as ctx:
        module = ctx.module(assemble(SOURCE), options="-g")
        elf = module.debug_info
        assert {11, 2222} <= lines(elf)
        assert {"first", "second"} <= symbols(elf)
        assert {"first", "second", "two.cl"} <= names(elf)
        assert len(section(elf, ".text")) > 0
        assert module.debug_info == elf
        again = ctx.module(module.native)
        assert lines(again.debug_info) == lines(elf)


def test_without_the_flag_there_is_none() -> None:
    with az.device().context() as ctx:
        assert ctx.module(assemble(SOURCE)).debug_info == b""
