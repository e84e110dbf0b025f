"""Dask arrays whose chunks are buffers: kernels over their chunks, with halos, and reductions in a tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.array.dispatch import numel_lookup

import anyzero as az
from anyzero.cluster.process_context import context

__all__ = ["map", "reduce", "to_device", "to_host"]

Grid = Callable[[tuple[int, ...]], Any]


def _meta(ndim: int, dtype: npt.DTypeLike) -> az.Buffer:
    """An empty buffer, from which Dask knows the type of chunks."""
    return context().empty((0,) * ndim, dtype)


@numel_lookup.register(az.Buffer)
def _numel(x: az.Buffer, **options: Any) -> az.Buffer:
    """The number of elements of a mean or a variance, as Dask counts them along axes."""
    axis, keepdims = options.get("axis"), options.get("keepdims", False)
    chosen = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    summed = {each % x.ndim for each in chosen}
    shape = tuple(1 if at in summed else n for at, n in enumerate(x.shape) if keepdims or at not in summed)
    dtype = options.get("dtype", np.float64)
    return x.context.full(shape, prod(x.shape[at] for at in summed), dtype, device=x.device)


def _upload(block: Any) -> az.Buffer:
    return block if isinstance(block, az.Buffer) else context().to_device(np.ascontiguousarray(block))


def _download(block: Any) -> Any:
    return block.copy_to() if isinstance(block, az.Buffer) else block


def to_device(array: Any) -> da.Array:
    """The Dask array with its chunks on the workers' devices.

    >>> x = az.cluster.to_device(da.arange(6, chunks=3))
    >>> x
    dask.array<_upload, shape=(6,), dtype=int64, chunksize=(3,), chunktype=anyzero.Buffer>
    >>> (x * x).sum().compute(scheduler="synchronous").item()
    55
    """
    whole = da.asarray(array)
    return whole.map_blocks(_upload, dtype=whole.dtype, meta=_meta(whole.ndim, whole.dtype))


def to_host(array: da.Array) -> da.Array:
    """The Dask array with its chunks as arrays of numpy.

    >>> x = az.cluster.to_device(da.arange(4, chunks=2)) * 10
    >>> az.cluster.to_host(x).compute(scheduler="synchronous")
    array([ 0, 10, 20, 30])
    """
    return array.map_blocks(_download, dtype=array.dtype, meta=np.empty((0,) * array.ndim, array.dtype))


def map(  # noqa: A001 (Dask's and Python's own word for it)
    kernel: Any,
    *args: Any,
    dtype: npt.DTypeLike | None = None,
    grid: Grid | None = None,
    group: Any = None,
    depth: int | tuple[int, ...] | Mapping[int, int] | None = None,
    boundary: Any = "reflect",
) -> da.Array:
    """Run a kernel once for each chunk of Dask arrays; the result is a Dask array with buffers as chunks.

    The kernel's first parameter is its output, a new buffer with the shape of the chunk, of `dtype` or that of the
    first array. The others are `args`: arrays, which have the same chunks, and numbers. It is launched for as many
    work-items as a chunk has elements, or for ``grid(shape)``: ``grid=lambda shape: shape[::-1]`` is a work-item for
    each element of a matrix, with the columns as x. An `az.elementwise` is called the same way; any other function gets
    the chunks of the arrays, and returns that of the result.

    With `depth`, chunks have so many more elements of their neighbours on each side (a halo, as stencils need it); the
    output has the same shape, and its halo is cut off. At the edges of the array `boundary` defines the values there:
    ``"reflect"``, ``"periodic"``, ``"nearest"``, a number, or ``"none"`` for nothing.

    >>> @az.kernel
    ... def square(out: az.ptr[az.f32], x: az.ptr[az.f32], scale: az.f32):
    ...     i = az.global_id(0)
    ...     out[i] = scale * x[i] * x[i]
    >>> x = az.cluster.to_device(da.arange(6, chunks=4, dtype=np.float32))
    >>> az.cluster.to_host(az.cluster.map(square, x, 10.0)).compute(scheduler="synchronous")
    array([  0.,  10.,  40.,  90., 160., 250.], dtype=float32)
    """
    arrays = [each for each in args if isinstance(each, da.Array)]
    if not arrays:
        raise az.InvalidArgument(
            "az.cluster.map takes a Dask array",
            remedy="az.cluster.to_device(da.from_array(array, chunks=…)) makes one.",
        )
    if len({each.chunks for each in arrays}) > 1:
        raise az.InvalidArgument(
            f"the arrays have different chunks: {', '.join(str(each.chunks) for each in arrays)}",
            remedy="Bring them to the same with rechunk().",
        )
    first = arrays[0]
    kind: np.dtype[Any] = first.dtype if dtype is None else np.dtype(dtype)
    numbers = tuple((at, each) for at, each in enumerate(args) if not isinstance(each, da.Array))
    work = _Chunk(kernel, numbers, kind, grid, group)
    meta = _meta(first.ndim, kind)
    name = f"{_name(kernel)}-{da.core.tokenize(work.token(), *arrays)}"
    if depth is None:
        return da.map_blocks(work, *arrays, dtype=kind, meta=meta, name=name)
    return da.map_overlap(
        work, *arrays, depth=depth, boundary=boundary, dtype=kind, meta=meta, align_arrays=False, token=name
    )


def _name(kernel: Any) -> str:
    found = getattr(kernel, "__name__", None) or getattr(kernel, "name", None)
    return found if isinstance(found, str) else type(kernel).__name__.lower()


class _Chunk:
    """The function of a task, called with its chunks."""

    def __init__(
        self, kernel: Any, numbers: tuple[tuple[int, Any], ...], dtype: np.dtype[Any], grid: Grid | None, group: Any
    ) -> None:
        self.kernel, self.numbers, self.dtype, self.grid, self.group = kernel, numbers, dtype, grid, group

    def token(self) -> Any:
        """The identity by which Dask recognizes equal work."""
        from anyzero.cluster.kernels import digest_of

        return digest_of((self.kernel, self.numbers, str(self.dtype), self.group)), self.grid

    def __dask_tokenize__(self) -> Any:
        return self.token()

    def __call__(self, *blocks: Any, **_: Any) -> az.Buffer:
        """The chunk of the result."""
        given: list[Any] = [_contiguous(each) for each in blocks]
        shape = given[0].shape
        for at, number in self.numbers:
            given.insert(at, number)
        if not isinstance(self.kernel, az.Elementwise) and not hasattr(self.kernel, "__getitem__"):
            made: az.Buffer = self.kernel(*given)
            return made
        out = context().buffer(shape, self.dtype)
        if out.size and isinstance(self.kernel, az.Elementwise):
            self.kernel(out, *given)
            return out
        if out.size:
            sizes = out.size if self.grid is None else self.grid(shape)
            self.kernel[sizes](out, *given, **({} if self.group is None else {"group": self.group}))
        return out


def _contiguous(block: Any) -> az.Buffer:
    buffer = _upload(block)
    return buffer if type(buffer) is az.Buffer else buffer.copy()


def reduce(reduction: az.Reduction, *arrays: da.Array, split_every: int = 8, **numbers: Any) -> da.Array:
    """The elements of Dask arrays combined to one by `az.reduction`, on the devices and then in a tree.

    `split_every` results are combined at a time, on the worker that has the most of them.

    >>> x = az.cluster.to_device(da.arange(10, chunks=3, dtype=np.float64))
    >>> norm = az.cluster.reduce(az.reduction("x * x"), x)
    >>> norm.compute(scheduler="synchronous").item()
    285.0
    """
    if not arrays or len({each.chunks for each in arrays}) > 1:
        raise az.InvalidArgument(
            "az.cluster.reduce takes Dask arrays with the same chunks", remedy="Bring them to the same with rechunk()."
        )
    if split_every < 2:
        raise az.InvalidArgument(f"split_every={split_every}: at least 2 results are combined at a time")
    dtype = np.result_type(*(each.dtype for each in arrays)) if reduction.dtype is None else reduction.dtype
    again = az.reduction("x", reduction.combine, neutral=reduction.neutral, dtype=dtype)
    level = list(zip(*(each.to_delayed().ravel() for each in arrays), strict=True))
    first = dask.delayed(_partial, pure=True)
    combine = dask.delayed(_combined, pure=True)
    parts = [first(reduction, numbers, *blocks) for blocks in level]
    while len(parts) > 1:
        parts = [combine(again, *parts[at : at + split_every]) for at in range(0, len(parts), split_every)]
    return da.from_delayed(parts[0], (), dtype=dtype, meta=_meta(0, dtype))


def _partial(reduction: az.Reduction, numbers: dict[str, Any], *blocks: Any) -> az.Buffer:
    found: az.Buffer = reduction(*(_contiguous(each) for each in blocks), **numbers)
    return found


def _combined(reduction: az.Reduction, *parts: az.Buffer) -> az.Buffer:
    found: az.Buffer = reduction(np.stack([_upload(each) for each in parts]))
    return found
