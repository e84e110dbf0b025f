"""SPIR-V kernels: parser, verifier, disassembler."""

from anyzero.compiler.spirv.disassembler import disassemble
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.module import Module
from anyzero.compiler.spirv.reader import read, specialize
from anyzero.compiler.spirv.verifier import verify, verify_declarations, verify_function, verify_kernel

__all__ = [
    "Module",
    "SpirvError",
    "disassemble",
    "read",
    "specialize",
    "verify",
    "verify_declarations",
    "verify_function",
    "verify_kernel",
]
