"""Runs cases through anyzero's Python API, as a user would: the one file here that knows it."""

from __future__ import annotations

import ctypes
from copy import copy
from time import monotonic, perf_counter_ns
from typing import Any

import numpy as np

import anyzero as az
from anyzero.api.library import check, function
from benchmarks.kernels.case import Argument, Array, Case, Image, Local, Sampler

__all__ = ["Anyzero"]

_get_binary = function("zeKernelGetBinaryExp")
_STAGE = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint32))
_TO_COME = 1

ADDRESSES = {"none": "none", "edge": "clamp", "border": "border", "repeat": "repeat", "mirror": "mirror"}
"""Ours by OpenCL's."""


class Anyzero:
    """The default device."""

    def __init__(self) -> None:
        self.device = az.device()
        self.context: Any = self.device.context()
        if not hasattr(self.context, "module"):
            raise RuntimeError("this build of anyzero has no kernels yet")
        self.name = f"anyzero on {self.device.name}"
        # One launch is over when its call returns; of several, only the last one is waited for.
        self.alone: Any = self.context.immediate(mode="synchronous")
        self.queued: Any = self.context.immediate()
        self._modules: dict[str, Any] = {}
        address = ctypes.c_void_p()
        find = function("zeDriverGetExtensionFunctionAddress")
        check(find(self.device.driver.handle, b"zexKernelGetStage", ctypes.byref(address)), find)
        self._stage = _STAGE(address.value)

    def kernel(self, case: Case) -> Any:
        path = str(case.spv)
        if path not in self._modules:
            self._modules[path] = self.context.module(case.spv)
        kernel = self._modules[path][case.kernel]
        # Waits for the better code, which the kernel would get while it runs: what is measured is how it goes on.
        size = ctypes.c_size_t()
        check(_get_binary(kernel.handle, ctypes.byref(size), None), _get_binary)
        return kernel

    def improves(self, kernel: Any) -> bool:
        """Is better code to come, for the groups that the kernel was launched with last?"""
        stage = ctypes.c_uint32()
        return self._stage(kernel.handle, ctypes.byref(stage)) == 0 and stage.value == _TO_COME

    def prepare(self, case: Case, arguments: list[Argument]) -> Prepared:
        return Prepared(self, case, arguments)


class Prepared:
    """A case with its arguments in device memory."""

    def __init__(self, anyzero: Anyzero, case: Case, arguments: list[Argument]) -> None:
        self.case = case
        self._anyzero = anyzero
        self._list = anyzero.alone if len(case.launches) == 1 else anyzero.queued
        self._context = anyzero.context
        self._first = arguments
        self._held = [self._placed(argument) for argument in arguments]
        self._kernel = kernel = anyzero.kernel(case)
        self._launch = kernel[case.global_size]
        self._group = case.group_size or None
        if case.offset:
            size = case.global_size
            self._launch = lambda *arguments, group, on: on.launch(
                kernel, size, arguments, group=group, offset=case.offset
            )
        # The arguments of each launch, put together before the clock starts.
        self._arguments = [
            [changes.get(index, value) for index, value in enumerate(self._held)] for changes in case.launches
        ]
        self._settle()

    def _settle(self, seconds: float = 5) -> None:
        """Launches until the kernel has the code for its groups that it would get while it runs."""
        until = monotonic() + seconds
        self.run()
        while self._anyzero.improves(self._kernel) and monotonic() < until:
            self.run()
        self.restore()

    def reshaped(self, case: Case) -> Prepared:
        """The same kernel on the same buffers, in other groups."""
        made = copy(self)
        made.case = case
        made._launch = self._kernel[case.global_size]
        made._group = case.group_size or None
        made._settle()
        return made

    def _placed(self, argument: Argument) -> Any:
        context = self._context
        if isinstance(argument, Local):
            return az.Local(argument.nbytes)
        if isinstance(argument, Sampler):
            smooth = "linear" if argument.linear else "nearest"
            address = ADDRESSES[argument.address]
            return context.sampler(address=address, filter=smooth, normalized=argument.normalized)
        if isinstance(argument, Image):
            pixels = argument.pixels
            kind = "buffer" if argument.buffer else {2: "1d", 3: "2d", 4: "3d"}[pixels.ndim]
            if argument.layers:
                kind = {3: "1darray", 4: "2darray"}[pixels.ndim]
            form = az.ImageFormat.of(pixels.dtype, pixels.shape[-1], normalized=argument.normalized)
            made = context.image(pixels.shape[:-1], form, kind=kind)
            made.copy_from(pixels if pixels.shape[-1] > 1 else pixels[..., 0])
            return made
        if isinstance(argument, np.ndarray):
            return context.to_device(argument)
        return argument

    def restore(self, indices: tuple[int, ...] | None = None) -> None:
        for index, argument in enumerate(self._first):
            if isinstance(argument, np.ndarray) and (indices is None or index in indices):
                self._held[index].copy_from(argument)

    def run(self, repeats: int = 1) -> int:
        launch, group, lst, launches = self._launch, self._group, self._list, self._arguments
        start = perf_counter_ns()
        for _ in range(repeats):
            for arguments in launches:
                done = launch(*arguments, group=group, on=lst)
            done.wait()
        return perf_counter_ns() - start

    def results(self) -> dict[int, Array]:
        after: dict[int, Array] = {}
        for index, (argument, held) in enumerate(zip(self._first, self._held, strict=True)):
            if isinstance(argument, np.ndarray):
                after[index] = held.copy_to()
            elif isinstance(argument, Image):
                after[index] = held.copy_to().reshape(argument.pixels.shape)
        return after
