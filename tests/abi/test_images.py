"""Images and samplers through the C ABI, against a model made of numpy arrays."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import Structure, addressof, byref, c_uint8, c_uint32, c_uint64, c_void_p
from math import ceil
from typing import Any

import numpy as np
import pytest

from anyzero import ze
from tests.abi.calls import (
    INVALID_ARGUMENT,
    INVALID_ENUMERATION,
    INVALID_NULL_HANDLE,
    INVALID_NULL_POINTER,
    INVALID_SIZE,
    OK,
    OUT_OF_DEVICE_MEMORY,
    OVERLAPPING_REGIONS,
    SYNCHRONOUS,
    UNSUPPORTED_FEATURE,
    UNSUPPORTED_SIZE,
    Calls,
)
from tests.abi.image_model import PLANES, SHAPES, TYPES, Extent, Model, Region, accepted

UNSUPPORTED_IMAGE_FORMAT = ze.ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT


class Gpu:
    """A device, a context and a list on which every command is done when its append returns."""

    def __init__(self, az: Calls) -> None:
        self.call, self.ok, self.new, self.last_error = az.call, az.ok, az.new, az.last_error
        self.driver, self.device, self.context = az.driver, az.device, az.context()
        self.list = az.immediate(self.context, mode=SYNCHRONOUS)
        self.limits = az.query("zeDeviceGetImageProperties", ze.ze_device_image_properties_t, az.device)

    @contextmanager
    def image(self, desc: Any) -> Iterator[c_void_p]:
        handle = self.new("zeImageCreate", self.context, self.device, byref(desc))
        yield handle
        self.ok("zeImageDestroy", handle)

    @contextmanager
    def view(self, desc: Any, image: c_void_p) -> Iterator[c_void_p]:
        handle = self.new("zeImageViewCreateExt", self.context, self.device, byref(desc), image)
        yield handle
        self.ok("zeImageDestroy", handle)

    def create(self, desc: Any) -> int:
        """Only the result of creating such an image."""
        handle = c_void_p()
        result = self.call("zeImageCreate", self.context, self.device, byref(desc), byref(handle))
        if result == OK:
            self.ok("zeImageDestroy", handle)
        return result

    def memory(self, size: int) -> np.ndarray:
        """Host memory of the context; it goes with the process."""
        pointer = self.new("zeMemAllocHost", self.context, byref(ze.ze_host_mem_alloc_desc_t()), size, 64)
        return np.frombuffer((c_uint8 * size).from_address(pointer.value), np.uint8)

    def write(self, image: c_void_p, data: np.ndarray, region: Any = None) -> int:
        arguments = (image, data.ctypes.data, region and byref(region), None, 0, None)
        return self.call("zeCommandListAppendImageCopyFromMemory", self.list, *arguments)

    def read(self, data: np.ndarray, image: c_void_p, region: Any = None) -> int:
        arguments = (data.ctypes.data, image, region and byref(region), None, 0, None)
        return self.call("zeCommandListAppendImageCopyToMemory", self.list, *arguments)

    def copy(self, to: c_void_p, origin: c_void_p, to_region: Any = None, from_region: Any = None) -> int:
        regions = (to_region and byref(to_region), from_region and byref(from_region))
        return self.call("zeCommandListAppendImageCopyRegion", self.list, to, origin, *regions, None, 0, None)

    def contents(self, image: c_void_p, size: int) -> np.ndarray:
        data = self.scratch[:size]
        data[:] = 0
        assert self.read(data, image) == OK, self.last_error()
        return data.copy()

    def load(self, image: c_void_p, data: np.ndarray) -> None:
        self.scratch[: data.size] = data
        assert self.write(image, self.scratch) == OK, self.last_error()

    @property
    def scratch(self) -> np.ndarray:
        if not hasattr(self, "_scratch"):
            self._scratch = self.memory(1 << 18)
        return self._scratch


@pytest.fixture(scope="module")
def gpu(az: Calls) -> Gpu:
    return Gpu(az)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(17)


def chain(structure: Structure) -> int:
    return addressof(structure)


SAMPLES = ("8", "8_8_8", "16_16_16_16", "YUYV", "NV12", "I420", "P216", "422V")
SAMPLE_EXTENTS = [
    Extent.of(layout, shape) for layout, shape in itertools.product(SAMPLES, SHAPES) if accepted(layout, "UINT", shape)
]
ODD_EXTENTS = [Extent.of(layout, "2DARRAY", 7, 5, 2) for layout in SAMPLES]
of_samples = pytest.mark.parametrize(
    "extent", SAMPLE_EXTENTS + ODD_EXTENTS, ids=lambda e: f"{e.layout}-{e.shape}-{e.width}"
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layout", PLANES)
def test_a_format_is_stored_or_refused(gpu: Gpu, rng: np.random.Generator, layout: str, shape: str) -> None:
    extent = Extent.of(layout, shape)
    model = Model(extent, rng).packed(extent.whole)
    for kind in TYPES:
        desc = extent.desc(kind)
        support = ze.ze_image_format_support_ext_properties_t()
        properties = ze.ze_image_properties_t(pNext=chain(support))
        gpu.ok("zeImageGetProperties", gpu.device, byref(desc), byref(properties))
        assert bool(support.supported) == accepted(layout, kind, shape)
        if not accepted(layout, kind, shape):
            assert properties.samplerFilterFlags == 0
            assert gpu.create(desc) == UNSUPPORTED_IMAGE_FORMAT
            assert layout in gpu.last_error()
            continue
        with gpu.image(desc) as image:
            gpu.load(image, model)
            assert np.array_equal(gpu.contents(image, model.size), model)


def test_the_table_names_every_layout_and_type() -> None:
    def members(enum: Any, prefix: str) -> set[str]:
        return {name.removeprefix(prefix) for name in enum.__members__ if "FORCE" not in name}

    assert set(PLANES) == members(ze.ze_image_format_layout_t, "ZE_IMAGE_FORMAT_LAYOUT_")
    assert set(TYPES) == members(ze.ze_image_format_type_t, "ZE_IMAGE_FORMAT_TYPE_")
    assert set(SHAPES) == members(ze.ze_image_type_t, "ZE_IMAGE_TYPE_")


@of_samples
def test_regions_to_and_from_memory(gpu: Gpu, rng: np.random.Generator, extent: Extent) -> None:
    model = Model(extent, rng)
    with gpu.image(extent.desc()) as image:
        gpu.load(image, model.packed(extent.whole))
        for _ in range(12):
            region = extent.random_region(rng)
            expected = model.packed(region)
            gpu.scratch[: expected.size + 1] = 0xEE
            assert gpu.read(gpu.scratch, image, region.c(extent.shape)) == OK, gpu.last_error()
            assert np.array_equal(gpu.scratch[: expected.size], expected)
            assert gpu.scratch[expected.size] == 0xEE

            data = rng.integers(0, 256, expected.size, dtype=np.uint8)
            model.unpack(region, data)
            gpu.scratch[: data.size] = data
            assert gpu.write(image, gpu.scratch, region.c(extent.shape)) == OK, gpu.last_error()
        whole = model.packed(extent.whole)
        assert np.array_equal(gpu.contents(image, whole.size), whole)


@of_samples
def test_regions_from_image_to_image(gpu: Gpu, rng: np.random.Generator, extent: Extent) -> None:
    source, target = Model(extent, rng), Model(extent, rng)
    with gpu.image(extent.desc()) as origin, gpu.image(extent.desc()) as image:
        gpu.load(origin, source.packed(extent.whole))
        gpu.load(image, target.packed(extent.whole))
        for _ in range(12):
            there = extent.random_region(rng)
            # From another place, unless an odd end ties the region to the edge of the image.
            odd = there.width % 2 or there.height % 2
            here = there if odd else Region(0, 0, 0, there.width, there.height, there.slices)
            assert gpu.copy(image, origin, there.c(extent.shape), here.c(extent.shape)) == OK, gpu.last_error()
            target.unpack(there, source.packed(here))
        expected = target.packed(extent.whole)
        assert np.array_equal(gpu.contents(image, expected.size), expected)

        gpu.ok("zeCommandListAppendImageCopy", gpu.list, image, origin, None, 0, None)
        expected = source.packed(extent.whole)
        assert np.array_equal(gpu.contents(image, expected.size), expected)


@of_samples
def test_memory_with_pitches(gpu: Gpu, rng: np.random.Generator, extent: Extent) -> None:
    model = Model(extent, rng)
    region = extent.random_region(rng)
    size, across, _ = PLANES[extent.layout][0]
    row_pitch = ceil(region.width / across) * size + 12
    # The other planes' rows span as many pixels as the first's.
    pitches = [row_pitch * plane[0] * across // (size * plane[1]) for plane in PLANES[extent.layout]]
    frame = sum(pitch * part.shape[1] for pitch, part in zip(pitches, model.parts(region), strict=True))
    for slice_pitch in (0, frame + 5):
        expected = np.full((slice_pitch or frame) * region.slices, 0xEE, np.uint8)
        for i in range(region.slices):
            at = i * (slice_pitch or frame)
            for pitch, part in zip(pitches, model.parts(region), strict=True):
                for row in part[i]:
                    expected[at : at + row.size] = row
                    at += pitch
        with gpu.image(extent.desc()) as image:
            gpu.load(image, model.packed(extent.whole))
            gpu.scratch[: expected.size] = 0xEE
            pitched = (byref(region.c(extent.shape)), row_pitch, slice_pitch, None, 0, None)
            gpu.ok("zeCommandListAppendImageCopyToMemoryExt", gpu.list, gpu.scratch.ctypes.data, image, *pitched)
            assert np.array_equal(gpu.scratch[: expected.size], expected)

            other = Model(extent, rng)
            gpu.load(image, other.packed(extent.whole))
            other.unpack(region, model.packed(region))
            gpu.scratch[: expected.size] = expected
            gpu.ok("zeCommandListAppendImageCopyFromMemoryExt", gpu.list, image, gpu.scratch.ctypes.data, *pitched)
            whole = other.packed(extent.whole)
            assert np.array_equal(gpu.contents(image, whole.size), whole)


def test_a_view_reads_the_same_bytes_as_another_format(gpu: Gpu, rng: np.random.Generator) -> None:
    extent = Extent.of("8_8_8_8", "2D")
    data = Model(extent, rng).packed(extent.whole)
    ids = [ze.ze_image_allocation_ext_properties_t() for _ in range(3)]
    image = gpu.new("zeImageCreate", gpu.context, gpu.device, byref(extent.desc("UNORM")))
    desc = Extent.of("32", "2D").desc("FLOAT")
    view = gpu.new("zeImageViewCreateExp", gpu.context, gpu.device, byref(desc), image)
    gpu.load(image, data)
    assert np.array_equal(gpu.contents(view, data.size), data)
    gpu.ok("zeImageGetAllocPropertiesExt", gpu.context, image, byref(ids[0]))
    gpu.ok("zeImageGetAllocPropertiesExt", gpu.context, view, byref(ids[1]))
    with gpu.image(extent.desc()) as other:
        gpu.ok("zeImageGetAllocPropertiesExt", gpu.context, other, byref(ids[2]))
    assert ids[0].id == ids[1].id != ids[2].id

    overlap = (Region(0, 0, 0, 4, 4, 1).c("2D"), Region(3, 3, 0, 4, 4, 1).c("2D"))
    assert gpu.copy(view, image, *overlap) == OVERLAPPING_REGIONS
    gpu.ok("zeImageDestroy", image)
    assert np.array_equal(gpu.contents(view, data.size), data)
    gpu.ok("zeImageDestroy", view)


@pytest.mark.parametrize("desc_type", ["ze_image_view_planar_ext_desc_t", "ze_image_view_planar_exp_desc_t"])
def test_a_view_of_each_plane(gpu: Gpu, rng: np.random.Generator, desc_type: str) -> None:
    extent = Extent.of("NV12", "2DARRAY")
    model = Model(extent, rng)
    with gpu.image(extent.desc()) as image:
        gpu.load(image, model.packed(extent.whole))
        planes = [Extent.of("8", "2DARRAY"), Extent.of("8_8", "2DARRAY", 11, 5)]
        for index, plane in enumerate(planes):
            extra = getattr(ze, desc_type)(planeIndex=index)
            with gpu.view(plane.desc(pNext=chain(extra)), image) as view:
                expected = model.planes[index].ravel()
                assert np.array_equal(gpu.contents(view, expected.size), expected)

        handle = c_void_p()
        for layout, index, error in (
            ("8", 1, UNSUPPORTED_IMAGE_FORMAT),
            ("8", 2, INVALID_ARGUMENT),
            ("8_8", 1, UNSUPPORTED_SIZE),
        ):
            desc = Extent.of(layout, "2DARRAY").desc(pNext=chain(extra := getattr(ze, desc_type)(planeIndex=index)))
            assert gpu.call("zeImageViewCreateExt", gpu.context, gpu.device, byref(desc), image, byref(handle)) == error


@pytest.mark.parametrize(
    ("view", "error"),
    [
        (Extent.of("16", "2D"), UNSUPPORTED_IMAGE_FORMAT),
        (Extent.of("8_8_8_8", "2D", 5), UNSUPPORTED_IMAGE_FORMAT),
        (Extent.of("NV12", "2D"), UNSUPPORTED_IMAGE_FORMAT),
        (Extent.of("8", "2D", 23), UNSUPPORTED_SIZE),
        (Extent.of("8", "2DARRAY"), UNSUPPORTED_SIZE),
    ],
)
def test_no_view_of_what_is_not_there(gpu: Gpu, view: Extent, error: int) -> None:
    handle = c_void_p()
    with gpu.image(Extent.of("8", "2D").desc()) as image:
        desc = view.desc()
        assert gpu.call("zeImageViewCreateExt", gpu.context, gpu.device, byref(desc), image, byref(handle)) == error


def test_an_image_over_memory_of_the_program(gpu: Gpu, rng: np.random.Generator) -> None:
    memory = gpu.memory(4096)
    memory[:] = rng.integers(0, 256, memory.size, dtype=np.uint8)
    pitch = ze.ze_custom_pitch_exp_desc_t(rowPitch=128, slicePitch=1024)
    pitched = ze.ze_image_pitched_exp_desc_t(ptr=memory.ctypes.data, pNext=chain(pitch))
    expected = memory.reshape(4, 8, 128)[:3, :5, : 22 * 4]
    with gpu.image(Extent.of("32", "2DARRAY", 22, 5, 3).desc(pNext=chain(pitched))) as image:
        assert np.array_equal(gpu.contents(image, expected.size), expected.ravel())
        properties = ze.ze_image_memory_properties_exp_t()
        gpu.ok("zeImageGetMemoryPropertiesExp", image, byref(properties))
        assert (properties.size, properties.rowPitch, properties.slicePitch) == (3072, 128, 1024)
        gpu.load(image, np.zeros(expected.size, np.uint8))
        assert not expected.any()
    for row, rows in ((64, 1024), (128, 512), (128, 1000)):
        pitch.rowPitch, pitch.slicePitch = row, rows
        assert gpu.create(Extent.of("32", "2DARRAY", 22, 5, 3).desc(pNext=chain(pitched))) == INVALID_SIZE
    pitched.ptr = None
    assert gpu.create(Extent.of("32", "2D").desc(pNext=chain(pitched))) == INVALID_NULL_POINTER


def test_rows_of_our_own_are_aligned(gpu: Gpu) -> None:
    properties = ze.ze_image_memory_properties_exp_t()
    with gpu.image(Extent.of("8_8_8", "3D", 30, 4, 2).desc()) as image:
        gpu.ok("zeImageGetMemoryPropertiesExp", image, byref(properties))
        assert (properties.rowPitch, properties.slicePitch, properties.size) == (128, 512, 1024)


def test_bindless_images_have_an_offset_of_their_own(gpu: Gpu) -> None:
    sampler = ze.ze_sampler_desc_t(filterMode=ze.ZE_SAMPLER_FILTER_MODE_LINEAR)
    flags = ze.ZE_IMAGE_BINDLESS_EXP_FLAG_BINDLESS | ze.ZE_IMAGE_BINDLESS_EXP_FLAG_SAMPLED_IMAGE
    bindless = ze.ze_image_bindless_exp_desc_t(flags=flags)
    desc = Extent.of("8", "2D").desc("UNORM", pNext=chain(bindless))
    assert gpu.create(desc) == INVALID_ARGUMENT
    assert "ze_sampler_desc_t" in gpu.last_error()
    bindless.pNext = chain(sampler)
    offsets = [c_uint64(), c_uint64()]
    with gpu.image(desc) as image, gpu.image(desc) as other:
        gpu.ok("zeImageGetDeviceOffsetExp", image, byref(offsets[0]))
        gpu.ok("zeImageGetDeviceOffsetExp", other, byref(offsets[1]))
    assert 0 != offsets[0].value != offsets[1].value != 0
    bindless.flags = 1 << 7
    assert gpu.create(desc) == INVALID_ENUMERATION


@pytest.mark.parametrize(
    ("layout", "kind", "shape", "flags"),
    [
        ("8_8_8_8", "UNORM", "2D", 3),
        ("32", "FLOAT", "1D", 3),
        ("32", "SINT", "3D", 1),
        ("NV12", "UINT", "2D", 3),
        ("P8", "UNORM", "2D", 1),
        ("32", "FLOAT", "BUFFER", 0),
    ],
)
def test_filters(gpu: Gpu, layout: str, kind: str, shape: str, flags: int) -> None:
    properties = ze.ze_image_properties_t()
    gpu.ok("zeImageGetProperties", gpu.device, byref(Extent.of(layout, shape).desc(kind)), byref(properties))
    assert properties.samplerFilterFlags == flags


@pytest.mark.parametrize("shape", SHAPES)
def test_sizes_that_no_image_has(gpu: Gpu, shape: str) -> None:
    extent = Extent.of("8", shape)
    side = {"B": gpu.limits.maxImageBufferSize, "3": gpu.limits.maxImageDims3D}.get(shape[0], gpu.limits.maxImageDims2D)
    sizes = {"width": side}
    sizes |= {"height": side} if shape[:2] in ("2D", "3D") else {}
    sizes |= {"depth": side} if shape == "3D" else {}
    sizes |= {"arraylevels": gpu.limits.maxImageArraySlices} if "ARRAY" in shape else {}
    for field in ("width", "height", "depth", "arraylevels"):
        fine = field not in sizes
        assert gpu.create(extent.desc(**{field: 0})) == (OK if fine else INVALID_SIZE)
        large = extent.desc(**{field: sizes.get(field, 1 << 31) + 1})
        assert gpu.create(large) == (OK if fine else UNSUPPORTED_SIZE)


def test_descriptors_that_mean_nothing(gpu: Gpu) -> None:
    extent = Extent.of("32", "2D")
    assert gpu.create(extent.desc(miplevels=1)) == INVALID_ARGUMENT
    assert gpu.create(extent.desc(type=99)) == INVALID_ENUMERATION
    assert gpu.create(extent.desc(flags=1 << 9)) == INVALID_ENUMERATION
    assert gpu.create(Extent.of("32", "BUFFER").desc(width=7)) == INVALID_SIZE
    fd = ze.ze_external_memory_import_fd_t(flags=1, fd=0)
    assert gpu.create(extent.desc(pNext=chain(fd))) == UNSUPPORTED_FEATURE
    srgb = ze.ze_srgb_ext_desc_t(sRGB=1)
    assert gpu.create(extent.desc(pNext=chain(srgb))) == UNSUPPORTED_IMAGE_FORMAT
    assert gpu.create(Extent.of("8_8_8_8", "2D").desc("UNORM", pNext=chain(srgb))) == OK
    handle, desc = c_void_p(), byref(extent.desc())
    assert gpu.call("zeImageCreate", None, gpu.device, desc, byref(handle)) == INVALID_NULL_HANDLE
    assert gpu.call("zeImageCreate", gpu.context, gpu.context, desc, byref(handle)) == INVALID_NULL_HANDLE
    assert gpu.call("zeImageCreate", gpu.context, gpu.device, None, byref(handle)) == INVALID_NULL_POINTER
    assert gpu.call("zeImageCreate", gpu.context, gpu.device, desc, None) == INVALID_NULL_POINTER


def test_flags_of_an_image(gpu: Gpu) -> None:
    extent = Extent.of("32", "2D")
    for flags in (ze.ZE_IMAGE_FLAG_KERNEL_WRITE, ze.ZE_IMAGE_FLAG_BIAS_UNCACHED, 3):
        assert gpu.create(extent.desc(flags=flags)) == OK


def test_an_image_larger_than_the_device(gpu: Gpu) -> None:
    side, levels = gpu.limits.maxImageDims2D, gpu.limits.maxImageArraySlices
    desc = Extent.of("32_32_32_32", "2DARRAY", side, side, levels).desc()
    assert gpu.create(desc) == OUT_OF_DEVICE_MEMORY
    assert "bytes" in gpu.last_error()


def test_images_are_charged_to_the_device(gpu: Gpu) -> None:
    count, memory = c_uint32(1), ze.ze_device_memory_properties_t()
    gpu.ok("zeDeviceGetMemoryProperties", gpu.device, byref(count), byref(memory))
    level = 1024 * 1024 * 4
    desc = Extent.of("32", "2DARRAY", 1024, 1024, memory.totalSize * 2 // 3 // level).desc()
    if not 0 < desc.arraylevels <= gpu.limits.maxImageArraySlices:
        desc = Extent.of("32_32_32_32", "3D", 2048, 2048, memory.totalSize * 2 // 3 // (level * 16)).desc()
    for _ in range(2):
        with gpu.image(desc):
            assert gpu.create(desc) == OUT_OF_DEVICE_MEMORY


def test_a_destroyed_image_is_no_image(gpu: Gpu) -> None:
    image = gpu.new("zeImageCreate", gpu.context, gpu.device, byref(Extent.of("8", "2D").desc()))
    gpu.ok("zeImageDestroy", image)
    assert gpu.call("zeImageDestroy", image) == INVALID_NULL_HANDLE
    assert gpu.read(gpu.scratch, image) == INVALID_NULL_HANDLE
    assert gpu.write(None, gpu.scratch) == INVALID_NULL_HANDLE


@pytest.mark.parametrize(
    ("layout", "shape", "region", "axis"),
    [
        ("8", "1D", (20, 0, 0, 3, 1, 1), "x"),
        ("8", "1D", (0, 1, 0, 3, 1, 1), "y"),
        ("8", "BUFFER", (0, 0, 0, 3, 2, 1), "y"),
        ("8", "1DARRAY", (0, 2, 0, 3, 2, 1), "y"),
        ("8", "1DARRAY", (0, 0, 1, 3, 2, 1), "z"),
        ("8", "2D", (0, 8, 0, 3, 3, 1), "y"),
        ("8", "2D", (0, 8, 0, 3, 2, 2), "z"),
        ("8", "2D", (0xFFFFFFFF, 0, 0, 0xFFFFFFFF, 1, 1), "x"),
        ("8", "2DARRAY", (0, 0, 3, 3, 2, 1), "z"),
        ("8", "3D", (0, 0, 1, 3, 2, 3), "z"),
        ("NV12", "2D", (1, 0, 0, 4, 2, 1), "x"),
        ("NV12", "2D", (0, 0, 0, 4, 3, 1), "y"),
        ("YUYV", "2D", (0, 0, 0, 3, 3, 1), "x"),
    ],
)
def test_regions_outside_the_image(gpu: Gpu, layout: str, shape: str, region: tuple[int, ...], axis: str) -> None:
    with gpu.image(Extent.of(layout, shape).desc()) as image:
        assert gpu.read(gpu.scratch, image, ze.ze_image_region_t(*region)) == INVALID_ARGUMENT
        assert f"axis {axis}" in gpu.last_error()
        assert gpu.write(image, gpu.scratch, ze.ze_image_region_t(*region)) == INVALID_ARGUMENT


def test_axes_that_an_image_lacks_may_be_zero(gpu: Gpu) -> None:
    for shape in ("1D", "BUFFER"):
        with gpu.image(Extent.of("8", shape).desc()) as image:
            assert gpu.read(gpu.scratch, image, ze.ze_image_region_t(0, 0, 0, 5, 0, 0)) == OK
    with gpu.image(Extent.of("8", "2D").desc()) as image:
        assert gpu.read(gpu.scratch, image, ze.ze_image_region_t(0, 0, 0, 5, 1, 0)) == OK


def test_empty_regions_copy_nothing_and_signal(gpu: Gpu) -> None:
    none = (None, 0, None)
    data = gpu.memory(4096)
    with gpu.image(Extent.of("NV12", "2D").desc()) as image, gpu.image(Extent.of("8", "3D").desc()) as deep:
        for made, sides in ((image, [(0, 4, 1), (4, 0, 1), (0, 0, 0)]), (deep, [(0, 1, 1), (1, 0, 1), (1, 1, 0)])):
            gpu.ok("zeCommandListAppendImageCopyFromMemory", gpu.list, made, data.ctypes.data, None, *none)
            before = data.copy()
            for side in sides:
                for region in (ze.ze_image_region_t(0, 0, 0, *side), ze.ze_image_region_t(2, 2, 0, *side)):
                    event = gpu.new(
                        "zeEventCounterBasedCreate",
                        gpu.context,
                        gpu.device,
                        byref(ze.ze_event_counter_based_desc_t(flags=3)),
                    )
                    signals = (event, 0, None)
                    args = (gpu.list, data.ctypes.data, made, byref(region))
                    gpu.ok("zeCommandListAppendImageCopyToMemory", *args, *signals)
                    gpu.ok("zeEventHostSynchronize", event, 2**64 - 1)
                    gpu.ok("zeCommandListAppendImageCopyToMemoryExt", *args, 1, 1, *signals)
                    args = (gpu.list, made, data.ctypes.data, byref(region))
                    gpu.ok("zeCommandListAppendImageCopyFromMemory", *args, *signals)
                    gpu.ok("zeEventHostSynchronize", event, 2**64 - 1)
                    assert gpu.copy(made, made, region, region) == OK
                    gpu.ok("zeEventDestroy", event)
            assert np.array_equal(data, before)
            # An empty region must be inside the image, too.
            assert gpu.read(gpu.scratch, made, ze.ze_image_region_t(10**6, 0, 0, 0, 1, 1)) == INVALID_ARGUMENT


def test_copies_that_mean_nothing(gpu: Gpu) -> None:
    one, two = Region(0, 0, 0, 4, 4, 1).c("2D"), Region(4, 0, 0, 4, 4, 1).c("2D")
    with gpu.image(Extent.of("8", "2D").desc()) as image, gpu.image(Extent.of("16", "2D").desc()) as wide:
        assert gpu.copy(image, wide) == INVALID_ARGUMENT
        assert gpu.copy(image, image, one, Region(4, 4, 0, 3, 4, 1).c("2D")) == INVALID_ARGUMENT
        assert gpu.copy(image, image) == OVERLAPPING_REGIONS
        assert gpu.copy(image, image, one, one) == OVERLAPPING_REGIONS
        assert gpu.copy(image, image, one, two) == OK
        assert gpu.read(gpu.scratch, image, None) == OK
        name, data = "zeCommandListAppendImageCopyToMemoryExt", gpu.scratch.ctypes.data
        assert gpu.call(name, gpu.list, data, image, None, 21, 0, None, 0, None) == INVALID_SIZE
        assert gpu.call(name, gpu.list, None, image, None, 0, 0, None, 0, None) == INVALID_NULL_POINTER
    with gpu.image(Extent.of("8", "3D").desc()) as image:
        assert gpu.call(name, gpu.list, data, image, None, 22, 219, None, 0, None) == INVALID_SIZE


def test_a_recorded_copy_holds_its_images(gpu: Gpu, rng: np.random.Generator) -> None:
    extent = Extent.of("NV12", "2D")
    data = Model(extent, rng).packed(extent.whole)
    recorded = gpu.new("zeCommandListCreate", gpu.context, gpu.device, byref(ze.ze_command_list_desc_t()))
    queue = gpu.new("zeCommandQueueCreate", gpu.context, gpu.device, byref(ze.ze_command_queue_desc_t()))
    images = [gpu.new("zeImageCreate", gpu.context, gpu.device, byref(extent.desc())) for _ in range(2)]
    source, result = gpu.memory(data.size), gpu.memory(data.size)
    none = (None, 0, None)
    gpu.ok("zeCommandListAppendImageCopyFromMemory", recorded, images[0], source.ctypes.data, None, *none)
    gpu.ok("zeCommandListAppendBarrier", recorded, *none)
    gpu.ok("zeCommandListAppendImageCopy", recorded, images[1], images[0], *none)
    gpu.ok("zeCommandListAppendBarrier", recorded, *none)
    gpu.ok("zeCommandListAppendImageCopyToMemory", recorded, result.ctypes.data, images[1], None, *none)
    gpu.ok("zeCommandListClose", recorded)
    for image in images:
        gpu.ok("zeImageDestroy", image)
    for _ in range(2):
        source[:] = data
        result[:] = 0
        gpu.ok("zeCommandQueueExecuteCommandLists", queue, 1, byref(recorded), None)
        gpu.ok("zeCommandQueueSynchronize", queue, (1 << 64) - 1)
        assert np.array_equal(result, data)
        data = data[::-1]
    gpu.ok("zeCommandListDestroy", recorded)
    gpu.ok("zeCommandQueueDestroy", queue)


def test_residency_calls_take_images(gpu: Gpu) -> None:
    with gpu.image(Extent.of("8", "2D").desc()) as image:
        gpu.ok("zeContextMakeImageResident", gpu.context, gpu.device, image)
        gpu.ok("zeContextEvictImage", gpu.context, gpu.device, image)


def test_samplers(gpu: Gpu) -> None:
    for mode, filter_mode, normalized in itertools.product(range(5), range(2), range(2)):
        desc = ze.ze_sampler_desc_t(addressMode=mode, filterMode=filter_mode, isNormalized=normalized)
        sampler = gpu.new("zeSamplerCreate", gpu.context, gpu.device, byref(desc))
        gpu.ok("zeSamplerDestroy", sampler)
        assert gpu.call("zeSamplerDestroy", sampler) == INVALID_NULL_HANDLE
    handle = c_void_p()
    for fields in ({"addressMode": 5}, {"filterMode": 2}):
        desc = ze.ze_sampler_desc_t(**fields)
        result = gpu.call("zeSamplerCreate", gpu.context, gpu.device, byref(desc), byref(handle))
        assert result == INVALID_ENUMERATION
    assert gpu.call("zeSamplerCreate", gpu.context, gpu.device, None, byref(handle)) == INVALID_NULL_POINTER
