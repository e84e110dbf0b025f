"""The pictures of `anyzero demo`: a fractal, an image before and after a blur, and a timeline of the engines."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import anyzero as az
from anyzero.tools.picture import write_png

__all__ = ["Gallery", "Wrong", "require"]

WIDE, HIGH = 960, 640
LIMIT = 300
CHUNKS, CHUNK = 4, 1 << 20
ROUNDS = 30
_COLOURS: Final = {"upload": "#4c78a8", "kernel": "#f58518", "readback": "#54a24b"}
_LETTERS: Final = {"upload": "u", "kernel": "K", "readback": "r"}


class Wrong(az.Error):
    """A result that is not the expected one."""

    remedy = "That is a bug: please report it with the output of `anyzero info --json`."


def require(holds: object, what: str) -> None:
    if not holds:
        raise Wrong(f"demo: {what}")


@az.kernel
def mandelbrot(picture: az.array[az.u8, 3], limit: az.i32) -> None:
    """One work-item for each pixel; the colour is how soon its point escapes."""
    column, row = az.global_id(0), az.global_id(1)
    height = picture.shape[0]
    re = (column - 0.5 * picture.shape[1]) * 2.5 / height - 0.65
    im = (row - 0.5 * height) * 2.5 / height
    x, y = 0.0, 0.0
    count = 0
    while count < limit and x * x + y * y < 256.0:
        x, y = x * x - y * y + re, 2.0 * x * y + im
        count += 1
    if count < limit:
        # The fraction of the last step makes the bands smooth.
        shade = math.sqrt(count + 1.0 - math.log2(0.5 * math.log2(x * x + y * y)))
        for channel in range(3):  # blue rises first, then green, then red
            picture[row, column, channel] = az.u8(127.5 - 127.0 * math.cos((0.45 + 0.25 * channel) * (shade - 1.0)))


@az.kernel
def scene(picture: az.array[az.f32, 2]) -> None:
    """A lit sphere above a chequered floor."""
    column, row = az.global_id(0), az.global_id(1)
    height = picture.shape[0]
    u = (column - 0.5 * picture.shape[1]) * 2.0 / height
    v = (row - 0.5 * height) * 2.0 / height
    value = 60.0 + 50.0 * v
    if v > 0.1:
        depth = 0.5 / v
        square = math.floor(u * depth * 4.0) + math.floor(depth * 8.0)
        value = 210.0 if square % 2.0 < 0.5 else 70.0
    distance = u * u + (v + 0.05) * (v + 0.05)
    if distance < 0.36:
        z = math.sqrt(0.36 - distance)
        lit = max((-0.5 * u - 0.6 * (v + 0.05) + 0.62 * z) / 0.6, 0.0)
        value = 25.0 + 150.0 * lit + 80.0 * lit**20.0
    picture[row, column] = value


@az.kernel
def blur(
    out: az.array[az.f32, 2],
    picture: az.array[az.f32, 2],
    weights: az.ptr[az.f32],
    radius: az.i32,
    dx: az.i32,
    dy: az.i32,
) -> None:
    """One direction of a Gaussian blur; two passes blur both."""
    column, row = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    total = 0.0
    for step in range(-radius, radius + 1):
        x = min(max(column + step * dx, 0), az.i32(picture.shape[1]) - 1)
        y = min(max(row + step * dy, 0), az.i32(picture.shape[0]) - 1)
        total += weights[abs(step)] * picture[y, x]
    out[row, column] = total


@az.kernel
def orbit(values: az.ptr[az.f32], rounds: az.i32) -> None:
    """Arithmetic that takes as long as a copy: many steps of the logistic map."""
    i = az.global_id(0)
    x = values[i]
    for _ in range(rounds):
        x = 3.7 * x * (1.0 - x)
    values[i] = x


@dataclass(frozen=True)
class Span:
    """The time span of a command, in microseconds since the first one began."""

    engine: str
    what: str
    start: float
    end: float


@dataclass
class Gallery:
    """Makes the pictures, and remembers where they are."""

    folder: Path
    written: list[Path] = field(default_factory=list)
    shown: NDArray[Any] | None = None
    """The picture for the terminal."""
    spans: list[Span] = field(default_factory=list)

    def fractal(self, ctx: az.Context) -> str:
        picture = ctx.zeros((HIGH, WIDE, 3), np.uint8)
        done = ctx.event(timing=True)
        with ctx.immediate() as lst:
            mandelbrot[WIDE, HIGH](picture, LIMIT, on=lst, signal=done)
            done.wait(timeout=60)
        pixels = picture.copy_to()
        require(not pixels[HIGH // 2, WIDE // 2].any(), "the middle of the Mandelbrot set is not black")
        require(np.array_equal(pixels[1], pixels[-1]), "the Mandelbrot set is not symmetric")
        self.shown = pixels
        name = self._save("mandelbrot.png", pixels)
        return f"a kernel in Python drew the Mandelbrot set, {WIDE} × {HIGH}, in {done.kernel_ns / 1e6:.0f} ms: {name}"

    def before_and_after(self, ctx: az.Context) -> str:
        radius = 12
        weights = np.exp(-0.5 * (np.arange(radius + 1) / (radius / 2.5)) ** 2).astype(np.float32)
        weights /= weights[0] + 2 * weights[1:].sum()
        before, half, after = (ctx.zeros((360, 480), np.float32) for _ in range(3))
        given = ctx.to_device(weights)
        with ctx.immediate() as lst:
            scene[480, 360](before, on=lst)
            lst.barrier()
            blur[480, 360](half, before, given, radius, 1, 0, on=lst)
            lst.barrier()
            blur[480, 360](after, half, given, radius, 0, 1, on=lst).wait(timeout=60)
        sharp, soft = before.copy_to(), after.copy_to()
        require(abs(float(sharp.mean() - soft.mean())) < 8, "a blur changed the brightness")
        require(np.abs(np.diff(soft)).max() < np.abs(np.diff(sharp)).max() / 4, "a blur left sharp edges")
        gap = np.full((360, 12), 255, np.float32)
        name = self._save("blur.png", np.clip(np.hstack([sharp, gap, soft]), 0, 255))
        return f"two kernels drew an image and blurred it; before and after: {name}"

    def timeline(self, ctx: az.Context) -> str:
        values = np.random.default_rng(7).uniform(0.1, 0.9, (CHUNKS, CHUNK)).astype(np.float32)
        results = np.ones_like(values)  # touched, so that no page fault is measured
        memory = [ctx.zeros(CHUNK, np.float32) for _ in range(CHUNKS)]
        orbit[CHUNK](memory[0], 1)  # compiles
        events = {what: ctx.events(CHUNKS, timing=True) for what in _COLOURS}
        with ctx.immediate(kind="copy") as copies, ctx.immediate() as compute:
            for chunk in range(CHUNKS):
                copies.copy(memory[chunk], values[chunk], signal=events["upload"][chunk])
                orbit[CHUNK](
                    memory[chunk],
                    ROUNDS,
                    on=compute,
                    wait=events["upload"][chunk],
                    signal=events["kernel"][chunk],
                )
            for chunk in range(CHUNKS):
                copies.copy(
                    results[chunk], memory[chunk], wait=events["kernel"][chunk], signal=events["readback"][chunk]
                )
            events["readback"][-1].wait(timeout=60)
            compute.synchronize(timeout=60)
            copies.synchronize(timeout=60)
        expected = np.float64(values[-1, :4])
        for _ in range(3):
            expected = 3.7 * expected * (1 - expected)
        check = ctx.to_device(values[-1, :4])
        orbit[4](check, 3)
        require(np.allclose(check.copy_to(), expected, rtol=1e-3), "the logistic map went elsewhere")
        require(((results > 0) & (results < 1)).all(), "a chunk was not computed")
        self.spans = _spans(ctx.device, events)
        whole = max(span.end for span in self.spans)
        name = self.folder / "timeline.svg"
        name.write_text(_drawing(self.spans))
        self.written.append(name)
        busy = sum(span.end - span.start for span in self.spans)
        return (
            f"{CHUNKS} chunks went through two engines in {whole / 1000:.1f} ms, "
            f"with commands of {busy / 1000:.1f} ms in all: {name.name}"
        )

    def _save(self, name: str, pixels: NDArray[Any]) -> str:
        self.written.append(write_png(self.folder / name, pixels))
        return name

    def rows(self, columns: int) -> list[str]:
        """The timeline in characters, a line for each engine."""
        if not self.spans:
            return []
        names = sorted({span.engine for span in self.spans}, reverse=True)
        room = columns - max(map(len, names)) - 2
        scale = room / max(span.end for span in self.spans)
        lines = []
        for name in names:
            line = ["·"] * room
            for span in (each for each in self.spans if each.engine == name):
                first = min(int(span.start * scale), room - 1)
                last = max(min(round(span.end * scale), room), first + 1)
                line[first:last] = _LETTERS[span.what] * (last - first)
            lines.append(f"{name:>{columns - room - 2}}  {''.join(line)}")
        return lines


def _spans(device: az.Device, events: dict[str, list[az.Event]]) -> list[Span]:
    stamps = [(what, event.timestamps) for what, several in events.items() for event in several]
    first = min(stamp.start for _, stamp in stamps)
    tick = device.timer_resolution / 1000
    return [
        Span(
            "compute engine" if what == "kernel" else "copy engine",
            what,
            (stamp.start - first) * tick,
            (stamp.end - first) * tick,
        )
        for what, stamp in stamps
    ]


def _drawing(spans: list[Span]) -> str:
    """The timeline as SVG: one row for each engine, one bar for each command."""
    whole = max(span.end for span in spans)
    left, room, tall = 130, 760, 44
    names = sorted({span.engine for span in spans}, reverse=True)
    parts = [f'<text x="{left}" y="22" font-size="16">upload, compute and readback, overlapped on two engines</text>']
    for row, name in enumerate(names):
        top = 44 + row * (tall + 14)
        parts.append(f'<text x="{left - 12}" y="{top + 28}" text-anchor="end">{name}</text>')
        parts.append(f'<rect x="{left}" y="{top}" width="{room}" height="{tall}" fill="#f3f4f6"/>')
        for span in (each for each in spans if each.engine == name):
            x, wide = left + span.start / whole * room, max((span.end - span.start) / whole * room, 1)
            parts.append(
                f'<rect x="{x:.1f}" y="{top}" width="{wide:.1f}" height="{tall}" fill="{_COLOURS[span.what]}" '
                f'stroke="#fff"><title>{span.what}: {span.end - span.start:.0f} µs</title></rect>'
            )
    bottom = 44 + len(names) * (tall + 14)
    parts += [
        f'<text x="{left}" y="{bottom + 14}">0</text>',
        f'<text x="{left + room}" y="{bottom + 14}" text-anchor="end">{whole / 1000:.1f} ms</text>',
    ]
    for number, (what, colour) in enumerate(_COLOURS.items()):
        x = left + 200 + 130 * number
        parts.append(f'<rect x="{x}" y="{bottom + 3}" width="14" height="14" fill="{colour}"/>')
        parts.append(f'<text x="{x + 20}" y="{bottom + 15}">{what}</text>')
    size = f'width="{left + room + 20}" height="{bottom + 34}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">\n'
        '<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
