"""Events between devices: a device reads what another one has written, and no event makes it visible there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.abi.calls import run_python
from tests.checking.two_devices import PROGRAMS
from tests.patience import PATIENCE
from tests.shape.tree import ROOT

WRONG = {"no_scope", "barriers", "too_early", "recorded", "kernels"}
WRONG_BETWEEN_CARDS = {"scope_of_a_tile", "waits_with_the_scope_of_a_tile"}
"""Tiles are content with the scope of a tile."""

Found = dict[str, list[tuple[str, bool, str, str]]]
DEVICES = {"cards": "cpu,cpu", "tiles": "cpu:tiles=2"}


@pytest.fixture(scope="module", params=DEVICES)
def run(request: Any) -> tuple[str, Found]:
    environment = os.environ | {"ANYZERO_DEVICES": DEVICES[request.param], "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(ROOT / "tests" / "checking" / "two_devices.py"), request.param]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return request.param, json.loads(done.stdout)


@pytest.mark.parametrize("name", PROGRAMS)
def test_events_between_devices(name: str, run: tuple[str, Found]) -> None:
    between, found = run
    if name not in WRONG | (WRONG_BETWEEN_CARDS if between == "cards" else set()):
        assert found[name] == []
        return
    ((rule, at_mark, message, other),) = found[name]
    assert rule == "missing-device-scope"
    assert at_mark
    assert "writes on another device" in message
    assert other.startswith("the first: kernel triad" if name == "kernels" else "the first: a memory fill of 64 bytes")


@pytest.mark.parametrize(("scope", "count"), [("NOTHING", 1), ("DEVICE", 0)])
def test_checks_of_a_whole_program(scope: str, count: int) -> None:
    """Commands are followed from when there are queues of two devices and an event that needs it."""
    program = f"""
        from tests.checking.two_devices import DEVICE, NOTHING, Pair, between
        az = Calls()
        pair = Pair(az, *az.devices)
        between(DEVICE)(pair)
        between({scope})(pair)
        pair.finish()
    """
    done = run_python(program, ANYZERO_DEVICES="cpu,cpu", ANYZERO_CHECK="strict")
    assert done.stderr.count("missing-device-scope") == count, done.stderr
