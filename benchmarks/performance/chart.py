"""Bar charts as SVG, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import log10
from typing import Final

__all__ = ["Bar", "Linear", "Log", "chart"]

WIDTH: Final = 760
LABELS: Final = 200
"""Pixels for the names of rows."""
MARGIN: Final = 16
ROW: Final = 20
BAR: Final = 12
TOP: Final = 62
BOTTOM: Final = 34
NUMBER: Final = 80
"""Pixels that a number and its note take at the end of a bar."""

STYLE: Final = """
.paper { fill: #ffffff; } .grid { stroke: #d9dfe5; } .line { stroke: #1f2328; stroke-width: 1.5; }
text { font: 12px system-ui, sans-serif; fill: #1f2328; paint-order: stroke; stroke: #ffffff; stroke-width: 3px; }
.dim { fill: #59636e; }
.title { font-size: 15px; font-weight: 600; }
.good { fill: #2f7fd1; } .bad { fill: #d0722a; } .mark { stroke: #1f2328; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
.paper { fill: #0d1117; } .grid { stroke: #30363d; } .line { stroke: #e6edf3; }
text { fill: #e6edf3; stroke: #0d1117; } .dim { fill: #9198a1; }
.good { fill: #539bf5; } .bad { fill: #e0823d; } .mark { stroke: #e6edf3; }
}
"""
"""With a ground of its own: the page around it may be light where the reader's system prefers dark."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One row."""

    label: str
    value: float
    note: str = ""
    """Behind the number."""
    mark: float | None = None
    """Where a short line across the row stands."""


@dataclass(frozen=True, slots=True)
class Log:
    """From the line at 1 to both sides: twice as fast is as far away as twice as slow."""

    values: tuple[float, ...]
    line: float = 1.0

    @property
    def bounds(self) -> tuple[float, float]:
        """With room for the numbers at the ends of the longest bars."""
        return min(0.4, min(self.values) / 2.6), max(1.6, max(self.values) * 2.2)

    @property
    def start(self) -> float:
        return self.line

    def share(self, value: float) -> float:
        low, high = map(log10, self.bounds)
        return (log10(value) - low) / (high - low)

    def ticks(self) -> list[float]:
        low, high = self.bounds
        steps = [step * 10.0**power for power in range(-5, 6) for step in (1, 2, 5)]
        return [step for step in steps if low <= step <= high]

    def good(self, value: float) -> bool:
        return value <= self.line


@dataclass(frozen=True, slots=True)
class Linear:
    """From 0 on; more is better."""

    values: tuple[float, ...]
    line: float

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.15 * max(self.line, *self.values)

    @property
    def start(self) -> float:
        return 0.0

    def share(self, value: float) -> float:
        return value / self.bounds[1]

    def ticks(self) -> list[float]:
        high = self.bounds[1]
        step = next(step for step in (0.5, 1, 2, 4, 8, 16, 32, 64) if high / step <= 8)
        return [number * step for number in range(int(high / step) + 1)]

    def good(self, value: float) -> bool:
        return value >= self.line


def chart(title: str, subtitle: str, bars: Sequence[Bar], axis: Log | Linear) -> str:
    """The text of an SVG file."""
    height = TOP + ROW * len(bars) + BOTTOM
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-labelledby="title">'
    )
    body = [
        head,
        f'<title id="title">{escape(title)}: {escape(subtitle)}</title>',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}" rx="6"/>',
        f'<text class="title" x="{MARGIN}" y="26">{escape(title)}</text>',
        f'<text class="dim" x="{MARGIN}" y="45">{escape(subtitle)}</text>',
        *_grid(axis, height),
        *(line for number, bar in enumerate(bars) for line in _drawn(bar, TOP + ROW * number, axis)),
        _rule("line", axis, axis.line, TOP - 4, height - BOTTOM + 4),
        # Last, for the numbers are to be read also where they cross the line.
        *(line for number, bar in enumerate(bars) for line in _written(bar, TOP + ROW * number, axis)),
        "</svg>",
    ]
    return "\n".join(body) + "\n"


def _x(axis: Log | Linear, value: float) -> float:
    return round(LABELS + MARGIN + axis.share(value) * (WIDTH - LABELS - 2 * MARGIN), 1)


def _rule(kind: str, axis: Log | Linear, value: float, top: float, bottom: float) -> str:
    x = _x(axis, value)
    return f'<line class="{kind}" x1="{x}" y1="{top}" x2="{x}" y2="{bottom}"/>'


def _grid(axis: Log | Linear, height: int) -> Iterator[str]:
    for tick in axis.ticks():
        yield _rule("grid", axis, tick, TOP - 4, height - BOTTOM + 4)
        yield f'<text class="dim" x="{_x(axis, tick)}" y="{height - 12}" text-anchor="middle">{tick:g}</text>'


def _drawn(bar: Bar, top: int, axis: Log | Linear) -> Iterator[str]:
    middle = top + ROW / 2
    start, end = _x(axis, axis.start), _x(axis, bar.value)
    kind = "good" if axis.good(bar.value) else "bad"
    left, width = min(start, end), max(1.0, round(abs(end - start), 1))
    yield f'<rect class="{kind}" x="{left}" y="{middle - BAR / 2}" width="{width}" height="{BAR}" rx="2"/>'
    if bar.mark is not None:
        yield _rule("mark", axis, bar.mark, middle - BAR / 2 - 2, middle + BAR / 2 + 2)


def _written(bar: Bar, top: int, axis: Log | Linear) -> Iterator[str]:
    base = top + ROW / 2 + 4
    yield f'<text x="{LABELS}" y="{base}" text-anchor="end">{escape(bar.label)}</text>'
    start, end = _x(axis, axis.start), _x(axis, bar.value)
    before = end < start
    outermost = end
    if bar.mark is not None and 0 <= (mark := _x(axis, bar.mark) - end) * (-1 if before else 1) < NUMBER:
        outermost = end + mark
    x, anchor = (outermost - 5, "end") if before else (outermost + 5, "start")
    note = f' <tspan class="dim">{escape(bar.note)}</tspan>' if bar.note else ""
    yield f'<text x="{round(x, 1)}" y="{base}" text-anchor="{anchor}">{bar.value:.2f}{note}</text>'
