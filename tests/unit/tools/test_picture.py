"""Pictures are PNG files that readers accept, and fit a terminal."""

from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from anyzero.tools import picture


def decoded(path: Path) -> np.ndarray:
    """The pixels of a PNG file, by the letter of its format; every checksum is verified."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = [], 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length)[0] == zlib.crc32(kind + body)
        chunks.append((kind, body))
        at += 12 + length
    assert [kind for kind, _ in chunks] == [b"IHDR", b"IDAT", b"IEND"]
    columns, rows, depth, colours, *rest = struct.unpack(">IIBBBBB", chunks[0][1])
    assert (depth, rest) == (8, [0, 0, 0])
    lines = np.frombuffer(zlib.decompress(chunks[1][1]), np.uint8).reshape(rows, -1)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape((rows, columns, 3) if colours == 2 else (rows, columns))


@pytest.mark.parametrize("shape", [(3, 5), (4, 2, 3)])
def test_a_png_file_holds_the_pixels(shape: tuple[int, ...], tmp_path: Path) -> None:
    pixels = np.random.default_rng(3).integers(0, 256, shape, np.uint8)
    assert np.array_equal(decoded(picture.write_png(tmp_path / "x.png", pixels)), pixels)


def test_other_shapes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"not \(2, 2, 4\)"):
        picture.write_png(tmp_path / "x.png", np.zeros((2, 2, 4), np.uint8))


def test_a_picture_in_characters() -> None:
    ramp = np.repeat(np.linspace(0, 255, 64)[None, :], 32, axis=0)
    lines = picture.in_blocks(ramp, 10, shades=0).splitlines()
    assert lines == [" .:-=+*#%@"] * len(lines)
    assert len(lines) == 2
    for shades, code in ((256, "38;5;"), (1 << 24, "38;2;")):
        rows = picture.in_blocks(ramp, 10, shades=shades).splitlines()
        assert all(code in row and row.endswith("\033[0m") for row in rows)
        assert {len(re.sub(r"\033\[[^m]*m", "", row)) for row in rows} == {10}


def test_no_colour_without_a_terminal_or_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert picture.colours() == 0
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    assert picture.colours() == 1 << 24
    monkeypatch.delenv("COLORTERM")
    assert picture.colours() == 256
    monkeypatch.setenv("NO_COLOR", "1")
    assert picture.colours() == 0
