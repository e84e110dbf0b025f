"""Arguments: every kind of value for every kind of parameter, and the errors for wrong ones."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.api.launches import arguments, parameters
from tests.api.kernels import EXAMPLES, KERNELS, SAXPY

TRANSFORM = np.dtype([("scale", np.float32), ("shift", np.int32)])
N, GROUP = 32, 8


class Scene:
    """The kernel with an argument of every sort, and what it must compute."""

    def __init__(self, ctx: az.Context) -> None:
        self.ctx = ctx
        self.kernel = ctx.module(EXAMPLES / "kernel_arguments.spv")["every_sort"]
        self.out = ctx.zeros((N, 4), np.float32)
        self.arguments: list[Any] = [
            self.out,
            ctx.full(N, 1, np.float32),
            az.local((GROUP, 4), np.float32),
            np.int32(100),
            np.array([1, 2, 3, 4], np.float32).tobytes(),
            np.array((2, 5), TRANSFORM)[()],
        ]

    def run(self, **changes: Any) -> None:
        given = list(self.arguments)
        for name, value in changes.items():
            given[int(name.removeprefix("a"))] = value
        self.out.fill(0)
        self.kernel[N](*given, group=GROUP)

    def holds(self, scale: float = 2, shift: int = 5, first: int = 100) -> bool:
        i = np.arange(N).reshape(-1, GROUP)[:, ::-1].reshape(-1, 1)
        expected = np.array([1, 2, 3, 4], np.float32) * np.float32(scale) + (first + shift + i)
        return np.allclose(self.out.copy_to(), expected)


@pytest.fixture
def scene(ctx: az.Context) -> Scene:
    return Scene(ctx)


def test_the_driver_tells_the_types(scene: Scene, ctx: az.Context) -> None:
    assert scene.kernel.types == (
        "global float4*",
        "global float*",
        "local float4*",
        "int",
        "float4",
        "struct",
    )
    assert ctx.module(KERNELS / "empty.spv")["empty"].types == ()
    image_scaling = ctx.module(EXAMPLES / "image_scaling.spv")["image_scaling"]
    assert image_scaling.types == ("image2d_t", "image2d_t", "sampler_t")
    assert repr(image_scaling) == "<Kernel image_scaling(image2d_t, image2d_t, sampler_t)>"


GOOD: dict[str, list[Any]] = {
    "a3": [100, True + 99, np.int32(100), np.uint32(100), np.array(100, np.int32), (100).to_bytes(4, "little")],
    "a4": [
        (1, 2, 3, 4),
        [1.0, 2.0, 3.0, 4.0],
        np.array([1, 2, 3, 4], np.float32),
        (np.float32(1), 2, 3.0, np.float32(4)),
        (ctypes.c_float * 4)(1, 2, 3, 4),
    ],
    "a5": [np.array((2, 5), TRANSFORM), np.array((2, 5), TRANSFORM).tobytes(), np.array([(2, 5)], TRANSFORM)[0]],
    "a1": [None],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in GOOD.items() for value in values])
def test_values_arrive(scene: Scene, name: str, value: Any) -> None:
    scene.run(**{name: value})
    assert scene.holds()


def test_a_structure_of_ctypes_will_do(scene: Scene) -> None:
    class Transform(ctypes.Structure):
        _fields_ = [("scale", ctypes.c_float), ("shift", ctypes.c_int)]

    scene.run(a5=Transform(3, -7))
    assert scene.holds(scale=3, shift=-7)


def test_integers_have_both_signs(scene: Scene) -> None:
    for value in (-1, 0xFFFFFFFF, np.int32(-1), np.uint32(0xFFFFFFFF)):
        scene.run(a3=value)
        assert scene.holds(first=-1)


def test_an_address_is_a_pointer(scene: Scene) -> None:
    weights = scene.arguments[1]
    scene.run(a1=weights.pointer)
    assert scene.holds()
    scene.run(a1=np.uint64(weights.pointer))
    assert scene.holds()


BAD: list[tuple[str, Any, str]] = [
    ("a3", 1.5, r"argument 3 of every_sort \(int\) cannot be 1\.5"),
    ("a3", "x", "cannot be 'x'"),
    ("a3", None, "cannot be None"),
    ("a3", 1 << 32, "4294967296 does not fit"),
    ("a3", -(1 << 31) - 1, "does not fit"),
    ("a3", np.int64(1), r"4 bytes and cannot be numpy\.int64"),
    ("a3", np.float32(1), r"cannot be numpy\.float32"),
    ("a3", b"123", "has 4 bytes; 3 were given"),
    ("a3", np.zeros(2, np.int32), "has 4 bytes; 8 were given"),
    ("a4", (1, 2, 3), "has 4 components; 3 were given"),
    ("a4", 1.0, r"cannot be 1\.0"),
    ("a4", ("1", 2, 3, 4), "cannot be '1'"),
    ("a4", np.array([1, 2, 3, 4], np.float64), r"cannot be numpy\.float64"),
    ("a4", b"1234", "has 16 bytes; 4 were given"),
    ("a5", 1, r"\(struct\) cannot be 1"),
    ("a5", bytes(9), "has 8 bytes; 9 were given"),
    ("a0", np.zeros(4), r"to_device\(\) copies an array"),
    ("a0", 1.5, "None for a null pointer"),
    ("a0", -1, "cannot be negative"),
    ("a0", 1 << 64, "no device takes"),
    ("a0", az.Local(16), "not local memory"),
    ("a2", 16, r"az\.Local"),
    ("a2", None, r"az\.Local"),
]


@pytest.mark.parametrize(("name", "value", "said"), BAD)
def test_what_does_not_fit_is_told(scene: Scene, name: str, value: Any, said: str) -> None:
    with pytest.raises(az.InvalidArgument, match=said):
        scene.run(**{name: value})
    scene.run()
    assert scene.holds()


def test_a_buffer_is_no_local_memory_and_no_image(scene: Scene, ctx: az.Context) -> None:
    with pytest.raises(az.InvalidArgument, match=r"\(local float4\*\) cannot be a anyzero"):
        scene.run(a2=scene.out)
    image_scaling = ctx.module(EXAMPLES / "image_scaling.spv")["image_scaling"]
    image, sampler = ctx.image((4, 4), np.float32, channels=4), ctx.sampler()
    with pytest.raises(az.InvalidArgument, match=r"an Image of kind '2d'"):
        image_scaling[4, 4](scene.out, image, sampler)
    with pytest.raises(az.InvalidArgument, match=r"Context\.sampler"):
        image_scaling[4, 4](image, image, image)
    with pytest.raises(az.InvalidArgument, match="takes an image of kind '2d', not '3d'"):
        image_scaling[4, 4](ctx.image((2, 4, 4), np.float32), image, sampler)


def test_the_number_of_arguments_is_checked(scene: Scene, ctx: az.Context) -> None:
    with pytest.raises(az.InvalidArgument, match=r"takes 6 arguments \(global float4\*, .*\); 1 were given"):
        scene.kernel[N](scene.out)
    with pytest.raises(az.InvalidArgument, match="empty takes 0 arguments; 1 were given"):
        ctx.module(KERNELS / "empty.spv")["empty"][1](1)


def test_closed_buffers_and_images_are_told(scene: Scene, ctx: az.Context) -> None:
    buffer = ctx.zeros(N, np.float32)
    buffer.close()
    with pytest.raises(az.ClosedError, match="this Buffer is closed"):
        scene.run(a1=buffer)
    image_scaling = ctx.module(EXAMPLES / "image_scaling.spv")["image_scaling"]
    image, sampler = ctx.image((4, 4), np.float32, channels=4), ctx.sampler()
    sampler.close()
    with pytest.raises(az.ClosedError, match="this Sampler is closed"):
        image_scaling[4, 4](image, image, sampler)


def test_floats_that_do_not_fit_are_told(ctx: az.Context) -> None:
    saxpy = ctx.module(SAXPY)["saxpy"]
    x, y = ctx.full(4, 1, np.float32), ctx.zeros(4, np.float32)
    with pytest.raises(az.InvalidArgument, match=r"1e\+300 does not fit argument 2 of saxpy \(float\)"):
        saxpy[4](y, x, 1e300)
    for value in (float("inf"), 3, True, np.float32(3), np.array(3, np.float32)):
        y.fill(0)
        saxpy[4](y, x, value)
        assert (y.copy_to() == np.float32(value)).all()
    for wrong in (np.float64(1), np.int32(1), 1j, "1"):
        with pytest.raises(az.InvalidArgument, match="argument 2 of saxpy"):
            saxpy[4](y, x, wrong)


def test_vectors_of_three_take_the_room_of_four() -> None:
    vector = parameters.parameter("it", "float3", 16)
    assert vector.convert((1, 2, 3), []) == np.array([1, 2, 3, 0], np.float32).tobytes()
    assert vector.convert(np.array([1, 2, 3], np.float32), []) == np.array([1, 2, 3, 0], np.float32).tobytes()


@pytest.mark.parametrize(
    ("text", "size", "value", "expected"),
    [
        ("half", 2, 1.5, 1.5),
        ("double", 8, 1, 1.0),
        ("double", 8, np.float64(2.5), 2.5),
        ("uchar", 1, -1, 255),
        ("const unsigned int", 4, 7, 7),
        ("size_t", 8, np.uint64(7), 7),
        ("bool", 1, np.bool_(True), 1),
        ("wavelength", 4, np.float32(1), np.float32(1).tobytes()),
        ("ushort2", 4, (1, -1), b"\1\0\xff\xff"),
    ],
)
def test_types_that_other_drivers_tell(text: str, size: int, value: Any, expected: Any) -> None:
    assert parameters.parameter("it", text, size).convert(value, []) == expected


def test_image_types_have_their_kinds(ctx: az.Context) -> None:
    for text, shape, kind in [
        ("image1d_t", 4, "1d"),
        ("image1d_array_t", (2, 4), "1darray"),
        ("image1d_buffer_t", 4, "buffer"),
        ("read_only image2d_t", (4, 4), "2d"),
        ("image2d_array_t", (2, 4, 4), "2darray"),
        ("__write_only image3d_t", (4, 4, 4), "3d"),
    ]:
        image = ctx.image(shape, np.float32, kind=kind)  # type: ignore[arg-type]
        kept: list[Any] = []
        assert parameters.parameter("it", text, 8).convert(image, kept) == image.handle
        assert kept == [image]


# A driver that does not tell the types


@pytest.fixture
def untyped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "_extension", lambda *_: None)


@pytest.mark.usefixtures("untyped")
def test_without_types_arguments_say_how_large_they_are(ctx: az.Context) -> None:
    scene = Scene(ctx)
    assert scene.kernel.types is None
    scene.run()
    assert scene.holds()
    scene.run(a1=None, a3=np.int32(7))
    assert scene.holds(first=7)
    for value in (1.5, 7, "x", np.zeros(4, np.int32)):
        with pytest.raises(az.InvalidArgument, match="argument 3 of every_sort") as caught:
            scene.run(a3=value)
        assert "np.float32" in caught.value.remedy
    scene.run(a3=np.int64(9))
    assert scene.holds(first=9)
    with pytest.raises(az.InvalidArgument, match="takes 6 arguments; 0 were given"):
        scene.kernel[N]()


@pytest.mark.usefixtures("untyped")
def test_without_types_images_and_samplers_are_handles(ctx: az.Context) -> None:
    image_scaling = ctx.module(EXAMPLES / "image_scaling.spv")["image_scaling"]
    small, large = (ctx.image((size, size), np.float32, channels=4) for size in (2, 4))
    pixels = np.arange(16, dtype=np.float32).reshape(2, 2, 4)
    small.copy_from(pixels)
    image_scaling[4, 4](small, large, ctx.sampler(normalized=True))
    assert np.array_equal(large.copy_to(), pixels.repeat(2, axis=0).repeat(2, axis=1))


@pytest.mark.usefixtures("untyped")
def test_without_types_launches_have_the_same_forms(ctx: az.Context) -> None:
    saxpy = ctx.module(SAXPY)["saxpy"]
    x, y = ctx.full(8, 1, np.float32), ctx.zeros(8, np.float32)
    one = np.float32(1)
    with ctx.immediate() as lst:
        lst.launch(saxpy, 4, (y, x, one), group=2, offset=2)
        lst.launch(saxpy, 2, args=(y, x, one), cooperative=True)
        lst.launch_indirect(saxpy, ctx.to_device(np.array([4, 1, 1], np.uint32)), (y, x, one), group=2)
    assert y.copy_to().tolist() == [2, 2, 2, 2, 2, 2, 1, 1]


# Threads


def test_several_threads_launch_one_kernel_each_with_its_own_arguments(ctx: az.Context) -> None:
    saxpy = ctx.module(SAXPY)["saxpy"]
    x = ctx.full(16, 1, np.float32)
    wrong: list[float] = []

    def launch(number: int) -> None:
        y = ctx.zeros(16, np.float32)
        with ctx.immediate() as lst:
            for _ in range(100):
                saxpy[16](y, x, float(number), on=lst)
        if not (y.copy_to() == 100 * number).all():
            wrong.append(number)

    threads = [threading.Thread(target=launch, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
