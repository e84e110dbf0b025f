"""print as a call of printf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyzero.language.types import I32, U8
from anyzero.language.write.module import literal

if TYPE_CHECKING:
    from anyzero.language.write.values import Values

__all__ = ["print_call"]


def print_call(v: Values, text: str, values: list[int]) -> None:
    """printf with a format and the numbers in it."""
    module = v.b.module
    raw = text.encode() + b"\0"
    byte = module.type(U8)
    array = module.declare(("array", byte, len(raw)), "TypeArray", byte, module.integer(len(raw)))
    parts = [module.constant(U8, each) for each in raw]
    constant = module.declare(("text", raw), "ConstantComposite", array, *parts)
    pointer = module.pointer("UniformConstant", array)
    new = not module.known(("format", raw))
    variable = module.variable(("format", raw), pointer, "UniformConstant", constant)
    if new:
        module.decorate(variable, "Constant")
        module.decorate(variable, "Alignment", literal(1))
    zero = module.integer(0)
    first = v.b.emit("InBoundsPtrAccessChain", module.pointer("UniformConstant", byte), variable, zero, zero)
    v.b.opencl("printf", I32, first, *values)
