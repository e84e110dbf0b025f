"""The entry point: a routine for an instruction of OpenCL.std, by name, element type and number of lanes."""

from __future__ import annotations

import threading
from functools import cache
from importlib import import_module
from typing import Final

from anyzero.compiler.builtins.formats import FORMATS
from anyzero.compiler.builtins.instructions import TABLE, Instruction
from anyzero.compiler.builtins.routine import Routine, finish
from anyzero.compiler.builtins.writer import Writer
from anyzero.compiler.llvm import Type, Value

MOST_LANES = 64

PARTS: Final = (
    *("arithmetic", "integer", "relational", "roots", "exponential", "logarithm", "representation"),
    *("trigonometric", "native", "power", "geometric", "hyperbolic", "inverse_trigonometric", "half_turns"),
    *("remainder", "error_function", "gamma"),
)
"""Files of this package that register instructions when they are imported, those of common instructions first. Most
kernels need few or none, and all of them take a twentieth of the time in which the compiler is imported.
"""

_LOOKING = threading.Lock()
"""Held while parts are imported: an instruction is registered before the rest of its file is there."""


def _find(name: str) -> Instruction | None:
    with _LOOKING:
        for part in PARTS:
            if name in TABLE:
                break
            import_module(f"anyzero.compiler.builtins.{part}")
        return TABLE.get(name)


def names() -> frozenset[str]:
    """Every instruction that has a routine."""
    with _LOOKING:
        for part in PARTS:
            import_module(f"anyzero.compiler.builtins.{part}")
        return frozenset(TABLE)


@cache
def routine(
    name: str, element: str, lanes: int, count: int = 1, estimates: bool = False, fused: bool = True
) -> Routine:
    """The instruction `name` for operands whose components are `element`s (LLVM's name), one in each of `lanes` lanes;
    0 lanes: one scalar. `count` is the number of components of a work-item's operand, where it matters: geometric
    functions take the components separately, first operand first; `select` tests the top bit of its condition for
    `count > 1`, as OpenCL does for vectors, and otherwise whether it is nonzero. With `estimates`, functions may use
    AVX-512's estimates and scaling; without `fused` they multiply and add in two steps.

    >>> routine("fma", "float", 8).symbol
    'az.fma.v8f32'
    """
    known = _find(name)
    if known is None:
        raise KeyError(f"OpenCL.std's {name} has no routine")
    if element not in known.elements:
        raise KeyError(f"OpenCL.std's {name} has no routine for {element}")
    if not 0 <= lanes <= MOST_LANES or count < 1:
        raise ValueError(f"{name} for {lanes} lanes and {count} components; 0 to {MOST_LANES} lanes there are")
    parameters = _parameters(known, element, lanes, count)
    writer = Writer(estimates, fused)
    operands = [Value(writer, f"%a{place}", type_) for place, type_ in enumerate(parameters)]
    widened = element == "half" and known.widened
    if widened:
        operands = [_exchange(writer, "fpext", value, "half", "float") for value in operands]
    if known.counted:
        vectors = [operands[at : at + count] for at in range(0, len(operands), count)]
        found = known.emit(writer, *vectors)
    elif name == "select":
        found = known.emit(writer, *operands, count)
    else:
        found = known.emit(writer, *operands)
    results = found if isinstance(found, tuple) else (found,)
    if widened:
        results = tuple(_exchange(writer, "fptrunc", value, "float", "half") for value in results)
    suffix = str(count) if known.counted or (name == "select" and count > 1) else ""
    return finish(writer, f"az.{name}{suffix}.{Type(element, lanes).mangled}", parameters, results)


def _parameters(known: Instruction, element: str, lanes: int, count: int) -> tuple[Type, ...]:
    kinds = {"T": element, "I": FORMATS[element].integer if element in FORMATS else element}
    every = (Type(kinds.get(kind, kind), lanes) for kind in known.parameters)
    return tuple(type_ for type_ in every for _ in range(count if known.counted else 1))


def _exchange(writer: Writer, operation: str, value: Value, from_: str, to: str) -> Value:
    return writer.cast(operation, value, to) if value.type.element == from_ else value
