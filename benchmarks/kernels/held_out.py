"""The second suite in the comparison: its means and its quotients without names.

Single cases are neither shown nor kept: a case that is seen gets worked on, and the suite would be one more that the
compiler is made for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from benchmarks.kernels import contest
from benchmarks.kernels.contest import Contestant, Results
from benchmarks.kernels.peers import PEERS as EVERYBODY
from benchmarks.kernels.program import Program
from benchmarks.kernels.report import BEST, BUILDS, NATIVE, OURS, RIVALS, disturbed, mean, ratios

__all__ = ["PEERS", "as_json", "as_text", "measure"]

PEERS: Final = tuple(each.name for each in EVERYBODY if each.name in (OURS, *RIVALS, *BUILDS))
QUICK: Final = ("quick", 3, 0.5)
PACE: Final = ("full", 9, 2.5)
"""Size of the programs, rounds at most, and seconds after which no new round begins."""


def measure(
    contestants: Sequence[Contestant], programs: Sequence[Program], quick: bool, say: Callable[[str], None]
) -> Results:
    results = []
    for number, program in enumerate(programs, 1):
        found = contest.compete(contestants, program, *(QUICK if quick else PACE))
        results.append((program, found))
        failed = [f"{name} FAILED: {each.trouble}" for name, each in found.items() if each.trouble]
        say(f"{number:2}/{len(programs)}  {program.title}: {', '.join(failed) or 'measured'}")
    return results


def quotients(results: Results, name: str) -> list[float]:
    """Our time divided by that of the best of these, the lowest first."""
    return sorted(value for _, found in results if (value := ratios(found).get(name)) is not None)


def as_json(results: Results) -> dict[str, Any]:
    lists: Mapping[str, list[float]] = {name: quotients(results, name) for name in (BEST, NATIVE)}
    return {
        "titles": [program.title for program, _ in results],
        "quotients": lists,
        "geometric_mean": {name: mean(values) if values else None for name, values in lists.items()},
        "disturbed": any(disturbed(found) for _, found in results),
        "failed": sorted({name for _, found in results for name, each in found.items() if each.trouble}),
    }


def as_text(results: Results, notes: Sequence[str]) -> str:
    made = as_json(results)
    lines = [f"held out: {len(results)} published programs that nothing is tuned for"]
    for name, values in made["quotients"].items():
        if values:
            slower = sum(value > 1 for value in values)
            average = made["geometric_mean"][name]
            lines += [
                f"{OURS} ÷ {name}: geometric mean {average:.2f}, slower in {slower} of {len(values)}",
                f"  from the lowest to the highest: {', '.join(f'{value:.2f}' for value in values)}",
            ]
    return "\n".join([*lines, *notes]) + "\n"
