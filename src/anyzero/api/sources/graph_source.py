"""Sources of graphs: OpenVINO IR or a native blob, in the form that the driver takes."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from anyzero import errors
from anyzero.ze import npu

__all__ = [
    "GraphFormat",
    "GraphOptions",
    "GraphSource",
    "Serialized",
    "build_flags",
    "bytes_of",
    "envelope",
    "serialize",
]

GraphSource = str | os.PathLike[str] | bytes | bytearray | memoryview | mmap.mmap | npt.NDArray[Any]
GraphOptions = str | Mapping[str, object]
GraphFormat = Literal["ir", "native"]

_HEAD: Final = struct.Struct("<HHIQ")
_LENGTH: Final = struct.Struct("<Q")
_PARTS: Final = 2
_PAGE: Final = mmap.PAGESIZE
_BOM: Final = b"\xef\xbb\xbf"


class Serialized:
    """The bytes of a graph as the driver takes them; `kept` must outlive a graph that uses them in place."""

    __slots__ = ("data", "format", "kept")

    def __init__(self, data: npt.NDArray[np.uint8], form: int, kept: object = None) -> None:
        self.data = data
        self.format = form
        self.kept = kept

    @property
    def pointer(self) -> int:
        """The address of the data."""
        return int(self.data.__array_interface__["data"][0])

    @property
    def in_place(self) -> bool:
        """Whether the driver may use them in place: whole pages that nothing writes to."""
        native = self.format == npu.ZE_GRAPH_FORMAT_NATIVE
        return native and self.pointer % _PAGE == 0 and not self.data.flags.writeable

    def desc(self, flags: int, options: bytes | None) -> npu.ze_graph_desc_2_t:
        """The structure that describes them."""
        # An empty array has an address too; the driver itself reports an empty source.
        return npu.ze_graph_desc_2_t(
            format=self.format,
            inputSize=self.data.nbytes,
            pInput=self.pointer,
            pBuildFlags=options,
            flags=flags,
        )


def serialize(
    source: GraphSource, weights: GraphSource | None, form: GraphFormat | None, compiler: tuple[int, int]
) -> Serialized:
    """A source as the driver takes it. XML is joined with its weights, everything else goes as it is."""
    if form not in (None, "ir", "native"):
        raise ValueError(f"format={form!r}: 'ir' or 'native'")
    data = bytes_of(source)
    is_xml = form != "native" and bytes(data[:8]).removeprefix(_BOM).lstrip()[:1] == b"<"
    if is_xml:
        beside = bytes_of(weights) if weights is not None else _beside(source)
        return Serialized(envelope(data, beside, compiler), npu.ZE_GRAPH_FORMAT_NGRAPH_LITE)
    if weights is not None:
        raise errors.InvalidArgument("weights= is for models in XML; a blob contains its weights")
    if form == "ir":
        return Serialized(data, npu.ZE_GRAPH_FORMAT_NGRAPH_LITE)
    if isinstance(source, str | os.PathLike) and os.fspath(source).endswith(".onnx"):
        raise errors.InvalidArgument(
            f"{os.fspath(source)} is ONNX; OpenVINO IR or a native blob was expected",
            remedy="anyzero.npu.Core().compile_model() takes ONNX; `ovc model.onnx` writes IR.",
        )
    return Serialized(data, npu.ZE_GRAPH_FORMAT_NATIVE, source)


def envelope(
    xml: npt.NDArray[np.uint8], weights: npt.NDArray[np.uint8], compiler: tuple[int, int]
) -> npt.NDArray[np.uint8]:
    """The first serialised form of a model: versions, then the two parts, each behind its length.

    It is written into pages of its own, which go back to the system when the graph is made.
    """
    total = _HEAD.size + xml.nbytes + _LENGTH.size + weights.nbytes
    pages = mmap.mmap(-1, total, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):
        # Populating small pages takes ten times as long as filling large ones.
        pages.madvise(mmap.MADV_HUGEPAGE)
    made = np.frombuffer(pages, np.uint8)
    _HEAD.pack_into(pages, 0, *compiler, _PARTS, xml.nbytes)
    at = _HEAD.size
    made[at : at + xml.nbytes] = xml
    at += xml.nbytes
    _LENGTH.pack_into(pages, at, weights.nbytes)
    made[at + _LENGTH.size :] = weights
    return made


def build_flags(options: GraphOptions, *, profiling: bool) -> bytes | None:
    """Build flags as the driver reads them; a mapping holds the compiler's configuration."""
    text = options if isinstance(options, str) else ""
    configured = {} if isinstance(options, str) else {key: _value(value) for key, value in options.items()}
    if profiling:
        configured["PERF_COUNT"] = "YES"
    for key, value in configured.items():
        if not key.replace("_", "").isalnum() or '"' in value:
            raise errors.InvalidArgument(
                f"{key}={value!r} cannot be passed to the compiler: a key has letters, digits and _, "
                "and a value has no quotation marks"
            )
    if configured:
        pairs = " ".join(f'{key}="{value}"' for key, value in configured.items())
        # The configuration comes last, and continues one that the text has begun.
        text = f"{text} {pairs}" if "--config" in text else f"{text} --config {pairs}"
    return text.strip().encode() + b" " if text else None


def _value(value: object) -> str:
    return ("YES" if value else "NO") if isinstance(value, bool) else str(value)


def _beside(source: object) -> npt.NDArray[np.uint8]:
    """The weights that lie beside a file with a model, if there are any."""
    if isinstance(source, str | os.PathLike):
        neighbour = Path(source).with_suffix(".bin")
        if neighbour.exists():
            return bytes_of(neighbour)
    return np.empty(0, np.uint8)


def bytes_of(source: object) -> npt.NDArray[np.uint8]:
    """The contents of a file or of memory, without a copy; a file is mapped."""
    if isinstance(source, str | os.PathLike):
        with Path(source).open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return np.empty(0, np.uint8)
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    if isinstance(source, np.ndarray):
        if not source.flags.c_contiguous:
            raise errors.InvalidArgument("the array is not contiguous")
        return source.reshape(-1).view(np.uint8)
    if isinstance(source, bytes | bytearray | memoryview | mmap.mmap):
        return np.frombuffer(source, np.uint8)
    raise TypeError(f"a graph is made from a file name or bytes, not from {source!r}")
