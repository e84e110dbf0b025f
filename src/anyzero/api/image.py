"""Images: formatted memory of one to three dimensions."""

from __future__ import annotations

import ctypes
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from anyzero import errors, ze
from anyzero.api.image_format import ImageFormat
from anyzero.api.library import check, create, function
from anyzero.api.memory.host_arrays import HostArray, require_pixels
from anyzero.api.memory.sizes import place_of, place_within, size_within
from anyzero.api.resource import Resource

if TYPE_CHECKING:
    from anyzero.api.context import Context
    from anyzero.api.device import Device
    from anyzero.api.memory.allocation import ContextHandle

__all__ = ["Image", "ImageKind", "ImageRegion"]

ImageKind = Literal["1d", "1darray", "2d", "2darray", "3d", "buffer"]

_KINDS: Final[dict[str, tuple[int, int]]] = {
    "1d": (ze.ZE_IMAGE_TYPE_1D, 1),
    "1darray": (ze.ZE_IMAGE_TYPE_1DARRAY, 2),
    "2d": (ze.ZE_IMAGE_TYPE_2D, 2),
    "2darray": (ze.ZE_IMAGE_TYPE_2DARRAY, 3),
    "3d": (ze.ZE_IMAGE_TYPE_3D, 3),
    "buffer": (ze.ZE_IMAGE_TYPE_BUFFER, 1),
}
_USUAL: Final[dict[int, ImageKind]] = {1: "1d", 2: "2d", 3: "3d"}

_create: Final = function("zeImageCreate")
_create_view: Final = function("zeImageViewCreateExt")
_from_memory: Final = function("zeCommandListAppendImageCopyFromMemory")
_to_memory: Final = function("zeCommandListAppendImageCopyToMemory")
_get_memory: Final = function("zeImageGetMemoryPropertiesExp")


class Image(Resource):
    """Pixels in numpy's axis order: ``(width,)``, ``(height, width)`` or ``(depth, height, width)``.

    Arrays of its pixels have one more axis if a pixel has several channels. Image arrays have the level first. A slice,
    as in ``image[8:16, :32]``, is a part of it that can be copied. Any thread may use an image.

    >>> ctx = az.device().context()
    >>> image = ctx.image((2, 3), np.uint8, channels=4)
    >>> image.copy_from(np.full((2, 3, 4), 7, np.uint8))
    >>> image.copy_to().shape
    (2, 3, 4)
    """

    __slots__ = ("context", "device", "format", "kind", "lifetime", "shape", "source")
    _destroy = function("zeImageDestroy")

    def __init__(
        self,
        context: Context,
        device: Device,
        shape: tuple[int, ...],
        format: ImageFormat,  # noqa: A002 (the specification's word)
        kind: ImageKind | None = None,
        *,
        writable: bool = True,
        uncached: bool = False,
        source: Image | None = None,
        plane: int | None = None,
    ) -> None:
        kind = kind or _USUAL.get(len(shape), "3d")
        if kind not in _KINDS:
            raise ValueError(f"kind={kind!r} is not one of {', '.join(_KINDS)}")
        if len(shape) != _KINDS[kind][1]:
            raise errors.InvalidArgument(f"an image of kind {kind!r} has {_KINDS[kind][1]} axes, not {shape}")
        self.context = context
        self.lifetime: ContextHandle = context.lifetime if source is None else source.lifetime
        self.device = device
        self.shape = shape
        self.format = format
        self.kind: ImageKind = kind
        self.source = source
        desc = self._desc(writable, uncached)
        chained = ze.ze_image_view_planar_ext_desc_t(planeIndex=place_within(plane or 0, 32, "the plane"))
        if plane is not None:
            desc.pNext = ctypes.addressof(chained)
        owner = self.lifetime.handle
        if source is None:
            self.handle = create(_create, owner, device.handle, ctypes.byref(desc))
        else:
            self.handle = create(_create_view, owner, device.handle, ctypes.byref(desc), source.handle)

    def _desc(self, writable: bool, uncached: bool) -> Any:
        number, axes = _KINDS[self.kind]
        for side in self.shape:
            size_within(side, 32, "a side of the image")
        levels = self.shape[0] if self.kind.endswith("array") else 0
        width = self.shape[-1]
        if self.kind == "buffer":
            # The only kind whose width the specification counts in bytes.
            pixel = self.format.pixel
            width *= pixel[0].itemsize * pixel[1] if pixel else 1
        return ze.ze_image_desc_t(
            flags=writable * ze.ZE_IMAGE_FLAG_KERNEL_WRITE | uncached * ze.ZE_IMAGE_FLAG_BIAS_UNCACHED,
            type=number,
            format=self.format.structure(),
            width=width,
            height=self.shape[-2] if axes - bool(levels) >= 2 else 0,
            depth=self.shape[0] if self.kind == "3d" else 0,
            arraylevels=levels,
        )

    @property
    def channels(self) -> int:
        """The number of channels of a pixel; 1 for formats whose pixels are not plain numbers."""
        pixel = self.format.pixel
        return pixel[1] if pixel else 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype of a channel; bytes for formats whose pixels are not plain numbers."""
        pixel = self.format.pixel
        return pixel[0] if pixel else np.dtype(np.uint8)

    @property
    def nbytes(self) -> int:
        """The size of its memory in bytes, padding included."""
        found = ze.ze_image_memory_properties_exp_t()
        check(_get_memory(self.handle, ctypes.byref(found)), _get_memory)
        return int(found.size)

    def copy_from(self, source: npt.ArrayLike) -> None:
        """Copy an array or buffer of pixels here; done when the call returns. Lists have `copy_image`.

        >>> image = az.device().context().image(4, np.float32)
        >>> image.copy_from(np.arange(4, dtype=np.float32))
        >>> image.copy_to()
        array([0., 1., 2., 3.], dtype=float32)
        """
        self[...].copy_from(source)

    def copy_to(self, target: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Copy the pixels to an array, a new one unless given, and return it."""
        return self[...].copy_to(target)

    def __getitem__(self, index: EllipsisType | slice | int | tuple[slice | int, ...]) -> ImageRegion:
        if index is ...:
            return ImageRegion(self, (0,) * len(self.shape), self.shape)
        parts = index if isinstance(index, tuple) else (index,)
        if len(parts) > len(self.shape):
            raise IndexError(f"an image of shape {self.shape} has no {len(parts)} axes")
        whole = [*parts, *[slice(None)] * (len(self.shape) - len(parts))]
        ranges = []
        for part, size in zip(whole, self.shape, strict=True):
            if not isinstance(part, slice):
                at = place_of(part, size, "an index of an image is an integer or a slice for each axis")
                part = slice(at, at + 1)
            start, stop, step = part.indices(size)
            if step != 1 or stop <= start:
                raise errors.InvalidArgument("a slice of an image must not be empty, and its step must be 1")
            ranges.append((start, stop - start))
        return ImageRegion(self, tuple(start for start, _ in ranges), tuple(extent for _, extent in ranges))

    def view(
        self,
        format: ImageFormat | None = None,  # noqa: A002
        *,
        shape: tuple[int, ...] | None = None,
        plane: int | None = None,
    ) -> Image:
        """The same pixels in another format, or one plane of a video layout.

        >>> ctx = az.device().context()
        >>> image = ctx.image((2, 2), az.ImageFormat("nv12", "unorm"))
        >>> image.view(az.ImageFormat("8", "unorm"), plane=0).shape
        (2, 2)
        """
        return Image(
            self.context, self.device, shape or self.shape, format or self.format, self.kind, source=self, plane=plane
        )

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<Image {self.shape} {self.format.layout} {self.format.type}{state}>"


class ImageRegion:
    """A part of an image, made by a slice of it.

    >>> image = az.device().context().image((8, 8), np.uint16)
    >>> image[2:4, 4:]
    <ImageRegion (2, 4) at (2, 4)>
    >>> image[2:4, 4:].copy_to().shape
    (2, 4)
    """

    __slots__ = ("image", "origin", "shape", "where")

    def __init__(self, image: Image, origin: tuple[int, ...], shape: tuple[int, ...]) -> None:
        self.image = image
        self.origin = origin
        self.shape = shape
        x, y, z = (*origin[::-1], 0, 0)[:3]
        width, height, depth = (*shape[::-1], 1, 1)[:3]
        # Levels of a 1D array are its rows; those of a 2D array its slices.
        region = ze.ze_image_region_t(x, y, z, width, height, depth)
        self.where = None if shape == image.shape else ctypes.byref(region)

    @property
    def array_shape(self) -> tuple[int, ...]:
        """The shape of an array of its pixels; raises InvalidArgument where pixels are not plain numbers."""
        if self.image.format.pixel is None:
            raise errors.InvalidArgument(
                f"pixels of layout {self.image.format.layout} are not plain numbers", remedy="Pass an array of bytes."
            )
        return self.shape if self.image.channels == 1 else (*self.shape, self.image.channels)

    def copy_from(self, source: npt.ArrayLike) -> None:
        """Copy an array or buffer of pixels here; done when the call returns."""
        memory: Any = source
        if not hasattr(source, "allocation"):
            memory = HostArray(np.ascontiguousarray(source))
        require_pixels(self, memory)
        image = self.image
        arguments = (image.handle, memory.pointer, self.where)
        image.lifetime.run(image.device, _from_memory, arguments, (image, memory.allocation))

    def copy_to(self, target: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Copy the pixels to an array, a new one unless given, and return it."""
        array = np.empty(self.array_shape, self.image.dtype) if target is None else target
        memory = HostArray(array, writable=True)
        require_pixels(self, memory)
        image = self.image
        arguments = (memory.pointer, image.handle, self.where)
        image.lifetime.run(image.device, _to_memory, arguments, (image, array))
        return array

    def __repr__(self) -> str:
        return f"<ImageRegion {self.shape} at {self.origin}>"
