"""The slow, obvious SPIR-V interpreter: what a compiled kernel must agree with.

Work-items run one after another, each until it must wait for others. Every operation does what the specification says,
and what has no meaning is a fault that says where.
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
