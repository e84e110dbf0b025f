"""Capturing immediate lists into graphs, from Python."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import anyzero as az


@pytest.fixture
def ctx() -> az.Context:
    return az.device().context()


def test_graph_keeps_what_its_commands_use(ctx: az.Context) -> None:
    result = ctx.zeros(4, np.int64, kind="shared")
    lst, other = ctx.immediate(), ctx.immediate()
    source, passing = ctx.to_device(np.arange(4)), ctx.zeros(4, np.int64)
    alive = [weakref.ref(each) for each in (source, passing)]
    with lst.capture() as graph:
        first = lst.copy(passing, source)
        second = other.copy(result, passing, wait=first)
        lst.wait(second)
    runs = graph.instantiate()
    graph.close()
    del source, passing, graph
    lst.synchronize()
    other.synchronize()
    gc.collect()
    lst.replay(runs).wait(timeout=200)
    assert np.array_equal(np.asarray(result), np.arange(4))
    lst.synchronize()
    runs.close()
    del runs, first, second
    gc.collect()
    lst.synchronize()
    assert all(each() is None for each in alive)


def test_host_functions_and_kernels_replay(ctx: az.Context) -> None:
    called: list[int] = []
    lst = ctx.immediate()
    with lst.capture() as graph:
        lst.host_function(called.append, 1)
    assert called == []
    runs = graph.instantiate()
    for _ in range(3):
        lst.replay(runs)
    lst.synchronize(timeout=200)
    assert called == [1, 1, 1]


def test_exception_in_the_block_ends_the_capture(ctx: az.Context) -> None:
    x, lst = ctx.zeros(2, np.uint8, kind="shared"), ctx.immediate()
    graph = lst.capture()

    def fail() -> None:
        with graph:
            lst.fill(x, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert graph.closed
    lst.fill(x, 2).wait(timeout=200)
    assert np.asarray(x).tolist() == [2, 2]


def test_errors_say_what_to_do(ctx: az.Context) -> None:
    lst, other, x = ctx.immediate(), ctx.immediate(), ctx.zeros(2, np.uint8)
    with pytest.raises(az.InvalidArgument, match="asynchronous"):
        ctx.immediate(mode="synchronous").capture()
    with lst.capture() as graph:
        done = lst.fill(x, 1)
        with pytest.raises(az.UnsupportedFeature, match="end the capture"):
            done.wait()
        with pytest.raises(az.UnsupportedFeature, match="end the capture"):
            lst.synchronize()
        with pytest.raises(az.InvalidArgument, match="end that first"):
            lst.capture()
        assert not graph.empty
        assert graph.capturing
    unjoined = lst.capture()
    other.fill(x, 2, wait=lst.fill(x, 1))
    with pytest.raises(az.Error, match="signal an event"):
        unjoined.end()
    lst.fill(x, 3).wait(timeout=200)
    other.fill(x, 4).wait(timeout=200)


def test_list_closed_while_capturing(ctx: az.Context) -> None:
    lst = ctx.immediate()
    graph = lst.capture()
    lst.close()
    with pytest.raises(az.InvalidArgument, match="closed"):
        graph.end()
