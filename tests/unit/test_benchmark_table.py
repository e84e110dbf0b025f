"""Tables of the benchmarks, and the machine beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import machine
from benchmarks.table import grouped, laid_out


def test_columns_have_a_rule_below_the_head() -> None:
    assert laid_out([["time", "C", "Python"], ["a copy", "1 ns", "20 ns"]]) == [
        "time       C  Python",
        "────────────────────",
        "a copy  1 ns   20 ns",
    ]


def test_groups_have_a_title_each() -> None:
    text = grouped([["", "C"], ["first"], ["  a", "1"], ["second"], ["  b", "2"]], ["a note"])
    assert text.split("\n") == ["     C", "──────", "first", "  a  1", "", "second", "  b  2", "", "a note", ""]


class Ours:
    """A process of the benchmark."""

    pid = 41


def test_own_work_is_not_that_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    worked = {"all": 100.0, "ours": 10.0, "now": 1000.0}
    monkeypatch.setattr(machine, "_busy", lambda: worked["all"])
    monkeypatch.setattr(machine, "_spent", lambda pid: worked["ours"] if pid == 41 else 0.0)
    monkeypatch.setattr(machine.time, "monotonic", lambda: worked["now"])
    monkeypatch.setattr(machine.resource, "getrusage", lambda _: machine.resource.struct_rusage([0.0] * 16))
    others = machine.Others([Ours()])
    worked |= {"all": 116.0, "ours": 18.0, "now": 1010.0}
    assert others.cores() == 0.8


def test_processors_that_the_process_may_not_use_are_not_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = "{} 10 20 30 4000 5000 1 2 3 0 0\n"
    stat = tmp_path / "stat"
    stat.write_text("".join(row.format(name) for name in ("cpu", "cpu0", "cpu1", "cpu11")) + "ctxt 1\n")
    monkeypatch.setattr(machine, "Path", lambda _: stat)
    monkeypatch.setattr(machine.os, "sysconf", lambda _: 1)
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: {0, 11})
    assert machine._busy() == 2 * 66
