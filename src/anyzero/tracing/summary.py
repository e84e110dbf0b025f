"""Summary of times as tables: commands, layers, calls and their lines, graph creation, planner, waits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from anyzero.tracing.recording import Command, Recording

__all__ = ["Row", "call_rows", "command_rows", "graph_rows", "layer_rows", "line_rows", "request_rows", "tables"]


@dataclass(slots=True)
class Row:
    """Count and times of one name, in nanoseconds."""

    name: str
    count: int = 0
    total: int = 0
    least: int = 0
    most: int = 0
    nbytes: int = 0

    def add(self, took: int, nbytes: int = 0) -> None:
        """Add one occurrence."""
        self.least = min(self.least, took) if self.count else took
        self.most = max(self.most, took)
        self.count += 1
        self.total += took
        self.nbytes += nbytes

    @property
    def mean(self) -> float:
        """Mean nanoseconds."""
        return self.total / self.count


def _rows(measured: Iterable[tuple[str, int, int]]) -> list[Row]:
    rows: dict[str, Row] = {}
    for name, took, nbytes in measured:
        rows.setdefault(name, Row(name)).add(took, nbytes)
    return sorted(rows.values(), key=lambda row: -row.total)


def command_rows(recordings: Iterable[Recording]) -> list[Row]:
    """Kernels, models, copies and the rest, the most costly first."""
    return _rows((_title(each), each.end - each.start, _moved(each)) for r in recordings for each in r.commands)


def call_rows(recordings: Iterable[Recording]) -> list[Row]:
    """Functions of the API, the most costly first."""
    return _rows((each.name, each.end - each.start, 0) for r in recordings for each in r.calls)


def line_rows(recordings: Iterable[Recording]) -> list[Row]:
    """Lines of Python and the calls that come from them, the most costly first."""
    return _rows(
        (f"{each.file}:{each.line} ({each.function})", each.end - each.start, 0)
        for r in recordings
        for each in r.calls
        if each.line
    )


def request_rows(recordings: Iterable[Recording]) -> list[Row]:
    """Requests to the planner and the origins of the answers, the most costly first."""
    return _rows(
        (f"{each.name} ({each.origin})" if each.origin else each.name, each.end - each.start, each.answered)
        for r in recordings
        for each in r.requests
    )


def layer_rows(recordings: Iterable[Recording]) -> list[Row]:
    """Layers of each model, the most costly first."""
    return _rows(
        (f"{each.model}: {each.name} ({each.type})", each.end - each.start, 0) for r in recordings for each in r.layers
    )


def graph_rows(recordings: Iterable[Recording]) -> list[Row]:
    """Steps in creating graphs, by model, the most costly first."""
    return _rows(
        (f"{each.model}: {each.name}" if each.model else each.name, each.end - each.start, 0)
        for r in recordings
        for each in r.graph_steps
    )


def _wait_rows(recordings: Iterable[Recording]) -> list[Row]:
    return _rows(
        (_title(each), each.start - each.waited_since, 0)
        for recording in recordings
        for each in recording.commands
        if each.waited_since is not None and each.waited_since < each.start
    )


def _moved(command: Command) -> int:
    """Bytes that a rate makes sense for; an inference does more than move its arguments."""
    return 0 if command.kind == "inference" else command.nbytes


def _title(command: Command) -> str:
    return command.name if command.kind in ("launch", "inference") else f"({command.kind})"


def tables(recordings: list[Recording], *, rows: int = 20) -> Iterator[str]:
    """The lines of a report, with at most `rows` rows in each table."""
    spans = [each.end for each in recordings]
    processes = f"{len(recordings)} processes" if len(recordings) != 1 else "1 process"
    yield f"{processes}, {_time(sum(spans))} recorded"
    for title, found in (
        ("commands", command_rows(recordings)),
        ("layers", layer_rows(recordings)),
        ("calls", call_rows(recordings)),
        ("graph creation", graph_rows(recordings)),
        ("requests to the planner", request_rows(recordings)),
        ("source lines of calls", line_rows(recordings)),
        ("commands that an event kept waiting", _wait_rows(recordings)),
    ):
        if found:
            yield ""
            yield from _table(title, found, rows)
    if lost := sum(each.lost for each in recordings):
        yield ""
        yield f"{lost:,} older records were replaced by newer ones: the tables cover the end of the recording only."
    if dropped := sum(each.dropped for each in recordings):
        yield ""
        yield f"At least {dropped:,} records are missing: the temporary folder was full (TMPDIR)."


def _table(title: str, found: list[Row], most: int) -> Iterator[str]:
    total = sum(row.total for row in found) or 1
    sized = any(row.nbytes for row in found) and title == "commands"
    head = f"{'share':>6} {'total':>9} {'count':>9} {'mean':>9} {'min':>9} {'max':>9}"
    yield f"{head} {'GB/s':>7}  {title}" if sized else f"{head}  {title}"
    for row in found[:most]:
        times = (_time(row.total), f"{row.count:,}", _time(row.mean), _time(row.least), _time(row.most))
        line = f"{row.total / total:6.1%} " + " ".join(f"{each:>9}" for each in times)
        rate = f"{row.nbytes / row.total:.2f}" if row.nbytes and row.total else ""
        name = "".join(each if each.isprintable() else repr(each)[1:-1] for each in row.name)
        yield f"{line} {rate:>7}  {name}" if sized else f"{line}  {name}"
    if len(found) > most:
        yield f"{'':>6} and {len(found) - most} more"


def _time(nanoseconds: float) -> str:
    """The number with a unit that leaves three or four digits in front of it.

    >>> _time(950), _time(12_345), _time(3_400_000_000)
    ('950 ns', '12.3 µs', '3.40 s')
    """
    for limit, unit in ((1e3, "ns"), (1e6, "µs"), (1e9, "ms"), (float("inf"), "s")):
        if nanoseconds < limit or unit == "s":
            value = nanoseconds * 1e3 / limit if unit != "s" else nanoseconds / 1e9
            digits = 0 if unit == "ns" else 2 if value < 10 else 1 if value < 100 else 0
            return f"{value:.{digits}f} {unit}"
    raise AssertionError
