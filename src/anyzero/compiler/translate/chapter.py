"""The table of translations by opcode. One file per chapter of the instruction set fills it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.translate.trees import Tree

if TYPE_CHECKING:
    from anyzero.compiler.translate.frame import Frame
    from anyzero.compiler.translate.scope import Scope

Translation = Callable[["Scope", Instruction], "Tree | None"]
Ending = Callable[["Frame", Instruction], None]

TABLE: dict[int, Translation] = {}
"""By opcode; a translation returns the result."""

ENDINGS: dict[int, Ending] = {}
"""Translations of terminators."""


def translates(*opcodes: int) -> Callable[[Translation], Translation]:
    def register(function: Translation) -> Translation:
        for opcode in opcodes:
            assert opcode not in TABLE
            TABLE[opcode] = function
        return function

    return register


def ends(*opcodes: int) -> Callable[[Ending], Ending]:
    def register(function: Ending) -> Ending:
        for opcode in opcodes:
            assert opcode not in ENDINGS
            ENDINGS[opcode] = function
        return function

    return register
