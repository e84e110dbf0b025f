"""What docs/performance/kernels.json keeps of a measurement: best times and ratios, no samples."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log10
from typing import Any

from benchmarks.kernels import pairs, scale
from benchmarks.kernels.programs import PROGRAMS

__all__ = ["Incomplete", "Record", "updated"]

Record = dict[str, Any]
_MACHINE = ("CPU", "cores", "memory")


class Incomplete(Exception):  # noqa: N818 (says what is)
    """A measurement that is no basis for a document; the text says what is missing."""


def rounded(value: float | None) -> float | None:
    """Four digits: more than a measurement has.

    >>> rounded(123456.7), rounded(0.0123456)
    (123500.0, 0.01235)
    """
    return None if value is None else round(value, 3 - floor(log10(abs(value)))) if value else 0.0


def updated(record: Mapping[str, Any], measured: Mapping[str, Any]) -> Record:
    """The record with what was measured in the place of what it had of it: a file of either kind of run."""
    made = dict(record)
    if measured.get("quick"):
        raise Incomplete("it was a quick run; run `python -m benchmarks` first")
    if "programs" in measured:
        made |= _kernels(measured)
    items = measured.get("items", ())
    if rows := [item for item in items if item["key"].startswith(f"{scale.NAME}_")]:
        made["scale"] = _scaled(made.get("scale", []), measured["machine"], rows)
    if rows := [item for item in items if item["key"].startswith(f"{pairs.NAME}_")]:
        made["variants"] = [
            {
                **{key: row[key] for key in ("key", "title", "kind", "at_most", "disturbed")},
                "best": {name: rounded(each["best"]) for name, each in row["found"].items()},
                "ratio": rounded(row["ratio"]),
            }
            for row in rows
        ]
    return made


def _about(machine: Mapping[str, Any]) -> Record:
    return {name: machine[name] for name in _MACHINE if name in machine}


def _kernels(measured: Mapping[str, Any]) -> Record:
    missing = {each.key for each in PROGRAMS} - {each["key"] for each in measured["programs"]}
    if measured["size"] != "full" or missing:
        said = f"{len(missing)} programs are missing" if missing else "it was a quick run"
        raise Incomplete(f"{said}; run `python -m benchmarks --kernels` first")
    programs = []
    for each in measured["programs"]:
        found = each["found"].items()
        programs.append({
            **{key: each[key] for key in ("key", "title", "limit", "disturbed")},
            "best": {name: rounded(one["best"]) for name, one in found if one["best"] is not None},
            "ratios": {name: rounded(value) for name, value in each["ours_divided_by"].items()},
            "failed": [name for name, one in found if one["trouble"]],
        })  # fmt: skip
    return {"machine": _about(measured["machine"]), "peers": measured["peers"], "programs": programs}


def _scaled(known: list[Record], machine: Mapping[str, Any], rows: list[Record]) -> list[Record]:
    """Measurements of several machines stand beside each other; a new one takes the place of an older one."""
    threads = rows[0]["threads"]
    new = {
        "machine": _about(machine),
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
