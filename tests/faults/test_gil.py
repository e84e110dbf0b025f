"""The interpreter's lock: the engine never needs it after start-up, and gives it up where it waits."""

from __future__ import annotations

import pytest

from tests.abi.calls import run_python
from tests.faults import gil
from tests.patience import PATIENCE

OPENING = """
import atexit
from tests.faults.gil import *
native = load(sys.argv[1])
az = Calls()
context = az.context()
held = ctypes.PyDLL(str(LIBRARY))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(gil.build(tmp_path_factory.mktemp("gil")))


def run(library: str, code: str, timeout: float = PATIENCE, **variables: str) -> str:
    import textwrap

    return run_python(OPENING + textwrap.dedent(code), timeout=timeout, arguments=[library], **variables).stdout


WORKER = """
def worker(times, size, ordinal=0, mode=0, done=None, failed=None):
    recorded = az.list(context, commandQueueGroupOrdinal=ordinal)
    to, source = az.memory(context, size), az.memory(context, size, "device")
    az.fill(recorded, source, 3, size)
    az.close(recorded)
    queue = az.queue(context, ordinal=ordinal, mode=mode)
    return Work(az.immediate(context, ordinal=ordinal, mode=mode), az.events(context, 1)[0], queue, recorded,
                az.fence(queue), to, source, size, times, ctypes.addressof(done), ctypes.addressof(failed))
"""


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_foreign_threads_submit_and_wait_while_another_holds_the_lock_and_spins(library: str, mode: int) -> None:
    """The spinner ends early only if all workers finish while it spins; its answer says so."""
    run(
        library,
        WORKER
        + f"""
done, failed = ctypes.c_int(), ctypes.c_int()
jobs = [worker(200, size, i % 2, {mode}, done, failed) for i, size in enumerate((64, 4096, 1 << 20, 5 << 20))]
for job in jobs:
    assert native.start_worker(ctypes.addressof(job))
assert native.spin({PATIENCE / 2}, ctypes.addressof(done), len(jobs)) == 1, (done.value, failed.value)
assert failed.value == 0
""",
    )


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_kernels_run_and_are_waited_for_while_another_thread_holds_the_lock_and_spins(library: str, mode: int) -> None:
    """Launches of every size: on the caller's own thread, on the engine's, shared out."""
    run(
        library,
        WORKER
        + f"""
from pathlib import Path
from tests.abi.kernels_in_c import kernel, launch
from tests.faults import gil
data = Path(gil.__file__).parents[1].joinpath("kernels", "saxpy.spv").read_bytes()
kept = ctypes.create_string_buffer(data, len(data))
desc = ze.ze_module_desc_t(pInputModule=ctypes.addressof(kept), inputSize=len(data))
module = c_void_p()
az.ok("zeModuleCreate", context, az.device, byref(desc), byref(module), None)
done, failed = ctypes.c_int(), ctypes.c_int()
jobs, sums = [], []
for groups in (1, 50, 2000):
    n = groups * 64
    y, x = az.memory(context, 4 * n, "shared"), az.memory(context, 4 * n, "shared")
    write(y, bytes(4 * n))
    write(x, bytes((ctypes.c_float * n)(*[1.0] * n)))
    made = kernel(az, module, "saxpy", y, x, ctypes.c_float(2), c_uint64(n), group=(64,))
    job = worker(50, 64, 0, {mode}, done, failed)
    recorded = az.list(context)
    launch(az, recorded, made, groups)
    az.close(recorded)
    job.recorded = recorded
    jobs.append(job)
    sums.append((y, n))
for job in jobs:
    assert native.start_worker(ctypes.addressof(job))
assert native.spin({PATIENCE / 2}, ctypes.addressof(done), len(jobs)) == 1, (done.value, failed.value)
assert failed.value == 0
for y, n in sums:
    assert set((ctypes.c_float * n).from_buffer_copy(read(y, 4 * n))) == {{100.0}}
""",
    )


@pytest.mark.parametrize(
    "wait",
    [
        "held.zeEventHostSynchronize(event, c_uint64(FOREVER))",
        "held.zeEventHostSynchronize(event, c_uint64(SOON))",
        "held.zeCommandQueueSynchronize(queue, c_uint64(FOREVER))",
        "held.zeFenceHostSynchronize(fence, c_uint64(FOREVER))",
        "held.zeCommandListHostSynchronize(immediate, c_uint64(FOREVER))",
        "held.zeDeviceSynchronize(az.device)",
        "held.zeMemFreeExt(context, byref(ze.ze_memory_free_ext_desc_t(freePolicy=1)), c_void_p(room))",
        "held.zeCommandListAppendBarrier(synchronous, None, 1, handles([event]))",
        "held.zeCommandQueueExecuteCommandLists(blocking, 1, handles([recorded]), None)",
        "held.zeCommandListImmediateAppendCommandListsExp(synchronous, 1, handles([recorded]), None, 0, None)",
    ],
)
def test_waits_give_the_lock_up_when_the_caller_holds_it(library: str, wait: str) -> None:
    """The event is signalled by a Python thread, which needs the lock that the waiter came in with."""
    run(
        library,
        f"""
        event, = az.events(context, 1)
        immediate, synchronous = az.immediate(context), az.immediate(context, mode=1)
        queue, blocking, recorded = az.queue(context), az.queue(context, mode=1), az.list(context)
        room = az.memory(context, 64)
        az.barrier(recorded, None, [event])
        az.close(recorded)
        fence = az.fence(queue)
        az.execute(queue, recorded, fence=fence)
        az.barrier(immediate, None, [event])
        main = threading.main_thread()
        def signal():
            await_sleep(main)
            az.ok("zeEventHostSignal", event)
        thread = threading.Thread(target=signal)
        thread.start()
        assert {wait} == 0
        thread.join()
        """,
    )


def test_long_work_with_the_lock_held_lets_others_run(library: str) -> None:
    """A waiter that helps with many copies must not keep the interpreter from everybody meanwhile."""
    run(
        library,
        """
        size = 64 << 20
        one, two = az.memory(context, size, "device"), az.memory(context, size, "device")
        queue, recorded = az.queue(context), az.list(context)
        for _ in range(20):
            az.copy(recorded, one, two, size)
        az.close(recorded)
        az.execute(queue, recorded)
        az.finish(queue)
        ticks, stop = [], threading.Event()
        def tick():
            while not stop.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.001)
        thread = threading.Thread(target=tick)
        thread.start()
        # A thread that wants the lock may not get a processor in time, but never in all of these attempts.
        for _ in range(30):
            for _ in range(10):
                az.execute(queue, recorded)
            began = time.monotonic()
            assert held.zeCommandQueueSynchronize(queue, c_uint64(FOREVER)) == 0
            ended = time.monotonic()
            if any(began < t < ended for t in list(ticks)):
                break
        else:
            raise AssertionError("the lock was held during all waits")
        stop.set()
        thread.join()
        """,
    )


def test_host_functions_in_python_while_the_caller_waits_with_the_lock(library: str) -> None:
    run(
        library,
        """
        seen = []
        callback = HostFunction(lambda argument: seen.append(argument))
        for mode in (0, 1, 2):
            l = az.immediate(context, mode=mode)
            for i in range(1, 20):
                assert held.zeCommandListAppendHostFunction(l, callback, c_void_p(i), None, None, 0, None) == 0
            assert held.zeCommandListHostSynchronize(l, c_uint64(FOREVER)) == 0
        assert seen == list(range(1, 20)) * 3
        """,
    )


def test_waits_work_in_a_process_with_sub_interpreters(library: str) -> None:
    """Once there is a second interpreter, PyGILState_Check answers yes whoever asks; nobody must believe it."""
    run(
        library,
        """
        try:
            import _interpreters as interpreters
        except ImportError:  # before 3.13
            import _xxsubinterpreters as interpreters
        other = interpreters.create()
        interpreters.run_string(other, "x = 1")
        event, = az.events(context, 1)
        woken = ctypes.c_int()
        waiting = Waiting(event, ctypes.addressof(woken))
        # A thread that Python has never heard of, one of Python's that gave the lock up, and one that holds it.
        assert native.start_waiter(ctypes.addressof(waiting))
        results = []
        thread = threading.Thread(target=lambda: results.append(az.call("zeEventHostSynchronize", event, SOON)))
        thread.start()
        native.signal_asleep(event)
        assert held.zeEventHostSynchronize(event, c_uint64(SOON)) == 0
        thread.join(200)
        assert results == [0]
        while not woken.value:
            time.sleep(0.01)
        interpreters.destroy(other)
        """,
    )


def test_everything_is_used_and_destroyed_after_the_interpreter_is_gone(library: str) -> None:
    out = run(
        library,
        WORKER
        + """
done, failed = ctypes.c_int(), ctypes.c_int()
job = worker(20, 1 << 20, 0, 0, done, failed)
from tests.abi.appends import image
def at_exit(name, handle, owner=None):
    native.destroy_at_exit(name.encode(), owner, handle)
for kind in ("host", "device", "shared"):
    for size in (64, 1 << 16, 4 << 20):
        at_exit("zeMemFree", c_void_p(az.memory(context, size, kind)), context)
at_exit("zeEventDestroy", job.event)
at_exit("zeEventDestroy", az.counter(context))
pool = az.pool(context, 1)
at_exit("zeEventPoolDestroy", pool)
at_exit("zeFenceDestroy", job.fence)
at_exit("zeCommandListDestroy", job.recorded)
at_exit("zeCommandListDestroy", job.list)
gate, = az.events(context, 1)
blocked = az.immediate(context)
az.barrier(blocked, None, [gate])
at_exit("zeCommandListDestroy", blocked)
at_exit("zeCommandQueueDestroy", job.queue)
at_exit("zeImageDestroy", image(az, context))
at_exit("zeSamplerDestroy", az.new("zeSamplerCreate", context, az.device, byref(ze.ze_sampler_desc_t())))
at_exit("zeContextDestroy", context)
native.register_exit(ctypes.addressof(job))
""",
    )
    assert "python is gone" in out
    assert "worked 1 failed 0" in out
    assert "destroyed 20 bad 0" in out


def test_exit_with_blocked_queues_waiters_and_host_functions(library: str) -> None:
    run(
        library,
        """
        gate, = az.events(context, 1)
        for ordinal in (0, 1):
            l = az.immediate(context, ordinal=ordinal)
            az.barrier(l, None, [gate])
            az.fill(l, az.memory(context, 1 << 20), 1, 1 << 20)
        queue, recorded = az.queue(context), az.list(context)
        forever = ctypes.cast(native.sleep_for_ever, c_void_p)
        az.ok("zeCommandListAppendHostFunction", recorded, forever, None, None, None, 0, None)
        az.close(recorded)
        az.execute(queue, recorded, recorded)
        late = HostFunction(lambda _: print("never"))
        az.ok("zeCommandListAppendHostFunction", l, late, None, None, None, 0, None)
        for call in (
            lambda: az.call("zeEventHostSynchronize", gate, FOREVER),
            lambda: az.call("zeCommandQueueSynchronize", queue, FOREVER),
            lambda: az.call("zeDeviceSynchronize", az.device),
            lambda: held.zeEventHostSynchronize(gate, c_uint64(FOREVER)),
            lambda: held.zeCommandListHostSynchronize(l, c_uint64(FOREVER)),
        ):
            threading.Thread(target=call, daemon=True).start()
        waiting = [Waiting(gate, None) for _ in range(3)]
        for w in waiting:
            assert native.start_waiter(ctypes.addressof(w))
        await_sleep_of_others()
        print("leaving", flush=True)
        """,
    )


@pytest.mark.parametrize("held", [True, False])
def test_waiters_that_wake_during_exit_do_no_harm(library: str, held: bool) -> None:
    """Daemon threads wait, the interpreter ends, then the event fires: nobody may run Python or kill the process."""
    run(
        library,
        f"""
        gate, = az.events(context, 1)
        native.signal_at_exit(gate)
        wait = held.zeEventHostSynchronize if {held} else az.lib.zeEventHostSynchronize
        for _ in range(4):
            threading.Thread(target=lambda: print("back", wait(gate, c_uint64(FOREVER))), daemon=True).start()
        await_sleep_of_others()
        """,
    )


def test_waiters_that_wake_while_the_interpreter_ends(library: str) -> None:
    """The event fires in the middle of Py_Finalize, from Python's own exit handlers and from a foreign thread."""
    for _ in range(3):
        run(
            library,
            """
            gate, other = az.events(context, 2)
            for event in (gate, other) * 3:
                wait = lambda event=event: held.zeEventHostSynchronize(event, c_uint64(FOREVER))
                threading.Thread(target=wait, daemon=True).start()
            class Last:
                def __del__(self):
                    lib.zeEventHostSignal(gate)
            lib = az.lib
            lib.zeEventHostSignal
            keep = Last()
            await_sleep_of_others()
            assert native.signal_finalizing(other)
            """,
        )


@pytest.mark.parametrize("how", ["os._exit(0)", "os.kill(os.getpid(), signal.SIGTERM)", "sys.exit(0)"])
def test_other_ways_to_leave(library: str, how: str) -> None:
    import signal

    run_python(
        OPENING
        + f"""
gate, = az.events(context, 1)
l = az.immediate(context)
az.barrier(l, None, [gate])
threading.Thread(target=lambda: held.zeEventHostSynchronize(gate, c_uint64(FOREVER)), daemon=True).start()
await_sleep_of_others()
{how}
""",
        timeout=PATIENCE,
        arguments=[library],
        expect=-signal.SIGTERM if "SIGTERM" in how else 0,
    )


def test_first_init_on_a_foreign_thread_while_the_lock_is_busy(library: str) -> None:
    """zeInit asks Python once; it may have to wait for the lock, but it must get it from a thread without one."""
    run_python(
        """
        import threading
        lib = ze.Library(LIBRARY)
        results = []
        threads = [threading.Thread(target=lambda: results.append(lib.zeInit(0))) for _ in range(4)]
        [t.start() for t in threads]
        while any(t.is_alive() for t in threads):
            pass
        assert results == [0] * 4
        """,
    )
