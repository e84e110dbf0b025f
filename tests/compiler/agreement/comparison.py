"""A random kernel through the interpreter and through compiled code: do both leave the same in every buffer?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyzero.compiler import reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import Module, read, verify
from tests.compiler import native
from tests.compiler.agreement.fenced import fenced
from tests.compiler.agreement.generator import LocalBytes, Program
from tests.compiler.agreement.isolation import isolated
from tests.compiler.assembler import assemble

Numbers = np.ndarray[Any, Any]

STEPS = 200_000
"""Instructions of one work-item in the interpreter; no kernel should come near."""


def disagreement(program: Program, ways: Sequence[Options], timeout: float = 60.0) -> str | None:
    """What is different, for the first of the ways to compile it where something is; in a process of its own."""
    module = read(assemble(program.text, (1, 6)))
    verify(module)
    found = isolated(lambda: _compare(module, program, ways), timeout)
    return found.trouble or found.value


def _compare(module: Module, program: Program, ways: Sequence[Options]) -> str | None:
    expected = program.fresh()
    shape = program.shape
    reference.run(
        module,
        "main",
        [reference.Local(each.size) if isinstance(each, LocalBytes) else each for each in expected],
        shape.global_size,
        shape.group_size,
        shape.offset,
        shape.sub_group or 16,
        limit=STEPS,
    )
    for number, options in enumerate(ways):
        found = _compiled(module, program, options, at_the_end=number % 2 == 0)
        for place, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
            if isinstance(theirs, np.ndarray) and not _same(mine, theirs, place in program.floats):
                return f"{options}: argument {place}: {_first(mine, theirs, place in program.floats)}"
    return None


def _compiled(module: Module, program: Program, options: Options, at_the_end: bool) -> list[Any]:
    shape = program.shape
    given = [fenced(each, at_the_end) if isinstance(each, np.ndarray) else each for each in program.arguments]
    kernel = compile_kernel(module, "main", options)
    native.Loaded(kernel)(
        [native.Local(each.size) if isinstance(each, LocalBytes) else each for each in given],
        shape.global_size,
        shape.group_size,
        shape.offset,
    )
    return given


def _same(mine: Numbers, theirs: Numbers, floats: bool) -> bool:
    return not _different(mine, theirs, floats).any()


def _different(mine: Numbers, theirs: Numbers, floats: bool) -> Numbers:
    bits = np.dtype(f"u{mine.dtype.itemsize}")
    unequal: Numbers = mine.view(bits) != theirs.view(bits)
    return unequal & ~(np.isnan(mine) & np.isnan(theirs)) if floats else unequal


def _first(mine: Numbers, theirs: Numbers, floats: bool) -> str:
    wrong = np.flatnonzero(_different(mine, theirs, floats))
    at = int(wrong[0])
    return f"{wrong.size} of {mine.size} differ, at {at}: {mine.flat[at]!r} instead of {theirs.flat[at]!r}"
