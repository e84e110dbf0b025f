"""Address-space queries in kernels."""

from __future__ import annotations

from anyzero.compiler.analysis.addresses import known_space
from anyzero.compiler.ir import Op
from anyzero.compiler.translate.scope import Scope

NUMBERS = {"global": 0, "constant": 0, "local": 1, "private": 2}


def space_of(f: Scope, pointer: Op) -> Op:
    """The address space of a pointer: 0 global, 1 local, 2 private."""
    space = "private" if pointer.name == "argument_address" else known_space(pointer)
    if space is not None:
        return f.b.const("i32", NUMBERS[space])
    return f.b.emit("space_of", "i32", [pointer])
