"""Every kernel of the suite as machine code, in vectors of several widths: against what must come out, and against what
the interpreter makes of it.

They run in a process beside this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from anyzero.compiler.compiled import Options
from benchmarks.kernels.case import Array, Case, mismatch
from tests.compiler.agreement.cases import compiled, through_code, through_reference
from tests.compiler.agreement.isolation import apart
from tests.kernels.suite import CASES, case
from tests.thorough import every, turn

ELSEWHERE = {"images", "printf"}
"""What needs an engine around the kernel; those cases run in the engine's own tests."""

HERE = [each for each in CASES if not each.needs & ELSEWHERE]

LANES = {"1": 1, "8": 8, "16": 16, "automatic": None}
SUB_GROUP = 16
"""Work-items of a sub-group, where both twins have to agree on it."""


def _ways() -> dict[tuple[Path, str, str], list[str]]:
    """Cases by their kernel and its lanes, so that the kernel is compiled once for all of them.

    Each case in the compiler's own choice of lanes, and some in another number, which is not the same for all. A third
    of the cases whose module clang has not optimised: the optimised ones compute the same.
    """
    others = [how for how in LANES if how != "automatic"]
    also = {each.name: turn(number, others) for number, each in enumerate(every(5, HERE))}
    found: dict[tuple[Path, str, str], list[str]] = {}
    unoptimised = [each for each in HERE if each.name.endswith(".O0")]
    left_out = {each.name for each in unoptimised} - {each.name for each in every(3, unoptimised)}
    for each in HERE:
        if each.name in left_out:
            continue
        chosen = {"automatic", _as_interpreted(each), *also.get(each.name, ())}
        for how in LANES:
            if how in chosen:
                found.setdefault((each.spv, each.kernel, how), []).append(each.name)
    return found


def _run(names: Sequence[str], how: str) -> str | None:
    """What goes wrong when they are compiled and run; in one of the ways, the interpreter does the same."""
    # Once as if every launch were too large for the caches.
    caches = 0 if how == "automatic" else None
    code = compiled(case(names[0]), Options(level=1, lanes=LANES[how], cache_bytes=caches))
    for name in names:
        each = case(name)
        after = through_code(each, code)
        wrong = each.mismatch(after) or (_difference(each, after) if how == _as_interpreted(each) else None)
        if wrong is not None:
            return f"{name}: {wrong}"
    return None


def _as_interpreted(each: Case) -> str:
    return str(SUB_GROUP) if "sub_groups" in each.needs else "automatic"


def _difference(each: Case, after: dict[int, Array]) -> str | None:
    """The interpreter says something about memory that the case has no expectations of, too."""
    expected = through_reference(each, SUB_GROUP)
    found = each.mismatch(expected)
    if found is not None:
        return f"the interpreter is wrong: {found}"
    if each.rtol or each.atol or each.ulp or each.outliers:
        return None
    for place, wanted in expected.items():
        found = mismatch(after[place], wanted)
        if found is not None:
            return f"argument {place} at {found[0]}: {found[1]}"
    return None


WAYS = [(names, how) for (_, _, how), names in _ways().items()]


@pytest.mark.parametrize(("names", "lanes"), WAYS, ids=[f"{'+'.join(names)}-{how}" for names, how in WAYS])
def test_given_a_case_when_it_is_compiled_then_it_gives_what_is_expected(names: list[str], lanes: str) -> None:
    """And, in one of the ways, leaves the same memory as the interpreter."""
    outcome = apart(_run, names, lanes)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value is None, outcome.value
