"""Geometric functions. A vector is a list of its components."""

from __future__ import annotations

from collections.abc import Sequence

from anyzero.compiler.builtins.instructions import instruction
from anyzero.compiler.builtins.roots import rsqrt, safe_scale
from anyzero.compiler.builtins.writer import Writer
from anyzero.compiler.llvm import Value

Vector = Sequence[Value]


def _largest(w: Writer, v: Vector) -> Value:
    """The largest magnitude of the components; unspecified if one is NaN."""
    sizes = [w.fabs(x) for x in v]
    largest = sizes[0]
    for size in sizes[1:]:
        largest = w.at_least(size, largest)
    return largest


def _square(w: Writer, v: Vector) -> Value:
    total = v[0] * v[0]
    for x in v[1:]:
        total = w.mad(x, x, total)
    return total


def _length(w: Writer, v: Vector) -> Value:
    scale, inverse = safe_scale(w, _largest(w, v))
    return w.sqrt(_square(w, [x * scale for x in v])) * inverse


def _difference(a: Vector, b: Vector) -> list[Value]:
    return [x - y for x, y in zip(a, b, strict=True)]


@instruction("length", "T", counted=True)
def length(w: Writer, v: Vector) -> Value:
    return _length(w, v)


@instruction("distance", "T", "T", counted=True)
def distance(w: Writer, a: Vector, b: Vector) -> Value:
    return _length(w, _difference(a, b))


@instruction("normalize", "T", counted=True)
def normalize(w: Writer, v: Vector) -> tuple[Value, ...]:
    largest = _largest(w, v)
    infinite = w.compare("oeq", largest, float("inf"))
    # With infinite components, finite ones count as 0 and infinite ones as 1.
    finite = [
        w.select(
            infinite,
            w.select(w.is_infinite(x), w.copysign(x.like(1.0), x), x * 0.0),
            x,
        )
        for x in v
    ]
    scale, _ = safe_scale(w, w.select(infinite, largest.like(1.0), largest))
    scaled = [x * scale for x in finite]
    root = w.sqrt(_square(w, scaled))
    # A zero vector is unchanged.
    inverse = 1.0 / w.select(w.compare("oeq", root, 0.0), root.like(1.0), root)
    return tuple(x * inverse for x in scaled)


@instruction("cross", "T", "T", counted=True)
def cross(w: Writer, a: Vector, b: Vector) -> tuple[Value, ...]:
    def minor(i: int, j: int) -> Value:
        return w.mad(a[i], b[j], -(a[j] * b[i]))

    return (minor(1, 2), minor(2, 0), minor(0, 1), *(x.like(0.0) for x in a[3:]))


@instruction("fast_length", "T", counted=True)
def fast_length(w: Writer, v: Vector) -> Value:
    return w.sqrt(_square(w, v))


@instruction("fast_distance", "T", "T", counted=True)
def fast_distance(w: Writer, a: Vector, b: Vector) -> Value:
    return fast_length(w, _difference(a, b))


@instruction("fast_normalize", "T", counted=True)
def fast_normalize(w: Writer, v: Vector) -> tuple[Value, ...]:
    square = _square(w, v)
    inverse = rsqrt(w, w.select(w.compare("oeq", square, 0.0), square.like(1.0), square))
    return tuple(x * inverse for x in v)
