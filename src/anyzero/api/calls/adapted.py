"""Functions of a foreign loader, which may be older than this package, as may the drivers behind it.

A missing function is detected when it is called, so that importing this package needs none of them. Functions that
older ones can replace are replaced (`_substitutes`); the rest is refused as a driver would refuse it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Final

from anyzero import ze
from anyzero.api.calls.substitutes import Substitutes
from anyzero.ze.constants import ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, ZE_RESULT_SUCCESS
from anyzero.ze.functions import FUNCTIONS
from anyzero.ze.library import Library

__all__ = ["Adapted", "Adapter"]

Call = Callable[..., int]

DRIVER: Final = 0
KERNEL: Final = 11
"""Kinds of handles, as loaders number them."""

_BY_VALUE: Final = "zeCommandListAppendLaunchKernelWithArguments"
"""A function whose callers pass structures by value and have a fallback of their own."""

_FAULTY: Final = ("zeModuleDynamicLink", "zeModuleInspectLinkageExt")
"""Loaders from before `zeInitDrivers` crash in these where they hand out handles of their own."""


class Adapted:
    """A function that may be missing. The first candidate that is supported is called from then on.

    Any thread may call it.
    """

    __slots__ = ("__name__", "_call", "_others", "_turn", "lacking")

    def __init__(self, name: str, call: Call | None, others: Sequence[Callable[[], Call | None]], lacking: str) -> None:
        self.__name__ = name
        self.lacking = "" if call else lacking
        """The reason why there is no function to call; empty when there is one."""
        self._call = call or _refuse
        self._others = list(others)
        self._turn = Lock()

    def __call__(self, *arguments: Any) -> int:
        """Call the function; where the driver behind it lacks it, the substitute from then on."""
        call = self._call
        result = call(*arguments)
        while result == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE:
            following = self._after(call)
            if following is None:
                break
            call = following
            result = call(*arguments)
        return result

    def _after(self, refused: Call) -> Call | None:
        with self._turn:
            # Another thread may have been refused just before.
            while self._call is refused:
                if not self._others:
                    return None
                found = self._others.pop(0)()
                if found is not None:
                    self._call = found
                    self.lacking = ""
            return self._call


def _refuse(*_: Any) -> int:
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE


class Adapter:
    """The functions of one loader, and substitutes for missing ones."""

    def __init__(self, library: Library, where: str, drivers: Callable[[], Sequence[int]]) -> None:
        self._library = library
        self._where = where
        self._drivers = drivers
        self._made: dict[str, Call] = {}
        self._translate = _untyped(library.path, "zelLoaderTranslateHandle")
        self._substitutes = Substitutes(self)

    def function(self, name: str) -> Call:
        """A function by its name, the same object every time."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> Call:
        exported = self.exported(name)
        watched = self._substitutes.watched(name)
        if watched is not None:
            return Adapted(name, watched, (), "")
        if name in _FAULTY and exported is not None and self.exported("zeInitDrivers") is None:
            fault = f"{self._where} is too old: it crashes in that function if several drivers are loaded"
            return Adapted(name, None, [lambda: None if self._wraps() else exported], fault)
        substitute = self._substitutes.find(name)
        if exported is not None and (substitute is None or name == _BY_VALUE):
            return exported
        others: list[Callable[[], Call | None]] = []
        if exported is None and name != _BY_VALUE:
            others.append(lambda: self._of_the_driver(name))
        if substitute is not None:
            others.append(lambda: substitute)
        since = FUNCTIONS[name][2]
        lacking = f"{self._where} does not have it; it is new in Level Zero {since[0]}.{since[1]}"
        return Adapted(name, exported, others, lacking)

    def offers(self, name: str, driver: int) -> bool:
        """Whether both the loader and that driver have a function."""
        version = ctypes.c_uint32()
        told = self._library.zeDriverGetApiVersion(driver, ctypes.byref(version)) == ZE_RESULT_SUCCESS
        speaks = version.value >> 16, version.value & 0xFFFF
        return told and speaks >= FUNCTIONS[name][2] and self.exported(name) is not None

    def exported(self, name: str) -> Call | None:
        """A function of the loader, if it has it."""
        found: Call | None = getattr(self._library, name, None)
        return found

    def _of_the_driver(self, name: str) -> Call | None:
        """The function of a driver that is newer than its loader.

        Only where the loader hands out the driver's own handles, which it does for a single driver.
        """
        return None if self._wraps() else self.driver_function(name)

    def _wraps(self) -> bool:
        """Whether the loader hands out handles of its own."""
        return any(self.own_driver(each) != each for each in self._drivers())

    def driver_function(self, name: str) -> Call | None:
        """The first driver's function of that name; it takes that driver's own handles."""
        find = self.exported("zeDriverGetExtensionFunctionAddress")
        address = ctypes.c_void_p()
        drivers = self._drivers()
        if find is None or not drivers:
            return None
        if find(drivers[0], name.encode(), ctypes.byref(address)) != ZE_RESULT_SUCCESS or not address.value:
            return None
        result, parameters, _ = FUNCTIONS[name]
        found: Call = ctypes.CFUNCTYPE(result, *parameters)(address.value)
        return found

    def translated(self, kind: int, handle: int) -> int:
        """The driver's own handle for one that came from the loader."""
        own = ctypes.c_void_p()
        if self._translate is None or self._translate(kind, ctypes.c_void_p(handle), ctypes.byref(own)):
            return handle
        return own.value or handle

    def own_driver(self, handle: int) -> int:
        """The driver's own handle for the loader's."""
        return self.translated(DRIVER, handle)

    def own_kernel(self, handle: int) -> int:
        """The driver's own handle for the loader's."""
        return self.translated(KERNEL, handle)

    def has_extension(self, name: str) -> bool:
        """Whether the first driver lists an extension of that name."""
        ask = self._library.zeDriverGetExtensionProperties
        driver, count = self._drivers()[0], ctypes.c_uint32()
        if ask(driver, ctypes.byref(count), None) != ZE_RESULT_SUCCESS:
            return False
        found = (ze.ze_driver_extension_properties_t * count.value)()
        ask(driver, ctypes.byref(count), found)
        return name.encode() in {each.name for each in found}


def _untyped(path: str, name: str) -> Any:
    """An internal function of the loader, which is no part of the API; None where the library is no loader."""
    return getattr(ctypes.CDLL(path), name, None)
