"""The benchmark's table and JSON, from made-up records, and that the programs measure what the table shows."""

from __future__ import annotations

import json
import re

import pytest

from benchmarks import sources, table
from benchmarks.items import ITEMS, measured_keys, select


def record(key: str, best: float, size: int = 0) -> dict[str, object]:
    return {"item": key, "best": best, "median": 2 * best, "operations": 1, "bytes": size, "samples": [best, 2 * best]}


RECORDS = {
    "C": {
        "append_copy": record("append_copy", 50.0),
        "replay_1000": record("replay_1000", 150_000.0),
        "copy_queue": record("copy_queue", 2e6, 64 << 20),
        "stream_copy": record("stream_copy", 1.8e6, 64 << 20),
    },
    "Python": {
        "append_copy": record("append_copy", 1500.0),
        "replay_1000": {"item": "replay_1000", "error": "it broke"},
    },
}


def test_the_table_shows_numbers_targets_and_ratios() -> None:
    items = [item for item in ITEMS if not item.key.endswith("_same")]  # those repeat titles
    text = table.as_text(table.rows(items, RECORDS), ["C", "Python"], ["a note"])
    lines = {line.split("  ")[1]: line for line in text.splitlines() if line.startswith("  ")}
    assert re.search(r"50\.0 ns \(100 ns\) +1\.50 µs \(3\.00 µs\) +≤ 150 ns ✓$", lines["copy of 64 bytes"])
    assert re.search(r"150 ns \(300 ns\) +failed +≤ 100 ns ✗$", lines["… per replayed copy"])
    assert re.search(r"33\.6 GB/s \(16\.8\) +– +ratio ≥ 0\.95 ✗ +0\.90$", lines["copy, list on a queue"])
    assert text.endswith("\n\na note\n")
    assert max(map(len, text.splitlines())) <= 140


def test_ratios_pair_the_rounds_and_not_the_bests() -> None:
    slow_then_fast = {"stream_copy": [4.0, 4.0, 4.0, 2.0, 2.0], "copy_queue": [4.0, 4.0, 4.0, 2.0, 3.0]}
    records = {key: {**record(key, min(times)), "samples": times} for key, times in slow_then_fast.items()}
    (row, *_) = table.rows(select("copy_queue"), {"C": records})
    assert (row.item.key, row.ratio, row.met) == ("copy_queue", 1.0, True)


def test_a_busy_neighbour_takes_the_verdict_away() -> None:
    records = {key: {**RECORDS["C"][key], "others": 0.5} for key in ("copy_queue", "stream_copy", "append_copy")}
    made = {row.item.key: row for row in table.rows(ITEMS, {"C": records})}
    assert (made["copy_queue"].disturbed, made["copy_queue"].met) == (True, None)
    assert "0.90?" in table.as_text(list(made.values()), ["C"], [])
    # One thread's best round is still what the code costs.
    assert made["append_copy"].met is True


def test_json_holds_every_sample() -> None:
    found = json.loads(json.dumps(table.as_json(table.rows(ITEMS, RECORDS), {"cores": 2})))
    items = {item["key"]: item for item in found["items"]}
    assert found["machine"] == {"cores": 2}
    assert items["append_copy"]["met"] is True
    assert items["append_copy"]["found"]["Python"]["samples"] == [1500.0, 3000.0]
    assert items["replay_command"]["found"]["C"]["best"] == 150.0
    assert items["copy_queue"]["ratio"] == pytest.approx(0.9)
    assert items["event_query"]["found"] == {}


def test_a_selection_brings_its_yardsticks() -> None:
    assert {item.key for item in select("copy_queue")} >= {"copy_queue", "stream_copy", "stream_copy_same"}
    assert [item.key for item in select("event_query")] == ["event_query"]
    assert measured_keys(select("replay")) == ("replay_1000",)
    assert select("no such item") == ()


def test_the_programs_measure_what_the_table_shows() -> None:
    keys = set(measured_keys(ITEMS))
    native = "".join(path.read_text() for path in sources.HERE.glob("*.cpp"))
    assert keys - set(re.findall(r'"(\w+)"', native)) == set()
    python = (sources.HERE / "through_python.py").read_text()
    assert set(re.findall(r'report\.\w+\(\s*"(\w+)"', python)) <= keys


@pytest.mark.parametrize(("ns", "text"), [(0.44, "0.4 ns"), (99.96, "100 ns"), (999.6, "1.00 µs"), (2.5e6, "2.50 ms")])
def test_times_have_a_fitting_unit(ns: float, text: str) -> None:
    assert table.time_text(ns) == text
