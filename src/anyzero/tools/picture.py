"""Pictures from arrays: written as PNG files, and shown in a terminal with block characters."""

from __future__ import annotations

import os
import struct
import sys
import zlib
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["colours", "in_blocks", "png", "write_png"]

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_RAMP: Final = " .:-=+*#%@"
"""Characters from dark to bright, for output without colours."""

Pixels = NDArray[Any]
"""Numbers from 0 to 255: rows, columns and, for colours, three channels."""


def png(pixels: Pixels) -> bytes:
    """A PNG file from an array of shape (rows, columns) or (rows, columns, 3), with values from 0 to 255."""
    image = np.ascontiguousarray(pixels, np.uint8)
    if image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] != 3):
        raise ValueError(f"a picture has the shape (rows, columns) or (rows, columns, 3), not {image.shape}")
    rows, columns = image.shape[:2]
    header = struct.pack(">IIBBBBB", columns, rows, 8, 2 if image.ndim == 3 else 0, 0, 0, 0)
    # Each row begins with its filter: 0, none.
    lines = np.pad(image.reshape(rows, -1), ((0, 0), (1, 0)))
    packed = zlib.compress(lines.tobytes(), 6)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def write_png(path: str | os.PathLike[str], pixels: Pixels) -> Path:
    """Write a picture to a file; `png` says which arrays are one."""
    target = Path(path)
    target.write_bytes(png(pixels))
    return target


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def colours() -> int:
    """The number of colours that standard output shows: 0 without a terminal or with NO_COLOR, 256, or 1 << 24."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return 0
    return 1 << 24 if os.environ.get("COLORTERM") in ("truecolor", "24bit") else 256


def in_blocks(pixels: Pixels, columns: int, shades: int | None = None) -> str:
    """The picture as lines of so many characters: two pixels each in colours, else from dark to bright."""
    shown = colours() if shades is None else shades
    image = np.asarray(pixels, np.float32)
    if image.ndim == 2:
        image = np.repeat(image[:, :, None], 3, axis=2)
    lines = max(round(columns * image.shape[0] / image.shape[1] / 2), 1)
    if not shown:
        bright = _scaled(image, lines, columns) @ np.array([0.299, 0.587, 0.114], np.float32)
        ramp = np.array(list(_RAMP))[(bright * (len(_RAMP) - 1) / 255).round().astype(int)]
        return "\n".join("".join(row).rstrip() for row in ramp)
    small = _scaled(image, 2 * lines, columns).round().astype(int)
    return "\n".join(
        "".join(f"\033[{_code(38, top, shown)};{_code(48, low, shown)}m▀" for top, low in zip(*pair, strict=True))
        + "\033[0m"
        for pair in zip(small[::2].tolist(), small[1::2].tolist(), strict=True)
    )


def _code(ground: int, pixel: list[int], shown: int) -> str:
    red, green, blue = pixel
    if shown > 256:
        return f"{ground};2;{red};{green};{blue}"
    # The cube of 6 × 6 × 6 colours, after the 16 that a terminal names.
    return f"{ground};5;{16 + 36 * round(red / 51) + 6 * round(green / 51) + round(blue / 51)}"


def _scaled(image: NDArray[np.float32], rows: int, columns: int) -> NDArray[np.float32]:
    """Each pixel of the smaller picture is the mean of those it covers."""
    sums: NDArray[Any] = image
    for axis, size in enumerate((rows, columns)):
        edges = np.linspace(0, sums.shape[axis], size + 1).astype(int)
        starts = np.minimum(edges[:-1], sums.shape[axis] - 1)
        counts = np.maximum(np.diff(edges), 1).reshape([-1 if each == axis else 1 for each in range(3)])
        sums = np.add.reduceat(sums, starts, axis=axis) / counts
    return sums.astype(np.float32)
