"""Faulting kernels: the queue is lost with a report that names the kernel, everything else continues."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from ctypes import byref, c_uint32, c_void_p
from typing import Any

import pytest

from anyzero import ze
from tests.abi.calls import ASYNCHRONOUS, DEVICE_LOST, SOON, SYNCHRONOUS, Calls, read, run_python, write
from tests.abi.kernels_in_c import build, kernel, launch, planner

SOURCE = """
//kernel {"name": "store", "args": [["global", 8]]}
KERNEL(store) { *ARG(volatile u32*, 0) = 1; }
//kernel {"name": "divide"}
KERNEL(divide) { volatile u32 zero = 0, result; FOR_GROUPS result = (u32)(group + 12345) / zero; (void)result; }
//kernel {"name": "fault", "args": [["value", 4]]}
KERNEL(fault) { az_fault(worker, ARG(u32, 0), 77); }
//kernel {"name": "deep"}
static __attribute__((noinline)) u64 deeper(u64 n) {
  volatile u8 room[2048]; room[n % 2048] = (u8)n;
  return n == ~0ul ? 0 : deeper(n + 1) + room[n % 2048];
}
KERNEL(deep) { volatile u64 result = deeper(first); (void)result; }
//kernel {"name": "spin"}
KERNEL(spin) { for (;;) __builtin_ia32_pause(); }
//kernel {"name": "count", "args": [["global", 8]]}
KERNEL(count) { __atomic_fetch_add(ARG(u64*, 0), last - first, __ATOMIC_RELAXED); }
//kernel {"name": "print"}
KERNEL(print) { FOR_GROUPS { u64 slots[1] = {group}; az_printf(worker, "group %d says hello\\n", slots, 1); } }
//kernel {"name": "print_badly"}
KERNEL(print_badly) { u64 slots[1] = {4096}; az_printf(worker, "%s\\n", slots, 1); }
//kernel {"name": "rounding", "args": [["global", 8]]}
KERNEL(rounding) {
  volatile f32 tiny = 1e-40f, one = 1.0f, three = 3.0f;
  f32* to = ARG(f32*, 0); to[0] = tiny * one; to[1] = one / three;
}
"""
NAMES = ("store", "divide", "fault", "deep", "spin", "count", "print", "print_badly", "rounding")
NOWHERE = 0x7000_0000_1000
RESERVED = 2 << 20


@pytest.fixture(scope="module")
def module(az: Calls) -> Iterator[c_void_p]:
    context = az.context()
    with planner():
        made, _ = build(az, context, SOURCE)
        for name in NAMES:
            az.ok("zeKernelDestroy", kernel(az, made, name))
        yield made
    az.ok("zeModuleDestroy", made)
    az.ok("zeContextDestroy", context)


def loss(az: Calls, made: c_void_p, groups: int, mode: int) -> str:
    context = az.context()
    lst = az.immediate(context, mode=mode)
    count = ze.ze_group_count_t(groups, 1, 1)
    az.call("zeCommandListAppendLaunchKernel", lst, made, byref(count), None, 0, None)
    az.error(DEVICE_LOST, "zeCommandListHostSynchronize", lst, SOON)
    report = az.last_error()
    az.error(DEVICE_LOST, "zeContextGetStatus", context)
    az.ok("zeCommandListDestroy", lst)
    az.ok("zeContextDestroy", context)
    return report


@pytest.mark.parametrize("mode", [ASYNCHRONOUS, SYNCHRONOUS])
@pytest.mark.parametrize("groups", [1, 50_000])
def test_reports(az: Calls, context: c_void_p, module: c_void_p, mode: int, groups: int) -> None:
    cases: list[tuple[str, tuple[Any, ...], list[str]]] = [
        ("store", (None,), ["kernel store", "null pointer", "offset 0x"]),
        ("store", (NOWHERE,), ["kernel store", hex(NOWHERE), "not in or near"]),
        ("divide", (), ["kernel divide", "arithmetic"]),
        ("fault", (c_uint32(1),), ["kernel fault", "divided by zero"]),
        ("fault", (c_uint32(2),), ["kernel fault", "unreachable"]),
        ("fault", (c_uint32(3),), ["kernel fault", "0x4d"]),
        ("fault", (c_uint32(4),), ["kernel fault", "barrier"]),
        ("fault", (c_uint32(99),), ["kernel fault", "code 99"]),
        ("deep", (), ["kernel deep", "stack overflowed"]),
        ("print_badly", (), ["kernel print_badly", "0x1000"]),
    ]
    for name, arguments, texts in cases:
        report = loss(az, kernel(az, module, name, *arguments), groups, mode)
        assert all(text in report for text in [*texts, f"{groups} x 1 x 1 groups"]), report
    # Addresses that are taken, with nothing behind them.
    reserved = c_void_p()
    az.ok("zeVirtualMemReserve", context, None, RESERVED, byref(reserved))
    report = loss(az, kernel(az, module, "store", (reserved.value or 0) + 4096), groups, mode)
    assert "kernel store" in report
    az.ok("zeVirtualMemFree", context, reserved, RESERVED)


def test_a_kernel_is_lost_inside_a_recorded_list(az: Calls, module: c_void_p) -> None:
    context = az.context()
    lst, queue, counter = az.list(context), az.queue(context), az.memory(context, 8)
    write(counter, bytes(8))
    launch(az, lst, kernel(az, module, "count", counter), 5)
    launch(az, lst, kernel(az, module, "store", None), 1)
    launch(az, lst, kernel(az, module, "count", counter), 5)
    az.close(lst)
    az.execute(queue, lst)
    az.error(DEVICE_LOST, "zeCommandQueueSynchronize", queue, SOON)
    assert "kernel store" in az.last_error()
    assert read(counter, 1) == bytes([5])


def test_neighbours_do_not_notice(az: Calls, context: c_void_p, module: c_void_p) -> None:
    counter = az.memory(context, 8)
    write(counter, bytes(8))
    good, lst = kernel(az, module, "count", counter), az.immediate(context)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            launch(az, lst, good, 1000)
            az.ok("zeCommandListHostSynchronize", lst, SOON)

    worker = threading.Thread(target=work)
    worker.start()
    for index in range(20):
        loss(az, kernel(az, module, "store", NOWHERE + 4096 * index), 1 + 5000 * (index % 2), ASYNCHRONOUS)
    stop.set()
    worker.join()
    az.ok("zeContextGetStatus", context)


def test_kernels_compute_alike_whatever_the_program_has_set(az: Calls, context: c_void_p, module: c_void_p) -> None:
    """A program that flushes denormals on its threads gets correct results, and keeps its setting."""
    run_python(
        f"""
        from tests.abi.kernels_in_c import *
        import subprocess, tempfile
        SOURCE = {SOURCE!r}
        library = tempfile.mkdtemp() + "/rounding.so"
        code = "void set(unsigned v) {{ __builtin_ia32_ldmxcsr(v); }}"
        code += "unsigned get(void) {{ return __builtin_ia32_stmxcsr(); }}"
        command = ["gcc", "-shared", "-fPIC", "-O1", "-xc", "-", "-o", library]
        subprocess.run(command, input=code.encode(), check=True)
        rounding = ctypes.CDLL(library)
        az = Calls()
        with planner():
            context = az.context()
            module, _ = build(az, context, SOURCE)
            to = az.memory(context, 8)
            made, bad = kernel(az, module, "rounding", to), kernel(az, module, "store", None)
        lst, doomed = az.immediate(context, mode=SYNCHRONOUS), az.immediate(az.context(), mode=SYNCHRONOUS)
        launch(az, lst, made, 1)
        usual = read(to, 8)
        for setting in (0x1F80, 0x1F80 | 0x8040, 0x1F80 | 0x6000):
            rounding.set(setting)
            launch(az, lst, made, 1)
            assert read(to, 8) == usual
            one = byref(ze.ze_group_count_t(1, 1, 1))
            az.call("zeCommandListAppendLaunchKernel", doomed, bad, one, None, 0, None)
            assert rounding.get() & ~0x3F == setting, hex(rounding.get())
        rounding.set(0x1F80)
        """
    )


def test_the_time_limit() -> None:
    run_python(
        f"""
        from tests.abi.kernels_in_c import *
        SOURCE = {SOURCE!r}
        az = Calls()
        with planner():
            context = az.context()
            module, _ = build(az, context, SOURCE)
            spin, counter = kernel(az, module, "spin"), az.memory(context, 8)
            count = kernel(az, module, "count", counter)
        for mode in (SYNCHRONOUS, ASYNCHRONOUS):
            for groups in (1, 3, 1000):
                doomed = az.immediate(az.context(), mode=mode)
                begin = time.monotonic()
                many = byref(ze.ze_group_count_t(groups, 1, 1))
                az.call("zeCommandListAppendLaunchKernel", doomed, spin, many, None, 0, None)
                az.error(DEVICE_LOST, "zeCommandListHostSynchronize", doomed, SOON)
                assert time.monotonic() - begin >= 0.1
                text = az.last_error()
                assert "kernel spin" in text and "0.1 s (ANYZERO_KERNEL_TIMEOUT)" in text, text
        # Somebody else waits, and only the engine's thread runs it.
        lst, (event,) = az.immediate(az.context()), az.events(context, 1)
        one = byref(ze.ze_group_count_t(1, 1, 1))
        az.ok("zeCommandListAppendLaunchKernel", lst, spin, one, event, 0, None)
        while az.call("zeEventQueryStatus", event) == NOT_READY:
            time.sleep(0.01)
        az.error(DEVICE_LOST, "zeEventQueryStatus", event)
        fine = az.immediate(context)
        write(counter, bytes(8))
        for _ in range(100):
            launch(az, fine, count, 10_000)
        az.ok("zeCommandListHostSynchronize", fine, SOON)
        assert read(counter, 8) == (1_000_000).to_bytes(8, "little")
        # A child has no watchdog of its parent's, and needs one.
        child = os.fork()
        if child == 0:
            doomed = az.immediate(az.context(), mode=SYNCHRONOUS)
            az.error(DEVICE_LOST, "zeCommandListAppendLaunchKernel", doomed, spin, one, None, 0, None)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        """,
        ANYZERO_KERNEL_TIMEOUT="0.1",
    )


def test_what_kernels_print_appears_when_somebody_waits() -> None:
    code = f"""
        from tests.abi.kernels_in_c import *
        SOURCE = {SOURCE!r}
        az = Calls()
        with planner():
            context = az.context()
            module, _ = build(az, context, SOURCE)
            made, bad = kernel(az, module, "print"), kernel(az, module, "print_badly")
        kind = sys.argv[1]
        if kind == "list":
            lst = az.immediate(context)
            launch(az, lst, made, 3)
            az.ok("zeCommandListHostSynchronize", lst, SOON)
        elif kind == "synchronous":
            launch(az, az.immediate(context, mode=SYNCHRONOUS), made, 3)
        elif kind == "event":
            (event,) = az.events(context, 1)
            launch(az, az.immediate(context), made, 3, signal=event)
            az.ok("zeEventHostSynchronize", event, SOON)
        elif kind == "event query":
            (event,) = az.events(context, 1)
            launch(az, az.immediate(context), made, 3, signal=event)
            while az.call("zeEventQueryStatus", event) == NOT_READY:
                time.sleep(0.001)
        else:
            queue, lst = az.queue(context), az.list(context)
            launch(az, lst, made, 3)
            az.close(lst)
            fence = az.fence(queue)
            az.execute(queue, lst, fence=fence)
            if kind == "fence":
                az.ok("zeFenceHostSynchronize", fence, SOON)
            else:
                az.finish(queue)
        os._exit(0)  # nothing is left to be written at the exit
        """
    for kind in ("list", "synchronous", "event", "event query", "fence", "queue"):
        done = run_python(code, arguments=[kind])
        lines = sorted(done.stdout.splitlines())
        assert len(lines) == 3, (kind, done.stdout)
        assert all("hello" in line for line in lines)
