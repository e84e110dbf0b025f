"""Kernels: launching them in every way, on every list, with every size, and what is known of them."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler.targets.cpu import cache_bytes
from tests.api.conftest import RunPython
from tests.api.kernels import EXAMPLES, KERNELS, SAXPY
from tests.patience import PATIENCE


@pytest.fixture
def saxpy(ctx: az.Context) -> az.Kernel:
    return ctx.module(SAXPY)["saxpy"]


@pytest.fixture
def x(ctx: az.Context) -> az.Buffer:
    return ctx.full(64, 1, np.float32)


@pytest.fixture
def y(ctx: az.Context) -> az.Buffer:
    return ctx.zeros(64, np.float32, kind="shared")


def values(buffer: az.Buffer) -> set[float]:
    return set(buffer.copy_to().tolist())


# Targets of launches


def test_without_a_list_it_is_done_when_the_call_returns(saxpy: az.Kernel, x: az.Buffer, y: az.Buffer) -> None:
    assert saxpy[64](y, x, 2.0) is None  # type: ignore[func-returns-value]
    assert (np.asarray(y) == 2).all()


def test_order_needs_a_list(ctx: az.Context, saxpy: az.Kernel, x: az.Buffer, y: az.Buffer) -> None:
    with pytest.raises(TypeError, match="pass the list with on="):
        saxpy[64](y, x, 2.0, signal=ctx.event())
    with pytest.raises(TypeError, match="pass the list with on="):
        saxpy[64](y, x, 2.0, wait=ctx.event())
    saxpy[64](y, x, 2.0, wait=())


def test_on_an_immediate_list_it_returns_a_completion(
    ctx: az.Context, saxpy: az.Kernel, x: az.Buffer, y: az.Buffer
) -> None:
    go, done = ctx.events(2, timing=True)
    begun = ctx.device.timestamp().host
    with ctx.immediate() as lst:
        first = saxpy[64](y, x, 2.0, on=lst, wait=go)
        second = saxpy[64](y, x, 3.0, group=16, on=lst, signal=done, wait=[first])
        assert second is done
        assert not done.done
        assert (np.asarray(y) == 0).all()
        go.signal()
        second.wait(timeout=PATIENCE)
        assert first.done
    assert (np.asarray(y) == 5).all()
    assert 0 < done.kernel_ns < ctx.device.timestamp().host - begun


def test_on_a_synchronous_list_it_is_done(ctx: az.Context, saxpy: az.Kernel, x: az.Buffer, y: az.Buffer) -> None:
    with ctx.immediate(mode="synchronous") as lst:
        assert saxpy[64](y, x, 2.0, on=lst).done
        assert (np.asarray(y) == 2).all()


def test_a_recorded_launch_runs_as_often_as_it_is_submitted(
    ctx: az.Context, saxpy: az.Kernel, x: az.Buffer, y: az.Buffer
) -> None:
    with ctx.command_list() as cl:
        assert saxpy[64](y, x, 1.0, on=cl) is None  # type: ignore[func-returns-value]
        assert cl.launch(saxpy, 64, (y, x, 2.0), group=32) is None  # type: ignore[func-returns-value]
    with ctx.queue() as queue:
        for _ in range(3):
            queue.submit(cl).wait(timeout=PATIENCE)
    assert values(y) == {9}


def test_arguments_are_those_of_the_append(ctx: az.Context, saxpy: az.Kernel, x: az.Buffer, y: az.Buffer) -> None:
    with ctx.command_list() as cl:
        cl.launch(saxpy, 64, args=[y, x, 1.0])
    saxpy[32](y, x, 0.0)
    saxpy.close()
    with ctx.queue() as queue:
        queue.submit(cl).wait(timeout=PATIENCE)
    assert values(y) == {1}


def test_a_copy_engine_launches_nothing(ctx: az.Context, saxpy: az.Kernel, x: az.Buffer, y: az.Buffer) -> None:
    lst = ctx.immediate(kind="copy")
    with pytest.raises(az.InvalidArgument, match="only copies"):
        saxpy[64](y, x, 1.0, on=lst)


def test_a_closed_kernel_says_so(saxpy: az.Kernel, x: az.Buffer, y: az.Buffer) -> None:
    launch = saxpy[64]
    saxpy.close()
    for use in (
        lambda: launch(y, x, 1.0),
        lambda: saxpy[64](y, x, 1.0),
        lambda: saxpy.properties,
        lambda: saxpy.suggest_group_size(8),
    ):
        with pytest.raises(az.ClosedError, match="this Kernel is closed"):
            use()
    assert "closed" in repr(saxpy)


def test_what_a_launch_uses_stays_until_it_is_done(ctx: az.Context, saxpy: az.Kernel) -> None:
    go, x, y = ctx.event(), ctx.full(8, 1, np.float32), ctx.zeros(8, np.float32)
    memory = weakref.ref(x.allocation)
    lst = ctx.immediate()
    done = saxpy[8](y, x, 2.0, on=lst, wait=go)
    del x
    gc.collect()
    assert memory() is not None
    go.signal()
    done.wait(timeout=PATIENCE)
    lst.synchronize()
    assert memory() is None
    assert values(y) == {2}


def test_a_recorded_list_keeps_what_its_launches_use(ctx: az.Context) -> None:
    image_scaling = ctx.module(EXAMPLES / "image_scaling.spv")["image_scaling"]
    small, large = (ctx.image((size, size), np.float32, channels=4) for size in (2, 4))
    small.copy_from(np.full((2, 2, 4), 7, np.float32))
    with ctx.command_list() as cl:
        cl.launch(image_scaling, (4, 4), args=(small, large, ctx.sampler(normalized=True)))
    del small, image_scaling
    gc.collect()
    with ctx.queue() as queue:
        queue.submit(cl).wait(timeout=PATIENCE)
    assert (large.copy_to() == 7).all()


# Sizes


def places(ctx: az.Context, launch: Any, shape: tuple[int, ...], **options: Any) -> Any:
    kernel = ctx.module(EXAMPLES / "kernel_launch.spv")["places"]
    out = ctx.zeros((*shape, 4), np.int32)
    launch(kernel, out)
    return np.moveaxis(out.copy_to(), -1, 0)


def test_sizes_are_work_items_x_first(ctx: az.Context) -> None:
    x, y, local, group = places(ctx, lambda kernel, out: kernel[8, 6](out, group=(4, 2)), (6, 8))
    assert (x == np.arange(8)).all()
    assert (y == np.arange(6)[:, None]).all()
    assert (local == np.arange(8) % 4).all()
    assert (group == np.arange(8) // 4).all()


def test_groups_too_large_are_told(ctx: az.Context, saxpy: az.Kernel, x: az.Buffer, y: az.Buffer) -> None:
    most = saxpy.properties.max_group_size
    with pytest.raises(az.InvalidArgument, match=f"1 to {most} work-items"):
        saxpy[2 * most](y, x, 1.0, group=2 * most)


def test_a_required_group_size_is_taken_and_asked_for(ctx: az.Context) -> None:
    tiles = ctx.module(EXAMPLES / "kernel_launch.spv")["tiles"]
    assert tiles.properties.required_group_size == (8, 4, 1)
    assert tiles.suggest_group_size((16, 8)) == (8, 4)
    out = ctx.zeros((8, 16), np.int32)
    tiles[16, 8](out)
    assert values(out) == {84} if out.ndim == 1 else (out.copy_to() == 84).all()
    with pytest.raises(az.InvalidArgument, match="requires 8 x 4 x 1"):
        tiles[16, 8](out, group=(4, 8))
    with pytest.raises(az.InvalidArgument, match="12 along x is not a multiple of the group size 8") as caught:
        tiles[12, 8](out)
    assert "requires that group size" in caught.value.remedy


def test_many_sizes_are_fine(saxpy: az.Kernel, x: az.Buffer, y: az.Buffer) -> None:
    for size in range(1, 65):
        for group in (None, 1):
            saxpy[size](y, x, 1.0, group=group)
    assert y.copy_to().tolist() == [2 * (64 - i) for i in range(64)]


@pytest.mark.parametrize("group", ["None", "1000"])
def test_many_items_need_no_memory_of_their_own(run_python: RunPython, group: str) -> None:
    program = """
        import resource

        with az.device().context() as ctx, ctx.immediate() as lst:
            saxpy = ctx.module(sys.argv[1])["saxpy"]
            x, y = ctx.full(64, 1, np.float32), ctx.zeros(64, np.float32)
            group = eval(sys.argv[2])
            saxpy[64000](y, x, 2.0, 64, group=group, on=lst).wait(timeout=200)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            saxpy[10**9](y, x, 2.0, 64, group=group, on=lst).wait(timeout=200)
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, set(y.copy_to().tolist()))
    """
    kilobytes, found = run_python(program, str(KERNELS / "saxpy.spv"), group).split(maxsplit=1)
    assert int(kilobytes) < 4096
    assert found == "{4.0}\n"


def test_ids_begin_at_the_offset(ctx: az.Context, saxpy: az.Kernel, x: az.Buffer, y: az.Buffer) -> None:
    with ctx.immediate() as lst:
        lst.launch(saxpy, 8, (y, x, 1.0), group=4, offset=16)
        lst.launch(saxpy, 8, (y, x, 1.0), group=4)
        lst.launch(saxpy, 8, (y, x, 1.0), group=4, offset=(24,))
        saxpy[8](y, x, 1.0, group=4, on=lst)
    assert y.copy_to().tolist() == [2] * 8 + [0] * 8 + [1] * 16 + [0] * 32
    with pytest.raises(az.InvalidArgument, match="cannot be negative"):
        ctx.immediate().launch(saxpy, 8, args=(y, x, 1.0), offset=-1)
    with pytest.raises(az.InvalidArgument, match="4 dimensions"):
        ctx.immediate().launch(saxpy, 8, args=(y, x, 1.0), offset=(1, 2, 3, 4))


# Launches with their number of groups in memory


def counts(ctx: az.Context, *groups: tuple[int, int, int]) -> az.Buffer:
    return ctx.to_device(np.array(groups, np.uint32))


def test_an_indirect_launch_reads_its_groups_when_it_runs(
    ctx: az.Context, saxpy: az.Kernel, x: az.Buffer, y: az.Buffer
) -> None:
    groups = counts(ctx, (0, 0, 0))
    with ctx.command_list() as cl:
        cl.launch_indirect(saxpy, groups, (y, x, 1.0), group=8)
    with ctx.queue() as queue:
        for number in (2, 4, 0):
            groups.copy_from(np.array([[number, 1, 1]], np.uint32))
            queue.submit(cl).wait(timeout=PATIENCE)
    assert y.copy_to().tolist() == [2] * 16 + [1] * 16 + [0] * 32


def test_an_indirect_launch_needs_a_group_size_and_room(ctx: az.Context, saxpy: az.Kernel, x: az.Buffer) -> None:
    lst = ctx.immediate()
    with pytest.raises(az.InvalidArgument, match="so an indirect launch needs one"):
        lst.launch_indirect(saxpy, counts(ctx, (1, 1, 1)), args=(x, x, 1.0))
    with pytest.raises(az.InvalidArgument, match="take 12 bytes; the buffer has 8"):
        lst.launch_indirect(saxpy, ctx.zeros(2, np.uint32), (x, x, 1.0), group=1)
    tiles = ctx.module(EXAMPLES / "kernel_launch.spv")["tiles"]
    out = ctx.zeros(64, np.int32)
    lst.launch_indirect(tiles, counts(ctx, (2, 1, 1)), args=(out,)).wait(timeout=PATIENCE)
    assert values(out) == {84}


def test_several_kernels_are_launched_at_once(ctx: az.Context, x: az.Buffer, y: az.Buffer) -> None:
    module = ctx.module(SAXPY)
    launches = [(module.kernel("saxpy"), 4, (y[16 * at :], x, 1.0 + at)) for at in range(3)]
    groups = counts(ctx, (1, 1, 1), (2, 1, 1), (4, 1, 1))
    with ctx.immediate() as lst:
        lst.launch_several_indirect(launches, groups)
        lst.launch_several_indirect(launches, groups, ctx.full(1, 1, np.uint32))
    expected = np.zeros(64)
    expected[:4], expected[16:24], expected[32:48] = 2, 2, 3
    assert np.array_equal(y.copy_to(), expected)


def test_several_kernels_that_make_no_sense_are_told(
    ctx: az.Context, saxpy: az.Kernel, x: az.Buffer, y: az.Buffer
) -> None:
    lst, groups = ctx.immediate(), counts(ctx, (1, 1, 1))
    one = (saxpy, 1, (y, x, 1.0))
    with pytest.raises(az.InvalidArgument, match="appears twice"):
        lst.launch_several_indirect([one, one], groups)
    with pytest.raises(az.InvalidArgument, match="no kernels"):
        lst.launch_several_indirect([], groups)
    other = (ctx.module(SAXPY)["saxpy"], 1, (y, x, 1.0))
    with pytest.raises(az.InvalidArgument, match="take 24 bytes"):
        lst.launch_several_indirect([one, other], groups)
    with pytest.raises(az.InvalidArgument, match="takes 4 bytes"):
        lst.launch_several_indirect([one], groups, ctx.zeros(1, np.uint8))


# Groups that wait for each other


def test_groups_of_a_cooperative_launch_run_together(ctx: az.Context) -> None:
    share = ctx.module(EXAMPLES / "cooperative_kernel.spv")["share"]
    most = share.max_cooperative_groups(8)
    assert most >= 1
    buffer = ctx.full(most * 8, 1, np.float32)
    sums, arrived = ctx.zeros(most, np.float32), ctx.zeros(1, np.int32)
    with ctx.immediate() as lst:
        lst.launch(share, most * 8, (buffer, sums, arrived), group=8, cooperative=True).wait(timeout=PATIENCE)
        assert np.allclose(buffer.copy_to(), 1 / (most * 8))
        with pytest.raises(az.InvalidArgument, match="can run at the same time"):
            lst.launch(share, (most + 1) * 8, (buffer, sums, arrived), group=8, cooperative=True)


# Kernel properties


def test_properties_are_plain_values(ctx: az.Context, saxpy: az.Kernel) -> None:
    properties = saxpy.properties
    assert properties.arguments == 3
    assert properties.required_group_size is None
    assert properties.max_group_size >= properties.preferred_group_multiple >= 1
    assert len(properties.uuid) == 16
    assert ctx.module(KERNELS / "reduction.spv")[next(iter(ctx.module(KERNELS / "reduction.spv")))].properties
    assert saxpy.attributes == ""
    assert "reqd_work_group_size" in ctx.module(EXAMPLES / "kernel_launch.spv")["tiles"].attributes


def test_settings_are_words(saxpy: az.Kernel) -> None:
    assert saxpy.indirect_access == frozenset()
    saxpy.set_indirect_access("host", "shared")
    assert saxpy.indirect_access == {"host", "shared"}
    saxpy.set_indirect_access()
    assert saxpy.indirect_access == frozenset()
    with pytest.raises(ValueError, match="'disk' is not a kind of memory"):
        saxpy.set_indirect_access("disk")  # type: ignore[arg-type]
    for prefer in ("local", "data", None):
        saxpy.set_cache_config(prefer)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="prefer='l1'"):
        saxpy.set_cache_config("l1")  # type: ignore[arg-type]


# Faults, and devices without paging


def test_a_fault_in_a_kernel_is_reported_and_contained(ctx: az.Context, saxpy: az.Kernel, y: az.Buffer) -> None:
    lst = ctx.immediate()
    with pytest.raises(az.DeviceLost, match="saxpy"):
        saxpy[64](y, None, 1.0, on=lst).wait(timeout=PATIENCE)
    with az.device().context() as fresh:
        a, b = fresh.full(4, 1, np.float32), fresh.zeros(4, np.float32)
        fresh.module(SAXPY)["saxpy"][4](b, a, 1.0)
        assert values(b) == {1}


def test_a_fault_without_a_list_is_reported_too(ctx: az.Context, saxpy: az.Kernel, x: az.Buffer, y: az.Buffer) -> None:
    with pytest.raises(az.DeviceLost, match="saxpy"):
        saxpy[64](y, None, 1.0)
    saxpy[64](y, x, 1.0)


def test_residency_can_be_left_to_the_program(run_python: RunPython) -> None:
    program = f"""
    ctx = az.device().context()
    kernel = ctx.module({str(SAXPY)!r}).kernel("saxpy", residency=sys.argv[1] or None)
    x, y = ctx.full(4, 1, np.float32), ctx.zeros(4, np.float32)
    for memory in (x, y):
        ctx.evict(memory)
    try:
        kernel[4](y, x, 2.0)
    except az.DeviceLost:
        pass
    print("done", file=sys.stderr)
    """
    outcomes = [run_python(program, how, stderr=True, ANYZERO_DEVICES="cpu:paging=off") for how in ("", "force")]
    assert outcomes == ["done\n"] * 2
    assert "is not resident" in run_python(program, "explicit", stderr=True, ANYZERO_DEVICES="cpu:paging=off")


def test_an_unknown_residency_is_refused(ctx: az.Context) -> None:
    with pytest.raises(ValueError, match="residency='sticky'"):
        ctx.module(SAXPY).kernel("saxpy", residency="sticky")  # type: ignore[arg-type]


def test_kernels_print(run_python: RunPython) -> None:
    printed = run_python(
        f"""
        ctx = az.device().context()
        kernel = ctx.module({str(KERNELS / "printing.spv")!r})["in_a_loop"]
        kernel[1](4)
        """
    )
    assert printed == "0:0\n0:3\n"


def test_a_refused_group_size_leaves_the_next_launch_as_it_should_be(
    ctx: az.Context, saxpy: az.Kernel, x: az.Buffer, y: az.Buffer
) -> None:
    large = 2 * saxpy.properties.max_group_size
    groups = counts(ctx, (1, 1, 1))
    lst = ctx.immediate()
    saxpy[64](y, x, 0.0, group=8, on=lst)
    for _ in range(2):
        with pytest.raises(az.InvalidArgument):
            saxpy[large](y, x, 0.0, group=large, on=lst)
        with pytest.raises(az.InvalidArgument):
            lst.launch_indirect(saxpy, groups, (y, x, 0.0), group=large)
    saxpy.max_cooperative_groups(4)
    lst.launch_indirect(saxpy, groups, (y, x, 1.0), group=16).wait(timeout=PATIENCE)
    assert y.copy_to().sum() == 16


def test_what_is_too_large_for_the_caches_is_there_when_it_is_done(ctx: az.Context) -> None:
    triad = ctx.module(KERNELS / "saxpy.spv")["triad"]
    n = min(cache_bytes(), 64 << 20) // 12 // 256 * 256 + 1024
    b = np.arange(n, dtype=np.float32)
    a, c = ctx.zeros(n, np.float32, kind="shared"), ctx.full(n, 1, np.float32)
    given = ctx.to_device(b)
    with ctx.immediate() as lst:
        for s in (2.0, 3.0, 4.0):
            triad[n](a, given, c, s, group=256, on=lst).wait(timeout=PATIENCE)
            # Read by the host itself, not by a command behind the launch.
            assert (np.asarray(a) == b + np.float32(s)).all()


def test_a_loop_of_launches_lets_go_of_what_they_used(ctx: az.Context) -> None:
    kernel = ctx.module(KERNELS / "empty.spv")["empty_one_argument"]
    gc.collect()
    gc.disable()
    try:
        free = az.device().memory_free
        with ctx.immediate() as lst:
            for _ in range(200):
                kernel[64](ctx.buffer(1 << 20), on=lst).wait(timeout=PATIENCE)
            assert free - az.device().memory_free < 16 << 20
    finally:
        gc.enable()


def test_a_turn_that_was_taken_is_free_in_a_forked_child(run_python: RunPython) -> None:
    run_python(
        f"""
        import os
        ctx = az.device().context()
        saxpy = ctx.module({str(SAXPY)!r})["saxpy"]
        saxpy.enqueue.turn.acquire()         # as if another thread were launching it just now
        child = os.fork()
        if not child:
            ctx = az.device().context()
            x, y = ctx.full(4, 1, np.float32), ctx.zeros(4, np.float32)
            saxpy[4](y, x, 2.0, on=ctx.immediate()).wait(timeout=200)
            os._exit(0 if (y.copy_to() == 2).all() else 1)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
