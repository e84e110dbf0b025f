"""The same program written or made in two ways, in turns: the fifth table of `python -m benchmarks`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from benchmarks.kernels import contest
from benchmarks.kernels.contest import Found
from benchmarks.kernels.goals import mark
from benchmarks.kernels.peers import Peer, own
from benchmarks.kernels.report import disturbed, duration
from benchmarks.kernels.variants import VARIANTS, Variant
from benchmarks.table import QUIET, laid_out

__all__ = ["NAME", "as_json", "as_text", "measure", "select"]

NAME: Final = "variants"
TITLE: Final = "the same in two ways"
USUAL, OTHER = "usual", "other"
QUICK: Final = ("quick", 5, 2.0)
PACE: Final = ("full", 11, 3.0)
"""Size of the programs, rounds at most, and seconds after which no new round begins."""

Say = Callable[[str], None]
Results = Sequence[tuple[Variant, Mapping[str, Found]]]


def select(text: str) -> tuple[Variant, ...]:
    return tuple(each for each in VARIANTS if text.lower() in f"{_key(each)} {each.other.title}".lower())


def _key(variant: Variant) -> str:
    return f"{NAME}_{variant.other.key}"


def ratio(found: Mapping[str, Found]) -> float | None:
    """The other's time divided by the usual one's, round by round."""
    usual, other = (found.get(name, Found()) for name in (USUAL, OTHER))
    return other.against(usual)


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def as_text(results: Results, notes: Sequence[str]) -> str:
    """The table that a person reads."""
    rows = [[TITLE, "best time", "", "best time", "÷", "slower ÷ faster"]]
    for variant, found in results:
        times = [found.get(name, Found()).best for name in (USUAL, OTHER)]
        first, second = ("failed" if each is None else duration(each) for each in times)
        shown = _shown(ratio(found))
        verdict = mark(variant.excess(ratio(found)), variant.at_most, disturbed(found))
        rows.append([variant.usual.title, first, variant.other.title, second, shown, verdict])
    return "\n".join([*laid_out(rows), "", *notes]) + "\n"


def as_json(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "key": _key(variant),
            "group": TITLE,
            "title": f"{variant.other.title} beside {variant.usual.title}",
            "kind": variant.kind,
            "ratio": ratio(found),
            "at_most": variant.at_most,
            "disturbed": disturbed(found),
            "found": {name: {"best": each.best, "samples": each.samples} for name, each in found.items()},
        }
        for variant, found in results
    ]


def measure(text: str, quick: bool, say: Say, problems: list[str]) -> list[dict[str, Any]]:
    """Measure what `text` selects and print the table; what came before a failure stays."""
    chosen = select(text)
    say(f"{NAME}: preparing")
    skipped: dict[str, str] = {}
    contestants, _ = contest.enter([Peer(name, "anyzero", own) for name in (USUAL, OTHER)], False, skipped)
    results = []
    try:
        if skipped:
            problems += [f"{NAME}: {why}" for why in skipped.values()]
            return []
        for number, variant in enumerate(chosen, 1):
            entries = list(zip(contestants, (variant.usual, variant.other), strict=True))
            found = contest.take_turns(entries, *(QUICK if quick else PACE))
            results.append((variant, found))
            problems += [f"{NAME}: {variant.other.title}: {each.trouble}" for each in found.values() if each.trouble]
            shown = _shown(ratio(found))
            say(f"{NAME}: {number}/{len(chosen)}  {variant.other.title}: {shown}")
    finally:
        for contestant in contestants:
            contestant.close()
    notes = []
    if any(disturbed(found) for _, found in results):
        notes.append(f"? others used more than {QUIET:g} cores meanwhile; run again on a quiet machine")
    print("\n" + as_text(results, notes), end="")
    return as_json(results)
