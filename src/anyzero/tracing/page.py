"""Recordings as one self-contained page for any browser: a timeline to zoom and search, and tables."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from anyzero.tracing import chrome, summary
from anyzero.tracing.recording import Recording

__all__ = ["write"]

_MOST_POINTS = 20_000
_TEMPLATE = Path(__file__).with_name("page.html")


def write(recordings: Iterable[Recording], file: TextIO) -> None:
    """Write the page."""
    listed = list(recordings)
    data = {
        "tracks": _tracks(listed),
        "counters": _counters(listed),
        "tables": [
            {"title": title, "rows": [[row.name, row.count, row.total, row.least, row.most] for row in rows]}
            for title, rows in (
                ("Commands", summary.command_rows(listed)),
                ("Layers", summary.layer_rows(listed)),
                ("Calls", summary.call_rows(listed)),
                ("Graph creation", summary.graph_rows(listed)),
                ("Requests to the planner", summary.request_rows(listed)),
                ("Source lines of calls", summary.line_rows(listed)),
            )
            if rows
        ],
        "lost": sum(each.lost for each in listed),
        "dropped": sum(each.dropped for each in listed),
    }
    # Text from the program must not end the script that contains it.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    before, after = _TEMPLATE.read_text(encoding="utf-8").split("/*DATA*/")
    file.write(before + text + after)


def _counters(recordings: list[Recording]) -> list[dict[str, Any]]:
    """Amounts over time; a long series is thinned to its largest values."""
    points: dict[tuple[int, str, str], list[list[float]]] = {}
    for event in chrome.events(recordings):
        if event["ph"] == "C":
            for part, amount in event["args"].items():
                points.setdefault((event["pid"], event["name"], part), []).append([event["ts"], amount])
    made = []
    for (_, name, part), values in points.items():
        step = -(-len(values) // _MOST_POINTS)
        thinned = [max(values[i : i + step], key=lambda value: value[1]) for i in range(0, len(values) - 1, step)]
        if any(amount for _, amount in values):
            title = name if part == "commands" else f"{name}: {part}"
            made.append({"title": title, "points": [*thinned, values[-1]]})
    return made


def _tracks(recordings: list[Recording]) -> list[dict[str, Any]]:
    """Slices by track; a slice inside of another is one line below it."""
    titles: dict[tuple[int, int], str] = {}
    groups: dict[int, str] = {}
    slices: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for event in chrome.events(recordings):
        if event["ph"] == "M" and event["name"] == "process_name":
            groups[event["pid"]] = event["args"]["name"]
        elif event["ph"] == "M":
            titles[event["pid"], event["tid"]] = event["args"]["name"]
        elif event["ph"] == "X":
            slices.setdefault((event["pid"], event["tid"]), []).append(event)
    tracks = []
    for key, events in slices.items():
        events.sort(key=lambda event: (event["ts"], -event["dur"]))
        ends: list[float] = []
        rows = []
        for event in events:
            while ends and ends[-1] <= event["ts"]:
                ends.pop()
            rows.append([event["ts"], event["dur"], event["name"], event["cat"], len(ends), event["args"]])
            ends.append(event["ts"] + event["dur"])
        title = f"{groups.get(key[0], '')}: {titles.get(key, key[1])}"
        tracks.append({"title": title, "depth": 1 + max(row[4] for row in rows), "slices": rows})
    return tracks
