"""Runs cases on an OpenCL platform through pyopencl; a peer's process imports this, never ours."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from copy import copy
from time import perf_counter_ns
from typing import Any, Final

import numpy as np
import pyopencl as cl

from benchmarks.kernels.case import Argument, Array, Case, Image, Local, Sampler

__all__ = ["OpenCL", "Prepared"]

ADDRESSES: Final = {
    "none": cl.addressing_mode.NONE,
    "edge": cl.addressing_mode.CLAMP_TO_EDGE,
    "border": cl.addressing_mode.CLAMP,
    "repeat": cl.addressing_mode.REPEAT,
    "mirror": cl.addressing_mode.MIRRORED_REPEAT,
}
ORDERS: Final = {1: cl.channel_order.R, 2: cl.channel_order.RG, 4: cl.channel_order.RGBA}
CHANNELS: Final = {
    **{np.dtype(name): getattr(cl.channel_type, kind) for name, kind in {"f4": "FLOAT", "f2": "HALF_FLOAT"}.items()},
    **{np.dtype(f"i{size}"): getattr(cl.channel_type, f"SIGNED_INT{8 * size}") for size in (1, 2, 4)},
    **{np.dtype(f"u{size}"): getattr(cl.channel_type, f"UNSIGNED_INT{8 * size}") for size in (1, 2, 4)},
}
NORMALIZED: Final = {
    **{np.dtype(f"i{size}"): getattr(cl.channel_type, f"SNORM_INT{8 * size}") for size in (1, 2)},
    **{np.dtype(f"u{size}"): getattr(cl.channel_type, f"UNORM_INT{8 * size}") for size in (1, 2)},
}


class OpenCL:
    """The first device of the only platform that the process sees."""

    def __init__(self, from_source: bool = False) -> None:
        self.device = cl.get_platforms()[0].get_devices()[0]
        self.context = cl.Context([self.device])
        self.queue = cl.CommandQueue(self.context)
        self.from_source = from_source
        self._programs: dict[str, Any] = {}

    @property
    def name(self) -> str:
        return f"{self.device.platform.version} on {self.device.name}"

    def program(self, case: Case) -> Any:
        path = case.source if self.from_source else case.spv
        if str(path) not in self._programs:
            data = path.read_text() if self.from_source else path.read_bytes()
            with warnings.catch_warnings():
                # Compilers have much to say that is no concern of a benchmark.
                warnings.simplefilter("ignore")
                options = ["-cl-std=CL3.0"] if self.from_source else []
                self._programs[str(path)] = cl.Program(self.context, data).build(options)
        return self._programs[str(path)]

    def prepare(self, case: Case, arguments: list[Argument] | None = None) -> Prepared:
        return Prepared(self, case, case.arguments() if arguments is None else arguments)


class Prepared:
    """A case with its arguments on the device, ready to be launched again and again."""

    def __init__(self, opencl: OpenCL, case: Case, arguments: list[Argument]) -> None:
        self.case = case
        self._queue = opencl.queue
        self._context = opencl.context
        self._arguments = arguments
        self._held = [self._placed(argument) for argument in arguments]
        program = opencl.program(case)
        # One kernel object per launch, so that setting arguments is no part of what is measured.
        self._kernels = [self._kernel(program, changes) for changes in case.launches]

    def reshaped(self, case: Case) -> Prepared:
        """The same kernel on the same buffers, in other groups."""
        made = copy(self)
        made.case = case
        return made

    def _placed(self, argument: Argument) -> Any:
        if isinstance(argument, Local):
            return cl.LocalMemory(argument.nbytes)
        if isinstance(argument, Sampler):
            filtering = cl.filter_mode.LINEAR if argument.linear else cl.filter_mode.NEAREST
            return cl.Sampler(self._context, argument.normalized, ADDRESSES[argument.address], filtering)
        if isinstance(argument, Image):
            return self._image(argument)
        if isinstance(argument, np.ndarray):
            flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
            return cl.Buffer(self._context, flags, hostbuf=np.ascontiguousarray(argument))
        return argument

    def _image(self, image: Image) -> Any:
        pixels = np.ascontiguousarray(image.pixels)
        kinds = NORMALIZED if image.normalized else CHANNELS
        pixel_format = cl.ImageFormat(ORDERS[pixels.shape[-1]], kinds[pixels.dtype])
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        shape = pixels.shape[-2::-1]
        if image.buffer:
            return cl.Image(
                self._context, cl.mem_flags.READ_WRITE, pixel_format, shape=shape, buffer=self._placed(image.pixels)
            )
        if image.layers and len(shape) == 2:
            # pyopencl takes the number of layers from the third dimension, which an array of lines does not have.
            descriptor = cl.ImageDescriptor()
            descriptor.image_type = cl.mem_object_type.IMAGE1D_ARRAY
            descriptor.shape = (shape[0], 1, shape[1])
            descriptor.pitches = (0, 0)
            descriptor.num_mip_levels = descriptor.num_samples = 0
            descriptor.buffer = None
            return cl.Image(self._context, flags, pixel_format, desc=descriptor, hostbuf=pixels)
        return cl.Image(self._context, flags, pixel_format, shape=shape, hostbuf=pixels, is_array=image.layers)

    def _kernel(self, program: Any, changes: Mapping[int, np.generic]) -> Any:
        kernel = cl.Kernel(program, self.case.kernel)
        for index, value in enumerate(self._held):
            kernel.set_arg(index, changes.get(index, value))
        return kernel

    def restore(self, indices: tuple[int, ...] | None = None) -> None:
        """Give arguments their first contents again: these, or all."""
        for index, argument in enumerate(self._arguments):
            if indices is not None and index not in indices:
                continue
            if isinstance(argument, np.ndarray):
                cl.enqueue_copy(self._queue, self._held[index], np.ascontiguousarray(argument))
        self._queue.finish()

    def run(self, repeats: int = 1) -> int:
        """Launch and wait; the nanoseconds that it took."""
        queue, case = self._queue, self.case
        offset, group = case.offset or None, case.group_size or None
        start = perf_counter_ns()
        for _ in range(repeats):
            for kernel in self._kernels:
                cl.enqueue_nd_range_kernel(queue, kernel, case.global_size, group, offset)
            queue.finish()
        return perf_counter_ns() - start

    def results(self) -> dict[int, Array]:
        """What buffers and images hold now."""
        after: dict[int, Array] = {}
        for index, (argument, held) in enumerate(zip(self._arguments, self._held, strict=True)):
            if isinstance(argument, np.ndarray):
                after[index] = np.empty_like(argument)
                cl.enqueue_copy(self._queue, after[index], held)
            elif isinstance(argument, Image) and argument.access != "read":
                after[index] = np.empty_like(argument.pixels)
                region = (*argument.pixels.shape[-2::-1], 1, 1)[:3]
                # `enqueue_copy` knows images of two and three dimensions only.
                cl._cl._enqueue_read_image(self._queue, held, (0, 0, 0), region, after[index], is_blocking=True)
        self._queue.finish()
        return after
