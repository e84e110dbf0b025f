"""Command lists, recorded and immediate: every command, its order, its errors and its references."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import anyzero as az
from tests.api.conftest import RunPython
from tests.asleep import await_sleep_of_others
from tests.patience import PATIENCE


def run(ctx: az.Context, cl: az.CommandList) -> None:
    with ctx.queue(kind=cl.group) as queue:
        queue.submit(cl).wait(timeout=PATIENCE)


def test_a_recorded_list_runs_many_times(ctx: az.Context) -> None:
    x, y = ctx.to_device(np.arange(8)), ctx.zeros(8, int)
    with ctx.command_list() as cl:
        assert cl.copy(y, x) is None
        assert cl.fill(x, 5) is None
    assert not cl.recording
    run(ctx, cl)
    assert y.copy_to().tolist() == list(range(8))
    run(ctx, cl)
    assert y.copy_to().tolist() == [5] * 8


def test_a_list_is_recorded_again_after_reset(ctx: az.Context) -> None:
    x = ctx.zeros(4, np.uint8)
    cl = ctx.command_list()
    with cl:
        cl.fill(x, 1)
    with pytest.raises(az.InvalidArgument, match="reset it"):
        cl.fill(x, 2)
    cl.end()
    cl.reset()
    with cl:
        cl.fill(x[:2], 2)
    run(ctx, cl)
    assert x.copy_to().tolist() == [2, 2, 0, 0]


def test_a_list_that_is_still_recorded_is_not_run(ctx: az.Context) -> None:
    cl = ctx.command_list()
    with pytest.raises(az.InvalidArgument, match=r"end\(\)"):
        ctx.queue().submit(cl)
    with pytest.raises(az.InvalidArgument, match=r"end\(\)"):
        ctx.immediate().submit(cl)
    with pytest.raises(ZeroDivisionError), cl:
        raise ZeroDivisionError
    assert cl.recording


def test_copies_between_arrays_and_buffers(ctx: az.Context) -> None:
    source = np.arange(6, dtype=np.float32).reshape(2, 3)
    x, target = ctx.buffer((2, 3), np.float32), np.zeros((2, 3), np.float32)
    with ctx.immediate() as lst:
        lst.copy(x, source)
        lst.copy(target, x)
    assert np.array_equal(target, source)
    with pytest.raises(az.InvalidArgument, match="not contiguous"):
        lst.copy(x, source.T)
    with pytest.raises(az.InvalidArgument, match="writable"):
        lst.copy([1, 2], x)
    with pytest.raises(az.InvalidArgument, match="cannot copy shape"):
        lst.copy(x, source[0])
    with pytest.raises(az.ClosedError, match="ImmediateCommandList is closed"):
        lst.copy(x, source)


def test_regions_of_two_and_three_axes(ctx: az.Context) -> None:
    rng = np.random.default_rng(3)
    model = rng.integers(0, 1000, (5, 6, 7), np.int32)
    x, y = ctx.to_device(model), ctx.zeros((4, 5, 6), np.int32)
    expected = np.zeros((4, 5, 6), np.int32)
    with ctx.command_list() as cl:
        cl.copy_region(y, x, (2, 3, 4), target_origin=(1, 0, 2), source_origin=(3, 2, 1))
        cl.copy_region(y[3], model[0], (2, 2), target_origin=(0, 4), source_origin=(4, 5))
    run(ctx, cl)
    expected[1:3, 0:3, 2:6] = model[3:5, 2:5, 1:5]
    expected[3, 0:2, 4:6] = model[0, 4:6, 5:7]
    assert np.array_equal(y.copy_to(), expected)
    lst = ctx.immediate()
    with pytest.raises(az.InvalidArgument, match="exceeds the source"):
        lst.copy_region(y, x, (4, 5, 6), source_origin=(2, 0, 0))
    with pytest.raises(az.InvalidArgument, match="two axes, or three"):
        lst.copy_region(y, x, (2, 2))
    with pytest.raises(az.InvalidArgument, match="int32 to float32"):
        lst.copy_region(np.zeros((2, 2), np.float32), x[0], (1, 1))
    with pytest.raises(az.InvalidArgument, match="OVERLAPPING"):
        lst.copy_region(x[0], x[0], (3, 3), target_origin=(1, 1))


def test_barriers_with_and_without_ranges(ctx: az.Context) -> None:
    x = ctx.zeros(4)
    with ctx.immediate() as lst:
        lst.barrier().wait(timeout=PATIENCE)
        lst.barrier(x, x[:2]).wait(timeout=PATIENCE)


def test_events_order_two_lists(ctx: az.Context) -> None:
    x = ctx.zeros(1, np.int32, kind="shared")
    first, second = ctx.immediate(kind="copy"), ctx.immediate()
    go, filled = ctx.events(2)
    done = second.fill(x, 2, wait=[filled])
    first.wait(go)
    first.fill(x, 1)
    first.signal(filled)
    await_sleep_of_others()
    assert not done.done
    assert np.asarray(x)[0] == 0
    go.signal()
    done.wait(timeout=PATIENCE)
    assert np.asarray(x)[0] == 2


def test_a_completion_can_be_waited_for_by_another_list(ctx: az.Context) -> None:
    x, y = ctx.zeros(1 << 20, np.uint8), ctx.zeros(1 << 20, np.uint8)
    go = ctx.event()
    with ctx.immediate(kind="copy") as first, ctx.immediate() as second:
        filled = first.fill(x, 3, wait=go)
        copied = second.copy(y, x, wait=[filled])
        assert not copied.done
        go.signal()
        copied.wait(timeout=PATIENCE)
    assert (y.copy_to() == 3).all()
    with ctx.immediate(mode="synchronous") as third:
        assert third.copy(x, y, wait=third.barrier()).done


def test_completions_are_of_their_own_command(ctx: az.Context) -> None:
    go = ctx.event()
    with ctx.immediate() as lst:
        before = lst.barrier()
        after = lst.barrier(wait=go)
        before.wait(timeout=PATIENCE)
        assert before.done
        assert not after.done
        with pytest.raises(az.TimeoutError, match=r"the command was not done after 0\.001 seconds"):
            after.wait(timeout=0.001)
        with pytest.raises(az.TimeoutError, match="the list"):
            lst.synchronize(timeout=0)
        # Events of completions that are gone are used again, also while their command is still to come.
        for _ in range(10):
            lst.barrier()
        last = lst.barrier()
        go.signal()
        last.wait(timeout=PATIENCE)
        assert after.done


def test_a_completion_outlives_its_list(ctx: az.Context) -> None:
    lst = ctx.immediate()
    done = lst.fill(ctx.zeros(1 << 20, np.uint8), 1)
    lst.close()
    done.wait(timeout=PATIENCE)
    assert done.done
    assert "Completion" in repr(done)


def test_signal_and_reset_commands(ctx: az.Context) -> None:
    event = ctx.event()
    with ctx.command_list() as cl:
        cl.signal(event)
    run(ctx, cl)
    assert event.done
    with ctx.immediate() as lst:
        lst.reset_event(event).wait(timeout=PATIENCE)
        assert not event.done
        assert lst.signal(event) is event
    assert event.done
    with ctx.command_list() as cl:
        cl.wait(event)
        cl.wait()
        cl.reset_event(event)
    run(ctx, cl)
    assert not event.done


def test_only_events_order_commands(ctx: az.Context) -> None:
    lst = ctx.immediate()
    with pytest.raises(az.InvalidArgument, match="cannot wait for <Fence"):
        lst.barrier(wait=ctx.queue().fence())
    with pytest.raises(az.InvalidArgument, match="cannot wait for 3"):
        lst.barrier(wait=[3])  # type: ignore[list-item]
    event = ctx.event()
    event.close()
    with pytest.raises(az.ClosedError):
        lst.barrier(signal=event)


def test_timestamps_are_written_in_order(ctx: az.Context) -> None:
    times = ctx.zeros(2, np.uint64, kind="host")
    with ctx.command_list() as cl:
        cl.timestamp(times)
        cl.timestamp(times[1:])
    before = ctx.device.timestamp().device
    run(ctx, cl)
    first, second = (int(each) for each in np.asarray(times))
    assert before <= first <= second <= ctx.device.timestamp().device
    with pytest.raises(az.InvalidArgument, match="8 bytes do not fit"):
        ctx.immediate().timestamp(ctx.zeros(4, np.uint8))


def test_timestamps_of_events_are_written_by_the_device(ctx: az.Context) -> None:
    events = ctx.events(3, timing=True)
    times = ctx.zeros(3, az.TIMESTAMPS, kind="shared")
    with ctx.immediate() as lst:
        for event in events:
            lst.barrier(signal=event)
        lst.query_timestamps(times, *events)
    found = np.asarray(times)
    assert found["start"].tolist() == [event.timestamps.start for event in events]
    assert found["end"].tolist() == [event.timestamps.end for event in events]
    with pytest.raises(az.InvalidHandle, match="carries no timestamps"):
        ctx.immediate().query_timestamps(times, ctx.event())


def test_host_functions_run_in_place(ctx: az.Context) -> None:
    x = ctx.zeros(1, np.int32, kind="shared")
    seen: list[tuple[int, str]] = []

    def look(word: str) -> None:
        seen.append((int(np.asarray(x)[0]), word))
        assert threading.current_thread() is not threading.main_thread()

    with ctx.command_list() as cl:
        cl.fill(x, 1)
        cl.host_function(look, "first")
        cl.fill(x, 2)
        cl.host_function(look, "second")
    with ctx.queue() as queue:
        queue.submit(cl, cl)
    assert seen == [(1, "first"), (2, "second")] * 2
    with pytest.raises(TypeError, match="not callable"):
        cl.host_function(3)  # type: ignore[arg-type]


def test_what_a_host_function_raises_arrives_at_the_next_wait(ctx: az.Context) -> None:
    def fail(text: str) -> None:
        raise LookupError(text)

    event = ctx.event()
    lst = ctx.immediate()
    with pytest.raises(LookupError, match="one"):
        lst.host_function(fail, "one").wait(timeout=PATIENCE)
    lst.host_function(fail, "two", signal=event)
    with pytest.raises(LookupError, match="two"):
        event.wait(timeout=PATIENCE)
    lst.host_function(fail, "three")
    with pytest.raises(LookupError, match="three"):
        lst.synchronize(timeout=PATIENCE)
    with ctx.command_list() as cl:
        cl.host_function(fail, "four")
    queue = ctx.queue()
    with pytest.raises(LookupError, match="four"):
        queue.submit(cl).wait(timeout=PATIENCE)
    queue.submit(cl)
    with pytest.raises(LookupError, match="four"):
        queue.synchronize(timeout=PATIENCE)
    with ctx.immediate(mode="synchronous") as synchronous, pytest.raises(LookupError, match="five"):
        synchronous.host_function(fail, "five")
    lst.barrier().wait(timeout=PATIENCE)


def test_what_nobody_waited_for_is_reported_at_close(capsys: pytest.CaptureFixture[str]) -> None:
    ctx = az.device().context()
    ctx.immediate().host_function(lambda: 1 / 0)
    ctx.device.synchronize()
    ctx.close()
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_host_function_may_append_to_another_list(ctx: az.Context) -> None:
    x = ctx.zeros(1, np.int32)
    other = ctx.immediate(kind="copy")
    with ctx.immediate() as lst:
        lst.host_function(lambda: other.fill(x, 8).wait(timeout=PATIENCE)).wait(timeout=PATIENCE)
    assert x.copy_to().tolist() == [8]


def test_hints_are_taken(ctx: az.Context) -> None:
    x = ctx.zeros(1 << 16, kind="shared")
    with ctx.immediate() as lst:
        lst.prefetch(x).wait(timeout=PATIENCE)
        lst.advise(x, "read_mostly")
        lst.advise(x, "cached", device=ctx.device)
    with pytest.raises(ValueError, match="one of read_mostly"):
        lst.advise(x, "fast")  # type: ignore[arg-type]


def test_recorded_lists_run_on_immediate_ones(ctx: az.Context) -> None:
    x = ctx.zeros(2, np.int32)
    with ctx.command_list() as one:
        one.fill(x[:1], 1)
    with ctx.command_list() as two:
        two.copy(x[1:], x[:1])
    event = ctx.event()
    with ctx.immediate() as lst:
        assert lst.submit(one, two, signal=event) is event
        event.wait(timeout=PATIENCE)
    assert x.copy_to().tolist() == [1, 1]


def test_clones_run_what_their_original_recorded(ctx: az.Context) -> None:
    x = ctx.zeros(2, np.int32)
    with ctx.command_list(cloneable=True) as cl:
        cl.fill(x, 6)
    clone = cl.clone()
    cl.close()
    gc.collect()
    run(ctx, clone)
    assert x.copy_to().tolist() == [6, 6]
    plain = ctx.command_list()
    plain.end()
    with pytest.raises(az.InvalidArgument, match="cloneable=True"):
        plain.clone()


def test_copy_lists_run_on_copy_queues_only(ctx: az.Context) -> None:
    with ctx.command_list(kind="copy") as cl:
        cl.barrier()
    run(ctx, cl)
    with pytest.raises(az.InvalidArgument, match="cannot run on a compute queue"):
        ctx.queue().submit(cl)


def test_lists_keep_what_their_commands_use(ctx: az.Context) -> None:
    result = np.zeros(1 << 12, np.uint8)
    source = ctx.full(1 << 12, 7, np.uint8)
    array = np.full(1 << 12, 9, np.uint8)
    gone = weakref.ref(array)
    middle = ctx.buffer(1 << 12)
    with ctx.command_list() as cl:
        cl.copy(middle, source)
        cl.copy(result, middle)
        cl.copy(middle, array)
    del array
    source.close()
    gc.collect()
    assert gone() is not None
    others = [ctx.zeros(1 << 12, np.uint8) for _ in range(4)]
    run(ctx, cl)
    assert (result == 7).all()
    assert (middle.copy_to() == 9).all()
    cl.reset()
    gc.collect()
    assert gone() is None
    del others


def test_immediate_lists_keep_arrays_until_they_are_done(ctx: az.Context) -> None:
    go = ctx.event()
    x = ctx.zeros(1 << 16, np.uint8)
    lst = ctx.immediate()
    array = np.full(1 << 16, 3, np.uint8)
    gone = weakref.ref(array)
    lst.copy(x, array, wait=go)
    del array
    lst.close()
    del lst
    gc.collect()
    assert gone() is not None
    go.signal()
    ctx.device.synchronize()
    assert (x.copy_to() == 3).all()
    ctx.immediate()
    assert gone() is None


def test_several_threads_append_to_one_immediate_list(ctx: az.Context) -> None:
    x = ctx.zeros((8, 64), np.int32)
    lst = ctx.immediate()
    failures: list[BaseException] = []

    def work(row: int) -> None:
        try:
            for value in range(200):
                lst.fill(x[row], value).wait(timeout=PATIENCE)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(row,)) for row in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert (x.copy_to() == 199).all()


def test_the_end_of_a_block_waits_but_not_after_an_error(ctx: az.Context) -> None:
    never = ctx.event()
    lst = ctx.immediate()
    lst.barrier(wait=never)
    with pytest.raises(ZeroDivisionError), lst:
        raise ZeroDivisionError
    assert lst.closed
    never.signal()


def test_a_fault_loses_the_list_and_nothing_else(run_python: RunPython) -> None:
    source = """
    ctx = az.device().context()
    x = ctx.zeros(16, np.uint8)
    lst = ctx.immediate()
    broken = ctx.reserve(4096).buffer(16)
    try:
        lst.copy(x, broken).wait(timeout=200)
    except az.DeviceLost as error:
        assert "a memory copy of 16 bytes" in str(error), error
        assert "on a new one" in str(error)
    else:
        raise AssertionError
    assert ctx.status == "lost"
    try:
        lst.fill(x, 1)
    except az.DeviceLost:
        pass
    else:
        raise AssertionError
    other = az.device().context()
    assert other.status == "ok"
    y = other.full(4, 3, np.uint8)
    assert y.copy_to().tolist() == [3] * 4
    print("alive")
    """
    assert run_python(source, ANYZERO_LOG="off") == "alive\n"


def test_a_program_may_end_while_host_functions_run(run_python: RunPython) -> None:
    source = """
    import time
    ctx = az.device().context()
    lst = ctx.immediate()
    for _ in range(2000):
        lst.host_function(time.sleep, 0.0001)
    """
    for _ in range(3):
        assert run_python(source) == ""
