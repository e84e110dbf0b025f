"""Buffers, kernels and modules travel between processes."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle
import numpy as np
import pytest
from dask.sizeof import sizeof
from distributed.protocol import deserialize, serialize

import anyzero as az
from anyzero.cluster import buffers, neighbours
from tests.cluster import tasks

RECORD = np.dtype([("a", np.int32), ("b", np.float64)], align=True)


@pytest.mark.parametrize("kind", ["device", "host", "shared"])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.complex128, RECORD])
def test_a_buffer_is_the_same_after_its_journey(kind: Any, dtype: Any) -> None:
    values = np.arange(12).astype(dtype) if np.dtype(dtype).names is None else np.ones(12, dtype)
    sent = az.cluster.context().to_device(values.reshape(3, 4), kind=kind)
    for found in (
        pickle.loads(pickle.dumps(sent)),
        pickle.loads(pickle.dumps(sent, protocol=4)),
        deserialize(*serialize(sent, serializers=("dask",), on_error="raise")),
        pickle.loads(pickle.dumps([sent]))[0],
    ):
        assert found.kind == kind
        assert found.dtype == sent.dtype
        np.testing.assert_array_equal(found.copy_to(), sent.copy_to())


def test_views_empty_buffers_and_slices_travel() -> None:
    x = az.cluster.context().to_device(np.arange(12).reshape(3, 4))
    for sent in (x.T, x[:, ::2], x[1:2], x[:0], x.sum()):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(sent)).copy_to(), sent.copy_to())


def test_host_memory_is_sent_without_a_copy() -> None:
    shared = az.cluster.context().zeros(1024, np.uint8, kind="shared")
    _, (frame,) = buffers.packed(shared)
    np.asarray(shared)[5] = 7
    assert frame[5] == 7
    sent: list[Any] = []
    pickled = pickle.dumps(shared, protocol=5, buffer_callback=sent.append)
    assert len(sent) == 1
    assert len(pickled) < 1000


def test_dask_counts_the_bytes_of_buffers() -> None:
    assert sizeof(az.cluster.context().zeros((10, 100), np.float32)) == 4000


def test_a_plain_process_can_read_what_is_sent_to_it() -> None:
    # It may not have loaded this package, so the header is one that makes it do so.
    x = az.cluster.context().zeros(4)
    header, _ = serialize(x, serializers=("dask", "pickle"), context={"recipient": {}}, on_error="raise")
    assert header["serializer"] == "pickle"


def test_memory_goes_from_worker_to_worker_as_a_handle(client: Any, workers: list[str]) -> None:
    n = tasks.SHARED // 4
    x = client.submit(tasks.counted, n, workers=workers[0], pure=False)
    y = client.submit(tasks.launched, tasks.scale, x, 3.0, workers=workers[1], pure=False)
    np.testing.assert_array_equal(y.result().copy_to(), np.arange(n, dtype=np.float32) * 6)
    assert client.run(tasks.handles, workers=[workers[0]])[workers[0]] >= 1
    several = client.submit(tasks.total_of_all, [x, x, y], workers=workers[1], pure=False)
    assert several.result() == pytest.approx(8 * np.arange(n, dtype=np.float64).sum(), rel=1e-5)


def test_a_stranger_is_no_neighbour(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not neighbours.is_neighbour("tcp://10.1.2.3:4")
    page = neighbours.announce("tcp://test:1")
    assert page is not None
    try:
        assert neighbours.is_neighbour("tcp://test:1")
        # The same name with another machine's memory behind it.
        page.fill(b"\0")
        neighbours._known.clear()
        assert not neighbours.is_neighbour("tcp://test:1")
        with neighbours.deliver_to("tcp://test:1"):
            assert neighbours.delivery() is None
    finally:
        neighbours.withdraw("tcp://test:1")
    monkeypatch.setattr(neighbours, "folder", lambda: None)
    assert not neighbours.is_neighbour("tcp://test:1")


def test_a_handle_stands_for_the_memory_while_it_is_delivered() -> None:
    x = az.cluster.context().to_device(np.arange(tasks.SHARED, dtype=np.uint8))
    page = neighbours.announce("tcp://test:2")
    try:
        with neighbours.deliver_to("tcp://test:2"):
            for sent in (x, x[4096:]):  # the second lies inside of its memory
                header, frames = buffers.packed(sent[: 1 << 17])
                assert frames == []
                np.testing.assert_array_equal(buffers.unpacked(header, frames).copy_to(), sent[: 1 << 17].copy_to())
    finally:
        neighbours.withdraw("tcp://test:2")
    del page


def test_kernels_travel_and_are_made_once(client: Any, workers: list[str]) -> None:
    x = client.submit(tasks.counted, 100, workers=workers[0], pure=False)
    for kernel, numbers in ((tasks.scale, (1.0,)), (tasks.generic, ())):
        found = client.submit(tasks.launched, kernel, x, *numbers, workers=workers[1], pure=False).result()
        np.testing.assert_array_equal(found.copy_to(), np.arange(100, dtype=np.float32) * 2)
        ids = {client.submit(tasks.identity, kernel, workers=workers[1], pure=False).result() for _ in range(3)}
        assert len(ids) == 1


def test_a_kernel_arrives_where_its_source_is_not() -> None:
    sent = cloudpickle.dumps(tasks.generic)
    text = sent.replace(b"tests/cluster/tasks.py", b"gone/cluster/tasks.py!")
    assert len(text) == len(sent)
    found = pickle.loads(text)
    x = az.cluster.context().to_device(np.arange(4, dtype=np.int64))
    out = az.cluster.context().zeros(4, np.int64)
    found[4](out, x)
    np.testing.assert_array_equal(out.copy_to(), [0, 2, 4, 6])


def test_the_front_end_does_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from anyzero.cluster import kernels
    from anyzero.language.specialization import Specialization

    sent = pickle.dumps(tasks.scale)
    kernels._received.clear()
    monkeypatch.setattr(Specialization, "_checked", property(lambda self: pytest.fail("compiled from source")))
    found = pickle.loads(sent)
    assert found is not tasks.scale
    assert found.spirv == tasks.scale.spirv


def test_modules_and_their_kernels_travel(client: Any, workers: list[str]) -> None:
    ctx = az.device().context()
    module = ctx.module(tasks.scale.spirv, options="-ze-opt-level=1")
    found = pickle.loads(pickle.dumps(module))
    assert list(found) == list(module)
    assert found.inputs == module.inputs
    assert found is pickle.loads(pickle.dumps(module))
    x = client.submit(tasks.counted, 10, workers=workers[0], pure=False)
    y = client.submit(tasks.launched, module["scale"], x, 1.0, workers=workers[0], pure=False)
    np.testing.assert_array_equal(y.result().copy_to(), np.arange(10, dtype=np.float32) * 2)
    program = ctx.module([tasks.scale.spirv, tasks.generic.specialized(az.ptr[az.i32], az.ptr[az.i32]).spirv])
    assert sorted(pickle.loads(pickle.dumps(program))) == ["generic", "scale"]
