"""What the engine does with images for kernels, done by the interpreter's images: compiled code runs without it."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_int32, c_uint32, c_uint64, c_void_p
from typing import Any

import numpy as np

from anyzero.compiler.reference import Image, Sampler

_READ = ctypes.CFUNCTYPE(
    None, c_void_p, c_void_p, c_uint32, c_uint64, c_void_p, c_uint32, c_void_p, POINTER(c_uint32), c_uint32
)
_QUERY = ctypes.CFUNCTYPE(c_uint32, c_void_p, c_uint32)
_BLOCK = ctypes.CFUNCTYPE(None, c_void_p, c_uint32, c_uint64, c_int32, c_int32, c_uint32, c_uint32, c_void_p)

Array = np.ndarray[Any, Any]


def functions(things: dict[int, Image | Sampler | tuple[Image, Sampler]]) -> dict[str, Any]:
    """By the names that kernels call them by. `things` are the arguments, by the numbers that stand for them."""

    @_QUERY
    def query(image: int, what: int) -> int:
        found = things[image]
        assert what in (0, 1)
        extents: tuple[int, ...] = (found[0] if isinstance(found, tuple) else found).extents  # type: ignore[union-attr]
        return extents[what]

    @_READ
    def read(
        image: int, sampler: int, lanes: int, mask: int, at: int, floats: int, _: int, texel: Any, kind: int
    ) -> None:
        found, how = things[image], things.get(sampler)
        if isinstance(found, tuple):
            # It brings its own sampler.
            assert not sampler
            found, how = found
        assert isinstance(found, Image)
        assert isinstance(how, Sampler)
        assert kind == 0
        dtype = np.float32 if floats else np.int32
        count = len(found.extents)
        rows = np.frombuffer(ctypes.string_at(at, count * lanes * 4), dtype).reshape(count, lanes)
        for lane in range(lanes):
            if mask >> lane & 1:
                values = np.array(found.sample(how, [each.item() for each in rows[:, lane]]), np.float32).view(
                    np.uint32
                )
                for component, value in enumerate(values):
                    texel[component * lanes + lane] = int(value)

    @_BLOCK
    def block_read(image: int, lanes: int, mask: int, x: int, y: int, rows: int, size: int, data: int) -> None:
        for at, _, to in _places(things[image], lanes, mask, x, y, rows, size):
            ctypes.memmove(data + to, bytes(at), size)

    @_BLOCK
    def block_write(image: int, lanes: int, mask: int, x: int, y: int, rows: int, size: int, data: int) -> None:
        for at, inside, from_ in _places(things[image], lanes, mask, x, y, rows, size):
            if inside:
                at[:] = ctypes.string_at(data + from_, size)

    return {
        "az_image_query": query,
        "az_image_read": read,
        "az_image_block_read": block_read,
        "az_image_block_write": block_write,
    }


def _places(
    image: Any, lanes: int, mask: int, x: int, y: int, rows: int, size: int
) -> list[tuple[memoryview, bool, int]]:
    """Bytes of the image, whether they are the ones that were asked for, and their place in the kernel's array."""
    found = []
    width = image.size[0] * image.format.texel_bytes
    for row in range(rows):
        start, _ = image.row(y + row)
        for lane in (each for each in range(lanes) if mask >> each & 1):
            wanted = x + lane * size
            offset = max(0, min(wanted, width - size))
            inside = wanted == offset and 0 <= y + row < image.size[1]
            found.append((image.view[start + offset : start + offset + size], inside, (row * lanes + lane) * size))
    return found
