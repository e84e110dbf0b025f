"""The engine's part of bounds checks for kernels that run without it: what they report, and the accesses it does."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

from anyzero.layouts.kernel import CHECK_SITE_BYTES, CheckedAccess, CheckFlag, CheckSite

_CHECK = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64), ctypes.c_uint64, ctypes.c_void_p
)
_BOUNDS_OF = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64), *[ctypes.c_uint64] * 2, ctypes.POINTER(ctypes.c_uint64)
)


@dataclass(frozen=True)
class Report:
    kind: CheckedAccess
    name: str
    item: tuple[int, int, int]
    offset: int
    """Bytes from the begin of the memory."""


@dataclass
class Checker:
    """Collects reports."""

    reports: list[Report] = field(default_factory=list)
    calls: int = 0
    known: list[tuple[int, int]] = field(default_factory=list)
    """Begin and size of memory that `az_bounds_of` finds."""

    @property
    def engine(self) -> dict[str, Any]:
        self._spare = ctypes.create_string_buffer(64)
        check = _CHECK(self._check)
        return {"az_check_load": check, "az_check_store": check, "az_bounds_of": _BOUNDS_OF(self._bounds_of)}

    def _check(self, _: int, place: int, block: Any, mask: int, data: int | None) -> None:
        self.calls += 1
        raw = ctypes.string_at(place, CHECK_SITE_BYTES)
        site = CheckSite.unpack(raw)
        name = ctypes.string_at(place + CHECK_SITE_BYTES).decode()
        lanes, flags = site.lanes, site.flags
        stride = site.stride - (1 << 32) if site.stride >> 31 else site.stride
        at = 3 * lanes if flags & CheckFlag.IDS_BY_LANE else 3
        each = lanes if flags & CheckFlag.BOUNDS_BY_LANE else 1
        first = at + 2 * each
        reach = block[first + 1] if flags & CheckFlag.SIZED else site.element * site.components
        for lane in range(lanes):
            if not mask >> lane & 1:
                continue
            begin, size = block[at + lane % each], block[at + each + lane % each]
            if flags & CheckFlag.UNIFORM:
                address = block[first]
            elif flags & CheckFlag.STRIDED:
                address = block[first] + lane * stride
            else:
                address = block[first + lane]
            offset = address - begin
            good = offset >= 0 and offset + reach <= size and address % site.alignment == 0
            if not good:
                if flags & CheckFlag.IDS_BY_LANE:
                    item = tuple(block[axis * lanes + lane] for axis in range(3))
                else:
                    item = (block[0] + lane, block[1], block[2])
                self.reports.append(Report(CheckedAccess(site.kind), name, item, offset))  # type: ignore[arg-type]
            self._access(site, block, first, lane, address, data, good)
            if flags & CheckFlag.UNIFORM:
                break

    def _access(self, site: Any, block: Any, first: int, lane: int, address: int, data: Any, good: bool) -> None:
        if site.kind == CheckedAccess.ATOMIC:
            if not good:
                block[first + (0 if site.flags & CheckFlag.UNIFORM else lane)] = ctypes.addressof(self._spare)
            return
        if site.flags & CheckFlag.UNIFORM:
            block[first] = block[first] if good else 0
        if data is None:
            return
        room = -(-site.element * site.lanes // 8) * 8
        for component in range(site.components):
            there, here = address + component * site.element, data + component * room + lane * site.element
            if site.kind == CheckedAccess.LOAD:
                ctypes.memset(here, 0, site.element)
                if good:
                    ctypes.memmove(here, there, site.element)
            elif good:
                ctypes.memmove(there, here, site.element)

    def _bounds_of(self, _: int, addresses: Any, lanes: int, mask: int, found: Any) -> None:
        for lane in range(lanes):
            found[lane], found[lanes + lane] = 0, 2**64 - 1
            for begin, size in self.known:
                if mask >> lane & 1 and begin <= addresses[lane] < begin + size:
                    found[lane], found[lanes + lane] = begin, size
