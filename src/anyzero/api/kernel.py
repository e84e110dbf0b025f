"""Kernels: functions of a module that a device runs, once for every work-item."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, overload

from anyzero import errors, ze
from anyzero.api.launches.arguments import arguments_of
from anyzero.api.launches.enqueue import Enqueue, EnqueueSet, launch
from anyzero.api.launches.grid import Extents, NDRange, grid_of, range_of, suggested, three
from anyzero.api.library import check, create, function
from anyzero.api.properties import KernelProperties
from anyzero.api.resource import Resource

if TYPE_CHECKING:
    from anyzero.api.command_list import CommandList
    from anyzero.api.commands.waits import Waits
    from anyzero.api.completion import Completion
    from anyzero.api.event import Event
    from anyzero.api.immediate import ImmediateCommandList
    from anyzero.api.module import Module
    from anyzero.api.recorder import Recorder

__all__ = ["Kernel", "Launch", "MemoryAccess", "Residency"]

MemoryAccess = Literal["device", "host", "shared"]
Residency = Literal["explicit", "force"]

_ACCESS: Final[dict[MemoryAccess, int]] = {
    "device": ze.ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE,
    "host": ze.ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST,
    "shared": ze.ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED,
}
_CACHE: Final = {None: 0, "local": ze.ZE_CACHE_CONFIG_FLAG_LARGE_SLM, "data": ze.ZE_CACHE_CONFIG_FLAG_LARGE_DATA}
_RESIDENCY: Final = {
    None: 0,
    "explicit": ze.ZE_KERNEL_FLAG_EXPLICIT_RESIDENCY,
    "force": ze.ZE_KERNEL_FLAG_FORCE_RESIDENCY,
}
_new: Final = object.__new__
_create: Final = function("zeKernelCreate")
_cooperative: Final = function("zeKernelSuggestMaxCooperativeGroupCount")
_get_properties: Final = function("zeKernelGetProperties")
_get_attributes: Final = function("zeKernelGetSourceAttributes")
_set_access: Final = function("zeKernelSetIndirectAccess")
_get_access: Final = function("zeKernelGetIndirectAccess")
_set_cache: Final = function("zeKernelSetCacheConfig")


class Kernel(Resource):
    """A kernel of a module: ``kernel[n](*arguments)`` launches it for n work-items.

    The brackets hold the global size, the number of work-items along x, y and z: ``kernel[n]``, ``kernel[n, m]`` or
    ``kernel[n, m, k]``. The group size is a keyword of the call, ``kernel[n, m](*arguments, group=(16, 16))``; without
    it the driver suggests one. Arguments are buffers, images, samplers, `Local` memory, None for a null pointer, and
    numbers or structures for parameters passed by value. Any thread may launch a kernel.

    >>> from importlib.resources import files
    >>> ctx = az.device().context()
    >>> saxpy = ctx.module(files("anyzero.tools") / "saxpy.spv")["saxpy"]
    >>> x, y = ctx.to_device(np.arange(4, dtype=np.float32)), ctx.zeros(4, np.float32)
    >>> saxpy[4](y, x, 2.0)
    >>> y.copy_to()
    array([0., 2., 4., 6.], dtype=float32)
    >>> saxpy[4](y, x, 1.0, group=2)
    >>> saxpy.types
    ('global float*', 'global float*', 'float')
    """

    __slots__ = ("_arguments", "context", "device", "dimensions", "enqueue", "inputs", "lifetime", "name", "ranges")
    _destroy = function("zeKernelDestroy")

    def __init__(self, module: Module, name: str, *, residency: Residency | None = None) -> None:
        if residency not in _RESIDENCY:
            raise ValueError(f"residency={residency!r}: None, 'explicit' or 'force'")
        self.context = module.context
        self.lifetime = module.lifetime
        self.device = module.device
        self.name = name
        self.dimensions = module.dimensions
        self.inputs = module.inputs
        self.ranges: dict[Any, NDRange] = {}
        desc = ze.ze_kernel_desc_t(flags=_RESIDENCY[residency], pKernelName=name.encode())
        self.handle = create(_create, module.handle, ctypes.byref(desc))
        count = self.properties.arguments
        self._arguments = arguments_of(self.device.driver, self.handle, name, count)
        self.enqueue = (EnqueueSet if self._arguments.slots is None else Enqueue)(self._arguments)

    # Launching

    def __getitem__(self, sizes: Any) -> Launch:
        try:
            found = self.ranges[sizes]
            if found.key is not sizes and type(sizes if type(sizes) is int else sum(sizes)) is not int:
                # 64.0 equals 64 and finds its entry, but is no number of work-items.
                found = range_of(self, sizes)
        except (KeyError, TypeError):
            found = range_of(self, sizes)
        # Without a call of __init__: this is on the path of every launch.
        made: Launch = _new(Launch)
        made.kernel = self
        made.range = found
        return made

    def __call__(self, *args: Any, **options: Any) -> NoReturn:
        """Raise an error: a launch needs the number of work-items, ``kernel[n](…)``."""
        raise errors.InvalidArgument(
            f"{self.name}(…) is a launch without a number of work-items",
            remedy=f"Write {self.name}[n](…) for n work-items, {self.name}[n, m](…) in two dimensions.",
        )

    def suggest_group_size(self, global_size: Extents) -> tuple[int, ...]:
        """The group size that the driver suggests for this global size; it divides it.

        >>> from importlib.resources import files
        >>> saxpy = az.device().context().module(files("anyzero.tools") / "saxpy.spv")["saxpy"]
        >>> 1000 % saxpy.suggest_group_size(1000)[0]
        0
        """
        whole = three(global_size, "the global size")
        return suggested(self.handle, whole)[: 1 if isinstance(global_size, int) else len(global_size)]

    def max_cooperative_groups(self, group_size: Extents) -> int:
        """The number of groups of that size that can run at the same time, as a cooperative launch requires."""
        found = ctypes.c_uint32()
        with self.enqueue.turn:
            self.enqueue.set_group(self.handle, three(group_size, "the group size"))
            check(_cooperative(self.handle, ctypes.byref(found)), _cooperative)
        return found.value

    # Properties

    @property
    def types(self) -> tuple[str, ...] | None:
        """The types of its parameters in the syntax of OpenCL C; None if the driver does not report them."""
        return self._arguments.types

    @property
    def properties(self) -> KernelProperties:
        """Its requirements and the results of its compilation.

        >>> from importlib.resources import files
        >>> saxpy = az.device().context().module(files("anyzero.tools") / "saxpy.spv")["saxpy"]
        >>> saxpy.properties.arguments, saxpy.properties.required_group_size
        (3, None)
        """
        largest = ze.ze_kernel_max_group_size_properties_ext_t()
        preferred = ze.ze_kernel_preferred_group_size_properties_t(pNext=ctypes.addressof(largest))
        p = ze.ze_kernel_properties_t(pNext=ctypes.addressof(preferred))
        check(_get_properties(self.handle, ctypes.byref(p)), _get_properties)
        required = (p.requiredGroupSizeX, p.requiredGroupSizeY, p.requiredGroupSizeZ)
        return KernelProperties(
            arguments=p.numKernelArgs,
            required_group_size=required if any(required) else None,
            required_sub_groups=p.requiredNumSubGroups,
            required_sub_group_size=p.requiredSubgroupSize,
            max_sub_group_size=p.maxSubgroupSize,
            max_sub_groups=p.maxNumSubgroups,
            max_group_size=largest.maxGroupSize,
            preferred_group_multiple=preferred.preferredMultiple,
            local_memory=p.localMemSize,
            private_memory=p.privateMemSize,
            spill_memory=p.spillMemSize,
            uuid=bytes(p.uuid.kid),
        )

    @property
    def attributes(self) -> str:
        """The attributes in its source, such as ``reqd_work_group_size(8,8,1)``; empty if there are none."""
        size, text = ctypes.c_uint32(), ctypes.c_char_p()
        check(_get_attributes(self.handle, ctypes.byref(size), None), _get_attributes)
        room = ctypes.create_string_buffer(max(size.value, 1))
        text = ctypes.c_char_p(ctypes.addressof(room))
        check(_get_attributes(self.handle, ctypes.byref(size), ctypes.byref(text)), _get_attributes)
        return (text.value or b"").decode(errors="replace")

    @property
    def indirect_access(self) -> frozenset[MemoryAccess]:
        """The kinds of memory that it accesses through pointers in memory; see `set_indirect_access`."""
        flags = ctypes.c_uint32()
        check(_get_access(self.handle, ctypes.byref(flags)), _get_access)
        return frozenset(kind for kind, flag in _ACCESS.items() if flags.value & flag)

    def set_indirect_access(self, *kinds: MemoryAccess) -> None:
        """Declare that the kernel accesses memory of these kinds through pointers in memory, beyond its arguments.

        All memory of these kinds is then resident while it runs. Keep references to the buffers.

        >>> from importlib.resources import files
        >>> saxpy = az.device().context().module(files("anyzero.tools") / "saxpy.spv")["saxpy"]
        >>> saxpy.set_indirect_access("shared")
        >>> saxpy.indirect_access
        frozenset({'shared'})
        """
        flags = 0
        for kind in kinds:
            if kind not in _ACCESS:
                raise ValueError(f"{kind!r} is not a kind of memory: one of {', '.join(_ACCESS)}")
            flags |= _ACCESS[kind]
        with self.enqueue.turn:
            check(_set_access(self.handle, flags), _set_access)

    def set_cache_config(self, prefer: Literal["local", "data"] | None) -> None:
        """Prefer a larger local memory, or a larger cache for data, for launches from now on.

        With ``"local"`` a group may use four times `Device.local_memory`. ``"data"`` and None restore the normal limit.

        >>> from importlib.resources import files
        >>> saxpy = az.device().context().module(files("anyzero.tools") / "saxpy.spv")["saxpy"]
        >>> saxpy.set_cache_config("local")
        """
        if prefer not in _CACHE:
            raise ValueError(f"prefer={prefer!r}: None, 'local' or 'data'")
        with self.enqueue.turn:
            check(_set_cache(self.handle, _CACHE[prefer]), _set_cache)

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        types = f"({', '.join(self.types)})" if self.types is not None else ""
        return f"<Kernel {self.name}{types}{state}>"


class Launch:
    """A kernel with a global size, ``kernel[n]``; calling it launches."""

    __slots__ = ("kernel", "range")

    kernel: Kernel
    range: NDRange

    @property
    def global_size(self) -> tuple[int, int, int]:
        """The number of work-items along x, y and z."""
        return self.range.global_size

    @property
    def group_size(self) -> tuple[int, int, int]:
        """The number of work-items in a group along x, y and z, where the call has no ``group=``."""
        return grid_of(self.kernel, self.range, None).group_size

    @property
    def group_count(self) -> tuple[int, int, int]:
        """The number of groups along x, y and z, where the call has no ``group=``."""
        return grid_of(self.kernel, self.range, None).group_count

    @overload
    def __call__(
        self,
        *args: Any,
        group: Extents | None = None,
        on: ImmediateCommandList,
        signal: Event | None = None,
        wait: Waits = None,
    ) -> Completion: ...
    @overload
    def __call__(
        self,
        *args: Any,
        group: Extents | None = None,
        on: CommandList | None = None,
        signal: Event | None = None,
        wait: Waits = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        *args: Any,
        group: Extents | None = None,
        on: Recorder[Any],
        signal: Event | None = None,
        wait: Waits = None,
    ) -> Completion | None: ...
    def __call__(
        self,
        *args: Any,
        group: Extents | None = None,
        on: Recorder[Any] | None = None,
        signal: Event | None = None,
        wait: Waits = None,
        **named: Any,
    ) -> Completion | None:
        """Launch the kernel with these arguments, in groups of `group` work-items or of a size that suits the kernel.

        Without `on` it is done when the call returns. With a list it is appended there, with `signal` and `wait` as
        for every command.
        """
        if named:
            raise TypeError(
                f"{self.kernel.name} takes arguments by position, without {', '.join(f'{each}=' for each in named)}; "
                "the keywords of a launch are group, on, signal and wait"
            )
        return launch(self.kernel, self.range, args, group, on, signal, wait)

    def __repr__(self) -> str:
        return f"<Launch of {self.kernel.name}, {' × '.join(map(str, self.global_size))} work-items>"
