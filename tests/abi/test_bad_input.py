"""Null, dead, foreign and invented handles, null pointers and meaningless enums, for every function there is."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from ctypes import c_void_p
from pathlib import Path

from tests.abi.bad_input import KINDS
from tests.abi.calls import DEVICE_LOST, INVALID_NULL_HANDLE, NOT_READY, OK, Calls, environment
from tests.abi.specification import api, core, implemented
from tests.patience import PATIENCE


def test_every_function_survives_every_bad_argument(tmp_path: Path) -> None:
    # Some of the functions write a file with the name they are given.
    program = [sys.executable, "-m", "tests.abi.bad_input"]
    done = subprocess.run(
        program,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment(ANYZERO_DEVICES="cpu,cpu"),
        cwd=tmp_path,
        check=False,
    )
    last = done.stdout.splitlines()[-1:]
    assert done.returncode in (0, 1), f"killed by {-done.returncode} in {last}\n{done.stderr[-2000:]}"
    assert done.returncode == 0, done.stderr[-6000:]
    calls = int(done.stdout.splitlines()[-1].split()[0])
    assert calls > 10_000


def test_the_table_knows_every_kind_of_handle() -> None:
    """A new kind of object must be added to the table, or its functions go untested."""
    used = {
        param.type
        for name, function in core().items()
        if name in implemented()
        for param in function.params
        if param.type in api().handles
    }
    assert used <= KINDS.keys()


def test_a_stale_handle_is_not_taken_for_the_next_object(az: Calls, context: c_void_p) -> None:
    """Handles of the last few dozen dead objects stay dead although new ones are made."""
    pool = az.pool(context, 1)
    dead = []
    for _ in range(40):
        event = az.event(pool)
        az.ok("zeEventDestroy", event)
        dead.append(event)
    live = [az.event(pool) for _ in range(20)]
    for event in dead:
        az.error(INVALID_NULL_HANDLE, "zeEventQueryStatus", event)
    assert not {event.value for event in dead} & {event.value for event in live}


def test_two_threads_destroy_the_same_handle(az: Calls, context: c_void_p) -> None:
    """One call succeeds, the other gets an error; nothing is freed twice."""
    results: list[int] = []
    for _ in range(200):
        queue = az.queue(context)
        gate = threading.Barrier(2)

        def destroy(queue: c_void_p = queue, gate: threading.Barrier = gate) -> None:
            gate.wait()
            results.append(az.call("zeCommandQueueDestroy", queue))

        threads = [threading.Thread(target=destroy) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert set(results) <= {0, INVALID_NULL_HANDLE}
    assert results.count(0) >= 200


def test_handles_with_flipped_bits(az: Calls, context: c_void_p) -> None:
    event = az.events(context, 1)[0]
    for bit in range(64):
        flipped = event.value ^ (1 << bit)
        # A handle with one bit flipped may be another live event.
        result = az.call("zeEventQueryStatus", c_void_p(flipped))
        assert result in (INVALID_NULL_HANDLE, OK, NOT_READY, DEVICE_LOST), bit


def test_raw_registers(az: Calls) -> None:
    """Called as a C program with garbage in its registers would, without ctypes' own types in between."""
    raw = ctypes.CDLL(az.lib.path)
    for name in ("zeContextDestroy", "zeEventDestroy", "zeFenceDestroy", "zeCommandListClose", "zeImageDestroy"):
        function = getattr(raw, name)
        function.restype = ctypes.c_uint32
        for value in range(0, 2**64, 2**64 // 257):
            assert function(c_void_p(value)) == INVALID_NULL_HANDLE
