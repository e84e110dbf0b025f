"""The record as tables in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from benchmarks.kernels import goals
from benchmarks.kernels.program import LAUNCH
from benchmarks.kernels.report import BEST, BUILDS, NATIVE, OURS, RIVALS, duration, mean
from benchmarks.performance.record import Record

__all__ = ["FOLDER", "SECTIONS", "average", "closest", "kernels"]

FOLDER: Final = "performance"
"""Of figures and record, in docs."""

Program = Mapping[str, Any]


def kernels(record: Record) -> list[Program]:
    return [each for each in record["programs"] if each["limit"] != LAUNCH]


def closest(program: Program, peers: Sequence[str]) -> str | None:
    """Which of them comes closest to us."""
    ratios = program["ratios"]
    return max((name for name in peers if name in ratios), key=ratios.__getitem__, default=None)


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *body]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def average(record: Record, name: str) -> float | None:
    values = [each for program in kernels(record) if (each := program["ratios"].get(name)) is not None]
    return mean(values) if values else None


def doubtful(record: Record) -> bool:
    """Were others busy while it was measured?"""
    return any(each["disturbed"] for each in kernels(record))


def summary(record: Record) -> str:
    """A few sentences."""
    value = average(record, BEST)
    if value is None:
        return "Nobody was there to be compared with.\n"
    found = [(program, each) for program in kernels(record) if (each := program["ratios"].get(BEST)) is not None]
    first = sum(each <= 1 for _, each in found)
    goal = goals.mark(value, goals.MEAN, doubtful(record))
    text = (
        f"Against the best OpenCL implementation for CPUs on the same machine, anyzero takes **{value:.2f}** times as "
        f"long (geometric mean of {len(found)} programs, goal {goal}) and is at least as fast in {first} of them."
    )
    native = average(record, NATIVE)
    return (
        f"{text}\n"
        if native is None
        else f"{text} Against plain C++ with OpenMP it takes {native:.2f} times as long.\n"
    )


def verdicts(record: Record) -> str:
    """Ours beside the best of each kind, with goals."""
    rows = [["program", OURS, BEST, "÷", "goal", NATIVE, "÷", "goal"]]
    for program in kernels(record):
        best, values = program["best"], program["ratios"]
        row = [program["title"], duration(best[OURS]) if OURS in best else "failed"]
        judged = (
            (BEST, RIVALS, goals.to_opencl(program["key"])),
            (NATIVE, BUILDS, goals.TO_NATIVE.get(program["key"])),
        )
        for name, peers, goal in judged:
            who = closest(program, peers)
            mark = goals.mark(values.get(name), goal, program["disturbed"])
            row += [duration(best[who]) if who else "–", _number(values.get(name)), mark]
        rows.append(row)
    value = average(record, BEST)
    rows.append(
        [
            "**geometric mean**",
            "",
            "",
            _number(value),
            goals.mark(value, goals.MEAN, doubtful(record)),
            "",
            _number(average(record, NATIVE)),
            "",
        ]
    )
    return _table(rows)


def _times(programs: Sequence[Program], peers: Sequence[str]) -> str:
    rows = [["program", *peers]]
    for program in programs:
        shown = {name: duration(ns) for name, ns in program["best"].items()} | dict.fromkeys(
            program["failed"], "failed"
        )
        rows.append([program["title"], *(shown.get(name, "–") for name in peers)])
    return _table(rows)


def times(record: Record) -> str:
    return _times(kernels(record), list(record["peers"]))


def launches(record: Record) -> str:
    programs = [each for each in record["programs"] if each["limit"] == LAUNCH]
    used = {name for each in programs for name in each["best"]}
    return _times(programs, [name for name in record["peers"] if name in used])


def machine(record: Record) -> str:
    said = ", ".join(f"{name}: {value}" for name, value in record["machine"].items())
    return f"- {said}\n" + "".join(f"- {name}: {text}\n" for name, text in record["peers"].items())


def scaled(record: Record) -> str:
    """A table and a figure for each machine."""
    parts = []
    for each in record.get("scale", []):
        about, counts = each["machine"], list(each["programs"][0]["gain"])
        most = str(each["threads"])
        rows = [["program", "1 thread", *(f"× with {count}" for count in counts), "goal", f"C++: × with {most}"]]
        for program in each["programs"]:
            reached = program["gain"][most]
            good = "?" if program["disturbed"] else "✓" if reached and reached >= each["at_least"] else "✗"
            gains = [_number(program["gain"][count]) for count in counts]
            alone = "failed" if program["alone"] is None else duration(program["alone"])
            rows.append(
                [program["title"], alone, *gains, f"≥ {each['at_least']:g} {good}", _number(program["gain_native"])]
            )
        figure = f"![{most} threads]({FOLDER}/scale-{most}.svg)"
        parts.append(f"{about['CPU']}, {about['cores']} processors:\n\n{figure}\n\n{_table(rows)}")
    return "\n".join(parts) or "Not measured yet.\n"


def variants(record: Record) -> str:
    if not record.get("variants"):
        return "Not measured yet.\n"
    rows = [["pair", "usual", "other", "÷", "slower ÷ faster"]]
    for each in record["variants"]:
        value = each["ratio"]
        apart = max(value, 1 / value) if value else None
        times = (each["best"].get(name) for name in ("usual", "other"))
        shown = ["failed" if ns is None else duration(ns) for ns in times]
        rows.append([each["title"], *shown, _number(value), goals.mark(apart, each["at_most"], each["disturbed"])])
    return _table(rows)


def overview(record: Record) -> str:
    """The README's."""
    return f"{summary(record)}\n![Times divided by those of the best OpenCL implementation](docs/{FOLDER}/opencl.svg)\n"


SECTIONS: Final[Mapping[str, Callable[[Record], str]]] = {
    "summary": summary,
    "verdicts": verdicts,
    "times": times,
    "launches": launches,
    "machine": machine,
    "scale": scaled,
    "variants": variants,
    "overview": overview,
}
