"""How much the group and the size of a launch matter: the slowest beside the fastest, for us and for others."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from math import prod
from pathlib import Path
from typing import Any, Final

from benchmarks import machine
from benchmarks.kernels import contest
from benchmarks.kernels.contest import Contestant, Found
from benchmarks.kernels.goals import mark
from benchmarks.kernels.report import BEST, BUILDS, OURS, RIVALS, disturbed, duration, ratios
from benchmarks.kernels.shapes import FAMILIES, SHAPES, Family, Shape
from benchmarks.table import laid_out

__all__ = [
    "BLAS",
    "LIMIT",
    "PEERS",
    "PLAIN",
    "TO_BLAS",
    "Results",
    "as_json",
    "as_text",
    "measure",
    "select",
    "summaries",
    "summary",
]

BLAS: Final = "numpy"
PLAIN: Final = BUILDS[0]
PEERS: Final = (OURS, *RIVALS, PLAIN, BLAS)
"""numpy has the product of matrices alone, plain C++ those that it has for any size."""
LIMIT: Final = 1.2
"""The slowest group may take this many times as long as the fastest; where the kernel uses its groups, the slowest
small one as the fastest large one.
"""
SMALL: Final = 64
LARGE: Final = 256
"""Work-items of small groups at most, and of large ones at least."""
TO_BLAS: Final = 2.0
QUICK: Final = ("quick", 5, 0.02)
PACE: Final = ("full", 13, 0.15)
"""Size of the programs, rounds at most, and seconds after which a contestant has no more samples of a shape."""
FEW: Final = 3
"""Samples of every shape, if it is not slow."""
WARM_NS: Final = 50e6
"""A kernel that takes less time runs before each sample. Otherwise the shapes of the first size, which share their
buffers, would find more of them in the caches than the others.
"""
WARM: Final = 5
"""Runs until buffers of 16 MB are in the last-level cache again. The first run after another process takes three times
as long as the fifth.
"""

Results = Sequence[tuple[Shape, Mapping[str, Found]]]
Say = Callable[[str], None]


def select(text: str, quick: bool) -> list[Shape]:
    """Those that hold `text`; a quick run has the first size, and one that nothing divides."""
    chosen = [each for each in SHAPES if text.lower() in f"{each.program.key} {each.program.title}".lower()]
    return [each for each in chosen if not quick or each.size in (each.family.sizes[0], each.family.sizes[-1])]


def measure(contestants: Sequence[Contestant], chosen: Sequence[Shape], quick: bool, say: Say) -> Results:
    """Every shape, those of a kernel in turns: a machine that is slower now and then is so for all of them."""
    results: list[tuple[Shape, Mapping[str, Found]]] = []
    for family, same in groupby(chosen, lambda each: each.family):
        rivals = [each for each in contestants if _has(each.peer.name, family)]
        shapes = list(same)
        found = _turns(rivals, shapes, *(QUICK if quick else PACE))
        results += zip(shapes, found, strict=True)
        for shape, each in zip(shapes, found, strict=True):
            times = ", ".join(f"{name} {_time(one)}" for name, one in each.items() if not one.missing)
            say(f"{family.title}, {shape.title}: {times}")
    return results


def _turns(
    rivals: Sequence[Contestant], shapes: Sequence[Shape], size: str, rounds: int, seconds: float
) -> list[dict[str, Found]]:
    """What each did with each shape of a kernel."""
    found: list[dict[str, Found]] = [{} for _ in shapes]
    shuffle = random.Random(shapes[0].family.key)
    with ExitStack() as stack:
        owners = {_data_key(each): each for each in shapes}
        folders = {key: stack.enter_context(contest.data(each.program, size)) for key, each in owners.items()}
        for contestant in rivals:
            contestant.revive()
            _prepare(contestant, shapes, found, size, folders)
        busy = machine.Others(rivals)
        for turn in range(rounds):
            for contestant in shuffle.sample(rivals, len(rivals)):
                for place in shuffle.sample(range(len(shapes)), len(shapes)):
                    mine = found[place].get(contestant.peer.name)
                    if mine is not None and _wanted(mine, turn, seconds):
                        warm = min(WARM, int(WARM_NS / max(mine.first, 1.0)))
                        answer = contestant.ask("time", slot=str(place), warm=warm)
                        mine.trouble = answer.get("error", "")
                        mine.samples += [answer["ns"]] if "ns" in answer else []
                time.sleep(contest.REST)
        others = busy.cores()
        for contestant in rivals:
            for place, each in enumerate(found):
                if (mine := each.get(contestant.peer.name)) and not mine.trouble and (mine.best or 0) < contest.SLOW_NS:
                    answer = contestant.ask("check", slot=str(place))
                    mine.trouble = answer.get("error") or answer.get("wrong") or ""
            contestant.ask("drop")
    for each in found:
        for mine in each.values():
            mine.others = others
    return found


def _prepare(
    contestant: Contestant,
    shapes: Sequence[Shape],
    found: Sequence[dict[str, Found]],
    size: str,
    folders: Mapping[Any, Path],
) -> None:
    """Check every shape once. Those with the same data share their buffers: where pages lie makes a difference."""
    first: dict[Any, str] = {}
    name = contestant.peer.name
    for place, shape in enumerate(shapes):
        if name == PLAIN and shape.group:
            continue  # plain C++ has no groups, and no work-items beyond the end
        known = [each[name] for each in found[:place] if name in each]
        if shape.size != shape.family.sizes[0] and all(each.first > contest.SLOW_NS for each in known):
            # A peer that is slow in every group is nobody's best one, and takes more time than all others.
            continue
        key = _data_key(shape)
        order = {"program": shape.program.key, "size": size, "slot": str(place)}
        order |= {"like": first[key]} if key in first else {"folder": str(folders[key])}
        prepared = contestant.ask("prepare", **order)
        checked = contestant.ask("check", slot=str(place)) if "error" not in prepared else {}
        trouble = prepared.get("error") or checked.get("error") or checked.get("wrong") or ""
        found[place][name] = Found(first=checked.get("ns", 0.0), trouble=trouble)
        if not trouble:
            first.setdefault(key, str(place))


def _has(name: str, family: Family) -> bool:
    return {BLAS: family.blas, PLAIN: family.native}.get(name, True)


def _wanted(found: Found, turn: int, seconds: float) -> bool:
    """Another sample?"""
    if found.trouble or (found.samples and max(found.samples) > contest.SLOW_NS):
        return False
    return turn < FEW or sum(found.samples) < seconds * 1e9


def _time(found: Found) -> str:
    return duration(found.best) if found.best is not None else f"FAILED: {found.trouble}"


def _data_key(shape: Shape) -> tuple[int, tuple[int, ...]]:
    """What a reduction leaves behind depends on the group, and so does the size of local memory."""
    return shape.size, shape.group if shape.family.knows else ()


def _times(results: Results, name: str, first_size: bool) -> dict[str, float]:
    """Best times by shape, each divided by its work."""
    return {
        shape.title: best / shape.work
        for shape, found in results
        if (best := found.get(name, Found()).best) is not None
        and (not first_size or shape.size == shape.family.sizes[0])
    }


def _small_to_large(results: Results) -> float | None:
    """Our slowest small group, divided by our fastest large one."""
    times = _times(results, OURS, first_size=True)
    items = {shape.title: prod(shape.group) for shape, _ in results}
    small = [ns for title, ns in times.items() if items[title] <= SMALL]
    large = [ns for title, ns in times.items() if items[title] >= LARGE]
    return max(small) / min(large) if small and large else None


def summary(family: Family, results: Results) -> dict[str, Any]:
    """One row: what the page and the terminal show of a family."""
    names = [name for name in (OURS, *RIVALS) if _times(results, name, first_size=False)]
    every = {name: _times(results, name, first_size=False) for name in names}
    groups = {name: _times(results, name, first_size=True) for name in names}
    quotients = {shape.title: ratios(found)[BEST] for shape, found in results if BEST in ratios(found)}
    made: dict[str, Any] = {
        "key": family.key,
        "title": family.title,
        "knows": family.knows,
        "disturbed": any(disturbed(found) for _, found in results),
        "spread": {name: max(each.values()) / min(each.values()) for name, each in groups.items() if each},
        "odd": {
            name: max(values) / min(first.values())
            for name in (*names, PLAIN)
            if (first := _times(results, name, first_size=True))
            and (values := [ns for title, ns in _times(results, name, first_size=False).items() if title not in first])
        },
    }
    if ours := every.get(OURS):
        made["fastest"], made["slowest"] = (
            {"shape": title, "best": ours[title]}
            for title in (min(ours, key=ours.__getitem__), max(ours, key=ours.__getitem__))
        )
        if rivals := [each for name, each in every.items() if name != OURS]:
            made["best_to_best"] = min(ours.values()) / min(min(each.values()) for each in rivals)
            made["worst_to_worst"] = max(ours.values()) / min(max(each.values()) for each in rivals)
        if family.knows and (value := _small_to_large(results)) is not None:
            made["small_to_large"] = value
        if blas := _times(results, BLAS, first_size=True):
            made["to_blas"] = max(groups[OURS].values()) / min(blas.values())
    if quotients:
        worst = max(quotients, key=quotients.__getitem__)
        made |= {"worst_shape": worst, "highest": quotients[worst], "lowest": min(quotients.values())}
    return made


def summaries(results: Results) -> list[dict[str, Any]]:
    return [summary(family, same) for family, same in _families(results)]


def _families(results: Results) -> Iterator[tuple[Family, Results]]:
    for family in FAMILIES:
        if same := [each for each in results if each[0].family is family]:
            yield family, same


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def as_text(results: Results, notes: Sequence[str]) -> str:
    """Every shape, then a line for each family."""
    rows = [["best time", *PEERS, f"{OURS} ÷ {BEST}"]]
    for shape, found in results:
        cells = [found.get(name, Found()) for name in PEERS]
        times = ["failed" if each.trouble else "–" if each.best is None else duration(each.best) for each in cells]
        rows.append([f"{shape.family.title}, {shape.title}", *times, _number(ratios(found).get(BEST))])
    heads = [
        "slowest ÷ fastest",
        "small ÷ large",
        "goal",
        *RIVALS,
        "odd sizes",
        f"the same: {PLAIN}",
        "best ÷ best",
        "worst ÷ worst",
        "highest ÷",
        "where",
    ]
    lines = [[f"{OURS}: groups", *heads]]
    text = []
    for row in summaries(results):
        spread = row["spread"]
        lines.append(
            [
                row["title"],
                _number(spread.get(OURS)),
                _number(row.get("small_to_large")),
                mark(row.get("small_to_large") if row["knows"] else spread.get(OURS), LIMIT, row["disturbed"]),
                *(_number(spread.get(name)) for name in RIVALS),
                *(_number(row["odd"].get(name)) for name in (OURS, PLAIN)),
                *(_number(row.get(name)) for name in ("best_to_best", "worst_to_worst", "highest")),
                row.get("worst_shape", ""),
            ]
        )
        if (value := row.get("to_blas")) is not None:
            text.append(
                f"{row['title']}: the slowest group takes {value:.2f} times as long as BLAS, {mark(value, TO_BLAS)}"
            )
    return "\n".join([*laid_out(rows), "", *laid_out(lines), "", *text, *notes]) + "\n"


def as_json(results: Results) -> dict[str, Any]:
    return {
        "families": summaries(results),
        "shapes": [
            {
                "key": shape.program.key,
                "family": shape.family.key,
                "title": shape.title,
                "ours_divided_by": ratios(found),
                "disturbed": disturbed(found),
                "found": {
                    name: {"best": each.best, "samples": each.samples, "trouble": each.trouble}
                    for name, each in found.items()
                    if not each.missing
                },
            }
            for shape, found in results
        ],
    }
