"""Memory of work-items: regions of bytes, each in one address space.

The upper half of an address is its region, so that an out-of-bounds access never hits another region. A region begins
in the middle of the range of the lower half, so that an address below it is still attributed to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from anyzero.compiler.reference.errors import BadArgument, LimitReached, OutOfBounds, ReadOnly
from anyzero.compiler.spirv.tables import StorageClass
from anyzero.lazy_dataclass import dataclass, field

SHIFT = 32
ORIGIN = 1 << (SHIFT - 1)
LOW = (1 << SHIFT) - 1
LARGEST = 1 << 30
"""Maximum size of a region that a kernel allocates."""

GLOBAL, CONSTANT, LOCAL, PRIVATE, INPUT, CODE, HANDLE = (
    "global",
    "constant",
    "local",
    "private",
    "input",
    "code",
    "handle",
)

SPACE: dict[int, str] = {
    StorageClass.UniformConstant: CONSTANT,
    StorageClass.Input: INPUT,
    StorageClass.Workgroup: LOCAL,
    StorageClass.CrossWorkgroup: GLOBAL,
    StorageClass.DeviceOnlyINTEL: GLOBAL,
    StorageClass.HostOnlyINTEL: GLOBAL,
    StorageClass.Private: PRIVATE,
    StorageClass.Function: PRIVATE,
    StorageClass.CodeSectionINTEL: CODE,
}

_numbers = itertools.count(1)


def new_address() -> int:
    """The address of a new region. Never reused, so that stale addresses are detected."""
    return next(_numbers) << SHIFT | ORIGIN


@dataclass(slots=True, eq=False)
class Region:
    name: str
    space: str
    view: Any
    """A bytearray, or a memoryview of the caller's bytes."""
    size: int
    writable: bool = True

    @classmethod
    def zeros(cls, name: str, space: str, size: int) -> Region:
        return cls(name, space, bytearray(allowed(size, name)), size)


def allowed(size: int, name: str) -> int:
    """Checks that a size can be allocated; types may be far larger than any memory."""
    if size > LARGEST:
        raise LimitReached(f"{name} has {size} bytes; {LARGEST} are possible")
    return size


Regions = dict[int, Region]
"""All regions that one work-item can access, by the upper half of their addresses."""


def place(regions: Mapping[int, Region], address: int, size: int) -> tuple[Region, int]:
    """The region and the offset of an access of `size` bytes."""
    region = regions.get(address >> SHIFT)
    if region is None:
        raise nowhere(address)
    offset = (address & LOW) - ORIGIN
    if offset < 0 or offset + size > region.size:
        raise outside(region, offset, size)
    return region, offset


def nowhere(address: int) -> OutOfBounds:
    if address == 0:
        return OutOfBounds("dereferences a null pointer")
    return OutOfBounds(f"the address {address:#x} is in no memory that this work-item can reach")


def outside(region: Region, offset: int, size: int) -> OutOfBounds:
    reason = f"{size} bytes at offset {offset} of {region.name} ({region.space} memory), which has {region.size} bytes"
    return OutOfBounds(reason, region.name, offset)


def protected(region: Region) -> ReadOnly:
    return ReadOnly(f"writes to {region.name} ({region.space} memory), which is read-only")


def read(regions: Mapping[int, Region], address: int, size: int) -> bytes:
    if size == 0:
        return b""
    region, offset = place(regions, address, size)
    return bytes(region.view[offset : offset + size])


def write(regions: Mapping[int, Region], address: int, data: bytes) -> None:
    if not data:
        return
    region, offset = place(regions, address, len(data))
    if not region.writable:
        raise protected(region)
    region.view[offset : offset + len(data)] = data


def text(regions: Mapping[int, Region], address: int) -> bytes:
    """The zero-terminated string at an address."""
    region, offset = place(regions, address, 1)
    end = bytes(region.view[offset:]).find(0)
    if end < 0:
        raise OutOfBounds(f"the text at offset {offset} of {region.name} has no end", region.name, offset)
    return bytes(region.view[offset : offset + end])


@dataclass(slots=True, eq=False)
class Memory:
    """Global memory that outlives a launch: arrays with addresses, and the variables of modules.

    Arrays are used in place. An array passed as an argument has the same address.
    """

    regions: Regions = field(default_factory=dict)
    _addresses: dict[tuple[int, int], tuple[int, Any]] = field(default_factory=dict)

    def add(self, array: np.ndarray[Any, Any], name: str = "") -> int:
        """The address of an array's first byte."""
        if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
            raise BadArgument(f"{name or 'memory'} is not a contiguous array")
        flat = array.reshape(-1).view(np.uint8)
        key = flat.ctypes.data, flat.nbytes
        known = self._addresses.get(key)
        if known is not None:
            return known[0]
        if flat.nbytes > ORIGIN:
            raise BadArgument(f"{name or 'memory'} has {flat.nbytes} bytes; {ORIGIN} are possible")
        address = new_address()
        view = memoryview(flat.data) if flat.nbytes else bytearray()
        region = Region(name or f"buffer {len(self.regions)}", GLOBAL, view, flat.nbytes, array.flags.writeable)
        self.regions[address >> SHIFT] = region
        # Keeps the array alive as long as its address is valid.
        self._addresses[key] = address, array
        return address

    def read(self, address: int, size: int) -> bytes:
        return read(self.regions, address, size)

    def write(self, address: int, data: bytes) -> None:
        write(self.regions, address, data)
