"""Kernels that are sampled while they run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import anyzero as az
from anyzero.layouts.container import CounterKind
from tests.patience import PATIENCE

ITEMS = 1 << 16
ENOUGH_S = 0.4
"""Processor time, which passes only while the kernel runs: 400 ticks of perf's clock, at least 40 of any timer."""


@az.kernel
def turn(values: az.ptr[az.f32], turns: az.i32):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    value = values[i]
    for _ in range(turns):
        value = ((value * 0.5 + 1.0) * 0.5 + 1.0) * 0.5 + 1.0  # the line
    values[i] = value


LINE = next(n for n, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.endswith("# the line"))


def work() -> None:
    with az.device().context() as context:
        values = context.zeros(ITEMS, np.float32)
        start = time.process_time()
        while time.process_time() - start < ENOUGH_S:
            turn[ITEMS](values, 500)
        assert values.copy_to()[0] == pytest.approx(2.0)
        values.close()


@pytest.mark.parametrize("timer", [False, True])
def test_the_expensive_line_is_found(timer: bool) -> None:
    with az.profile(timer=timer) as profiled:
        work()
    cost = profiled.kernels[0]
    assert (cost.name, cost.lines[0].line, cost.lines[0].file) == ("turn", LINE, __file__)
    assert cost.lines[0].samples > cost.samples / 2
    assert "value = ((value * 0.5 + 1.0) * 0.5 + 1.0)" in profiled.summary()
    if timer:
        assert profiled.samples.clock == "timer"


def test_lanes_are_counted_by_line() -> None:
    """Of kernels that are built in the block, while it runs: not afterwards, and not of others."""

    @az.kernel
    def some(values: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
        i = az.global_id(0)
        if i % 4 == 0:
            values[i] += 1  # a quarter
        values[i] += 1  # all

    with az.device().context() as context:
        values = context.zeros(ITEMS, np.int32)
        with az.profile(lanes=True, rate=20_000) as profiled:
            for _ in range(3):
                some[ITEMS](values)
            assert values.copy_to().sum() == 3 * (ITEMS + ITEMS // 4)
        some[ITEMS](values)
        assert values.copy_to().sum() == 4 * (ITEMS + ITEMS // 4)
        values.close()
    codes = [code for code in profiled.samples.codes if code.kernel == "some"]
    items = {}
    for count in (count for code in codes for count in code.counts if count.kind is CounterKind.BLOCK):
        for place in count.places:
            if place is not None:
                text = Path(__file__).read_text().splitlines()[place.line - 1].partition("# ")[2]
                items[text] = items.get(text, 0) + count.lanes
    assert (items["a quarter"], items["all"]) == (3 * ITEMS // 4, 3 * ITEMS)


def test_nothing_is_sampled_before_and_after() -> None:
    with az.profile() as profiled:
        pass
    work()
    assert profiled.samples.total == 0
    assert profiled.summary().startswith("no samples")


def test_a_fault_is_reported_while_samples_are_taken() -> None:
    @az.kernel
    def stray(values: az.ptr[az.f32], at: az.i64):  # type: ignore[no-untyped-def]
        values[at] = 1.0

    with az.profile(rate=20_000):
        work()
        context = az.device().context()
        values = context.zeros(16, np.float32)
        with pytest.raises(az.DeviceLost, match="stray"):
            stray[1](values, 1 << 40)
        work()


def test_one_profile_at_a_time() -> None:
    with az.profile() as outer, pytest.raises(az.Unavailable, match="already being made"), az.profile():
        pass
    assert outer.kernels == []
    with pytest.raises(ValueError, match="1 to 20,000"):
        az.profile(rate=0)


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("from tests.profiling.test_sessions import work; work(); raise SystemExit(5)")
    command = [sys.executable, "-m", "anyzero.tools", "profile", "--json", "--no-roofline", "--kernel", "turn"]
    done = subprocess.run(
        [*command, "--lanes", "--", sys.executable, str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.returncode == 5, done.stderr
    (kernel,) = json.loads(done.stdout)["kernels"]
    assert (kernel["name"], kernel["lines"][0]["line"]) == ("turn", LINE)
    assert kernel["lines"][0]["active"] == 1.0


def test_a_device_of_little_memory_has_a_profile_without_a_roofline(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("from tests.profiling.test_sessions import work; work()")
    done = subprocess.run(
        [sys.executable, "-m", "anyzero.tools", "profile", "--", sys.executable, str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "ANYZERO_MEMORY": "32M"},
    )
    assert done.returncode == 0, done.stderr
    assert "anyzero profile: no roofline: " in done.stderr
    assert "turn: limited by" in done.stdout


IN_BLOCK = """\
import os
import anyzero as az
from tests.profiling.test_sessions import work

with az.profile() as profiled:
    work()
    child = os.fork()
    if child == 0:
        with az.profile() as own:
            work()
        print(own.kernels[0].name, flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
print(profiled.kernels[0].name)
"""

FORKED = """\
import os
from tests.profiling.test_sessions import work

child = os.fork()
if child == 0:
    work()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_child_is_profiled(tmp_path: Path) -> None:
    """As the processes of `multiprocessing`, which do all the work of some programs."""
    (tmp_path / "program.py").write_text(FORKED)
    command = [sys.executable, "-m", "anyzero.tools", "profile", "--json", "--no-roofline", "--"]
    done = subprocess.run(
        [*command, sys.executable, str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert (done.returncode, done.stderr) == (0, "")
    (kernel,) = json.loads(done.stdout)["kernels"]
    assert kernel["name"] == "turn"


def test_a_profile_in_a_forked_child_leaves_its_parent_s(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(IN_BLOCK)
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert (done.returncode, done.stdout) == (0, "turn\nturn\n"), done.stderr
