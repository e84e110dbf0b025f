"""The fast way into the driver, and the completions that are given out again."""

from __future__ import annotations

import ctypes
import gc
import weakref
from threading import Thread

import numpy as np
import pytest

import anyzero as az
from anyzero import ze
from anyzero.api.calls.hot import Address, hot
from tests.patience import PATIENCE


def test_it_takes_numbers_and_none_alone() -> None:
    query = hot("zeEventQueryStatus")
    assert query.__name__ == "zeEventQueryStatus"
    assert query(None) == query(0) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    with pytest.raises(TypeError):
        query("handle")
    with pytest.raises(TypeError):
        query(1.5)


@pytest.mark.parametrize("count", [0, 2, 20])
def test_it_takes_exactly_its_arguments(count: int) -> None:
    with pytest.raises(TypeError):
        hot("zeEventQueryStatus")(*[0] * count)


def test_an_address_keeps_what_is_there() -> None:
    memory = (ctypes.c_uint32 * 2)(3, 4)
    gone = weakref.ref(memory)
    address = Address(memory)
    del memory
    gc.collect()
    assert gone() is not None
    assert (ctypes.c_uint32 * 2).from_address(address)[1] == 4


def test_others_run_meanwhile(ctx: az.Context) -> None:
    event = ctx.event()
    helper = Thread(target=event.signal)
    # Would the wait hold the GIL, the helper could never signal.
    helper.start()
    assert hot("zeEventHostSynchronize")(event.handle, 5_000_000_000) == 0
    helper.join()


def test_completions_that_are_held_stay_what_they_are(ctx: az.Context) -> None:
    start = ctx.event()
    x = ctx.zeros(1, np.int32)
    with ctx.immediate() as lst:
        early = [lst.fill(x, value) for value in range(10)]
        blocked = lst.fill(x, 10, wait=start)
        later = [lst.fill(x, value) for value in range(10)]
        assert len({id(each) for each in (*early, blocked, *later)}) == 21
        for each in early:
            each.wait(timeout=PATIENCE)
        assert not blocked.done
        assert not any(each.done for each in later)
        start.signal()
        later[-1].wait(timeout=PATIENCE)
        assert blocked.done


def test_completions_that_nobody_holds_are_given_out_again(ctx: az.Context) -> None:
    x = ctx.zeros(1, np.int32)
    with ctx.immediate() as lst:
        seen = set()
        done = lst.fill(x, 0)
        for value in range(100):
            done = lst.fill(x, value)
            seen.add(done.handle)  # type: ignore[attr-defined]
        done.wait(timeout=PATIENCE)
    assert len(seen) < 10


def test_a_list_goes_with_its_last_name(ctx: az.Context) -> None:
    x = ctx.zeros(1, np.int32)
    lst = ctx.immediate()
    done = lst.fill(x, 7)
    gone = weakref.ref(lst)
    gc.disable()
    try:
        del lst
        assert gone() is None
    finally:
        gc.enable()
    done.wait(timeout=PATIENCE)
    assert x.copy_to()[0] == 7


def test_a_completion_outlives_its_closed_list(ctx: az.Context) -> None:
    start = ctx.event()
    lst = ctx.immediate()
    done = lst.barrier(wait=start)
    lst.close()
    assert not done.done
    start.signal()
    done.wait(timeout=PATIENCE)
