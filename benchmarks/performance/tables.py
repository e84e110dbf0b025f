"""The record as tables in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from benchmarks.kernels import goals, spread
from benchmarks.kernels.program import LAUNCH
from benchmarks.kernels.report import BEST, BUILDS, NATIVE, OURS, RIVALS, duration, mean
from benchmarks.performance.record import DATE, SET, Record, sets

__all__ = ["COMPARED", "FOLDER", "SECTIONS", "average", "closest", "file_of", "kernels"]

FOLDER: Final = "performance"
"""Of figures and record, in docs."""
COMPARED: Final = (
    ("opencl", BEST, RIVALS, goals.to_opencl, "the best OpenCL implementation"),
    ("native", NATIVE, BUILDS, goals.TO_NATIVE.get, "plain C++ with OpenMP"),
)
"""File, column, who it is of, goal and title of each comparison."""
PEOPLE_HAVE: Final = "AVX2"
"""What most processors of desktops and laptops have: the README's figure."""
POCL: Final = "PoCL"
"""With SSE4.2, the goal is to be no slower than this one of the peers."""
NOTHING: Final = "Not measured yet.\n"

Program = Mapping[str, Any]
Part = Mapping[str, Any]
"""What was measured with one instruction set."""


def kernels(part: Part) -> list[Program]:
    return [each for each in part.get("programs", ()) if each["limit"] != LAUNCH]


def closest(program: Program, peers: Sequence[str]) -> str | None:
    """Which of them comes closest to us."""
    ratios = program["ratios"]
    return max((name for name in peers if name in ratios), key=ratios.__getitem__, default=None)


def file_of(name: str, label: str) -> str:
    """Of a figure for one instruction set.

    >>> file_of("opencl", "AVX-512")
    'opencl-avx-512.svg'
    """
    return f"{name}-{label.lower()}.svg"


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *body]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _marked(value: float | None, goal: float | None, doubtful: bool) -> str:
    """A number with its verdict behind it."""
    return f"{_number(value)} {goals.mark(value, goal, doubtful).rpartition(' ')[2] if value and goal else ''}".strip()


def average(part: Part, name: str) -> float | None:
    values = [each for program in kernels(part) if (each := program["ratios"].get(name)) is not None]
    return mean(values) if values else None


def doubtful(part: Part) -> bool:
    """Were others busy while it was measured?"""
    return any(each["disturbed"] for each in kernels(part))


def _slower(values: Sequence[float]) -> str:
    return f"{sum(value > 1 for value in values)} of {len(values)}" if values else "–"


def _summed(part: Part) -> list[str]:
    """The cells of one instruction set."""
    out = part.get("published", {"geometric_mean": {}, "quotients": {}})
    values = [each for program in kernels(part) if (each := program["ratios"].get(BEST)) is not None]
    known = [each for each in part.get("shapes", ()) if OURS in each["spread"]]
    spreads = [each["spread"][OURS] for each in known if not each["knows"]]
    small = [value for each in known if (value := each.get("small_to_large")) is not None]
    disturbed = any(each["disturbed"] for each in known)
    return [
        _marked(average(part, BEST), goals.MEAN, doubtful(part)),
        _slower(values),
        _slower([each for program in kernels(part) if (each := program["ratios"].get(POCL)) is not None]),
        _marked(average(part, NATIVE), goals.MEAN_TO_NATIVE, doubtful(part)),
        _number(out["geometric_mean"].get(BEST)),
        _slower(out["quotients"].get(BEST, ())),
        _number(out["geometric_mean"].get(NATIVE)),
        f"{_number(mean(spreads))}, {_marked(max(spreads), spread.LIMIT, disturbed)}" if spreads else "–",
        _marked(max(small), spread.LIMIT, disturbed) if small else "–",
    ]


def summary(record: Record) -> str:
    """One column for each instruction set."""
    found = sets(record)
    counts = {len(kernels(part)) for _, part in found if kernels(part)}
    if not counts:
        return "No peers were measured.\n"
    heads = [
        f"{max(counts)} programs: ÷ best OpenCL, geometric mean (goal ≤ {goals.MEAN:g})",
        "slower than the best OpenCL",
        f"slower than {POCL}",
        f"÷ plain C++ with OpenMP, geometric mean (goal ≤ {goals.MEAN_TO_NATIVE:g})",
        "held-out programs: ÷ best OpenCL, geometric mean",
        "held-out programs slower than the best OpenCL",
        "held-out programs: ÷ plain C++ with OpenMP, geometric mean",
        f"groups of other sizes: slowest ÷ fastest, geometric mean and worst kernel (goal ≤ {spread.LIMIT:g})",
        f"kernels that use their groups: small ÷ large groups, worst kernel (goal ≤ {spread.LIMIT:g})",
    ]
    columns = [_summed(part) for _, part in found]
    rows = [["anyzero's time ÷ another's", *(label for label, _ in found)]]
    measured = [[head, *cells] for head, *cells in zip(heads, *columns, strict=True)]
    rows += [row for row in measured if set(row[1:]) != {"–"}]
    machines = sorted({part["machine"]["CPU"] for _, part in found})
    return (
        "anyzero's time divided by that of others on the same machine, all restricted to the same instruction set: "
        f"below 1 anyzero is faster. Measured on: {', '.join(machines)}{_dates(record)}.\n\n{_table(rows)}"
    )


_SUITES: Final = {"programs": "programs", "published": "held-out programs", "shapes": "groups of other sizes"}


def _dates(record: Record) -> str:
    """When each suite was measured; its oldest figure counts."""
    shown = {}
    for name, title in _SUITES.items():
        if dates := [part["dates"][name] for _, part in sets(record) if name in part.get("dates", {})]:
            shown[title] = min(dates)
    if len(set(shown.values())) == 1:
        return f", {min(shown.values())}"
    return "".join(f"; {title}: {date}" for title, date in shown.items())


def verdicts(record: Record) -> str:
    """Ours beside the best of each kind, with goals, for all instruction sets."""
    found = [(label, part) for label, part in sets(record) if kernels(part)]
    if not found:
        return NOTHING
    heads = [f"{label}: {each}" for label, _ in found for each in (OURS, f"÷ {BEST}", f"÷ {NATIVE}")]
    rows = [["program", f"goal ÷ {BEST}", f"goal ÷ {NATIVE}", *heads]]
    programs = {label: {each["key"]: each for each in kernels(part)} for label, part in found}
    titles = {each["key"]: each["title"] for _, part in found for each in kernels(part)}
    for key, title in titles.items():
        goal, to_native = goals.to_opencl(key), goals.TO_NATIVE.get(key)
        row = [title, f"≤ {goal:g}", f"≤ {to_native:g}" if to_native else ""]
        for label, _ in found:
            if (program := programs[label].get(key)) is None:
                row += ["–"] * 3
                continue
            values, best = program["ratios"], program["best"].get(OURS)
            row.append("failed" if best is None else duration(best))
            row.append(_marked(values.get(BEST), goal, program["disturbed"]))
            row.append(_marked(values.get(NATIVE), to_native, program["disturbed"]))
        rows.append(row)
    cells = []
    for _, part in found:
        cells += ["", _marked(average(part, BEST), goals.MEAN, doubtful(part))]
        cells.append(_marked(average(part, NATIVE), goals.MEAN_TO_NATIVE, doubtful(part)))
    return _table([*rows, ["**geometric mean**", f"≤ {goals.MEAN:g}", f"≤ {goals.MEAN_TO_NATIVE:g}", *cells]])


def _times(programs: Sequence[Program], peers: Sequence[str]) -> str:
    rows = [["program", *peers]]
    for program in programs:
        shown = {name: duration(ns) for name, ns in program["best"].items()} | dict.fromkeys(
            program["failed"], "failed"
        )
        rows.append([program["title"], *(shown.get(name, "–") for name in peers)])
    return _table(rows)


def _each(record: Record, made: Callable[[Part], str]) -> str:
    """The same for every instruction set, one below the other."""
    parts = [(label, text) for label, part in sets(record) if (text := made(part))]
    return "\n".join(f"**{label}**\n\n{text}" for label, text in parts) or NOTHING


def times(record: Record) -> str:
    return _each(record, lambda part: _times(kernels(part), list(part["peers"])) if kernels(part) else "")


def _launches(part: Part) -> str:
    programs = [each for each in part.get("programs", ()) if each["limit"] == LAUNCH]
    used = {name for each in programs for name in each["best"]}
    return _times(programs, [name for name in part["peers"] if name in used]) if programs else ""


def launches(record: Record) -> str:
    return _each(record, _launches)


def machine(record: Record) -> str:
    def made(part: Part) -> str:
        said = ", ".join(f"{name}: {value}" for name, value in part["machine"].items() if name != SET)
        return f"- {said}\n" + "".join(f"- {name}: {text}\n" for name, text in part["peers"].items())

    return _each(record, made)


def _compared(name: str) -> Callable[[Record], str]:
    """The figures of one comparison."""
    *_, whose = next(each for each in COMPARED if each[0] == name)
    column = next(each[1] for each in COMPARED if each[0] == name)

    def made(record: Record) -> str:
        found = [label for label, part in sets(record) if average(part, column) is not None]
        return (
            "\n".join(
                f"![{label}: times divided by those of {whose}]({FOLDER}/{file_of(name, label)})\n" for label in found
            )
            or NOTHING
        )

    return made


def _spread(part: Part) -> str:
    """The worst shape beside the best one, by kernel."""
    if not part.get("shapes"):
        return ""
    heads = [
        "slowest ÷ fastest group",
        "small ÷ large",
        *(f"slowest ÷ fastest: {name}" for name in RIVALS),
        "odd size ÷ fastest",
    ]
    heads.append(f"the same: {spread.PLAIN}")
    rows = [["kernel", *heads, "best ÷ best", "worst ÷ worst", f"highest ÷ {BEST}"]]
    for each in part["shapes"]:
        highest = each.get("highest")
        rows.append(
            [
                each["title"],
                _marked(each["spread"].get(OURS), None if each["knows"] else spread.LIMIT, each["disturbed"]),
                _marked(each.get("small_to_large"), spread.LIMIT, each["disturbed"]),
                *(_number(each["spread"].get(name)) for name in RIVALS),
                *(_number(each["odd"].get(name)) for name in (OURS, spread.PLAIN)),
                *(_number(each.get(name)) for name in ("best_to_best", "worst_to_worst")),
                "–" if highest is None else f"{highest:.2f} ({each['worst_shape']})",
            ]
        )
    blas = [
        f"The slowest group of {each['title']} takes {each['to_blas']:.2f} times as long as BLAS "
        f"(goal {goals.mark(each['to_blas'], spread.TO_BLAS, each['disturbed'])}).\n"
        for each in part["shapes"]
        if "to_blas" in each
    ]
    return "\n".join([_table(rows), *blas])


def shapes(record: Record) -> str:
    return _each(record, _spread)


def published(record: Record) -> str:
    """Means and quotients without names."""
    found = [(label, part["published"]) for label, part in sets(record) if "published" in part]
    if not found:
        return NOTHING
    rows = [["anyzero's time ÷", "geometric mean", "slower in", "from the lowest to the highest"]]
    for label, part in found:
        for name, values in part["quotients"].items():
            if values:
                shown = ", ".join(f"{value:.2f}" for value in values)
                mark = " ?" if part["disturbed"] else ""
                average = f"**{part['geometric_mean'][name]:.2f}**{mark}"
                rows.append([f"{name}, {label}", average, _slower(values), shown])
    return f"{_table(rows)}\nThe programs: {', '.join(found[0][1]['titles'])}.\n"


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
        columns = [[program["gain"][count] for program in each["programs"]] for count in counts]
        columns.append([program["gain_native"] for program in each["programs"]])
        *means, native = (_number(mean(known)) if (known := [*filter(None, column)]) else "–" for column in columns)
        rows.append(["**geometric mean**", "", *means, f"≥ {each['at_least']:g}", native])
        figure = f"![{most} threads]({FOLDER}/scale-{most}.svg)"
        parts.append(
            f"{about['CPU']}, {about['cores']} processors{_with(about)}{_on(each)}:\n\n{figure}\n\n{_table(rows)}"
        )
    return "\n".join(parts) or NOTHING


def _with(machine: Mapping[str, Any]) -> str:
    return f", {machine[SET]}" if SET in machine else ""


def _on(measured: Mapping[str, Any]) -> str:
    return f", {measured[DATE]}" if DATE in measured else ""


def variants(record: Record) -> str:
    if not record.get("variants"):
        return NOTHING
    rows = [["pair", "usual", "other", "÷", "slower ÷ faster"]]
    for each in record["variants"]["pairs"]:
        value = each["ratio"]
        apart = max(value, 1 / value) if value and each["kind"] != "language" else value
        times = (each["best"].get(name) for name in ("usual", "other"))
        shown = ["failed" if ns is None else duration(ns) for ns in times]
        rows.append([each["title"], *shown, _number(value), goals.mark(apart, each["at_most"], each["disturbed"])])
    about = record["variants"]["machine"]
    return f"{about['CPU']}, {about['cores']} processors{_with(about)}{_on(record['variants'])}:\n\n{_table(rows)}"


def overview(record: Record) -> str:
    """The README's."""
    labels = [label for label, part in sets(record) if average(part, BEST) is not None]
    if not labels:
        return summary(record)
    shown = PEOPLE_HAVE if PEOPLE_HAVE in labels else labels[0]
    figure = f"docs/{FOLDER}/{file_of('opencl', shown)}"
    return f"{summary(record)}\n![{shown}: times divided by those of the best OpenCL implementation]({figure})\n"


SECTIONS: Final[Mapping[str, Callable[[Record], str]]] = {
    "summary": summary,
    "opencl": _compared("opencl"),
    "native": _compared("native"),
    "verdicts": verdicts,
    "times": times,
    "launches": launches,
    "machine": machine,
    "shapes": shapes,
    "published": published,
    "scale": scaled,
    "variants": variants,
    "overview": overview,
}
