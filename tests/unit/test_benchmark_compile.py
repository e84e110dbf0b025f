"""The benchmark's table of compiling, from made-up records, and the processes that measure it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from benchmarks.compile import contest, report
from benchmarks.compile.contest import CACHED, COMPILED, INTEL
from benchmarks.compile.items import BEGINNINGS, COMPILATIONS, SUITE, select
from benchmarks.kernels.suites import program


def record(*samples: float, others: float = 0.0) -> dict[str, object]:
    return {"best": min(samples), "median": sorted(samples)[len(samples) // 2], "others": others, "samples": samples}


SAXPY, SCAN = select("compile_saxpy_int")[0], select("compile_scan_group")[0]
RECORDS = {
    SAXPY.key: {COMPILED: record(20e6, 24e6, 22e6), CACHED: record(1e6, 2e6, 3e6), INTEL: record(40e6, 50e6, 60e6)},
    SCAN.key: {COMPILED: record(60e6, 90e6, 70e6), CACHED: record(2e6, 3e6, 4e6)},
}


def test_the_middle_one_of_the_suite_is_judged() -> None:
    made = report.rows([SAXPY, SCAN, SUITE], RECORDS | {SUITE.key: report.suite(RECORDS)})
    assert made[2].found[COMPILED]["best"] == 40e6
    assert made[2].met == {COMPILED: False, CACHED: True}
    assert (made[0].ratio, made[1].ratio) == (0.5, None)
    lines = report.as_text(made, ["a note"]).splitlines()
    assert re.search(r"20\.0 ms \(22\.0 ms\) +1\.00 ms \(2\.00 ms\) +40\.0 ms \(50\.0 ms\) +0\.50$", lines[2])
    assert re.search(r"60\.0 ms \(70\.0 ms\) +2\.00 ms \(3\.00 ms\) +– +–$", lines[3])
    assert lines[4].endswith("≤ 25.0 ms ✗, ≤ 5.00 ms ✓")
    assert lines[-1] == "a note"


def test_first_kernels_are_judged_one_by_one() -> None:
    records = {"first_cold": {"anyzero": record(500e6)}, "first_cached": {"anyzero": record(150e6, others=0.5)}}
    made = report.rows(BEGINNINGS[:3], records)
    assert [row.met for row in made] == [{"anyzero": False}, {"anyzero": True}, {}]
    lines = report.as_text(made, []).splitlines()
    assert lines[2].endswith("≤ 400 ms ✗")
    assert re.search(r"150 ms \(150 ms\)\? +≤ 200 ms ✓$", lines[3])
    assert re.search("import anyzero alone +–$", lines[4])


def test_json_holds_every_sample() -> None:
    (found,) = json.loads(json.dumps(report.as_json(report.rows([SAXPY], RECORDS))))
    assert found["found"][INTEL]["samples"] == [40e6, 50e6, 60e6]
    assert (found["ratio"], found["met"], found["disturbed"]) == (0.5, {}, False)


def test_each_kernel_of_the_suite_is_there_once() -> None:
    cases = [program(item.program).case("test") for item in COMPILATIONS if item.program]
    assert len({(case.spv, case.kernel) for case in cases}) == len(cases)


def test_a_worker_makes_kernels(tmp_path: Path) -> None:
    case = program("saxpy").case("test")
    worker = contest.Worker("ours", "anyzero", ([sys.executable], {"ANYZERO_CACHE_DIR": str(tmp_path / "cache")}))
    try:
        assert worker.make(case.spv, case.kernel) > 0
        with pytest.raises(contest.Failed, match="no kernel"):
            worker.make(case.spv, "no kernel of this name")
    finally:
        worker.close()


def test_a_first_kernel_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contest, "FOLDER", tmp_path)
    assert contest.Contest(install=False)._first("first_cold", tmp_path) > 0
