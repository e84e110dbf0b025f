"""Checks of pyopencl's objects: OpenCL crashes on released ones, and pyopencl does not track releases."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from typing import Any, Final

import pyopencl as cl

from anyzero import errors

__all__ = ["failed", "memory_of", "require"]

_WORD: Final = 8


def require(kind: type, value: object, place: str) -> None:
    """Raise TypeError for anything but a `kind`."""
    if not isinstance(value, kind):
        wanted = f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
        raise TypeError(f"{place} is {value!r}; a {wanted} is expected")


def failed(what: str, error: cl.Error, remedy: str = "") -> errors.Error:
    """An error of OpenCL as one of ours."""
    return errors.Error(f"OpenCL {what}: {error}", remedy=remedy)


def memory_of(mem: Any) -> cl.MemoryObjectHolder:
    """`mem`, if it is an OpenCL buffer that was not released."""
    if not isinstance(mem, cl.MemoryObjectHolder):
        raise TypeError(f"{mem!r} is not an OpenCL buffer; pass a pyopencl.Buffer or a pyopencl.array.Array")
    try:
        alive = _looks_alive(mem.int_ptr) and mem.reference_count > 0
    except cl.Error:
        alive = False
    if not alive:
        raise errors.ClosedError("this OpenCL buffer was released")
    if mem.type != cl.mem_object_type.BUFFER:
        kind = cl.mem_object_type.to_string(mem.type)
        raise TypeError(f"an OpenCL object of type {kind} is not a buffer, and only buffers are shared")
    return mem


def _looks_alive(pointer: int) -> bool:
    """Whether there is an OpenCL object at that address, checked without a call into OpenCL.

    Every object of an implementation begins with the same dispatch pointer. The allocator overwrites it when the object
    is freed, and a call would jump to an arbitrary address.
    """
    try:
        word = _first_word(pointer)
    except FileNotFoundError:
        return True  # the address cannot be checked
    except OSError:
        return False
    return word in _of_platforms() or word in _of_buffers()


def _first_word(pointer: int) -> bytes:
    # A plain load could fault; a read through the kernel returns an error instead.
    with open("/proc/self/mem", "rb", buffering=0) as memory:  # noqa: PTH123 (a path has no place to read from)
        return os.pread(memory.fileno(), _WORD, pointer)


@cache
def _of_platforms() -> frozenset[bytes]:
    return frozenset(_first_word(platform.int_ptr) for platform in cl.get_platforms())


@cache
def _of_buffers() -> frozenset[bytes]:
    """The first words of buffers, which may differ from those of platforms, from a new buffer of each device."""
    found = set()
    for platform in cl.get_platforms():
        for device in platform.get_devices():
            with suppress(cl.Error):
                found.add(_first_word(cl.Buffer(cl.Context([device]), cl.mem_flags.READ_WRITE, 1).int_ptr))
    return frozenset(found)
