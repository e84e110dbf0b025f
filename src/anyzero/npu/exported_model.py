"""Exported models: the driver's blob, followed by the plugin's own data."""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from anyzero import errors

__all__ = ["ExportedModel", "parts_of", "read"]

_PAGE: Final = 4096
_MAGIC: Final = b"AZNPU\x001\n"
_TAIL: Final = struct.Struct("<QQ8s")
_OPENVINO: Final = b"OVNPU"
_LARGEST_TEXT: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """An exported model; `blob` is a view of its bytes."""

    blob: npt.NDArray[np.uint8]
    name: str = "model"
    batch: int = 1
    bare: bool = False
    """True if only the blob was found."""

    def check(self, native: memoryview) -> None:
        """Raise BuildError if there are bytes besides the graph's blob and page padding."""
        if self.bare and self.blob[native.nbytes :].any():
            raise _damaged("unexpected data follows it")


def parts_of(blob: memoryview, name: str, batch: int) -> Iterator[bytes | memoryview]:
    """The bytes of an exported model in parts, without copying the blob."""
    text = json.dumps({"name": name, "batch": batch}).encode()
    padding = -blob.nbytes % _PAGE
    yield blob
    yield bytes(padding)
    yield text
    yield _TAIL.pack(blob.nbytes + padding, len(text), _MAGIC)


def read(source: Any) -> ExportedModel:
    """Read an exported model from a file, bytes or a stream; also a bare blob, and exports of OpenVINO's plugin."""
    data = _bytes_of(source)
    tail = bytes(data[-_TAIL.size :])
    if len(tail) == _TAIL.size and tail.endswith(_MAGIC):
        blob_size, text_size, _ = _TAIL.unpack(tail)
        if text_size > _LARGEST_TEXT or blob_size + text_size + _TAIL.size != data.nbytes:
            raise _damaged("its parts do not add up to its size")
        try:
            told = json.loads(bytes(data[blob_size : blob_size + text_size]))
            return ExportedModel(data[:blob_size], str(told["name"]), int(told["batch"]))
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged(f"its metadata cannot be parsed ({error})") from None
    if tail.endswith(_OPENVINO) and data.nbytes > len(_OPENVINO) + 8:
        (blob_size,) = struct.unpack("<Q", data[-len(_OPENVINO) - 8 : -len(_OPENVINO)].tobytes())
        if blob_size > data.nbytes:
            raise _damaged("it is truncated")
        return ExportedModel(data[:blob_size])
    return ExportedModel(data, bare=True)


def _damaged(reason: str) -> errors.BuildError:
    said = f"this is not a compiled model, or it is damaged: {reason}"
    return errors.BuildError(said, remedy="Export the model again.")


def _bytes_of(source: Any) -> npt.NDArray[np.uint8]:
    if isinstance(source, str | os.PathLike):
        with Path(source).open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise _damaged("the file is empty")
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    if isinstance(source, np.ndarray):
        return np.ascontiguousarray(source).reshape(-1).view(np.uint8)
    if hasattr(source, "read"):
        source = source.read()
    data = getattr(source, "data", None)
    if isinstance(data, np.ndarray):
        return np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    return np.frombuffer(source, np.uint8)
