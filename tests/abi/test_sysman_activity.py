"""Reported engine activity, compared with the clock and the timestamps of commands."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from ctypes import byref, c_uint32, c_uint64, c_void_p

import pytest

from anyzero import ze
from tests.abi.appends import TIMED
from tests.abi.calls import ASYNCHRONOUS, COPY, DEVICE_LOST, FOREVER, SOON, SYNCHRONOUS, Calls, read, run_python, write
from tests.abi.kernels_in_c import build, kernel, launch, planner
from tests.abi.sysman import Sysman, value
from tests.asleep import await_sleep_of_others
from tests.patience import PATIENCE

SOURCE = """
//kernel {"name": "held", "args": [["global", 8]]}
KERNEL(held) {
  u32* gate = ARG(u32*, 0);
  __atomic_fetch_add(gate + 1, 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n(gate, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
}
//kernel {"name": "burn", "args": [["value", 8]]}
KERNEL(burn) { FOR_GROUPS for (u64 i = 0; i < ARG(u64, 0); ++i) __builtin_ia32_pause(); }
//kernel {"name": "follow", "args": [["global", 8]]}
KERNEL(follow) { **ARG(u32**, 0) = 7; }
"""

MILLISECOND = 1000
SECONDS = 1_000_000
"""In the unit of the answers."""


@pytest.fixture(scope="module")
def sysman(az: Calls) -> Sysman:
    return Sysman()


@pytest.fixture(scope="module")
def module(az: Calls) -> Iterator[c_void_p]:
    context = az.context()
    with planner():
        made, _ = build(az, context, SOURCE)
        for name in ("held", "burn", "follow"):
            az.ok("zeKernelDestroy", kernel(az, made, name))  # compiled while the stand-in is active
        yield made
    az.ok("zeModuleDestroy", made)
    az.ok("zeContextDestroy", context)


class Meter:
    """The activity of an engine group between two queries."""

    def __init__(self, sysman: Sysman, az: Calls, kind: str) -> None:
        self.sysman, self.group = sysman, sysman.group(az.device, kind)
        self.before = sysman.activity(self.group)

    def look(self) -> tuple[int, int]:
        """Microseconds at work and microseconds gone by since the last look."""
        after = self.sysman.activity(self.group)
        worked, passed = after[0] - self.before[0], after[1] - self.before[1]
        self.before = after
        assert 0 <= worked <= passed + 1, "an engine cannot have worked longer than time went by"
        return worked, passed


def closed_gate(az: Calls, context: c_void_p) -> int:
    """Blocks kernels: a word that releases them, and the number that have arrived."""
    gate = az.memory(context, 8)
    write(gate, bytes(8))
    return gate


def await_holding(gate: int, count: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while int.from_bytes(read(gate + 4, 4), "little") < count:
        assert time.monotonic() < deadline, "the kernel does not begin"
        time.sleep(0.001)


def test_there_is_a_group_for_every_queue_and_one_for_all(sysman: Sysman, az: Calls) -> None:
    count = c_uint32()
    az.ok("zeDeviceGetCommandQueueGroupProperties", az.device, byref(count), None)
    queues = (ze.ze_command_queue_group_properties_t * count.value)()
    az.ok("zeDeviceGetCommandQueueGroupProperties", az.device, byref(count), queues)
    kinds = [known.type for _, known in sysman.groups(az.device)]
    assert kinds.count(value("ZES_ENGINE_GROUP_COMPUTE_SINGLE")) == queues[0].numQueues
    assert kinds.count(value("ZES_ENGINE_GROUP_COPY_SINGLE")) == queues[1].numQueues
    for kind in ("ALL", "COMPUTE_ALL", "COPY_ALL"):
        assert kinds.count(value(f"ZES_ENGINE_GROUP_{kind}")) == 1
    assert not any(known.onSubdevice for _, known in sysman.groups(az.device))


@pytest.mark.parametrize("kind", ["ALL", "COMPUTE_ALL", "COMPUTE_SINGLE"])
def test_a_kernel_that_runs_counts_while_it_runs(
    sysman: Sysman, az: Calls, context: c_void_p, module: c_void_p, kind: str
) -> None:
    gate = closed_gate(az, context)
    lst = az.immediate(context, mode=ASYNCHRONOUS)
    meter, other = Meter(sysman, az, kind), Meter(sysman, az, "COPY_SINGLE")
    launch(az, lst, kernel(az, module, "held", gate), 1)
    await_holding(gate, 1)
    meter.look()
    for _ in range(3):
        begun = time.monotonic()
        time.sleep(0.002)
        least = (time.monotonic() - begun) * SECONDS
        worked, _ = meter.look()
        # The kernel ran between the two looks; the clocks of both sides differ by less than a tenth.
        assert worked >= least * 0.9 - 1
    write(gate, b"\1\0\0\0")
    az.ok("zeCommandListHostSynchronize", lst, SOON)
    await_sleep_of_others()
    meter.look()
    time.sleep(0.002)
    assert meter.look()[0] == 0
    assert other.look()[0] == 0
    az.ok("zeCommandListDestroy", lst)


@pytest.mark.parametrize("groups", [1, 3, 64])
def test_active_time_is_what_the_timestamps_say(
    sysman: Sysman, az: Calls, context: c_void_p, module: c_void_p, groups: int
) -> None:
    (done,) = az.events(context, 1, TIMED)
    lst = az.immediate(context, mode=ASYNCHRONOUS)
    burn = kernel(az, module, "burn", c_uint64(1_000_000 // groups))
    meter = Meter(sysman, az, "COMPUTE_SINGLE")
    launch(az, lst, burn, groups, signal=done)
    az.ok("zeEventHostSynchronize", done, SOON)
    worked, _ = meter.look()
    stamps = az.query("zeEventQueryKernelTimestamp", ze.ze_kernel_timestamp_result_t, done)
    whole = getattr(stamps, "global")
    took = (whole.kernelEnd - whole.kernelStart) / 1000
    assert took / 2 - MILLISECOND < worked  # no more than time went by, says the meter
    az.ok("zeCommandListDestroy", lst)


def test_recorded_lists_count_too(sysman: Sysman, az: Calls, context: c_void_p, module: c_void_p) -> None:
    lst, queue = az.list(context), az.queue(context)
    # Of launches with one group only some are timed: it takes a few until the new argument is known to take longer.
    for _ in range(50):
        launch(az, lst, kernel(az, module, "burn", c_uint64(4_000)), 1)
    az.close(lst)
    meter = Meter(sysman, az, "COMPUTE_SINGLE")
    az.execute(queue, lst)
    az.finish(queue)
    worked, _ = meter.look()
    assert worked > 0
    az.ok("zeCommandQueueDestroy", queue)


def test_what_was_done_stays_when_the_queue_is_gone(
    sysman: Sysman, az: Calls, context: c_void_p, module: c_void_p
) -> None:
    group = sysman.group(az.device, "COMPUTE_SINGLE")
    lst = az.immediate(context, mode=SYNCHRONOUS)
    launch(az, lst, kernel(az, module, "burn", c_uint64(200_000)), 1)
    before, _ = sysman.activity(group)
    az.ok("zeCommandListDestroy", lst)
    assert sysman.activity(group)[0] == before > 0


def test_small_launches_on_the_callers_thread_count(
    sysman: Sysman, az: Calls, context: c_void_p, module: c_void_p
) -> None:
    lst = az.immediate(context, mode=SYNCHRONOUS)
    burn = kernel(az, module, "burn", c_uint64(10))
    for _ in range(100):
        launch(az, lst, burn, 1)
    meter = Meter(sysman, az, "COMPUTE_SINGLE")
    for _ in range(2000):
        launch(az, lst, burn, 1)
    worked, _ = meter.look()
    assert worked > 50  # 25 ns each would be impossibly fast
    az.ok("zeCommandListDestroy", lst)


@pytest.mark.parametrize("size", [4096, 16 << 20])
def test_copies_are_work_of_the_copy_engine(sysman: Sysman, az: Calls, context: c_void_p, size: int) -> None:
    a, b = az.memory(context, size), az.memory(context, size)
    lst = az.immediate(context, ordinal=COPY, mode=SYNCHRONOUS)
    az.copy(lst, a, b, size)
    meters = {kind: Meter(sysman, az, kind) for kind in ("ALL", "COPY_ALL", "COPY_SINGLE", "COMPUTE_SINGLE")}
    for _ in range(max(5, (2 << 20) // size)):
        az.copy(lst, a, b, size)
    worked = {kind: meter.look()[0] for kind, meter in meters.items()}
    assert worked["COMPUTE_SINGLE"] == 0
    assert worked["COPY_SINGLE"] == worked["COPY_ALL"] > 10
    assert worked["ALL"] == pytest.approx(worked["COPY_ALL"], abs=1)  # the sum of whole microseconds
    az.ok("zeCommandListDestroy", lst)


def test_copies_on_a_compute_list_are_work_of_the_compute_engine(sysman: Sysman, az: Calls, context: c_void_p) -> None:
    size = 1 << 20
    a, b = az.memory(context, size), az.memory(context, size)
    lst = az.immediate(context, mode=SYNCHRONOUS)
    copies, kernels = Meter(sysman, az, "COPY_ALL"), Meter(sysman, az, "COMPUTE_SINGLE")
    for _ in range(20):
        az.copy(lst, a, b, size)
    assert copies.look()[0] == 0
    assert kernels.look()[0] > 10
    az.ok("zeCommandListDestroy", lst)


def test_two_threads_at_work_are_no_more_than_one_engine(
    sysman: Sysman, az: Calls, context: c_void_p, module: c_void_p
) -> None:
    gate = closed_gate(az, context)
    lists = [az.immediate(context, mode=ASYNCHRONOUS) for _ in range(2)]
    meter = Meter(sysman, az, "COMPUTE_SINGLE")
    for lst in lists:
        launch(az, lst, kernel(az, module, "held", gate), 1)
    # The engine's thread runs one of them, and the thread waiting for the other runs that.
    waiters = [threading.Thread(target=az.ok, args=("zeCommandListHostSynchronize", lst, FOREVER)) for lst in lists]
    for waiter in waiters:
        waiter.start()
    try:
        await_holding(gate, 2)
        for _ in range(5):
            time.sleep(0.002)
            meter.look()  # insists that work does not outrun time
    finally:
        write(gate, b"\1\0\0\0")
    for waiter in waiters:
        waiter.join()
    meter.look()
    for lst in lists:
        az.ok("zeCommandListDestroy", lst)


def test_a_kernel_that_failed_is_not_at_work(sysman: Sysman, az: Calls, module: c_void_p) -> None:
    context = az.context()
    area = az.memory(context, 8)
    write(area, bytes(8))
    lst = az.immediate(context, mode=ASYNCHRONOUS)
    launch(az, lst, kernel(az, module, "follow", area), 1)
    az.error(DEVICE_LOST, "zeCommandListHostSynchronize", lst, SOON)
    await_sleep_of_others()
    meter = Meter(sysman, az, "ALL")
    time.sleep(0.002)
    assert meter.look()[0] == 0
    az.ok("zeCommandListDestroy", lst)
    az.ok("zeContextDestroy", context)


def test_the_extended_query_is_about_the_device_alone(sysman: Sysman, az: Calls) -> None:
    group = sysman.group(az.device, "ALL")
    count = c_uint32()
    sysman.ok("zesEngineGetActivityExt", group, byref(count), None)
    assert count.value == 1
    stats = (c_uint64 * 4)(9, 9, 9, 9)
    count.value = 2
    sysman.ok("zesEngineGetActivityExt", group, byref(count), ctypes.cast(stats, c_void_p))
    assert count.value == 1
    assert stats[0] == sysman.activity(group)[0]
    assert list(stats[2:]) == [9, 9]


def test_a_forked_child_begins_anew() -> None:
    run_python(
        """
        from tests.abi.sysman import Sysman
        az, s = Calls(), Sysman()
        context = az.context()
        size = 8 << 20
        area = az.memory(context, size)
        lst = az.immediate(context, mode=SYNCHRONOUS)
        group = s.group(az.device, "ALL")
        az.fill(lst, area, 1, size)
        assert s.activity(group)[0] > 0
        child = os.fork()
        if child == 0:
            before, then = s.activity(group)
            own = az.immediate(context, mode=SYNCHRONOUS)
            for _ in range(5):
                az.fill(own, area, 1, size)
            after, now = s.activity(group)
            os._exit(0 if 0 < after - before <= now - then + 1 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        """
    )
