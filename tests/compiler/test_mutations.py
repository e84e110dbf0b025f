"""The run of `make fuzz`: does it go through all of its numbers, and does it notice what it looks for?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.compiler.mutations import ENOUGH, mutated, run, samples, survive
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]


def test_the_first_ones_are_stood(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(600, 0, 2) == []
    assert "600/600 mutations, 0 found" in capsys.readouterr().err


def test_a_number_is_a_module() -> None:
    assert mutated(7) == mutated(7)
    made = [mutated(number) for number in range(300)]
    assert len(set(made)) > 290
    assert not set(made) & set(samples()[:1])
    # Some damage is none, and some is found late; were all refused at once, little would be tried.
    assert 4 < sum(map(survive, made)) < 200


def test_what_is_not_stood_is_told_and_the_others_are_still_tried() -> None:
    broken, dying, last = mutated(3), mutated(10), mutated(39)

    def check(data: bytes) -> None:
        if data in (broken, last):
            raise RecursionError("too deep")
        if data == dying:
            os.kill(os.getpid(), signal.SIGKILL)

    assert run(40, 0, 3, check=check) == [
        (3, "RecursionError: too deep"),
        (10, f"the process died ({-signal.SIGKILL})"),
        (39, "RecursionError: too deep"),
    ]


def test_what_hangs_is_told() -> None:
    # By itself: others may be late for another reason.
    assert run(1, 21, 1, check=lambda data: signal.pause(), patience=0.1) == [(21, "not done after 0.1 s")]


def test_it_ends_when_there_is_enough_to_do() -> None:
    def check(data: bytes) -> None:
        time.sleep(0.001)
        raise ValueError

    assert ENOUGH <= len(run(100_000, 5, 2, check=check)) < 5000


def test_the_variable_says_how_many() -> None:
    command = [sys.executable, "-m", "tests.compiler.mutations", "--first", "50", "--jobs", "1"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "ANYZERO_MUTATIONS": "25"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "25 mutations from 50 on, 0 that the compiler does not stand\n"
    assert "25/25 mutations" in done.stderr
