"""The elements of several arrays of one shape: axes, strides, and the index computations of a kernel's work-items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, Final

from anyzero import errors

__all__ = ["Layout", "Strides", "broadcast", "dense", "extent", "spread"]

Strides = tuple[int, ...]
"""Strides in elements along each axis; 0 along an axis that is broadcast."""

_AXES: Final = 3
"""Number of dimensions of a grid; further axes are taken out of the last."""


def broadcast(shapes: Iterable[tuple[str, tuple[int, ...]]]) -> tuple[int, ...]:
    """The broadcast shape of arrays, by numpy's rule.

    >>> from anyzero.arrays.layout import broadcast
    >>> broadcast([("x", (3, 1)), ("y", (4,))])
    (3, 4)
    """
    found: tuple[int, ...] | None = None
    every = list(shapes)
    for _, shape in every:
        if found is None or shape == found:
            found = shape
            continue
        length = max(len(found), len(shape))
        a, b = (1,) * (length - len(found)) + found, (1,) * (length - len(shape)) + shape
        together = []
        for one, other in zip(a, b, strict=True):
            if one != other and 1 not in (one, other):
                listed = " and ".join(f"{name} {each}" if name else f"{each}" for name, each in every)
                raise errors.InvalidArgument(
                    f"shapes {listed} do not fit together",
                    remedy="Axes are matched from the last; two must be equal, or one of them 1.",
                )
            together.append(other if one == 1 else one)
        found = tuple(together)
    return found or ()


def dense(shape: tuple[int, ...]) -> Strides:
    """The strides of a contiguous array."""
    found, step = [], 1
    for size in reversed(shape):
        found.append(step)
        step *= size
    return tuple(reversed(found))


def spread(shape: tuple[int, ...], strides: Strides, wanted: tuple[int, ...]) -> Strides:
    """The strides of an array broadcast to a larger shape."""
    if shape == wanted:
        return strides
    missing = len(wanted) - len(shape)
    own = (0 if size == 1 else stride for size, stride in zip(shape, strides, strict=True))
    return (0,) * missing + tuple(own)


def extent(shape: tuple[int, ...], strides: Strides) -> tuple[int, int]:
    """The first and the last element of an array, counted from the one at index 0."""
    ends = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    return sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)


class Layout:
    """Axes that all arrays can iterate together, merged where possible; the innermost first.

    Strides are arguments of the kernel, so one kernel serves all shapes; `code` says which of them are 0 or 1, which
    the kernel knows.
    """

    __slots__ = ("_strides", "arguments", "code", "grid", "size")

    def __init__(self, shape: tuple[int, ...], strides: Sequence[Strides]) -> None:
        self.size = prod(shape)
        axes: list[tuple[int, list[int]]] = []
        for axis in range(len(shape) - 1, -1, -1):
            size = shape[axis]
            if size == 1:
                continue
            steps = [each[axis] for each in strides]
            if axes:
                inner, those = axes[-1]
                if all(step == inner * other for step, other in zip(steps, those, strict=True)):
                    axes[-1] = inner * size, those
                    continue
            axes.append((size, steps))
        if not axes:
            axes.append((self.size, [1] * len(strides)))
        self._strides = [tuple(steps[index] for _, steps in axes) for index in range(len(strides))]
        self.code: Any = tuple(
            tuple("1" if not axis and step == 1 else "0" if not step else "s" for axis, step in enumerate(each))
            for each in self._strides
        )
        sizes = [size for size, _ in axes]
        self.grid: Any = tuple(sizes) if len(sizes) <= _AXES else (*sizes[: _AXES - 1], prod(sizes[_AXES - 1 :]))
        if len(sizes) == 1:
            self.grid = sizes[0]
        steps = [
            step
            for each, codes in zip(self._strides, self.code, strict=True)
            for step, code in zip(each, codes, strict=True)
            if code == "s"
        ]
        self.arguments: tuple[int, ...] = (*(sizes if len(sizes) > 1 else ()), *steps)

    @property
    def _count(self) -> int:
        return len(self.code[0]) if self.code else 1

    @property
    def parameters(self) -> list[str]:
        """The kernel's parameters for `arguments`."""
        axes = self._count
        sizes = [f"e{axis}: az.i64" for axis in range(axes)] if axes > 1 else []
        return sizes + [
            f"s{index}_{axis}: az.i64"
            for index, codes in enumerate(self.code)
            for axis, code in enumerate(codes)
            if code == "s"
        ]

    def lines(self) -> list[str]:
        """Statements that set `i`, the index of the element, and `i0`, `i1` … along the axes."""
        axes = self._count
        if axes == 1:
            return ["    i = az.global_id(0)"]
        lines = [f"    i{axis} = az.global_id({axis})" for axis in range(min(axes, _AXES))]
        if axes > _AXES:
            last = _AXES - 1
            lines[last] = f"    r{last} = az.global_id({last})"
            for axis in range(last, axes - 1):
                lines += [f"    i{axis} = r{axis} % e{axis}", f"    r{axis + 1} = r{axis} // e{axis}"]
            lines.append(f"    i{axes - 1} = r{axes - 1}")
        index = f"i{axes - 1}"
        for axis in range(axes - 2, -1, -1):
            index = f"({index}) * e{axis} + i{axis}"
        return [*lines, f"    i = {index}"]

    def places(self) -> list[str]:
        """The index of the element in each array."""
        found = []
        for index, codes in enumerate(self.code):
            parts = []
            for axis, code in enumerate(codes):
                name = "i" if len(codes) == 1 else f"i{axis}"
                if code == "1":
                    parts.append(name)
                elif code == "s":
                    parts.append(f"{name} * s{index}_{axis}")
            found.append(" + ".join(parts) or "0")
        return found
