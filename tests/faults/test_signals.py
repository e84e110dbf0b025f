"""The program's own faults stay its own: device traps must not swallow, delay or disguise them."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.abi.calls import run_python
from tests.faults import gil

USE_THE_DEVICE = """
az = Calls()
context = az.context()
l = az.immediate(context)
room = az.memory(context, 1 << 20)
az.fill(l, room, 1, 1 << 20)
az.ok("zeCommandListHostSynchronize", l, SOON)
bad = az.immediate(az.context())
az.call("zeCommandListAppendMemoryCopy", bad, 0x700000001000, room, 64, None, 0, None)
az.error(DEVICE_LOST, "zeCommandListHostSynchronize", bad, SOON)
"""


@pytest.mark.parametrize("when", ["before", "after", "after, and then ours again", "never"])
def test_a_fault_of_the_program_kills_it(when: str) -> None:
    """Also on another thread, and with Python's fault handler before or behind ours."""
    before = "faulthandler.enable()" if when == "before" else ""
    after = "faulthandler.enable()" if when.startswith("after") else ""
    after += "\naz.immediate(context)" if when.endswith("again") else ""
    done = run_python(
        f"{before}\n{USE_THE_DEVICE}\n{after}\nctypes.string_at(0x700000002000)",
        expect=-signal.SIGSEGV,
    )
    assert done.stderr.count("Segmentation fault") == (when != "never")
    assert ("string_at" in done.stderr) == (when != "never")


def test_a_fault_on_a_thread_kills_it() -> None:
    run_python(
        USE_THE_DEVICE
        + """
t = threading.Thread(target=lambda: ctypes.string_at(0x700000002000))
t.start()
t.join()
""",
        expect=-signal.SIGSEGV,
    )


def test_a_fault_in_a_host_function_is_the_programs_own() -> None:
    run_python(
        USE_THE_DEVICE
        + """
callback = HostFunction(lambda _: ctypes.string_at(0x700000002000))
az.ok("zeCommandListAppendHostFunction", l, callback, None, None, None, 0, None)
az.call("zeCommandListHostSynchronize", l, SOON)
""",
        expect=-signal.SIGSEGV,
    )


@pytest.mark.parametrize(
    "number", [signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGTERM]
)
def test_a_signal_that_is_sent_has_its_usual_effect(number: signal.Signals) -> None:
    run_python(USE_THE_DEVICE + f"\nos.kill(os.getpid(), {int(number)})\ntime.sleep(200)\n", expect=-number)


def test_the_programs_handler_is_called() -> None:
    done = run_python(
        """
        def handler(number, frame):
            print("handled", number, flush=True)
            os._exit(3)
        signal.signal(signal.SIGSEGV, handler)
        """
        + USE_THE_DEVICE.replace("\n", "\n        ")
        + """
        os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(200)
        """,
        expect=3,
    )
    assert "handled 11" in done.stdout


def test_device_faults_are_contained_with_a_handler_that_came_later() -> None:
    """faulthandler.enable() after zeInit precedes our handler; we must still handle device faults."""
    done = run_python(
        USE_THE_DEVICE
        + """
faulthandler.enable()
for ordinal in (0, 1):
    for mode in (0, 1):
        again = az.immediate(az.context(), mode=mode, ordinal=ordinal)
        az.call("zeCommandListAppendMemoryCopy", again, 0x700000001000, room, 64, None, 0, None)
        az.error(DEVICE_LOST, "zeCommandListHostSynchronize", again, SOON)
print("alive")
""",
    )
    assert "alive" in done.stdout


def test_signals_of_the_program_do_not_run_on_our_threads() -> None:
    """A handler interrupts the main thread, also while it waits in the driver; the wait continues afterwards."""
    run_python(
        """
        az = Calls()
        context = az.context()
        gate, = az.events(context, 1)
        lists = [az.immediate(context, ordinal=i % 2) for i in range(4)]
        for l in lists:
            az.barrier(l, None, [gate])
        hits = []
        signal.signal(signal.SIGALRM, lambda *_: hits.append(threading.get_ident()))
        main = threading.main_thread()
        def interrupt(times, then=None):
            for _ in range(times):
                await_sleep(main)
                os.kill(os.getpid(), signal.SIGALRM)
            await_sleep(main)
            if then:
                az.ok("zeEventHostSignal", then)
        def interrupting(*arguments):
            thread = threading.Thread(target=interrupt, args=arguments)
            thread.start()
            return thread
        # The handler has to run before the wait is over, which is why each wait is ended by the one who interrupts.
        for name, handle in (
            ("zeEventHostSynchronize", gate),
            ("zeCommandListHostSynchronize", lists[0]),
            ("zeCommandListHostSynchronize", lists[1]),
        ):
            thread = interrupting(5, gate)
            az.ok(name, handle, SOON)
            thread.join()
            az.ok("zeEventHostReset", gate)
            for l in lists:
                az.barrier(l, None, [gate])
        began = time.monotonic()
        thread = interrupting(5)
        az.error(NOT_READY, "zeEventHostSynchronize", gate, SECOND // 4)
        assert time.monotonic() - began >= 0.25
        az.ok("zeEventHostSignal", gate)
        thread.join()
        assert hits and set(hits) == {main.ident}
        """,
    )


def test_device_faults_on_threads_with_blocked_signals() -> None:
    run_python(
        USE_THE_DEVICE
        + """

results = []
def work():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    mine = az.immediate(az.context(), mode=1)
    results.append(az.call("zeCommandListAppendMemoryCopy", mine, 0x700000001000, room, 64, None, 0, None))
t = threading.Thread(target=work)
t.start()
t.join()
assert results == [DEVICE_LOST], results
""",
    )


def test_a_lost_device_is_reported_on_stderr_when_asked() -> None:
    done = run_python(USE_THE_DEVICE)
    assert "device lost in a memory copy of 64 bytes" in done.stderr
    done = run_python(USE_THE_DEVICE, ANYZERO_LOG="off")
    assert done.stderr == ""


def test_two_faults_behind_a_handler_that_chains(tmp_path: Path) -> None:
    """A runtime's handler, installed later, blocks signals while it runs: the second fault must be contained too."""
    run_python(
        """
        from tests.faults.gil import load
        az = Calls()
        native = load(sys.argv[1])
        room = az.memory(az.context(), 64)
        lists = [az.immediate(az.context(), mode=1) for _ in range(6)]
        others = [az.immediate(az.context(), ordinal=1) for _ in range(6)]
        native.install_chaining_handler()
        for l in lists:
            r = az.call("zeCommandListAppendMemoryCopy", l, 0x700000001000, room, 64, None, 0, None)
            assert r == DEVICE_LOST
        size = 1 << 20
        for l in others:
            pattern = c_uint8(1)
            az.ok("zeCommandListAppendMemoryFill", l, 0x700000001000, byref(pattern), 1, size, None, 0, None)
            az.error(DEVICE_LOST, "zeCommandListHostSynchronize", l, SOON)
        """,
        arguments=[str(gil.build(tmp_path))],
    )
