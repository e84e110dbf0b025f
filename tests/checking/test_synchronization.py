"""Objects that commands still use, and waits that never end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from ctypes import byref, c_void_p

import numpy as np
import pytest

import anyzero
from anyzero import ze
from tests.abi.calls import ASYNCHRONOUS, FOREVER, NOT_READY, OK, SOON, SYNCHRONOUS, Calls, handles
from tests.asleep import await_sleep
from tests.checking.programs import checked, expect


@pytest.fixture
def gate(az: Calls, context: c_void_p) -> Iterator[c_void_p]:
    """An event that commands wait for until the test has ended."""
    event = az.events(context, 1)[0]
    yield event
    az.ok("zeEventHostSignal", event)


@pytest.fixture
def lst(az: Calls, context: c_void_p) -> c_void_p:
    return az.immediate(context, mode=ASYNCHRONOUS)


@pytest.fixture
def recorded(az: Calls, context: c_void_p, gate: c_void_p) -> c_void_p:
    made = az.list(context)
    az.barrier(made, waits=[gate])
    az.close(made)
    return made


def test_an_event_is_reset_that_a_command_waits_for(
    az: Calls, context: c_void_p, lst: c_void_p, gate: c_void_p
) -> None:
    event = az.events(context, 1)[0]
    az.barrier(lst, waits=[gate])
    az.barrier(lst, waits=[event])
    with checked("sync") as found:
        az.lib.zeEventHostReset(event)  # mistake
    assert "waits for it" in expect("event-reset-in-use", found).other
    az.ok("zeEventHostSignal", event)


def test_an_event_is_reset_that_a_command_will_signal(
    az: Calls, context: c_void_p, lst: c_void_p, gate: c_void_p
) -> None:
    event = az.events(context, 1)[0]
    az.barrier(lst, event, [gate])
    with checked("sync") as found:
        az.lib.zeEventHostReset(event)  # mistake
    assert "signals it" in expect("event-reset-in-use", found).other


def test_an_event_is_destroyed_in_use(az: Calls, context: c_void_p, lst: c_void_p, gate: c_void_p) -> None:
    event = az.events(context, 1)[0]
    az.barrier(lst, event, [gate])
    with checked("sync") as found:
        az.lib.zeEventDestroy(event)  # mistake
    expect("event-destroyed-in-use", found)


@pytest.mark.parametrize("function", ["zeCommandListReset", "zeCommandListDestroy"])
def test_a_list_is_changed_while_a_queue_executes_it(
    az: Calls, context: c_void_p, recorded: c_void_p, function: str
) -> None:
    az.execute(az.queue(context, mode=ASYNCHRONOUS), recorded)
    with checked("sync") as found:
        az.ok(function, recorded)
    assert found.the_only().rule.name == "list-in-use"


def test_an_immediate_list_is_destroyed_with_commands_to_do(az: Calls, lst: c_void_p, gate: c_void_p) -> None:
    az.barrier(lst, waits=[gate])
    with checked("sync") as found:
        az.lib.zeCommandListDestroy(lst)  # mistake
    expect("list-in-use", found)


def test_a_queue_is_destroyed_with_commands_to_do(az: Calls, context: c_void_p, recorded: c_void_p) -> None:
    queue = az.queue(context, mode=ASYNCHRONOUS)
    az.execute(queue, recorded)
    with checked("sync") as found:
        az.lib.zeCommandQueueDestroy(queue)  # mistake
    expect("queue-destroyed-in-use", found)


def test_a_fence_is_reset_before_it_is_signalled(az: Calls, context: c_void_p, recorded: c_void_p) -> None:
    queue = az.queue(context, mode=ASYNCHRONOUS)
    fence = az.fence(queue)
    az.execute(queue, recorded, fence=fence)
    with checked("sync") as found:
        az.lib.zeFenceReset(fence)  # mistake
    expect("fence-in-use", found)


def test_a_fence_is_given_to_two_executions(az: Calls, context: c_void_p, recorded: c_void_p) -> None:
    queue = az.queue(context, mode=ASYNCHRONOUS)
    fence = az.fence(queue)
    az.execute(queue, recorded, fence=fence)
    with checked("sync") as found:
        az.lib.zeCommandQueueExecuteCommandLists(queue, 1, handles([recorded]), fence)  # mistake
    assert "has not signalled yet" in expect("fence-in-use", found).message


def test_a_fence_is_used_again_without_a_reset(az: Calls, context: c_void_p) -> None:
    queue, made = az.queue(context), az.list(context)
    az.close(made)
    fence = az.fence(queue)
    az.execute(queue, made, fence=fence)
    az.ok("zeFenceHostSynchronize", fence, SOON)
    with checked("sync") as found:
        az.lib.zeCommandQueueExecuteCommandLists(queue, 1, handles([made]), fence)  # mistake
    assert "already signalled" in expect("fence-in-use", found).message


def test_the_host_waits_for_an_event_that_nothing_signals(az: Calls, context: c_void_p) -> None:
    event = az.events(context, 1)[0]
    with checked("sync") as found:
        result = az.lib.zeEventHostSynchronize(event, FOREVER)  # mistake
    assert result == NOT_READY
    assert "nothing signals" in expect("wait-never-ends", found).message


def test_the_host_waits_for_a_queue_that_waits_for_nothing(az: Calls, context: c_void_p) -> None:
    queue, made, event = az.queue(context, mode=ASYNCHRONOUS), az.list(context), az.events(context, 1)[0]
    az.barrier(made, waits=[event])
    az.close(made)
    fence = az.fence(queue)
    az.execute(queue, made, fence=fence)
    with checked("sync") as found:
        assert az.call("zeCommandQueueSynchronize", queue, FOREVER) == NOT_READY
        assert az.call("zeFenceHostSynchronize", fence, FOREVER) == NOT_READY
    assert [each.rule.name for each in found] == ["wait-never-ends", "wait-never-ends"]
    assert "which nothing signals" in found[0].other
    az.ok("zeEventHostSignal", event)
    az.finish(queue)


def test_the_host_waits_for_an_immediate_list_that_is_stuck(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    event, last = az.events(context, 2)
    az.barrier(lst, waits=[event])
    az.barrier(lst, last)
    with checked("sync") as found:
        assert az.call("zeEventHostSynchronize", last, FOREVER) == NOT_READY
        assert az.call("zeCommandListHostSynchronize", lst, FOREVER) == NOT_READY
    assert [each.rule.name for each in found] == ["wait-never-ends", "wait-never-ends"]
    assert "its queue is stuck" in found[0].message
    az.ok("zeEventHostSignal", event)


def test_two_queues_wait_for_each_other(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    other = az.immediate(context, mode=ASYNCHRONOUS)
    one, two = az.events(context, 2)
    az.barrier(lst, one, [two])
    az.barrier(other, two, [one])
    with checked("sync") as found:
        result = az.lib.zeCommandListHostSynchronize(lst, FOREVER)  # mistake
    assert result == NOT_READY
    assert expect("event-cycle", found).other.count("which only") == 2
    az.ok("zeEventHostSignal", one)
    az.ok("zeCommandListHostSynchronize", lst, SOON)


def test_a_queue_waits_for_its_own_later_command(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    event = az.events(context, 1)[0]
    az.barrier(lst, waits=[event])
    az.barrier(lst, event)
    with checked("sync") as found:
        az.lib.zeCommandListHostSynchronize(lst, FOREVER)  # mistake
    expect("event-cycle", found)
    az.ok("zeEventHostSignal", event)


@pytest.mark.parametrize("call", ["device", "append", "copy", "execute", "free"])
def test_other_calls_that_wait_forever(az: Calls, context: c_void_p, lst: c_void_p, call: str) -> None:
    (gate,) = az.events(context, 1)
    memory = az.memory(context, 64)
    synchronous, made = az.immediate(context, mode=SYNCHRONOUS), az.list(context)
    queue = az.queue(context, mode=SYNCHRONOUS)
    az.barrier(made, waits=[gate])
    az.close(made)
    free = ze.ze_memory_free_ext_desc_t(freePolicy=ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE)
    wait = 1, byref(gate)
    with checked("sync") as found:
        if call == "device":
            az.barrier(lst, waits=[gate])
            result = az.lib.zeDeviceSynchronize(az.device)  # mistake
        elif call == "append":
            result = az.lib.zeCommandListAppendBarrier(synchronous, None, *wait)  # mistake
        elif call == "copy":
            result = az.lib.zeCommandListAppendMemoryCopy(synchronous, memory, memory + 32, 32, None, *wait)  # mistake
        elif call == "execute":
            result = az.lib.zeCommandQueueExecuteCommandLists(queue, 1, byref(made), None)  # mistake
        else:
            az.fill(lst, memory, 1, 64, waits=[gate])
            result = az.lib.zeMemFreeExt(context, byref(free), memory)  # mistake
    assert result == NOT_READY
    assert "which nothing signals" in expect("wait-never-ends", found).other
    az.ok("zeEventHostSignal", gate)
    for each in (lst, synchronous):
        az.ok("zeCommandListHostSynchronize", each, FOREVER)
    az.finish(queue)


def test_a_thread_waits_forever_while_others_wait_for_the_thread(az: Calls, context: c_void_p) -> None:
    gate, event = az.events(context, 2)
    turn = threading.Lock()
    with checked("sync") as found:

        def wait() -> None:
            az.lib.zeEventHostSynchronize(event, FOREVER)  # mistake
            turn.release()

        def take_turns() -> None:
            az.call("zeEventQueryStatus", gate)
            turn.acquire()

        threads = [threading.Thread(target=each, daemon=True) for each in (take_turns, wait)]
        turn.acquire()
        az.call("zeEventQueryStatus", gate)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    expect("wait-never-ends", found)


def test_threads_that_hand_a_turn_to_each_other_may_end_a_wait(az: Calls, context: c_void_p) -> None:
    """Each of them sleeps most of the time, but never all at once."""
    event = az.events(context, 1)[0]
    turns = [threading.Lock() for _ in range(3)]
    with checked("sync") as found:

        def hand_on(own: int) -> None:
            az.call("zeEventQueryStatus", event)
            for _ in range(20_000):
                turns[own].acquire()
                turns[(own + 1) % len(turns)].release()

        for turn in turns:
            turn.acquire()
        threads = [threading.Thread(target=hand_on, args=(own,)) for own in range(len(turns))]

        def signal() -> None:
            for thread in threads:
                thread.join()
            az.ok("zeEventHostSignal", event)

        for thread in (*threads, signaller := threading.Thread(target=signal)):
            thread.start()
        turns[0].release()
        az.ok("zeEventHostSynchronize", event, FOREVER)
        signaller.join()
    assert list(map(str, found)) == []


def test_a_wait_that_another_thread_ends_is_no_mistake(az: Calls, context: c_void_p) -> None:
    gate, event = az.events(context, 2)
    results = []
    with checked("sync") as found:

        def wait() -> None:
            results.append(az.call("zeEventHostSynchronize", event, FOREVER))

        thread = threading.Thread(target=wait)
        # From here on this thread counts as one that may signal.
        az.call("zeEventQueryStatus", gate)
        thread.start()
        await_sleep(thread)
        az.ok("zeEventHostSignal", event)
        thread.join()
    assert results == [OK]
    assert list(map(str, found)) == []


def test_waits_that_a_later_command_of_another_queue_ends(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    other = az.immediate(context, mode=ASYNCHRONOUS)
    one, two, three = az.events(context, 3)
    with checked("sync", "strict") as found:
        az.barrier(lst, three, [two])
        az.barrier(other, one)
        az.barrier(other, two, [one])
        az.ok("zeEventHostSynchronize", three, FOREVER)
        az.ok("zeEventHostReset", three)
        az.ok("zeCommandListHostSynchronize", other, FOREVER)
        for event in (one, two, three):
            az.ok("zeEventHostReset", event)
            az.ok("zeEventDestroy", event)
        az.ok("zeCommandListDestroy", other)
    assert list(map(str, found)) == []


def test_counting_events_that_end(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    event = az.counter(context)
    with checked("sync", "strict") as found:
        for _ in range(3):
            az.barrier(lst, event)
            az.ok("zeEventHostSynchronize", event, FOREVER)
        az.ok("zeEventDestroy", event)
    assert list(map(str, found)) == []


def test_recorded_lists_that_end(az: Calls, context: c_void_p) -> None:
    queue, made, event = az.queue(context, mode=ASYNCHRONOUS), az.list(context), az.events(context, 1)[0]
    fence = az.fence(queue)
    memory = az.memory(context, 1 << 20)
    az.ok("zeCommandListAppendEventReset", made, event)
    az.fill(made, memory, 1, 1 << 20, event)
    az.barrier(made, waits=[event])
    az.close(made)
    with checked("sync", "strict") as found:
        for _ in range(20):
            az.execute(queue, made, fence=fence)
            az.ok("zeEventHostSynchronize", event, SOON)
            az.ok("zeFenceHostSynchronize", fence, FOREVER)
            az.ok("zeFenceReset", fence)
        az.ok("zeCommandListReset", made)
        az.ok("zeCommandQueueSynchronize", queue, FOREVER)
        az.ok("zeFenceDestroy", fence)
        az.ok("zeCommandQueueDestroy", queue)
    assert list(map(str, found)) == []


def test_an_event_of_the_last_command_ends_a_list(az: Calls, context: c_void_p) -> None:
    queue, made, event = az.queue(context, mode=ASYNCHRONOUS), az.list(context), az.events(context, 1)[0]
    az.barrier(made, event)
    az.close(made)
    with checked("sync") as found:
        for _ in range(50):
            az.execute(queue, made)
            az.ok("zeEventHostSynchronize", event, FOREVER)
            az.ok("zeEventHostReset", event)
            az.ok("zeCommandListReset", made)
            az.barrier(made, event)
            az.close(made)
    assert list(map(str, found)) == []


def test_a_callback_may_signal_anything(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    """A queue with a host function is never called stuck."""
    from tests.abi.calls import HostFunction

    event = az.events(context, 1)[0]
    done = HostFunction(lambda _: az.ok("zeEventHostSignal", event))
    with checked("sync") as found:
        az.ok("zeCommandListAppendHostFunction", lst, done, None, None, None, 0, None)
        az.ok("zeEventHostSynchronize", event, FOREVER)
        az.ok("zeCommandListHostSynchronize", lst, FOREVER)
    assert list(map(str, found)) == []


def test_a_callback_waits_for_its_own_queue(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    from tests.abi.calls import HostFunction

    done = HostFunction(lambda _: az.call("zeCommandListHostSynchronize", lst, FOREVER))
    with checked("sync") as found:
        az.ok("zeCommandListAppendHostFunction", lst, done, None, None, None, 0, None)
        az.ok("zeCommandListHostSynchronize", lst, FOREVER)
    finding = found.the_only()
    assert finding.rule.name == "wait-never-ends"
    assert "a host function waits for its own queue" in finding.message


def test_the_descriptor_of_an_event_is_passed_by_pointer(az: Calls, context: c_void_p) -> None:
    pool = az.pool(context, 1)
    desc = ze.ze_event_desc_t(index=0)
    with checked("strict") as found:
        az.ok("zeEventDestroy", az.new("zeEventCreate", pool, byref(desc)))
    assert list(map(str, found)) == []


def test_a_thread_that_has_not_called_yet_may_end_a_wait(az: Calls, context: c_void_p) -> None:
    event = az.events(context, 1)[0]
    with checked("sync") as found:
        waker = threading.Timer(0.2, lambda: az.ok("zeEventHostSignal", event))
        waker.start()
        az.ok("zeEventHostSynchronize", event, FOREVER)
        waker.join()
    assert list(map(str, found)) == []


def test_the_host_reads_what_a_command_is_still_to_write(az: Calls) -> None:
    context = anyzero.device().context()
    values, gate = context.zeros(16, np.int32, kind="shared"), context.event()
    lst = context.immediate()
    with checked("sync") as found:
        view = np.asarray(values)
        filled = lst.fill(values, 7, wait=[gate])
        np.array(values)  # mistake
        gate.signal()
        filled.wait()
        assert (np.array(values) == 7).all()
    assert (view == 7).all()
    assert "memory fill" in expect("early-host-read", found).other


def test_a_list_is_reset_once_its_last_event_was_seen() -> None:
    """The queue counts the list as done a moment after its last command has signalled; by then the event is reset."""
    with checked("sync") as found, anyzero.device().context() as ctx, ctx.queue() as queue:
        memory, done, lst = ctx.zeros(64, np.uint8), ctx.event(), ctx.command_list()
        for number in range(200):
            lst.fill(memory, number % 256, signal=done)
            lst.end()
            queue.submit(lst)
            done.wait()
            done.reset()
            lst.reset()
    assert not found, str(found[0])


def test_python_lets_a_list_go_that_a_queue_executes() -> None:
    with anyzero.device().context() as ctx, ctx.queue() as queue:
        gate = ctx.event()
        with ctx.command_list() as made:
            made.barrier(wait=gate)
        done = queue.submit(made)
        with checked("sync") as found:
            del made
            gate.signal()
            done.wait()
    assert list(map(str, found)) == []
