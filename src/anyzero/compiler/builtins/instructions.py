"""The table of instructions by name; each file of this package adds its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from anyzero.compiler.builtins.formats import REALS
from anyzero.compiler.llvm import Value
from anyzero.lazy_namedtuple import NamedTuple

Results = Value | tuple[Value, ...]
Emit = TypeVar("Emit", bound=Callable[..., Results])


class Instruction(NamedTuple):
    """How code for an instruction is emitted."""

    emit: Callable[..., Any]
    parameters: tuple[str, ...]
    """`T` stands for the element, `I` for the integer of its width; other names are LLVM's."""
    elements: tuple[str, ...]
    widened: bool
    """Halves are computed as floats and rounded once, at the end."""
    counted: bool
    """Takes vectors as separate components."""


TABLE: dict[str, Instruction] = {}


def instruction(
    name: str,
    *parameters: str,
    elements: tuple[str, ...] = REALS,
    widened: bool = True,
    counted: bool = False,
) -> Callable[[Emit], Emit]:
    """Registers a function `(writer, *operands)` under its name in OpenCL.std."""

    def enter(emit: Emit) -> Emit:
        TABLE[name] = Instruction(emit, parameters or ("T",), elements, widened and elements == REALS, counted)
        return emit

    return enter
