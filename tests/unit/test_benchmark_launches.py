"""The benchmark's table of launches beside OpenCL, from made-up records, and that the C programs know its items."""

from __future__ import annotations

import re

import pytest

from benchmarks.launches import contest, report
from benchmarks.launches.contest import DRIVER, LOADER


def record(samples: list[float], others: float = 0.0) -> dict[str, object]:
    return {"best": min(samples), "median": sorted(samples)[len(samples) // 2], "others": others, "samples": samples}


PROGRAMS = ("level_zero.c", "opencl.c")
RECORDS = {LOADER: record([100.0, 120.0, 110.0]), DRIVER: record([90.0] * 3), "PoCL": record([1000.0, 2400.0, 2200.0])}
WAIT = contest.select("launch_wait")[0]


def test_ratios_are_ours_divided_by_theirs_round_by_round() -> None:
    (loader, driver) = report.as_json([(WAIT, RECORDS)])
    assert (loader["key"], driver["key"]) == ("launch_wait", "launch_wait_driver")
    assert loader["ratios"] == {"PoCL": pytest.approx(0.05)}
    assert driver["ratios"] == {"PoCL": pytest.approx(90 / 2200)}
    assert set(loader["found"]) == {"C", "PoCL"}


def test_who_is_not_there_leaves_a_dash() -> None:
    text = report.as_text([(WAIT, RECORDS)], ["a note"])
    line = next(line for line in text.splitlines() if WAIT.title in line)
    assert re.search(r"100 ns \(110 ns\) +– +1\.00 µs \(2\.20 µs\) +– +0\.050$", line)
    assert text.endswith("\n\na note\n")


def test_a_busy_neighbour_makes_ratios_doubtful() -> None:
    records = RECORDS | {"PoCL": record([1000.0] * 3, others=0.5)}
    assert "0.110?" in report.as_text([(WAIT, records)], [])
    assert report.as_json([(WAIT, records)])[0]["disturbed"] is True


def test_a_full_run_makes_the_calls_that_it_promises() -> None:
    for item in contest.ITEMS:
        for calls in filter(None, (item.calls, item.others)):
            # The programs work in batches, so that a turn of anything else would make more calls than it is divided by.
            assert calls % (contest.FULL * 1000) == 0, item


def test_the_programs_know_the_items() -> None:
    keys = {program: set(re.findall(r'\{"(\w+)", \w+\}', (contest.HERE / program).read_text())) for program in PROGRAMS}
    assert keys["level_zero.c"] == {item.key for item in contest.ITEMS}
    assert keys["opencl.c"] == {item.key for item in contest.ITEMS if item.others}
