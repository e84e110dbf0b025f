"""The comparison with peers: turns, checks and tables, with peers that every checkout has."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.kernels import command, contest, report
from benchmarks.kernels.contest import Found
from benchmarks.kernels.peers import PEERS
from benchmarks.kernels.programs import PROGRAMS, program
from benchmarks.kernels.variants import VARIANTS

RESULTS = [
    (
        program("saxpy"),
        {
            "anyzero": Found(samples=[3e6, 2e6]),
            "Intel": Found(samples=[4e6, 5e6]),
            "PoCL": Found(samples=[8e6]),
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
    assert ["saxpy", "0.50", "0.50", "0.25", "–"] in cells
    assert ["triad", "2.00", "–", "2.00", "4000.00"] in cells
    assert ["geometric", "mean", "1.00", "0.50", "0.71", "4000.00"] in cells
    assert text.endswith("\n\na note\n")


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
        assert other.source.exists()
        after = {index: np.asarray(values) for index, values in usual.expected(usual.arguments()).items()}
        assert other.mismatch(after) is None
