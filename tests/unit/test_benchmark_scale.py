"""The benchmark's table of threads, from made-up times."""

from __future__ import annotations

import json

import pytest

from benchmarks import process
from benchmarks.kernels import scale
from benchmarks.kernels.contest import Found
from benchmarks.kernels.program import COMPUTE
from benchmarks.kernels.suites import program
from tests.thorough import THOROUGH

RESULTS = [
    (
        program("hash"),
        {
            "1 thread": Found(samples=[10e6, 8e6]),
            "2 threads": Found(samples=[5e6, 4e6]),
            "4 threads": Found(samples=[2.5e6, 2e6]),
            "C++ 1 thread": Found(samples=[6e6]),
            "C++ 4 threads": Found(samples=[2e6]),
        },
    ),
    (
        program("mandelbrot"),
        {
            "1 thread": Found(samples=[2e6]),
            "2 threads": Found(samples=[1e6]),
            "4 threads": Found(samples=[1e6]),
            "C++ 1 thread": Found(missing=True),
        },
    ),
]


def test_the_table_shows_times_gains_and_verdicts() -> None:
    text = scale.as_text(RESULTS, [1, 2, 4], ["a note"])
    cells = [line.split() for line in text.splitlines()]
    assert ["integer", "hash", "×", "32", "8.00", "ms", "2.00", "ms", "2.00", "4.00", "≥", "3.4", "✓", "3.00"] in cells
    assert ["Mandelbrot", "2.00", "ms", "1.00", "ms", "2.00", "2.00", "≥", "3.4", "✗", "–"] in cells
    assert ["geometric", "mean", "2.00", "2.83", "3.00"] in cells
    assert text.endswith("\n\na note\n")


def test_a_busy_neighbour_takes_the_verdict_away() -> None:
    found = {name: Found(samples=each.samples, others=0.5) for name, each in RESULTS[0][1].items()}
    assert "≥ 3.4 ?" in scale.as_text([(program("hash"), found)], [1, 2, 4], [])


def test_a_failure_is_shown() -> None:
    found = {"1 thread": Found(samples=[1e6]), "2 threads": Found(samples=[1e6], trouble="wrong")}
    text = scale.as_text([(program("hash"), found)], [1, 2], [])
    assert "failed" in text
    assert "✓" not in text


def test_json_holds_gains_by_threads() -> None:
    first, second = json.loads(json.dumps(scale.as_json(RESULTS, [1, 2, 4])))
    assert (first["key"], first["gain"], first["gain_native"]) == ("scale_hash", {"2": 2.0, "4": 4.0}, 3.0)
    assert (second["gain_native"], second["at_least"]) == (None, 3.4)


@pytest.mark.parametrize(("threads", "least"), [(2, 1.8), (4, 3.4), (8, 6.4), (16, 12.0)])
def test_goals_grow_with_the_threads(threads: int, least: float) -> None:
    assert scale.goal(threads) == least


def test_only_programs_that_compute_are_chosen() -> None:
    assert {each.limit for each in scale.select("")} == {COMPUTE}
    assert [each.key for each in scale.select("hash")] == ["hash"]
    assert scale.select("triad") == ()


def test_one_thread_has_nothing_to_compare(capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    assert scale.measure("", True, 1, said.append, []) == []
    assert said == ["SKIPPED scale: there is one thread only"]


def test_processes_differ_in_their_threads(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(process, "PATIENCE", 60.0)
    monkeypatch.setattr(scale, "PACE", ("test", 2, 1.0))
    if not THOROUGH:  # the twins in C++ take four seconds to compile
        everyone = scale._contestants
        monkeypatch.setattr(
            scale, "_contestants", lambda threads: [each for each in everyone(threads) if scale.NATIVE not in each.name]
        )
    problems: list[str] = []
    (item,) = scale.measure("hash", False, 2, lambda text: None, problems)
    assert problems == []
    assert item["gain"].keys() == {"2"}
    assert len(item["found"]["1 thread"]["samples"]) == 2
    assert "integer hash" in capsys.readouterr().out
