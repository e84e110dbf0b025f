"""The arguments of one kernel: values of Python, packed for a launch."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from anyzero import errors, ze
from anyzero.api.buffer import Buffer
from anyzero.api.image import Image
from anyzero.api.launches.parameters import bytes_like, parameter
from anyzero.api.library import check, function, offers, own_kernel
from anyzero.api.local import Local
from anyzero.api.sampler import Sampler

if TYPE_CHECKING:
    from anyzero.api.driver import Driver

__all__ = ["Arguments", "Declared", "Typed", "Untyped", "arguments_of"]

_set: Final = function("zeKernelSetArgumentValue")
_find: Final = function("zeDriverGetExtensionFunctionAddress")

_POINTER: Final = ctypes.sizeof(ctypes.c_void_p)
_SIZE_QUERY: Final = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p)
_TYPE_QUERY: Final = ctypes.CFUNCTYPE(
    ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p
)

Collected = tuple[Sequence[Any], Any, int]
"""Values ready to be packed, the objects that they need while the kernel runs or None, and the bytes of those."""

Declared = tuple[str, str, int | None, int | None]
"""Name and type of a parameter, for messages, and the least and the largest integer that it takes, if any."""


class Arguments(Protocol):
    """Converts a kernel's arguments. One thread at a time may pack or set them."""

    types: tuple[str, ...] | None
    slots: Any
    """The memory that a launch reads all arguments from, after `pack`; None where they have to be set."""

    def declare(self, declared: Sequence[Declared]) -> None:
        """Take names and ranges of the parameters from the kernel's source; SPIR-V has neither."""

    def collect(self, given: tuple[Any, ...]) -> Collected:
        """Look at the arguments of a launch; raise InvalidArgument for those that the kernel does not take."""

    def pack(self, *values: Any) -> None:
        """Put them where `slots` point. Numbers that do not fit raise OverflowError, and `too_large` tells which."""

    def too_large(self, values: Sequence[Any]) -> errors.OutOfRange:
        """The error for a number that does not fit its argument."""

    def set(self, handle: int, values: Sequence[Any]) -> None:
        """Set them one by one on the kernel, for a launch that reads them from there."""


class Typed:
    """Arguments of known types: packed at once, for a launch that takes them all `at_once` if there is one."""

    def __init__(self, name: str, types: Sequence[str], sizes: Sequence[int], *, at_once: bool) -> None:
        self.types: tuple[str, ...] | None = tuple(types)
        self._count = len(types)
        self._name = name
        self._parameters = [
            parameter(f"argument {index} of {name} ({text})", text, size)
            for index, (text, size) in enumerate(zip(types, sizes, strict=True))
        ]
        self._expected: list[tuple[Any, Any]] = [(each.plain, each) for each in self._parameters]
        offsets, layout, end = [], ["<"], 0
        for each in self._parameters:
            offsets.append(end)
            room = -(-max(each.size, 8) // 8) * 8
            layout.append(f"{each.code}{room - struct.calcsize('<' + each.code)}x")
            end += room
        # Python packs into a bytearray much faster than into memory of ctypes.
        self._block = bytearray(max(end, 8))
        # Every launch does this: no function of Python stands in between.
        self.pack: Callable[..., None] = partial(struct.Struct("".join(layout)).pack_into, self._block, 0)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._block))
        self._addresses = [start + offset for offset in offsets]
        self._slots = (ctypes.c_void_p * max(len(offsets), 1))(*self._addresses)
        self.slots: Any = ctypes.addressof(self._slots) if at_once else None

    def declare(self, declared: Sequence[Declared]) -> None:
        """Implements `Arguments`."""
        for each, (name, type_, least, most) in zip(self._parameters, declared, strict=True):
            each.declare(f"argument {name} of {self._name} ({type_})", least, most)

    def collect(self, given: tuple[Any, ...]) -> Collected:
        """Implements `Arguments`."""
        if len(given) != self._count:
            raise _wrong_number(self._name, len(given), self._count, self.types)
        if not given:
            return (), None, 0
        values: list[Any] = []
        kept: list[Any] = []
        nbytes = 0
        for (plain, each), value in zip(self._expected, given):  # noqa: B905 (as many: they were counted)
            if type(value) is not plain:
                values.append(each.convert(value, kept))
            elif plain is Buffer:
                memory = value.allocation
                if value.dtype is not each.dtype:
                    each.require_elements(value)
                values.append(value.pointer)
                kept.append(memory)
                nbytes += memory.nbytes
            else:
                values.append(value)
        return values, kept, nbytes

    def too_large(self, values: Sequence[Any]) -> errors.OutOfRange:
        """Implements `Arguments`."""
        for each, value in zip(self._parameters, values, strict=True):
            try:
                struct.pack(f"<{each.code}", value)
            except OverflowError:
                return errors.OutOfRange(f"{value!r} does not fit {each.where}")
        return errors.OutOfRange("a number does not fit its argument")

    def set(self, handle: int, values: Sequence[Any]) -> None:
        """Implements `Arguments`."""
        try:
            self.pack(*values)
        except OverflowError:
            raise self.too_large(values) from None
        for index, (each, address) in enumerate(zip(self._parameters, self._addresses, strict=True)):
            size, source = (values[index], None) if each.takes_local else (each.size, address)
            if result := _set(handle, index, size, source):
                check(result, _set)


class Untyped:
    """Arguments where the driver does not report types: every value has to define its own size."""

    types: tuple[str, ...] | None = None
    slots: Any = None

    def __init__(self, name: str, count: int) -> None:
        self._name = name
        self._count = count

    def declare(self, declared: Sequence[Declared]) -> None:
        """Implements `Arguments`; arguments without a type have no range either."""

    def collect(self, given: tuple[Any, ...]) -> Collected:
        """Implements `Arguments`."""
        if len(given) != self._count:
            raise _wrong_number(self._name, len(given), self._count, None)
        kept: list[Any] = []
        values = [self._raw(index, value, kept) for index, value in enumerate(given)]
        return values, kept, sum(each.nbytes for each in kept if not isinstance(each, Image | Sampler))

    def _raw(self, index: int, value: Any, kept: list[Any]) -> tuple[int, bytes | None]:
        if value is None:
            return _POINTER, None
        if isinstance(value, Local):
            return value.nbytes, None
        if isinstance(value, Buffer):
            kept.append(value.allocation)
            return _POINTER, value.pointer.to_bytes(_POINTER, "little")
        if isinstance(value, Image | Sampler):
            kept.append(value)
            return _POINTER, value.handle.to_bytes(_POINTER, "little")
        raw = bytes_like(value) if not isinstance(value, np.ndarray) else None
        if raw is None:
            raise errors.InvalidArgument(
                f"argument {index} of {self._name} is {value!r}; the driver does not report the type of that argument",
                remedy="Pass a Buffer, Image, Sampler or Local, bytes, or a numpy scalar such as np.float32(1.5).",
            )
        return len(raw), raw

    def pack(self, *values: Any) -> None:
        """There is nothing to pack them into."""

    def too_large(self, values: Sequence[Any]) -> errors.OutOfRange:
        """Implements `Arguments`."""
        return errors.OutOfRange("a number does not fit its argument")

    def set(self, handle: int, values: Sequence[Any]) -> None:
        """Implements `Arguments`."""
        for index, (size, raw) in enumerate(values):
            if result := _set(handle, index, size, raw):
                check(result, _set)


def arguments_of(driver: Driver, handle: int, name: str, count: int) -> Typed | Untyped:
    """The arguments of a kernel, as well as its driver knows them.

    The specification has no function for it. Intel's driver has two beyond it, and so has ours.
    """
    at_once = offers("zeCommandListAppendLaunchKernelWithArguments", driver.handle)
    size_of = _extension(driver, "zexKernelGetArgumentSize", _SIZE_QUERY)
    type_of = _extension(driver, "zexKernelGetArgumentType", _TYPE_QUERY)
    if size_of is None or type_of is None:
        return Untyped(name, count) if count else Typed(name, (), (), at_once=at_once)
    types, sizes = [], []
    handle = own_kernel(handle)
    for index in range(count):
        size, length = ctypes.c_uint32(), ctypes.c_uint32()
        if size_of(handle, index, ctypes.byref(size)) or type_of(handle, index, ctypes.byref(length), None):
            return Untyped(name, count)
        text = ctypes.create_string_buffer(length.value + 1)
        if type_of(handle, index, ctypes.byref(length), text) or not text.value:
            return Untyped(name, count)
        sizes.append(size.value)
        types.append(text.value.decode(errors="replace"))
    return Typed(name, types, sizes, at_once=at_once)


def _extension(driver: Driver, name: str, prototype: Any) -> Callable[..., int] | None:
    address = ctypes.c_void_p()
    if _find(driver.handle, name.encode(), ctypes.byref(address)) != ze.ZE_RESULT_SUCCESS or not address.value:
        return None
    found: Callable[..., int] = prototype(address.value)
    return found


def _wrong_number(name: str, given: int, wanted: int, types: tuple[str, ...] | None) -> errors.InvalidArgument:
    listed = f" ({', '.join(types)})" if types else ""
    plural = "" if wanted == 1 else "s"
    return errors.InvalidArgument(f"{name} takes {wanted} argument{plural}{listed}; {given} were given")
