"""Dask arrays of buffers, kernels over their chunks, and launches that are cut over devices."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import anyzero as az
from anyzero.cluster import launch
from tests.cluster import tasks


@pytest.fixture
def here() -> Any:
    """Graphs run in this process, one task after another."""
    with dask.config.set(scheduler="synchronous"):
        yield


def host(array: Any) -> Any:
    found = array.compute()
    return found.copy_to() if isinstance(found, az.Buffer) else found


MATRIX = np.random.default_rng(3).random((10, 12)).astype(np.float32)

FUNCTIONS: dict[str, Any] = {
    "operators": lambda x: x * 2 + x.T.T - 1,
    "ufunc": lambda x: np.sqrt(x) + np.maximum(x, 0.5),
    "sum": lambda x: x.sum(axis=0),
    "mean": lambda x: x.mean(axis=1),
    "std": lambda x: x.std(),
    "max": lambda x: x.max(axis=1),
    "any": lambda x: (x > 0.9).any(),
    "argmax": lambda x: x.argmax(),
    "argmin of columns": lambda x: x.argmin(axis=0),
    "indices": lambda x: x[[9, 0, 4], 2:],
    "slices": lambda x: x[2:7, ::2],
    "transpose": lambda x: x.transpose(1, 0),
    "rechunk": lambda x: x.rechunk((5, 12)) if isinstance(x, da.Array) else x,
    "reshape": lambda x: x.reshape(120),
    "mask": lambda x: x[x > 0.5],
    "cumsum of rows": lambda x: da.cumsum(x, axis=1) if isinstance(x, da.Array) else np.cumsum(x, axis=1),
    "cumsum of columns": lambda x: da.cumsum(x, axis=0) if isinstance(x, da.Array) else np.cumsum(x, axis=0),
    "cumsum": lambda x: (
        da.cumsum(x.reshape(120), axis=0) if isinstance(x, da.Array) else np.cumsum(x.reshape(120), axis=0)
    ),
    "astype": lambda x: x.astype(np.float64),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_of_buffers_compute_as_arrays_of_numpy(here: None, name: str) -> None:
    made = FUNCTIONS[name](az.cluster.to_device(da.from_array(MATRIX, chunks=(4, 5))))
    expected = FUNCTIONS[name](MATRIX)
    found = made.compute()
    assert isinstance(found, az.Buffer)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.copy_to(), expected, rtol=1e-5)


def test_joining_and_choosing(here: None) -> None:
    x = az.cluster.to_device(da.from_array(MATRIX, chunks=(4, 5)))
    np.testing.assert_array_equal(host(da.concatenate([x, x * 2], axis=1)), np.hstack([MATRIX, MATRIX * 2]))
    np.testing.assert_array_equal(host(da.stack([x, x])), np.stack([MATRIX, MATRIX]))
    np.testing.assert_array_equal(host(da.where(x > 0.5, x, 0)), np.where(MATRIX > 0.5, MATRIX, 0))


def test_a_kernel_over_chunks_on_the_cluster(client: Any, workers: list[str]) -> None:
    x = az.cluster.to_device(da.from_array(MATRIX.ravel(), chunks=25))
    y = az.cluster.map(tasks.scale, x, 3.0)
    assert isinstance(y._meta, az.Buffer)
    np.testing.assert_allclose(host(az.cluster.to_host(y)), MATRIX.ravel() * 6, rtol=1e-6)
    assert tasks.scale.map(x, 3.0).name == y.name
    assert az.cluster.map(tasks.scale, x, 4.0).name != y.name
    assert host(az.cluster.map(tasks.generic, x).sum()) == pytest.approx(float(MATRIX.sum()) * 2, rel=1e-5)


@pytest.mark.parametrize("boundary", ["periodic", "reflect"])
def test_stencils_exchange_halos(client: Any, workers: list[str], boundary: str) -> None:
    x = az.cluster.to_device(da.from_array(MATRIX, chunks=(4, 5)))
    for _ in range(2):
        x = az.cluster.map(tasks.mean4, x, depth=1, boundary=boundary, grid=lambda shape: shape[::-1])
    expected = MATRIX
    for _ in range(2):
        halo = np.pad(expected, 1, mode="wrap" if boundary == "periodic" else "symmetric")
        expected = (halo[:-2, 1:-1] + halo[2:, 1:-1] + halo[1:-1, :-2] + halo[1:-1, 2:]) / 4
    np.testing.assert_allclose(host(x), expected, rtol=1e-5)


def test_reductions_form_a_tree(client: Any, workers: list[str]) -> None:
    x = az.cluster.to_device(da.from_array(MATRIX.ravel().astype(np.float64), chunks=7))
    y = az.cluster.to_device(da.ones(120, chunks=7))
    made = az.cluster.reduce(az.reduction("abs(x - y) * c", "max(a, b)", neutral=0), x, y, split_every=3, c=2.0)
    assert host(made).item() == pytest.approx(2 * np.abs(MATRIX - 1).max())
    assert len([key for key in made.__dask_graph__() if "_combined" in str(key)]) >= 7


def test_functions_of_buffers_are_mapped_too(here: None) -> None:
    x = az.cluster.to_device(da.arange(10, chunks=4, dtype=np.float32))
    np.testing.assert_array_equal(
        host(az.cluster.map(az.elementwise("y = x + i"), x)), [0, 2, 4, 6, 4, 6, 8, 10, 8, 10]
    )


def test_wrong_arrays_are_refused() -> None:
    x = da.arange(10, chunks=4)
    with pytest.raises(az.InvalidArgument, match="rechunk"):
        az.cluster.map(tasks.generic, x, da.arange(10, chunks=5))
    with pytest.raises(az.InvalidArgument, match="to_device"):
        az.cluster.map(tasks.generic, np.arange(10))
    with pytest.raises(az.InvalidArgument, match="split_every"):
        az.cluster.reduce(az.reduction("x"), x, split_every=1)


def test_a_launch_is_cut_over_devices(client: Any, workers: list[str]) -> None:
    out, table = np.zeros(1000, np.int32), np.array([5, 0], np.int32)
    (found,) = az.cluster.run(tasks.numbered, 1000, [out, az.cluster.START, table])
    assert found is out
    np.testing.assert_array_equal(out, np.arange(1000) + 5)


def test_rows_of_a_plane_are_cut(client: Any, workers: list[str]) -> None:
    out = np.zeros_like(MATRIX)
    az.cluster.run(tasks.mean4, (12, 10), [out, MATRIX], split=["out"], out=["out"])
    assert (out[:, 0] != 0).all()  # each part has rows of its own
    with pytest.raises(az.InvalidArgument, match="no parameter 'y'"):
        az.cluster.run(tasks.mean4, (12, 10), [out, MATRIX], out=["y"])
    with pytest.raises(az.InvalidArgument, match="cut into 7 rows"):
        az.cluster.run(tasks.mean4, (12, 7), [out, MATRIX], split=[0])
    with pytest.raises(az.InvalidArgument, match="is an output"):
        az.cluster.run(tasks.mean4, (12, 10), [out, 5], out=[1])


def test_a_slow_device_gets_less(client: Any, workers: list[str]) -> None:
    known = az.cluster.devices(client)
    key = b"some kernel"
    assert launch._weights(key, known) == [each.threads for each in known]
    for _ in range(4):
        launch._learn(key, workers[0], 1000.0)
        launch._learn(key, workers[1], 250.0)
    weights = dict(zip([each.worker for each in known], launch._weights(key, known), strict=True))
    assert weights == {workers[0]: 1000.0, workers[1]: 250.0}
    assert launch.parts(100, [1000.0, 250.0]) == [(0, 80), (80, 100)]
