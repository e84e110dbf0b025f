"""The reference interpreter for SPIR-V: slow and simple, the oracle for compiled kernels.

Work-items run sequentially, each until it must wait for others. Every operation follows the specification, and
undefined behaviour is a fault with its location.
"""

from anyzero.compiler.reference.arguments import Local
from anyzero.compiler.reference.errors import (
    BadArgument,
    BadFunctionPointer,
    Divergence,
    DivisionByZero,
    Fault,
    LimitReached,
    Missing,
    OutOfBounds,
    ReadOnly,
    Unreachable,
)
from anyzero.compiler.reference.image import Image, Sampler
from anyzero.compiler.reference.launch import run
from anyzero.compiler.reference.memory import Memory

__all__ = [
    "BadArgument",
    "BadFunctionPointer",
    "Divergence",
    "DivisionByZero",
    "Fault",
    "Image",
    "LimitReached",
    "Local",
    "Memory",
    "Missing",
    "OutOfBounds",
    "ReadOnly",
    "Sampler",
    "Unreachable",
    "run",
]
