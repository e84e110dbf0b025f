"""Images and samplers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.kernels.case import Argument, Array, Case, Image, Sampler
from tests.kernels.topics.making import launch

__all__ = ["CASES"]

WIDTH, HEIGHT, DEPTH = 11, 6, 3
POINTS = 60
NEEDS = frozenset({"images"})


def _pixels(seed: int, shape: tuple[int, ...], dtype: Any) -> Array:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.uniform(-2, 2, shape).astype(dtype)
    bounds = np.iinfo(dtype)
    return rng.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)


def _as_floats(image: Image) -> Array:
    """What a kernel reads: four components, absent ones 0 and absent alpha 1."""
    pixels = image.pixels.astype(np.float64)
    if image.normalized:
        pixels = np.maximum(pixels / np.iinfo(image.pixels.dtype).max, -1)
    return _filled(pixels)


def _filled(pixels: Array) -> Array:
    full = np.zeros((*pixels.shape[:-1], 4), pixels.dtype)
    full[..., 3] = 1
    full[..., : pixels.shape[-1]] = pixels
    return full


def _reading() -> Iterator[Case]:
    shape = (HEIGHT, WIDTH)
    formats: list[tuple[str, str, str, bool, int]] = [
        *(("floats", "f4", "", False, channels) for channels in (1, 2, 4)),
        ("floats", "f2", "", False, 4),
        *(("floats", kind, "normalized_", True, 4) for kind in ("u1", "i1", "u2", "i2")),
        ("floats", "u1", "normalized_", True, 1),
        *(("signed", kind, "", False, 4) for kind in ("i1", "i2", "i4")),
        ("signed", "i4", "", False, 2),
        *(("unsigned", kind, "", False, 4) for kind in ("u1", "u2", "u4")),
        ("unsigned", "u1", "", False, 1),
    ]
    result = {"floats": np.float32, "signed": np.int32, "unsigned": np.uint32}
    for (kernel, kind, prefix, normalized, channels), writing in itertools.product(formats, (False, True)):
        pixels = _pixels(1, (*shape, channels), kind)
        dtype = result[kernel]
        image = Image(pixels, normalized=normalized)
        label = f"{prefix}{np.dtype(kind).name}x{channels}"
        # A conversion to a normalized format may round either way in the middle.
        near = 1.0 if writing and normalized else 1e-6 if not writing else 0.0

        if not writing:

            def to_read(image: Image = image, dtype: Any = dtype) -> list[Argument]:
                return [np.zeros((*shape, 4), dtype), image]

            def read(given: list[Any], kernel: str = kernel, dtype: Any = dtype) -> dict[int, Array]:
                image = given[1]
                return {0: _as_floats(image) if kernel == "floats" else _filled(image.pixels.astype(dtype))}

            sizes = (shape[::-1], (11, 2))
            atol = near if kernel == "floats" else 0.0
            name = f"images_read_{label}"
            yield launch("images", f"read_{kernel}", to_read, read, sizes, name=name, atol=atol, needs=NEEDS)
            continue

        def to_write(image: Image = image, dtype: Any = dtype, kernel: str = kernel) -> list[Argument]:
            values = (_as_floats(image) if kernel == "floats" else _filled(image.pixels)).astype(dtype)
            return [Image(np.zeros_like(image.pixels), normalized=image.normalized, access="write"), values]

        def written(_: list[Any], image: Image = image) -> dict[int, Array]:
            return {0: image.pixels}

        sizes = (shape[::-1], (11, 2))
        name = f"images_write_{label}"
        yield launch("images", f"write_{kernel}", to_write, written, sizes, name=name, atol=near, needs=NEEDS)


def _wrapped(index: Array, size: int, address: str) -> Array:
    """Where in the image an index leads; -1 is the border."""
    if address == "repeat":
        return index % size
    if address == "mirror":
        turned = index % (2 * size)
        return np.where(turned < size, turned, 2 * size - 1 - turned)
    if address == "border":
        return np.where((index < 0) | (index >= size), -1, index)
    return np.clip(index, 0, size - 1)


def _sampled(pixels: Array, sampler: Sampler, at: Array) -> Array:
    """Pixels (…, 4) at coordinates (points, dimensions), x first."""
    dimensions = at.shape[1]
    shape = pixels.shape[dimensions - 1 :: -1]
    border = np.zeros(4)

    def texel(index: list[Array]) -> Array:
        places = [_wrapped(index[d], shape[d], sampler.address) for d in range(dimensions)]
        outside = np.any([place < 0 for place in places], axis=0)
        found = pixels[tuple(np.maximum(place, 0) for place in reversed(places))]
        return np.where(outside[:, None], border, found)

    scaled = [at[:, d].astype(np.float64) * (shape[d] if sampler.normalized else 1) for d in range(dimensions)]
    if not sampler.linear:
        return texel([np.floor(where).astype(int) for where in scaled])
    low = [np.floor(where - 0.5).astype(int) for where in scaled]
    share = [where - 0.5 - first for where, first in zip(scaled, low, strict=True)]
    total = np.zeros((len(at), 4))
    for corner in itertools.product((0, 1), repeat=dimensions):
        weight = np.prod([share[d] if corner[d] else 1 - share[d] for d in range(dimensions)], axis=0)
        total += weight[:, None] * texel([low[d] + corner[d] for d in range(dimensions)])
    return total


def _coordinates(seed: int, sampler: Sampler, shape: tuple[int, ...], inside: bool = False) -> Array:
    """Points in and around the image, none so near to the middle between two pixels that rounding decides."""
    rng = np.random.default_rng(seed)
    reach = 0.0 if inside else 1.3
    spots = np.stack([rng.uniform(-reach * size, (1 + reach) * size, POINTS) for size in shape], 1)
    spots = np.floor(spots) + rng.choice([0.1, 0.3, 0.45, 0.6, 0.85], spots.shape)
    return (spots / np.array(shape) if sampler.normalized else spots).astype(np.float32)


def _sampling() -> Iterator[Case]:
    flat = Image(_pixels(2, (HEIGHT, WIDTH, 4), np.float32))
    colours = Image(_pixels(3, (HEIGHT, WIDTH, 4), np.uint8), normalized=True)
    volume = Image(_pixels(4, (DEPTH, HEIGHT, WIDTH, 4), np.float32))

    def case(name: str, kernel: str, image: Image, sampler: Sampler, shape: tuple[int, ...]) -> Case:
        at = _coordinates(5, sampler, shape, inside=sampler.address == "none" and not sampler.linear)

        def arguments() -> list[Argument]:
            # Coordinates of volumes come in fours.
            padded = np.pad(at, ((0, 0), (0, 1))) if len(shape) == 3 else at.copy()
            return [np.zeros((POINTS, 4), np.float32), image, sampler, padded]

        def expected(_: list[Any]) -> dict[int, Array]:
            return {0: _sampled(_as_floats(image), sampler, at)}

        atol = 0.04 if sampler.linear else 1e-5
        return launch("images", kernel, arguments, expected, (POINTS, 20), name=name, atol=atol, needs=NEEDS)

    for normalized, address, linear in itertools.product(
        (False, True), ("edge", "border", "repeat", "mirror"), (False, True)
    ):
        if address in {"repeat", "mirror"} and not normalized:
            continue
        sampler = Sampler(normalized, address, linear)
        label = f"{address}_{'linear' if linear else 'nearest'}{'_normalized' if normalized else ''}"
        yield case(f"images_sample_{label}", "sample", flat, sampler, (WIDTH, HEIGHT))
        yield case(f"images_sample_volume_{label}", "sample_volume", volume, sampler, (WIDTH, HEIGHT, DEPTH))
    yield case("images_sample_bytes", "sample", colours, Sampler(False, "edge", True), (WIDTH, HEIGHT))
    yield case("images_sample_none", "sample", flat, Sampler(False, "none", False), (WIDTH, HEIGHT))

    whole = Image(_pixels(6, (HEIGHT, WIDTH, 4), np.int16))
    places = np.random.default_rng(7).integers(-3, 14, (POINTS, 2)).astype(np.int32)

    def sample_whole(_: list[Any]) -> dict[int, Array]:
        x, y = np.clip(places[:, 0], 0, WIDTH - 1), np.clip(places[:, 1], 0, HEIGHT - 1)
        return {0: whole.pixels[y, x].astype(np.int32)}

    def wholes() -> list[Argument]:
        return [np.zeros((POINTS, 4), np.int32), whole, Sampler(False, "edge", False), places.copy()]

    yield launch("images", "sample_whole", wholes, sample_whole, (POINTS, 20), needs=NEEDS)

    at = _coordinates(8, Sampler(False, "edge", False), (WIDTH, HEIGHT))

    def own_samplers(_: list[Any]) -> dict[int, Array]:
        made = _sampled(flat.pixels, Sampler(False, "edge", False), at).astype(np.float64)
        made[1::2] += _sampled(flat.pixels, Sampler(False, "border", True), at)[1::2]
        return {0: made}

    def own() -> list[Argument]:
        return [np.zeros((POINTS, 4), np.float32), flat, at.copy()]

    yield launch("images", "own_samplers", own, own_samplers, (POINTS, 20), atol=0.04, needs=NEEDS)


def _shapes() -> Iterator[Case]:
    def case(kernel: str, arguments: Callable[[], list[Argument]], expected: Any, sizes: Any) -> Case:
        return launch("images", kernel, arguments, expected, sizes, needs=NEEDS)

    line = _pixels(9, (40, 4), np.float32)
    yield case(
        "one_dimension",
        lambda: [np.zeros((40, 4), np.float32), Image(line), Image(np.zeros_like(line), access="write")],
        lambda _: {0: line, 2: line[::-1] * 2},
        (40, 8),
    )
    stored = np.random.default_rng(10).integers(-999, 999, (40, 4)).astype(np.int32)
    yield case(
        "on_a_buffer",
        lambda: [Image(np.zeros_like(stored), access="write", buffer=True), Image(stored, buffer=True)],
        lambda _: {0: stored[::-1] + 1},
        (40, 8),
    )
    box = _pixels(11, (DEPTH, HEIGHT, WIDTH, 4), np.float32)
    yield case(
        "three_dimensions",
        lambda: [np.zeros_like(box), Image(box), Image(np.zeros_like(box), access="write")],
        lambda _: {0: box, 2: -box[:, :, ::-1]},
        ((WIDTH, HEIGHT, DEPTH), (WIDTH, 2, 1)),
    )
    many = _pixels(12, (DEPTH, HEIGHT, WIDTH, 4), np.uint16) // 2
    yield case(
        "layers",
        lambda: [
            np.zeros(many.shape, np.uint32),
            Image(many, layers=True),
            Image(np.zeros_like(many), layers=True, access="write"),
        ],
        lambda _: {0: many.astype(np.uint32), 2: many[::-1] + 1},
        ((WIDTH, HEIGHT, DEPTH), (WIDTH, 2, 1)),
    )
    rows = _pixels(13, (HEIGHT, WIDTH, 4), np.uint8)
    yield case(
        "rows_of_layers",
        lambda: [np.zeros(rows.shape, np.uint32), Image(rows, layers=True)],
        lambda _: {0: rows.astype(np.uint32)},
        ((WIDTH, HEIGHT), (WIDTH, 2)),
    )
    flat = np.random.default_rng(14).integers(0, 999, (HEIGHT, WIDTH, 4)).astype(np.uint32)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    added = np.stack([x, y, np.zeros_like(x), np.ones_like(x)], 2).astype(np.uint32)
    yield case(
        "read_and_write",
        lambda: [Image(flat.copy(), access="both")],
        lambda _: {0: flat * 2 + added},
        ((WIDTH, HEIGHT), (WIDTH, 2)),
    )
    yield case(
        "questions",
        lambda: [
            np.zeros(16, np.int32),
            Image(_pixels(15, (HEIGHT, WIDTH, 4), np.uint8), normalized=True),
            Image(box),
            Image(many, layers=True),
            Image(line[:, :1].copy()),
        ],
        lambda _: {0: np.array([11, 6, 1, 1, 11, 6, 11, 6, 3, 0, 3, 1, 3, 11, 40, 1], np.int32)},
        (1, 1),
    )
    bright = _pixels(16, (HEIGHT, WIDTH, 4), np.float32)

    def divergent(_: list[Any]) -> dict[int, Array]:
        out = np.full_like(bright, 7)
        for row in range(HEIGHT):
            for column in range(WIDTH):
                if not (row ^ column) & 1:
                    out[row, column] = np.max(bright[row, :column], axis=0, initial=0.25)
        return {0: out}

    yield case(
        "divergent",
        lambda: [Image(np.full_like(bright, 7), access="write"), Image(bright)],
        divergent,
        ((WIDTH, HEIGHT), (WIDTH, 2)),
    )


def _blocks() -> Iterator[Case]:
    """Of bytes: the image's own format does not matter. Reads beyond an edge give what is there, writes are dropped."""
    pixels = _pixels(17, (HEIGHT, 40, 4), np.uint8)
    shapes = {"move_block": (4, 1), "move_rows": (4, 4), "move_shorts": (2, 2)}
    places = {"inside": ((16, 1), (8, 0)), "beyond": ((96, 4), (64, 3)), "before": ((-16, -2), (0, 1))}

    def case(kernel: str, label: str) -> Case:
        size, rows = shapes[kernel]
        source, target = places[label]

        def arguments() -> list[Argument]:
            blank = Image(np.zeros_like(pixels), normalized=True, access="write")
            return [
                Image(pixels, normalized=True),
                blank,
                *(np.array(at, np.int32).view(np.int64)[0] for at in places[label]),
            ]

        def expected(_: list[Any]) -> dict[int, Array]:
            from_, to = pixels.reshape(HEIGHT, -1), np.zeros((HEIGHT, 40 * 4), np.uint8)
            last = from_.shape[1] - size
            for item, row in itertools.product(range(32), range(rows)):
                x, y = np.clip(source[0] + item * size, 0, last), np.clip(source[1] + row, 0, HEIGHT - 1)
                there, below = target[0] + item * size, target[1] + row
                if there <= last and below < HEIGHT:
                    to[below, there : there + size] = from_[y, x : x + size]
            return {1: to.reshape(pixels.shape)}

        needs = NEEDS | {"sub_groups", "image_blocks"}
        return launch("image_blocks", kernel, arguments, expected, (32, 32), name=f"{kernel}_{label}", needs=needs)

    yield from (case(kernel, label) for kernel in shapes for label in places)


CASES = (*_reading(), *_sampling(), *_shapes(), *_blocks())
