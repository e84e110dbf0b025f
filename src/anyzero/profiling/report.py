"""Reports from samples: cost by source line, and the limit of each kernel, as far as samples can tell.

The verdict rests on where the samples fall. The processor reports the instruction that could not finish, or the one
behind it, so a sample counts for memory if either of the two uses memory. Loops are full of loads that wait for
nothing: memory limits a kernel only if its share of the samples is clearly larger than its share of the instructions.
Kernels that counted their lanes tell divergence as well: lanes that were switched off where the samples fall.
"""

from __future__ import annotations

import linecache
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from anyzero.compiler.line_table import Place
from anyzero.layouts.container import CounterKind
from anyzero.profiling.instructions import Instruction, Kind, instructions
from anyzero.profiling.samples import Code, Samples

__all__ = ["KernelCost", "LineCost", "as_json", "kernels", "tables"]

_MEMORY = frozenset((Kind.LOAD, Kind.STORE, Kind.GATHER, Kind.SCATTER))
_SLOW = frozenset((Kind.DIVISION, Kind.GATHER, Kind.SCATTER))
_FEWEST = 50
"""Samples that a verdict needs."""


@dataclass(slots=True)
class LineCost:
    """A source line of a kernel, or a range of its code where lines are not known."""

    file: str
    line: int
    """0 where it is not known."""
    function: str
    text: str
    samples: int = 0
    gathers: int = 0
    """Gather instructions of the line, in the code that was sampled most."""
    scatters: int = 0
    active: float | None = None
    """Active lanes, as a share of all lanes each time that code of the line ran; None where they were not counted."""
    executed: dict[str, int] = field(default_factory=dict)
    """How often vectors ran code of the line, and its loads and stores by kind ("contiguous", "uniform", "gather",
    "scatter"); empty where nothing was counted.
    """


@dataclass(slots=True)
class KernelCost:
    """A kernel with all code that ran for it."""

    name: str
    samples: int
    seconds: float
    """Processor time of all threads, from the samples."""
    called: int
    """Samples in functions that it called, which belong to no line."""
    lanes: int
    """The lanes of the code that was sampled most."""
    lines: list[LineCost] = field(default_factory=list)
    """The most expensive first."""
    active: float | None = None
    """Active lanes where the samples fall, as a share; None where they were not counted."""
    kinds: dict[str, float] = field(default_factory=dict)
    """Shares of the samples at or right behind instructions of a kind; they overlap."""
    limit: str = "not known"
    """"memory", "gathers", "divisions", "compute", "calls", "divergence" or "not known"."""
    reason: str = ""


def kernels(profiles: Iterable[Samples], only: str | None = None) -> list[KernelCost]:
    """The kernels of all processes, the most expensive first; `only` one of this name."""
    found: dict[str, list[Code]] = defaultdict(list)
    seconds: defaultdict[str, float] = defaultdict(float)
    for profile in profiles:
        each = profile.busy_ns / 1e9 / profile.total if profile.total else 0.0
        for code in profile.codes:
            count = code.called + code.samples.total()
            if (count or any(each.executions for each in code.counts)) and only in (None, code.kernel):
                found[code.kernel].append(code)
                seconds[code.kernel] += count * each
    costs = [_kernel(name, codes, seconds[name]) for name, codes in found.items()]
    return sorted(costs, key=lambda cost: -cost.samples)


def _kernel(name: str, codes: list[Code], seconds: float) -> KernelCost:
    main = max(codes, key=lambda code: code.samples.total())
    called = sum(code.called for code in codes)
    samples = called + sum(code.samples.total() for code in codes)
    lines: dict[tuple[str, int, str], LineCost] = {}
    for code in codes:
        blamed = _blamed(list(instructions(code.machine_code)))
        for offset, count in code.samples.items():
            _line(lines, code, blamed.get(offset, offset)).samples += count
    decoded = list(instructions(main.machine_code))
    for each in decoded:
        if each.kind in (Kind.GATHER, Kind.SCATTER):
            line = _line(lines, main, each.offset)
            line.gathers += each.kind is Kind.GATHER
            line.scatters += each.kind is Kind.SCATTER
    _count_lanes(lines, codes)
    cost = KernelCost(name, samples, seconds, called, main.lanes)
    kept = (line for line in lines.values() if line.samples or line.executed)
    cost.lines = sorted(kept, key=lambda line: (-line.samples, -line.executed.get("block", 0)))
    cost.active = _mean_active(cost.lines)
    cost.kinds, around = _kinds(main, decoded)
    cost.limit, cost.reason = _limit(cost, around)
    return cost


def _blamed(decoded: list[Instruction]) -> dict[int, int]:
    """For instructions right behind one that takes long, its offset: samples of that one may fall on either."""
    return {
        behind.offset: slow.offset
        for slow, behind in pairwise(decoded)
        if slow.kind in _SLOW and behind.kind not in _SLOW
    }


def _count_lanes(lines: dict[tuple[str, int, str], LineCost], codes: list[Code]) -> None:
    """Adds the counts of all codes to their lines."""
    room: Counter[int] = Counter()
    active: Counter[int] = Counter()
    for code in codes:
        for count in code.counts:
            # Inlined calls may bring a line into a block twice.
            found = {id(line): line for line in (_line_at(lines, code, place) for place in count.places) if line}
            for key, line in found.items():
                name = count.kind.name.lower()
                line.executed[name] = line.executed.get(name, 0) + count.executions
                if count.kind is CounterKind.BLOCK:
                    room[key] += count.executions * code.lanes
                    active[key] += count.lanes
    for line in lines.values():
        if room[id(line)]:
            line.active = active[id(line)] / room[id(line)]


def _mean_active(lines: list[LineCost]) -> float | None:
    """By samples."""
    counted = [line for line in lines if line.active is not None and line.samples]
    total = sum(line.samples for line in counted)
    return sum((line.active or 0.0) * line.samples for line in counted) / total if total else None


def _line(lines: dict[tuple[str, int, str], LineCost], code: Code, offset: int) -> LineCost:
    found = _line_at(lines, code, code.place(offset))
    if found is not None:
        return found
    # Without lines, by 64 bytes of the code.
    return lines.setdefault(key := ("", 0, f"code + {offset // 64 * 64:#x}"), LineCost(*key, "machine code"))


def _line_at(lines: dict[tuple[str, int, str], LineCost], code: Code, place: Place | None) -> LineCost | None:
    """The line of a place; None in code without lines."""
    if not code.lines:
        return None
    if place is None or not place.line:
        return lines.setdefault(key := ("", 0, "no line"), LineCost(*key, "code of no source line"))
    key = place.file, place.line, place.function
    if key not in lines:
        text = place.text or linecache.getline(place.file, place.line)
        lines[key] = LineCost(place.file, place.line, place.function, text.strip())
    return lines[key]


class _Around(NamedTuple):
    """The instructions around the samples: from the first to the last that has more than a hundredth of them."""

    near: float = 0.0
    """Share of those that use memory, or lie right behind one that does."""
    moving: float = 0.0
    """Share of those that use memory."""


def _kinds(code: Code, decoded: list[Instruction]) -> tuple[dict[str, float], _Around]:
    """Shares of the samples by kind, and the kinds of the instructions around them."""
    total = code.samples.total()
    before = dict(zip((each.offset for each in decoded[1:]), decoded, strict=False))
    at = {each.offset: each for each in decoded}
    sampled = [offset for offset in code.samples if offset in at]
    if not sampled or len(decoded) < 2:
        return {}, _Around()
    counts: Counter[str] = Counter()
    for offset in sampled:
        pair = {at[offset].kind, before[offset].kind} if offset in before else {at[offset].kind}
        for kind in pair:
            counts[kind] += code.samples[offset]
        counts["memory"] += code.samples[offset] * bool(pair & _MEMORY)
    warm = sorted(offset for offset in sampled if code.samples[offset] * 100 >= total)
    around = [each for each in decoded if warm and warm[0] <= each.offset <= warm[-1]]
    moving = [each.kind in _MEMORY for each in around]
    near = [
        uses or (each.offset in before and before[each.offset].kind in _MEMORY)
        for each, uses in zip(around, moving, strict=True)
    ]
    shares = {kind: count / total for kind, count in counts.items()}
    return shares, _Around(sum(near) / len(around), sum(moving) / len(around)) if around else _Around()


def _limit(cost: KernelCost, around: _Around) -> tuple[str, str]:
    """The limit of a kernel, and the sentence that explains it."""
    if cost.samples < _FEWEST:
        return "not known", f"{cost.samples} samples are too few to say what limits it: run it for longer"
    called = cost.called / cost.samples
    if called >= 0.5:
        return "calls", f"{called:.0%} of the samples are in functions that it calls (images, printf, rare mathematics)"
    present = max((line.active for line in cost.lines if line.active is not None), default=0.0)
    if cost.active is not None and cost.active <= 0.5 * present:
        return (
            "divergence",
            f"{cost.active:.0%} of the lanes are active where the samples fall, and {present:.0%} elsewhere: "
            "work-items of a vector take different ways",
        )
    share = cost.kinds.get
    wide = share(Kind.GATHER, 0.0) + share(Kind.SCATTER, 0.0)
    if wide >= 0.5:
        return (
            "gathers",
            f"{wide:.0%} of the samples are at gathers and scatters: neighbours do not use neighbouring memory",
        )
    if share(Kind.DIVISION, 0.0) >= 0.5:
        return "divisions", f"{share(Kind.DIVISION, 0.0):.0%} of the samples are at divisions and square roots"
    if cost.active is not None:
        # The counters are loads and stores, too.
        said = f"{cost.active:.0%} of the lanes are active where the samples fall, so divergence does not limit it"
        return "not known", f"{said}; profile without lanes to tell memory from computing"
    if around.moving >= 0.6:
        return (
            "memory",
            f"{around.moving:.0%} of its instructions are loads and stores: it moves data, and computes little",
        )
    memory = share("memory", 0.0)
    said = f"{memory:.0%} of the samples are at loads and stores, which are {around.near:.0%} of the instructions there"
    if memory >= 0.6 and memory >= 1.25 * around.near:
        return "memory", f"{said}: it waits for memory"
    if memory <= 0.35:
        return "compute", f"{said}: it computes"
    return "not known", f"{said}: that does not tell memory from computing"


def tables(profiles: list[Samples], *, only: str | None = None, most: int = 12, machine: str = "") -> Iterable[str]:
    """The report as lines of text: kernels, then the lines of each."""
    costs = kernels(profiles, only)
    total = sum(profile.total for profile in profiles)
    if not costs and only is not None and (others := kernels(profiles, None)):
        yield f"no samples in a kernel {only!r}; there are some in {', '.join(each.name for each in others)}"
        return
    if not costs:
        yield f"no samples in kernels ({total} outside of them)"
        return
    yield f"{'share':>6}  {'time':>9}  {'samples':>8}  lanes  kernel"
    for cost in costs:
        share, time = _share(cost.samples, total), _time(cost.seconds)
        yield f"{share:6.1%}  {time:>9}  {cost.samples:8,}  {cost.lanes:5}  {cost.name}"
    outside = sum(profile.outside for profile in profiles)
    yield f"{_share(outside, total):6.1%}  {'':>9}  {outside:8,}  {'':5}  (threads of kernels, outside of kernels)"
    for cost in costs:
        yield ""
        yield from _lines(cost, most)
    if machine:
        yield ""
        yield machine


def _lines(cost: KernelCost, most: int) -> Iterable[str]:
    yield f"{cost.name}: limited by {cost.limit}." if cost.limit != "not known" else f"{cost.name}: limit not known."
    yield f"  {cost.reason}."
    for line in cost.lines[:most]:
        where = f"{line.file}:{line.line}" if line.line else line.function
        said = ", ".join(_facts(line))
        yield f"{_share(line.samples, cost.samples):6.1%}  {where}  {line.text}{f'  [{said}]' if said else ''}"
    if cost.called:
        yield f"{_share(cost.called, cost.samples):6.1%}  functions that it called"
    if len(cost.lines) > most:
        rest = sum(line.samples for line in cost.lines[most:])
        yield f"{_share(rest, cost.samples):6.1%}  {len(cost.lines) - most} more lines"


def _facts(line: LineCost) -> Iterable[str]:
    """The remarks behind a line: counts where there are any, else instructions of the machine code."""
    if line.executed:
        if line.active is not None:
            yield f"{line.active:.0%} of lanes active"
        for kind in ("gather", "scatter"):
            if line.executed.get(kind):
                yield f"{line.executed[kind]:,} {kind}s executed"
        return
    if line.gathers:
        yield f"{line.gathers} gathers"
    if line.scatters:
        yield f"{line.scatters} scatters"


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def as_json(
    profiles: list[Samples], *, only: str | None = None, machine: dict[str, float] | None = None
) -> dict[str, Any]:
    """The report as a dictionary for JSON."""
    return {
        "samples": sum(profile.total for profile in profiles),
        "outside": sum(profile.outside for profile in profiles),
        "lost": sum(profile.lost for profile in profiles),
        "clock": sorted({profile.clock for profile in profiles if profile.clock}),
        "machine": machine,
        "kernels": [asdict(cost) for cost in kernels(profiles, only)],
    }
