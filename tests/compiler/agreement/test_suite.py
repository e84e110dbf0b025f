"""Every kernel of the suite as machine code, in vectors of several widths: against what must come out, and against what
the interpreter makes of it.

Kernels run in processes of their own, as many at a time as there are processors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import pytest

from anyzero.compiler.compiled import Options
from benchmarks.kernels.case import Array, Case, mismatch
from tests.compiler.agreement.cases import through_compiler, through_reference
from tests.compiler.agreement.isolation import Outcome, isolated
from tests.kernels.suite import CASES, case

ELSEWHERE = {"images", "printf"}
"""What needs an engine around the kernel; those cases run in the engine's own tests."""

HERE = [each for each in CASES if not each.needs & ELSEWHERE]
LEFT_OUT = [each.name for each in CASES if each.needs & ELSEWHERE]

LANES = {"1": 1, "8": 8, "16": 16, "automatic": None}
SUB_GROUP = 16
"""Work-items of a sub-group, where both twins have to agree on it."""


class Result(NamedTuple):
    wrong: str | None
    """What is not as the case expects it."""
    different: str | None = None
    """What is not as the interpreter leaves it."""


Run = Callable[[str, str], Result]


def _run(each: Case, how: str) -> Result:
    """Compiles and runs it; in one of the ways, the interpreter does the same."""
    # Once as if every launch were too large for the caches.
    caches = 0 if how == "automatic" else None
    after = through_compiler(each, Options(level=1, lanes=LANES[how], cache_bytes=caches))
    return Result(each.mismatch(after), _difference(each, after) if how == _as_interpreted(each) else None)


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


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """What became of a case; all that were asked for are on their way as soon as the first is wanted."""
    started: dict[tuple[str, str], Future[Outcome]] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def start(name: str, how: str) -> Future[Outcome]:
            if (name, how) not in started:
                each = case(name)
                started[name, how] = pool.submit(isolated, lambda: _run(each, how), 100)
            return started[name, how]

        def result(name: str, how: str) -> Result:
            outcome = start(name, how).result()
            assert not outcome.trouble, outcome.trouble
            assert isinstance(outcome.value, Result)
            return outcome.value

        for item in request.session.items:
            if isinstance(item, pytest.Function) and item.module is request.module and hasattr(item, "callspec"):
                given = item.callspec.params
                start(given["name"], given.get("lanes") or _as_interpreted(case(given["name"])))
        yield result
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("name", [each.name for each in HERE])
def test_given_a_case_when_it_is_compiled_then_it_gives_what_is_expected(name: str, lanes: str, run: Run) -> None:
    assert run(name, lanes).wrong is None


@pytest.mark.parametrize("name", [each.name for each in HERE])
def test_given_a_case_then_compiled_code_and_the_interpreter_leave_the_same_memory(name: str, run: Run) -> None:
    assert run(name, _as_interpreted(case(name))).different is None


@pytest.mark.skip(reason=f"run through the engine instead: {', '.join(LEFT_OUT)}")
def test_cases_that_need_an_engine() -> None:
    """Here for the list to be seen."""
