"""What docs/performance/kernels.json keeps of a measurement: best times and ratios, no samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import floor, log10
from typing import Any, Final

from benchmarks.kernels import pairs, scale
from benchmarks.kernels.programs import PROGRAMS
from benchmarks.kernels.published import PUBLISHED
from benchmarks.kernels.shapes import SHAPES

__all__ = ["DATE", "SET", "Incomplete", "Record", "sets", "updated"]

Record = dict[str, Any]
SET: Final = "instruction set"
"""What a machine is called to have in a file of either kind of run."""
DATE: Final = "date"
_MACHINE = ("CPU", "cores", "memory", SET)
_ORDER = ("AVX-512", "AVX2", "SSE4.2", "SSE2")
_AGAIN = "run `python -m benchmarks --kernels --suite all --target all` first"


class Incomplete(Exception):  # noqa: N818 (says what is)
    """A measurement that is no basis for a document; the text says what is missing."""


def rounded(value: float | None) -> float | None:
    """Four digits: more than a measurement has.

    >>> rounded(123456.7), rounded(0.0123456)
    (123500.0, 0.01235)
    """
    return None if value is None else round(value, 3 - floor(log10(abs(value)))) if value else 0.0


def _rounded(value: Any) -> Any:
    """Every number of a structure."""
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value


def sets(record: Mapping[str, Any]) -> list[tuple[str, Record]]:
    """What was measured of kernels by instruction set, the widest first."""
    return sorted(record.get("kernels", {}).items(), key=lambda each: _ORDER.index(each[0]))


def updated(record: Mapping[str, Any], measured: Mapping[str, Any]) -> Record:
    """The record with what was measured in the place of what it had of it: a file of either kind of run."""
    made = dict(record)
    if measured.get("quick"):
        raise Incomplete("it was a quick run; run `python -m benchmarks` first")
    if parts := {name: keep for name, keep in _PARTS.items() if name in measured}:
        known = made.get("kernels", {})
        label = measured["machine"][SET]
        if measured["size"] != "full":
            raise Incomplete(f"it was a quick run; {_AGAIN}")
        new = {"machine": _about(measured["machine"]), "peers": measured["peers"]}
        new |= {name: keep(measured[name]) for name, keep in parts.items()}
        old = known.get(label, {})
        # A part that was not measured this time keeps its figures and its date.
        new["dates"] = old.get("dates", {}) | dict.fromkeys(parts, measured["machine"][DATE])
        made["kernels"] = known | {label: old | new}
    items = measured.get("items", ())
    if rows := [item for item in items if item["key"].startswith(f"{scale.NAME}_")]:
        made["scale"] = _scaled(made.get("scale", []), measured["machine"], rows)
    if rows := [item for item in items if item["key"].startswith(f"{pairs.NAME}_")]:
        made["variants"] = {
            "machine": _about(measured["machine"]),
            DATE: measured["machine"][DATE],
            "pairs": [
                {
                    **{key: row[key] for key in ("key", "title", "kind", "at_most", "disturbed")},
                    "best": {name: rounded(each["best"]) for name, each in row["found"].items()},
                    "ratio": rounded(row["ratio"]),
                }
                for row in rows
            ],
        }
    return made


def _about(machine: Mapping[str, Any]) -> Record:
    return {name: machine[name] for name in _MACHINE if name in machine}


def _whole(wanted: set[str], found: set[str], of: str) -> None:
    if missing := wanted - found:
        raise Incomplete(f"{len(missing)} {of} are missing; {_AGAIN}")


def _programs(measured: list[Record]) -> list[Record]:
    _whole({each.key for each in PROGRAMS}, {each["key"] for each in measured}, "programs")
    programs = []
    for each in measured:
        found = each["found"].items()
        programs.append({
            **{key: each[key] for key in ("key", "title", "limit", "disturbed")},
            "best": {name: rounded(one["best"]) for name, one in found if one["best"] is not None},
            "ratios": {name: rounded(value) for name, value in each["ours_divided_by"].items()},
            "failed": [name for name, one in found if one["trouble"]],
        })  # fmt: skip
    return programs


def _shapes(measured: Record) -> list[Record]:
    _whole({each.program.key for each in SHAPES}, {each["key"] for each in measured["shapes"]}, "shapes")
    kept: list[Record] = _rounded(measured["families"])
    return kept


def _published(measured: Record) -> Record:
    _whole({each.title for each in PUBLISHED}, set(measured["titles"]), "published programs")
    kept: Record = _rounded(measured)
    return kept


_PARTS: Final[Mapping[str, Callable[[Any], Any]]] = {"programs": _programs, "shapes": _shapes, "published": _published}


def _scaled(known: list[Record], machine: Mapping[str, Any], rows: list[Record]) -> list[Record]:
    """Measurements of several machines stand beside each other; a new one takes the place of an older one."""
    threads = rows[0]["threads"]
    new = {
        "machine": _about(machine),
        DATE: machine[DATE],
        "threads": threads,
        "at_least": rows[0]["at_least"],
        "programs": [
            {
                **{key: row[key] for key in ("key", "title", "disturbed")},
                "alone": rounded(row["found"]["1 thread"]["best"]),
                "gain": {count: rounded(value) for count, value in row["gain"].items()},
                "gain_native": rounded(row["gain_native"]),
            }
            for row in rows
        ],
    }
    others = [each for each in known if each["threads"] != threads]
    return sorted([*others, new], key=lambda each: int(each["threads"]))
