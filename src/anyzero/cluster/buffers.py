"""Transfer of buffers: as a header and bytes, or between workers of one machine as a handle to the memory itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import anyzero as az
from anyzero.cluster import neighbours
from anyzero.cluster.process_context import context

__all__ = ["bytes_of", "packed", "reduced", "restored", "unpacked"]

SMALLEST_SHARED: Final = 1 << 16
"""Size in bytes from which on a handle is cheaper than a copy: opening one takes as long as two copies of that size."""


def bytes_of(buffer: az.Buffer) -> int:
    """The size of a buffer, for Dask."""
    return buffer.nbytes


def packed(buffer: az.Buffer) -> tuple[dict[str, Any], list[Any]]:
    """The header and the frames of a buffer.

    >>> header, frames = packed(az.cluster.context().to_device([1, 2, 3]))
    >>> header["shape"], [len(bytes(frame)) for frame in frames]
    ((3,), [24])
    >>> unpacked(header, frames).copy_to()
    array([1, 2, 3])
    """
    if type(buffer) is not az.Buffer:
        buffer = buffer.copy()  # a view, whose elements do not lie one after another
    header: dict[str, Any] = {"shape": buffer.shape, "dtype": _dtype_text(buffer.dtype), "kind": buffer.kind}
    delivery = neighbours.delivery()
    if delivery is not None and buffer.nbytes >= SMALLEST_SHARED:
        handle = _shared(buffer, delivery)
        if handle is not None:
            return {**header, "handle": handle}, []
    array = buffer.copy_to() if buffer.kind == "device" else np.asarray(buffer)
    # Bytes have no shape and no type that a frame could lose.
    return header, [array.reshape(-1).view(np.uint8).data] if array.nbytes else []


def _shared(buffer: az.Buffer, delivery: neighbours.Delivery) -> bytes | None:
    """A handle to the memory, which lives until the receiver has confirmed; None where the driver gives none."""
    try:
        if buffer.pointer != buffer.address_range[0]:
            buffer = buffer.copy()
        handle = buffer.ipc_handle()
    except az.Error:
        return None
    delivery.kept.append(buffer)
    return handle


def unpacked(header: dict[str, Any], frames: Sequence[Any]) -> az.Buffer:
    """The buffer, in the context of this process."""
    shape, dtype, kind = tuple(header["shape"]), _dtype(header["dtype"]), header["kind"]
    made = context().buffer(shape, dtype, kind=kind)
    if "handle" in header:
        with context().open_ipc(header["handle"], shape, dtype, kind=kind) as theirs:
            made.copy_from(theirs)
        return made
    if not made.nbytes:
        return made
    data = frames[0] if len(frames) == 1 else b"".join(frames)
    made.copy_from(np.frombuffer(data, np.uint8).view(dtype).reshape(shape))
    return made


def reduced(buffer: az.Buffer) -> tuple[Any, ...]:
    """For pickle. Its fifth protocol sends arrays beside the pickle; older ones, which some peers want, inside."""
    header, frames = packed(buffer)
    return restored, (header, *(np.frombuffer(frame, np.uint8) for frame in frames))


def restored(header: dict[str, Any], *frames: Any) -> az.Buffer:
    """The function that a pickle calls to restore a buffer."""
    return unpacked(header, frames)


def _dtype_text(dtype: np.dtype[Any]) -> Any:
    """A dtype as text, or for a structure as the list of its fields, which messages can hold."""
    return dtype.str if dtype.names is None else [list(map(str, field)) for field in _fields(dtype)]


def _fields(dtype: np.dtype[Any]) -> list[tuple[str, str, int]]:
    simple = [(name, *dtype.fields[name][:2]) for name in dtype.names or ()] if dtype.fields else []
    if any(kind.names is not None or kind.subdtype is not None for _, kind, _ in simple):
        raise NotImplementedError(f"a buffer of {dtype} does not travel: structures of plain numbers do")
    return [(name, kind.str, at) for name, kind, at in simple] + [("", str(dtype.itemsize), 0)]


def _dtype(text: Any) -> np.dtype[Any]:
    if isinstance(text, str):
        return np.dtype(text)
    *fields, (_, size, _) = text
    names, kinds, places = ([field[at] for field in fields] for at in range(3))
    found: np.dtype[Any] = np.dtype(
        {"names": names, "formats": kinds, "offsets": list(map(int, places)), "itemsize": int(size)}
    )
    return found
