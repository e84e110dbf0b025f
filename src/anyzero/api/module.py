"""Modules: programs for a device, with their kernels and variables."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from anyzero import errors, ze
from anyzero.api.buffer import Buffer, Shape
from anyzero.api.kernel import Kernel, Residency
from anyzero.api.launches.dimensions import Dimensions
from anyzero.api.library import array_of, check, create, function, query_all
from anyzero.api.memory.allocation import ContextHandle, MappedMemory
from anyzero.api.memory.sizes import bytes_of, extents_of
from anyzero.api.properties import ModuleProperties
from anyzero.api.resource import Resource
from anyzero.api.sources.module_source import Constants, Description, Format, ModuleInputs, ModuleSource
from anyzero.api.sources.saving import save

if TYPE_CHECKING:
    from anyzero.api.context import Context
    from anyzero.api.device import Device

__all__ = ["Module", "link"]

_SHOWN: Final = 20
"""Number of kernel names that are listed where one is missing."""

_create: Final = function("zeModuleCreate")
_link: Final = function("zeModuleDynamicLink")
_inspect: Final = function("zeModuleInspectLinkageExt")
_log_text: Final = function("zeModuleBuildLogGetString")
_log_destroy: Final = function("zeModuleBuildLogDestroy")
_native: Final = function("zeModuleGetNativeBinary")
_debug: Final = function("zetModuleGetDebugInfo")
_names: Final = function("zeModuleGetKernelNames")
_global: Final = function("zeModuleGetGlobalPointer")
_function: Final = function("zeModuleGetFunctionPointer")
_get_properties: Final = function("zeModuleGetProperties")


class _ModuleHandle(Resource):
    """The driver's module. Buffers on its variables hold it, so that closing the module does not free them."""

    __slots__ = ("lifetime",)
    _destroy = function("zeModuleDestroy")

    def __init__(self, handle: int, lifetime: ContextHandle) -> None:
        self.lifetime = lifetime
        self.handle = handle


class Module(Resource):
    """SPIR-V or a native binary, ready to be used: ``module["name"]`` is a kernel. `Context.module` makes one.

    It is a mapping of names to kernels. A kernel is compiled at its first use, and stays valid when the module is
    closed. Any thread may use a module.

    >>> from importlib.resources import files
    >>> ctx = az.device().context()
    >>> module = ctx.module(files("anyzero.tools") / "saxpy.spv")
    >>> list(module), "saxpy" in module
    (['saxpy'], True)
    >>> module["saxpy"] is module["saxpy"]
    True
    """

    __slots__ = ("_kernels", "_owner", "context", "device", "dimensions", "inputs", "kernels", "lifetime", "log")

    context: Context
    device: Device
    dimensions: Dimensions
    lifetime: ContextHandle

    def __init__(
        self,
        context: Context,
        device: Device,
        file: ModuleSource | Sequence[ModuleSource] | None,
        *,
        source: str | None = None,
        options: str | Sequence[str] = "",
        constants: Constants | Sequence[Constants] | None = None,
        format: Format | None = None,  # noqa: A002 (the specification's word)
        log: bool = False,
    ) -> None:
        described = Description(file, options, constants, format, source)
        self.context = context
        self.lifetime = context.lifetime
        self.device = device
        self.inputs: ModuleInputs = described.inputs
        """The inputs that it was made from; `Kernel.inputs` is the same."""
        made, text = ctypes.c_void_p(), ctypes.c_void_p()
        result = _create(
            context.handle, device.handle, ctypes.byref(described.desc), ctypes.byref(made), ctypes.byref(text)
        )
        self.log = "\n".join(filter(None, (described.log, _conclude(result, _create, text))))
        if log and self.log:
            print(self.log, file=sys.stderr)
        self._owner = _ModuleHandle(made.value or 0, self.lifetime)
        self.handle = self._owner.handle
        self.kernels: tuple[str, ...] = tuple(
            name.decode() for name in query_all(_names, self.handle, of=ctypes.c_char_p)
        )
        self._kernels: dict[str, Kernel] = {}
        self.dimensions = Dimensions(described.spirv)

    def _release(self, handle: int) -> None:
        self._kernels = {}
        # The driver's module is destroyed with the last buffer on one of its variables.
        del self._owner

    # A mapping

    def __getitem__(self, name: str) -> Kernel:
        found = self._kernels.get(name)
        if found is None or found.closed:
            found = self._kernels.setdefault(name, self.kernel(name))
            if found.closed:
                found = self._kernels[name] = self.kernel(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def __contains__(self, name: object) -> bool:
        return name in self.kernels

    def kernel(self, name: str, *, residency: Residency | None = None) -> Kernel:
        """A new kernel object with its own settings; ``module[name]`` is always the same object.

        `residency` is for devices without on-demand paging: with ``"explicit"`` the program makes even the arguments
        resident, with ``"force"`` all memory is resident while the kernel runs.

        >>> from importlib.resources import files
        >>> module = az.device().context().module(files("anyzero.tools") / "saxpy.spv")
        >>> module.kernel("saxpy") is module["saxpy"]
        False
        """
        if name not in self.kernels:
            known = ", ".join(self.kernels[:_SHOWN]) + (", …" if len(self.kernels) > _SHOWN else "")
            raise errors.InvalidArgument(f"the module has no kernel called {name!r}; it has {known or 'none'}")
        return Kernel(self, name, residency=residency)

    # Other contents

    def globals(self, name: str, dtype: npt.DTypeLike = np.uint8, shape: Shape | None = None) -> Buffer:
        """A program-scope variable, as a buffer on its memory; of bytes by default."""
        size, pointer = ctypes.c_size_t(), ctypes.c_void_p()
        check(_global(self.handle, name.encode(), ctypes.byref(size), ctypes.byref(pointer)), _global)
        element: np.dtype[Any] = np.dtype(dtype)
        extents = (size.value // element.itemsize,) if shape is None else extents_of(shape)
        if bytes_of(extents, element) > size.value:
            raise errors.InvalidArgument(
                f"shape {extents} of {element} takes {bytes_of(extents, element)} bytes; {name} has {size.value}"
            )
        memory = MappedMemory(self.lifetime, pointer.value or 0, size.value, self._owner)
        return Buffer(self.context, self.device, memory, extents, element, "device")

    def function_pointer(self, name: str) -> int:
        """The address of an exported function, to pass to kernels; valid as long as the module exists."""
        return create(_function, self.handle, name.encode())

    @property
    def native(self) -> bytes:
        """The native binary, from which `Context.module` makes the module without compiling.

        >>> from importlib.resources import files
        >>> ctx = az.device().context()
        >>> native = ctx.module(files("anyzero.tools") / "saxpy.spv").native
        >>> list(ctx.module(native))
        ['saxpy']
        """
        return _whole(_native, self.handle)

    @property
    def debug_info(self) -> bytes:
        """DWARF of the kernels, in one ELF file: lines and names of functions. Empty unless built with ``-g``.

        >>> from importlib.resources import files
        >>> module = az.device().context().module(files("anyzero.tools") / "saxpy.spv", options="-g")
        >>> module.debug_info[1:4]
        b'ELF'
        """
        return _whole(_debug, self.handle, 0)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `native` to a file, atomically: readers see the old file or the new one."""
        save(path, self.native)

    @property
    def properties(self) -> ModuleProperties:
        """Its properties: whether it has to be linked with others."""
        found = ze.ze_module_properties_t()
        check(_get_properties(self.handle, ctypes.byref(found)), _get_properties)
        return ModuleProperties(imports=bool(found.flags & ze.ZE_MODULE_PROPERTY_FLAG_IMPORTS))

    # Linking

    def link(self, *others: Module) -> str:
        """Link it with other modules; see `link`."""
        return link(self, *others)

    def linkage(self, *others: Module) -> str:
        """The imports and exports of these modules, and the unresolved imports, as text."""
        flags = (
            ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS
            | ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS
            | ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS
        )
        desc, text = ze.ze_linkage_inspection_ext_desc_t(flags=flags), ctypes.c_void_p()
        modules = [self, *others]
        handles = array_of([each.handle for each in modules])
        result = _inspect(ctypes.byref(desc), len(modules), handles, ctypes.byref(text))
        return _conclude(result, _inspect, text)

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<Module of {', '.join(self.kernels) or 'no kernels'}{state}>"


def _whole(query: Any, *given: int) -> bytes:
    """Bytes that are queried in two calls: first their number."""
    size = ctypes.c_size_t()
    check(query(*given, ctypes.byref(size), None), query)
    room = ctypes.create_string_buffer(max(size.value, 1))
    check(query(*given, ctypes.byref(size), room), query)
    return room.raw[: size.value]


def link(*modules: Module) -> str:
    """Link modules, so that they use each other's functions and variables by name; returns the linker's messages.

    Imports that none of them exports raise BuildError. A module with imports has no kernels until it is linked.
    """
    if not modules:
        raise TypeError("link() takes the modules that are linked with each other")
    text = ctypes.c_void_p()
    handles = array_of([each.handle for each in modules])
    return _conclude(_link(len(modules), handles, ctypes.byref(text)), _link, text)


def _conclude(result: int, called: Any, handle: ctypes.c_void_p) -> str:
    """The log behind a handle; raise the exception for a result other than 0, a BuildError with the log."""
    # First, because the driver keeps the text of an error only until the next call.
    try:
        check(result, called)
        failed: errors.Error | None = None
    except errors.Error as error:
        failed = error
    text = _read_log(handle)
    if failed is not None:
        if isinstance(failed, errors.BuildError) and text:
            failed.log = text
        raise failed
    return text


def _read_log(handle: ctypes.c_void_p) -> str:
    if not handle.value:
        return ""
    size = ctypes.c_size_t()
    room = ctypes.create_string_buffer(1)
    if not _log_text(handle, ctypes.byref(size), None):
        room = ctypes.create_string_buffer(max(size.value, 1))
        _log_text(handle, ctypes.byref(size), room)
    _log_destroy(handle)
    return room.value.decode(errors="replace").rstrip()
