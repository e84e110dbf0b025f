"""A random kernel through the interpreter and through compiled code: do both leave the same in every buffer?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyzero.compiler import reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import Module, read, verify
from tests.compiler import native
from tests.compiler.agreement.fenced import fenced
from tests.compiler.agreement.generator import LocalBytes, Program
from tests.compiler.agreement.isolation import apart
from tests.compiler.assembler import assemble
from tests.patience import PATIENCE

Numbers = np.ndarray[Any, Any]

Entry = Callable[..., None]

STEPS = 200_000
"""Instructions of one work-item in the interpreter; no kernel should come near."""


def disagreement(*programs: Program, ways: Sequence[Options], timeout: float = PATIENCE) -> str | None:
    """What is different, for the first of the ways to compile it where something is; in another process.

    Several programs are launches of the same kernel, which is compiled once for all of them.
    """
    (text,) = {program.text for program in programs}
    found = apart(_compare, text, programs, ways, timeout=timeout)
    return found.trouble or found.value


def _compare(text: str, programs: Sequence[Program], ways: Sequence[Options]) -> str | None:
    module = read(assemble(text, (1, 6)))
    verify(module)
    expected = [interpreted(module, program) for program in programs]
    for options in ways:
        code = compile_kernel(module, "main", options)
        loaded = native.Loaded(code)
        hows = [(_all_at_once, True), (_backwards, True)]
        if code.divides_ids:
            hows.append((_all_at_once, False))
        for program, wanted in zip(programs, expected, strict=True):
            for how, in_rows in hows:
                found = _run(loaded, program, how, in_rows)
                for place, (mine, theirs) in enumerate(zip(found, wanted, strict=True)):
                    floats = place in program.floats
                    if isinstance(theirs, np.ndarray) and _different(mine, theirs, floats).any():
                        return f"{options}, {program.shape}: argument {place}: {_first(mine, theirs, floats)}"
    return None


def interpreted(module: Module, program: Program) -> list[Any]:
    """What the arguments are after the interpreter has run it."""
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
    return expected


def _run(loaded: native.Loaded, program: Program, how: Entry, in_rows: bool) -> list[Any]:
    """What the arguments are afterwards. Each of them ends at a forbidden page in one of the runs, or begins at one."""
    shape = program.shape
    at_the_end = how is _all_at_once
    given = [fenced(each, at_the_end) if isinstance(each, np.ndarray) else each for each in program.arguments]
    whole = loaded.entry
    loaded.entry = lambda *arguments: how(whole, *arguments)
    try:
        loaded(
            [native.Local(each.size) if isinstance(each, LocalBytes) else each for each in given],
            shape.global_size,
            shape.group_size,
            shape.offset,
            in_rows=in_rows,
        )
    finally:
        loaded.entry = whole
    return given


def _all_at_once(entry: Any, args: int, grid: int, first: int, last: int, worker: int) -> None:
    entry(args, grid, first, last, worker)


def _backwards(entry: Any, args: int, grid: int, first: int, last: int, worker: int) -> None:
    """Group by group from the last to the first, as threads that share a launch might."""
    for group in reversed(range(first, last)):
        entry(args, grid, group, group + 1, worker)


def _different(mine: Numbers, theirs: Numbers, floats: bool) -> Numbers:
    bits = np.dtype(f"u{mine.dtype.itemsize}")
    unequal: Numbers = mine.view(bits) != theirs.view(bits)
    return unequal & ~(np.isnan(mine) & np.isnan(theirs)) if floats else unequal


def _first(mine: Numbers, theirs: Numbers, floats: bool) -> str:
    wrong = np.flatnonzero(_different(mine, theirs, floats))
    at = int(wrong[0])
    return f"{wrong.size} of {mine.size} differ, at {at}: {mine.flat[at]!r} instead of {theirs.flat[at]!r}"
