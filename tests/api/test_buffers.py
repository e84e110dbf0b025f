"""Buffers behave as arrays do, and refuse what would be wrong."""

from __future__ import annotations

import gc
import mmap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anyzero as az
from tests.api.conftest import RunPython
from tests.patience import PATIENCE

KINDS = ("device", "host", "shared")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "f2", "i4", "f4", "f8", "c16", "M8[ns]", "i4,f8"])
def test_a_round_trip_keeps_the_values(ctx: az.Context, kind: str, dtype: str) -> None:
    there = np.dtype(dtype)
    values = np.random.default_rng(0).integers(0, 2, (3, 5, there.itemsize), np.uint8).view(there)[..., 0]
    buffer = ctx.to_device(values, kind=kind)
    assert (buffer.shape, buffer.dtype, buffer.kind) == (values.shape, values.dtype, kind)
    assert np.array_equal(buffer.copy_to(), values)


def test_it_looks_like_an_array(ctx: az.Context) -> None:
    buffer, array = ctx.zeros((2, 3, 4), np.int16), np.zeros((2, 3, 4), np.int16)
    for name in ("shape", "dtype", "nbytes", "size", "ndim", "itemsize", "strides"):
        assert getattr(buffer, name) == getattr(array, name)
    assert len(buffer) == 2
    assert buffer.context is ctx
    assert buffer.device == ctx.device
    assert repr(buffer) == "<Buffer (2, 3, 4) int16 device>"
    assert not buffer.copy_to().any()


def test_it_is_made_of_any_shape(ctx: az.Context) -> None:
    assert ctx.zeros(()).shape == ()
    assert ctx.full((), 4).copy_to() == 4
    assert ctx.buffer(np.int64(3)).shape == (3,)
    assert ctx.buffer([2, np.int32(2)]).shape == (2, 2)  # type: ignore[arg-type]
    for shape in (0, (0, 4), (3, 0)):
        empty = ctx.zeros(shape, np.float32, kind="shared")
        assert empty.nbytes == 0
        assert np.asarray(empty).shape == empty.shape
        empty.fill(3)
        empty.copy_from(np.empty(empty.shape, np.float32))
        assert empty.copy_to().shape == empty.shape
    with pytest.raises(az.InvalidArgument, match="negative"):
        ctx.buffer(-1)
    with pytest.raises(az.InvalidArgument, match="Python objects"):
        ctx.buffer(2, object)
    with pytest.raises(ValueError, match="'device', 'host' or 'shared'"):
        ctx.buffer(2, kind="gpu")  # type: ignore[arg-type]


def test_alignment_is_kept_or_refused(ctx: az.Context) -> None:
    for alignment in (1, 64, 4096, 1 << 16):
        assert ctx.buffer(3, alignment=alignment).pointer % alignment == 0
    with pytest.raises(az.Error) as caught:
        ctx.buffer(3, alignment=48)
    assert caught.value.function == "zeMemAllocDevice"
    assert ctx.buffer(3, uncached=True, kind="host").pointer


@pytest.mark.parametrize("kind", ["host", "shared"])
def test_numpy_looks_at_it_in_place(ctx: az.Context, kind: str) -> None:
    buffer = ctx.zeros((2, 2), np.int32, kind=kind)
    array = np.asarray(buffer)
    array[0, 1] = 7
    assert buffer.copy_to().tolist() == [[0, 7], [0, 0]]
    buffer.fill(3)
    assert array.tolist() == [[3, 3], [3, 3]]
    assert np.asarray(buffer, dtype=np.float64).dtype == np.float64
    copy = np.array(buffer)
    copy[:] = 0
    assert array.all()
    assert np.asarray(buffer[1]).tolist() == [3, 3]


def test_device_memory_tells_how_to_look_at_it(ctx: az.Context) -> None:
    buffer = ctx.zeros(4)
    with pytest.raises(TypeError, match=r"copy_to\(\).*kind='shared'"):
        np.asarray(buffer)
    with pytest.raises(BufferError, match="copy_to"):
        np.from_dlpack(buffer)
    assert buffer.__dlpack_device__()[0] == 14


def test_an_array_keeps_the_memory_alive(ctx: az.Context) -> None:
    array = np.asarray(ctx.full(1 << 16, 5, np.uint8, kind="shared")[10:])
    gc.collect()
    others = [ctx.zeros(1 << 16, np.uint8, kind="shared") for _ in range(8)]
    assert (array == 5).all()
    buffer = ctx.full(8, 1, np.uint8, kind="shared")
    array = np.asarray(buffer)
    buffer.close()
    del others
    assert (array == 1).all()


def test_dlpack_shares_and_owns(ctx: az.Context) -> None:
    buffer = ctx.full((2, 3), 2.5, np.float32, kind="shared")
    assert buffer.__dlpack_device__() == (1, 0)
    array = np.from_dlpack(buffer)
    buffer.fill(4)
    assert array.tolist() == [[4.0] * 3] * 2
    capsule = buffer[1:].__dlpack__()
    del buffer
    gc.collect()
    assert "dltensor" in repr(capsule)
    del capsule
    assert array.all()


def test_slices_are_views(ctx: az.Context) -> None:
    buffer = ctx.to_device(np.arange(24).reshape(6, 4))
    model = np.arange(24).reshape(6, 4)
    for index in (0, -1, np.int64(2), slice(None), slice(2, 4), slice(-2, None), slice(4, 2), slice(1, 99)):
        assert np.array_equal(buffer[index].copy_to(), model[index])  # type: ignore[index]
    buffer[1:3].fill(-1)
    buffer[5][2:].copy_from([7, 8])
    model[1:3] = -1
    model[5, 2:] = [7, 8]
    assert np.array_equal(buffer.copy_to(), model)
    assert buffer[2][1].shape == ()
    part = buffer[3:]
    del buffer
    assert np.array_equal(part.copy_to(), model[3:])


def test_wrong_slices_are_refused(ctx: az.Context) -> None:
    buffer = ctx.zeros((4, 2))
    with pytest.raises(IndexError):
        buffer[4]
    with pytest.raises(TypeError, match="an index is an integer, a slice"):
        buffer["row"]
    with pytest.raises(IndexError, match="1 indices for an array of shape"):
        ctx.zeros(())[0]
    with pytest.raises(TypeError, match="no length"):
        len(ctx.zeros(()))
    assert [row.shape for row in buffer] == [(2,)] * 4


def test_reshape_and_view_share_memory(ctx: az.Context) -> None:
    buffer = ctx.to_device(np.arange(12, dtype=np.uint32))
    assert np.array_equal(buffer.reshape(3, -1).copy_to(), np.arange(12).reshape(3, 4))
    assert buffer.reshape((2, 6)).shape == (2, 6)
    assert buffer.view(np.uint8).shape == (48,)
    assert np.array_equal(buffer.view(np.uint64).copy_to(), np.arange(12, dtype=np.uint32).view(np.uint64))
    buffer.view(np.uint8)[0].fill(255)
    assert buffer.copy_to()[0] == 255
    with pytest.raises(az.InvalidArgument, match="cannot reshape"):
        buffer.reshape(5)
    with pytest.raises(az.InvalidArgument, match="no whole number"):
        buffer[:1].view(np.float64)
    with pytest.raises(az.InvalidArgument, match="reshape"):
        ctx.zeros(()).view(np.uint8)


def test_a_mismatch_names_both_sides(ctx: az.Context) -> None:
    buffer = ctx.zeros((2, 3), np.float32)
    with pytest.raises(az.InvalidArgument, match=r"shape \(3, 2\) of float32 to shape \(2, 3\) of float32"):
        buffer.copy_from(np.zeros((3, 2), np.float32))
    with pytest.raises(az.InvalidArgument, match=r"of float64 to shape \(2, 3\) of float32"):
        buffer.copy_from(np.zeros((2, 3)))
    with pytest.raises(az.InvalidArgument, match=r"shape \(2, 3\) of float32 to shape \(6,\) of float32"):
        buffer.copy_to(np.zeros(6, np.float32))
    with pytest.raises(az.InvalidArgument, match="of float32 to shape"):
        ctx.zeros((2, 3), np.int8).copy_from(buffer)
    frozen = np.zeros((2, 3), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(az.InvalidArgument, match="writable"):
        buffer.copy_to(frozen)
    with pytest.raises(TypeError, match="on="):
        buffer.copy_from(buffer, signal=ctx.event())


def test_arrays_of_any_layout_are_copied(ctx: az.Context) -> None:
    model = np.arange(24).reshape(4, 6)
    buffer = ctx.to_device(model.T)
    assert np.array_equal(buffer.copy_to(), model.T)
    buffer.copy_from(model.T[::1])
    target = np.zeros((12, 8), int)[::2, ::2]
    assert np.array_equal(buffer.copy_to(target), model.T)
    assert target.base is not None
    assert target.base[::2, ::2].sum() == model.sum()
    buffer[0].copy_from([4, 3, 2, 1])
    assert buffer.copy_to()[0].tolist() == [4, 3, 2, 1]


def test_fill_takes_values_and_patterns(ctx: az.Context) -> None:
    buffer = ctx.buffer(6, np.int16)
    buffer.fill(-2)
    assert buffer.copy_to().tolist() == [-2] * 6
    buffer.fill(b"\x01\x00\x02\x00")
    assert buffer.copy_to().tolist() == [1, 2] * 3
    pair = ctx.buffer(2, [("a", "i4"), ("b", "f4")])
    pair.fill((3, 1.5))
    assert pair.copy_to().tolist() == [(3, 1.5)] * 2
    with pytest.raises(az.InvalidArgument, match="one value"):
        buffer.fill([1, 2])
    with pytest.raises(az.InvalidArgument, match="power of two"):
        buffer.fill(b"abc")


def test_buffers_of_two_contexts_copy_to_each_other(ctx: az.Context) -> None:
    # By a command that the specification allows memory of another context in.
    with az.check("strict"), az.device().context() as other:
        x, y = ctx.full(8, 3, np.int32), other.zeros(8, np.int32)
        y.copy_from(x)
        assert y.copy_to().tolist() == [3] * 8
        x.fill(4)
        with other.immediate() as lst:
            lst.copy(y, x).wait(timeout=PATIENCE)
        assert y.copy_to().tolist() == [4] * 8


def test_copies_can_be_put_on_a_list(ctx: az.Context) -> None:
    x, y = ctx.buffer(4, np.int32), ctx.zeros(4, np.int32)
    event = ctx.event()
    with ctx.immediate() as lst:
        x.copy_from([1, 2, 3, 4], on=lst)
        y.fill(9, on=lst)
        y[:2].copy_from(x[2:], on=lst, signal=event)
        array = y.copy_to(on=lst, wait=event)
    assert array.tolist() == [3, 4, 9, 9]
    with ctx.command_list() as cl:
        assert x.copy_from(y, on=cl) is None
    ctx.queue().submit(cl).wait(timeout=PATIENCE)
    assert x.copy_to().tolist() == [3, 4, 9, 9]


def test_a_closed_buffer_says_so(ctx: az.Context) -> None:
    with ctx.zeros(4) as buffer:
        assert not buffer.closed
    buffer.close()
    assert buffer.closed
    assert "closed" in repr(buffer)
    for use in (buffer.copy_to, lambda: buffer.pointer, lambda: buffer[1:], lambda: buffer.fill(1), buffer.ipc_handle):
        with pytest.raises(az.ClosedError, match="this Buffer is closed"):
            use()
    with pytest.raises(AttributeError, match="nothing"):
        buffer.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_a_slice_outlives_its_closed_parent(ctx: az.Context) -> None:
    buffer = ctx.full(16, 3, np.uint8)
    part = buffer[8:]
    buffer.close()
    assert part.copy_to().tolist() == [3] * 8


def test_system_memory_is_imported_in_place(ctx: az.Context) -> None:
    page = ctx.page_size()
    array = np.frombuffer(mmap.mmap(-1, 2 * page), np.int32).reshape(2, -1)
    buffer = ctx.import_memory(array)
    assert buffer.kind == "host"
    assert buffer.pointer == array.__array_interface__["data"][0]
    buffer[1].fill(6)
    assert (array[1] == 6).all()
    assert not array[0].any()
    by_address = ctx.import_memory(array.__array_interface__["data"][0], (2, page), np.uint8)
    assert by_address.copy_to()[1, 0] == 6
    with pytest.raises(TypeError, match="shape= and dtype="):
        ctx.import_memory(4096)
    with pytest.raises(az.InvalidArgument, match="not whole pages"):
        ctx.import_memory(np.zeros(3, np.uint8))
    with pytest.raises(az.InvalidArgument, match="not contiguous"):
        ctx.import_memory(np.zeros((8, 8))[:, ::2])


def test_the_address_range_is_the_whole_allocation(ctx: az.Context) -> None:
    buffer = ctx.buffer(1024)
    assert buffer[100:200].address_range == (buffer.pointer, 1024)


@given(st.data())
def test_any_program_of_copies_fills_and_slices_matches_numpy(data: st.DataObject) -> None:
    ctx = az.device().context()
    size = data.draw(st.integers(1, 200))
    model = np.zeros((2, size), np.int16)
    buffers = [ctx.zeros(size, np.int16, kind=kind) for kind in ("device", "shared")]
    with ctx.immediate() as lst:
        for _ in range(data.draw(st.integers(1, 12))):
            to = data.draw(st.integers(0, 1))
            start = data.draw(st.integers(0, size))
            stop = data.draw(st.integers(start, size))
            if data.draw(st.booleans()):
                value = data.draw(st.integers(-100, 100))
                lst.fill(buffers[to][start:stop], value)
                model[to, start:stop] = value
            else:
                lst.copy(buffers[to][start:stop], buffers[1 - to][start:stop])
                model[to, start:stop] = model[1 - to, start:stop]
    for buffer, expected in zip(buffers, model, strict=True):
        assert np.array_equal(buffer.copy_to(), expected)


def test_memory_is_given_back_at_exit_without_a_word(run_python: RunPython) -> None:
    source = """
    ctx = az.device().context()
    array = np.asarray(ctx.zeros(64, kind="shared"))
    lst, queue, events, image = ctx.immediate(), ctx.queue(), ctx.events(3), ctx.image((4, 4))
    done = lst.copy(ctx.zeros(8), ctx.zeros(8))
    pending = lst.copy(np.zeros(8), ctx.zeros(8), wait=events[0])
    """
    assert run_python(source) == ""
