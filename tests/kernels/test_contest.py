"""The comparison with peers: turns, checks and tables, with peers that every checkout has."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest

from benchmarks.kernels import command, contest, goals, pairs, report
from benchmarks.kernels.contest import Found
from benchmarks.kernels.host import FLAGS, SOURCES
from benchmarks.kernels.peers import PEERS
from benchmarks.kernels.programs import PROGRAMS
from benchmarks.kernels.suites import program
from benchmarks.kernels.variants import VARIANTS
from benchmarks.process import Failed

RESULTS = [
    (
        program("saxpy"),
        {
            "anyzero": Found(samples=[3e6, 2e6]),
            "Intel": Found(samples=[6e6, 4e6]),
            "PoCL": Found(samples=[12e6, 8e6]),
            "numba": Found(missing=True),
        },
    ),
    (
        program("triad"),
        {
            "anyzero": Found(samples=[2e6]),
            "Intel": Found(samples=[1e6], trouble="wrong"),
            "PoCL": Found(samples=[1e6]),
            "numba": Found(samples=[500.0]),
        },
    ),
]


def test_tables_show_times_and_ratios() -> None:
    text = report.as_text(RESULTS, ["anyzero", "Intel", "PoCL", "numba"], ["a note"])
    cells = [line.split() for line in text.splitlines()]
    assert ["saxpy", "2.00", "ms", "4.00", "ms", "8.00", "ms", "–"] in cells
    assert ["triad", "2.00", "ms", "failed", "1.00", "ms", "500", "ns"] in cells
    assert ["saxpy", "0.50", "≤", "1", "✓", "0.50", "0.25", "–"] in cells
    assert ["triad", "2.00", "≤", "1", "✗", "–", "2.00", "4000.00"] in cells
    assert ["geometric", "mean", "1.00", "≤", "0.67", "✗", "0.50", "0.71", "4000.00"] in cells
    assert text.endswith("\n\na note\n")


def test_ratios_pair_the_rounds_and_the_closest_of_several_counts() -> None:
    """A contestant measured while the machine was fast is not ahead of one measured while it was slow."""
    found = {
        "anyzero": Found(samples=[8.0, 9.0, 4.0]),
        "Intel": Found(samples=[16.0, 18.0, 3.0]),
        "PoCL": Found(samples=[10.0, 10.0, 10.0]),
        "C++": Found(samples=[1.0], trouble="wrong"),
    }
    assert report.ratios(found) == {"Intel": 0.5, "PoCL": 0.8, report.BEST: 0.8}
    assert report.ratios({**found, "anyzero": Found(samples=[1.0], trouble="wrong")}) == {}


def test_goals_against_plain_code_and_of_our_own() -> None:
    results = [
        (
            program("hash"),
            {"anyzero": Found(samples=[13.0]), "C++": Found(samples=[26.0]), "C++ fast": Found(samples=[10.0])},
        ),
        (program("histogram"), {"anyzero": Found(samples=[31.0]), "C++": Found(samples=[10.0])}),
        (program("matmul_int"), {"anyzero": Found(samples=[31.0]), "C++": Found(samples=[10.0])}),
        (program("empty_groups"), {"anyzero": Found(samples=[6.0])}),
    ]
    text = report.as_text(results, ["anyzero", "C++", "C++ fast"], [])
    cells = [line.split() for line in text.splitlines()]
    assert ["integer", "hash", "×", "32", "–", "≤", "1", "1.30", "≤", "1.3", "✓", "0.50", "1.30"] in cells
    assert ["histogram", "–", "≤", "0.3", "3.10", "≤", "3", "✗", "3.10", "–"] in cells
    assert ["matmul,", "int", "indices", "–", "≤", "0.4", "3.10", "3.10", "–"] in cells
    assert "per group: 6.00 ns, goal ≤ 5.00 ns ✗" in text


def test_a_busy_neighbour_takes_the_verdict_away() -> None:
    found = {name: Found(samples=[1e6], others=0.5) for name in ("anyzero", "Intel")}
    text = report.as_text([(program("saxpy"), found)], ["anyzero", "Intel"], [])
    assert "✓" not in text
    assert "≤ 1 ?" in text


def test_launches_are_no_part_of_the_mean() -> None:
    launch = {"anyzero": Found(samples=[1.0]), "Intel": Found(samples=[1000.0])}
    assert report.geometric_mean([*RESULTS, (program("empty"), launch)], report.BEST) == pytest.approx(1.0)


def test_runs_become_one_and_say_how_far_they_are_apart() -> None:
    second = [(each, {name: Found(samples=[9e6, 1e6], others=0.3) for name in found}) for each, found in RESULTS]
    (_, found), _ = contest.merged([RESULTS, second])
    assert found["anyzero"].samples == [3e6, 2e6, 9e6, 1e6]
    assert found["anyzero"].others == 0.3
    assert RESULTS[0][1]["anyzero"].samples == [3e6, 2e6]
    assert report.apart([RESULTS]) == []
    assert report.apart([RESULTS, RESULTS])[0].endswith("1.000, 1.000; 0.0% apart")


def test_goals_are_of_programs_that_there_are() -> None:
    keys = {each.key for each in PROGRAMS}
    assert goals.TO_NATIVE.keys() | goals.AT_MOST.keys() <= keys
    assert {each.key for each in PROGRAMS if goals.to_opencl(each.key) < 1} <= keys
    native = "".join(path.read_text() for path in SOURCES)
    for key in goals.TO_NATIVE:
        assert f"void {program(key).kernel or key}(" in native


def test_plain_code_is_compiled_as_the_goals_say() -> None:
    assert FLAGS == ("-std=c++20", "-O3", "-march=native", "-fopenmp")


def test_two_ways_are_compared_in_turns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "PACE", ("test", 2, 1.0))
    problems: list[str] = []
    found = pairs.measure("matmul_int", False, lambda text: None, problems)
    assert problems == []
    assert [each["kind"] for each in found] == ["index", "optimisation", "language"]
    assert all(len(each["found"]["other"]["samples"]) == 2 for each in found)
    assert "matmul, int indices, -O0" in capsys.readouterr().out


def test_the_table_of_two_ways_judges_both_directions() -> None:
    (variant,) = pairs.select("hash.O0")
    slower = {"usual": Found(samples=[1e6]), "other": Found(samples=[2e6])}
    faster = {"usual": Found(samples=[2e6]), "other": Found(samples=[1e6])}
    alike = {"usual": Found(samples=[1e6]), "other": Found(samples=[1.2e6])}
    lines = pairs.as_text([(variant, slower), (variant, faster), (variant, alike)], []).splitlines()[2:5]
    assert [line.split()[-1] for line in lines] == ["✗", "✗", "✓"]
    assert [line.split()[-4] for line in lines] == ["2.00", "0.50", "1.20"]


def test_without_us_there_are_times_alone() -> None:
    others = [(each, {"Intel": found["Intel"]}) for each, found in RESULTS]
    assert "÷" not in report.as_text(others, ["Intel"], [])


def test_json_holds_every_sample() -> None:
    found = json.loads(json.dumps(report.as_json(RESULTS, {"size": "full"})))
    assert found["size"] == "full"
    assert found["programs"][0]["found"]["anyzero"]["samples"] == [3e6, 2e6]
    assert found["programs"][0]["ours_divided_by"] == {"Intel": 0.5, "PoCL": 0.25, "best OpenCL": 0.5}


def test_a_peer_takes_its_turns_and_is_checked() -> None:
    skipped: dict[str, str] = {}
    peers = [peer for peer in PEERS if peer.name == "numpy"]
    contestants, names = contest.enter(peers, False, skipped)
    try:
        assert (skipped, list(names)) == ({}, ["numpy"])
        found = contest.compete(contestants, program("bitonic_step"), "test", 3, 5.0)["numpy"]
        assert found.trouble == ""
        assert len(found.samples) == 3
        assert contest.compete(contestants, program("spmv"), "test", 3, 5.0)["numpy"].missing
    finally:
        for contestant in contestants:
            contestant.close()


def test_a_peer_that_a_program_ended_comes_back() -> None:
    peers = [peer for peer in PEERS if peer.name == "numpy"]
    (contestant,), _ = contest.enter(peers, False, {})
    try:
        os.kill(contestant.pid, signal.SIGSEGV)
        with pytest.raises(Failed):
            contestant.read()
        assert contest.compete([contestant], program("hash"), "test", 1, 1.0)["numpy"].trouble == ""
    finally:
        contestant.close()


def test_a_wrong_result_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    peers = [peer for peer in PEERS if peer.name == "numpy"]
    contestants, _ = contest.enter(peers, False, {})
    try:
        # It gets the arguments of one program and is told to run another.
        monkeypatch.setattr(contest, "_begin", lambda each, order: begin(each, {**order, "program": "saxpy_int"}))
        found = contest.compete(contestants, program("saxpy"), "test", 1, 1.0)["numpy"]
        assert found.trouble == ""
        found = contest.compete(contestants, program("scan_group"), "test", 1, 1.0)["numpy"]
        assert found.trouble != ""
        assert found.best is None
    finally:
        for contestant in contestants:
            contestant.close()


begin = contest._begin


def test_programs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(PROGRAMS)
    with pytest.raises(SystemExit):
        command.main(["--only", "no such program"])
    with pytest.raises(SystemExit):
        command.main(["--peers", "nobody"])


def test_variants_compute_the_same() -> None:
    for each in VARIANTS:
        usual, other = each.usual.case("test"), each.other.case("test")
        assert (usual.spv, usual.kernel) != (other.spv, other.kernel)
        assert program(each.other.key) == each.other
        assert other.source.exists() or each.kind == "language"
        after = {index: np.asarray(values) for index, values in usual.expected(usual.arguments()).items()}
        assert other.mismatch(after) is None
