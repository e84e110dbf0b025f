"""OpenCL.std, one Python function per library function."""

from __future__ import annotations

from anyzero.compiler.reference.decoder import Decoder, Step, handles
from anyzero.compiler.reference.errors import Fault
from anyzero.compiler.reference.opencl import (
    common,
    exponentials,
    geometry,
    integers,
    numerals,
    pieces,
    printf,
    transfers,
    trigonometry,
)
from anyzero.compiler.reference.opencl.table import FUNCTIONS
from anyzero.compiler.spirv.grammar import opencl_name
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import Op

CHAPTERS = (common, exponentials, geometry, integers, numerals, pieces, printf, transfers, trigonometry)
"""Importing these modules fills the table of functions."""


@handles(Op.ExtInst)
def extended(decoder: Decoder, instruction: Instruction) -> Step:
    _, number, *operands = instruction.operands
    found = FUNCTIONS.get(number)
    if found is None:
        raise Fault(f"OpenCL's {opencl_name(number)} has no handler")
    return found(decoder, instruction, tuple(operands))
