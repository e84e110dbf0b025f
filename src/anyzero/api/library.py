"""The driver as Python calls it: its library, its functions, and the one place where results become exceptions.

Other modules of this package bind the functions they use once, when they are imported, and test each result in line;
only a result other than 0 comes here. Every call releases the GIL while it is in the driver.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from anyzero import config, errors, ze
from anyzero.ze.library import Library

__all__ = ["LIBRARY_PATH", "array_of", "check", "create", "function", "initialize", "query_all"]

LIBRARY_PATH: Final = Path(__file__).parents[1] / "lib" / "libze_anyzero.so.1"
"""The driver that comes with this package."""


def _load() -> Library:
    try:
        return Library(LIBRARY_PATH)
    except OSError as error:
        remedy = (
            "In a checkout run `make build`; otherwise reinstall the package: pip install --force-reinstall anyzero."
        )
        raise errors.Unavailable(f"the driver cannot be loaded: {error}", remedy=remedy) from None


_library: Final = _load()
_any_driver: list[int] = []


def function(name: str) -> Callable[..., int]:
    """A function of the driver, typed; the same object every time."""
    found: Callable[..., int] = getattr(_library, name)
    return found


_last_error: Final = function("zeDriverGetLastErrorDescription")


def _detail() -> str:
    """What the driver says about the last failure on this thread."""
    text = ctypes.c_char_p()
    if _any_driver:
        _last_error(_any_driver[0], ctypes.byref(text))
    else:
        # Start-up itself failed, so there is no driver to ask yet.
        try:
            ask = ctypes.CDLL(str(LIBRARY_PATH)).zerGetLastErrorDescription
        except AttributeError:
            return ""
        if ask(ctypes.byref(text)) != ze.ZE_RESULT_SUCCESS:
            return ""
    return (text.value or b"").decode(errors="replace")


def check(result: int, called: Callable[..., int]) -> None:
    """Raise the exception for `result`, which `called` returned; 0 is success.

    >>> from anyzero.api.library import check, function
    >>> check(0, function("zeInit"))
    """
    if result:
        raise errors.from_result(result, called.__name__, _detail())


def create(called: Callable[..., int], *arguments: Any) -> int:
    """Call a function whose last parameter receives a handle or a pointer, and return that."""
    made = ctypes.c_void_p()
    check(called(*arguments, ctypes.byref(made)), called)
    if made.value is None:
        raise errors.Error("the driver returned nothing", function=called.__name__)
    return made.value


def query_all(called: Callable[..., int], *arguments: Any, of: Any = ctypes.c_void_p) -> list[Any]:
    """Call a function that fills an array: once for the count, once for the elements (handles, unless told)."""
    count = ctypes.c_uint32()
    check(called(*arguments, ctypes.byref(count), None), called)
    if not count.value:
        return []
    elements = of.array(count.value) if hasattr(of, "array") else (of * count.value)()
    check(called(*arguments, ctypes.byref(count), elements), called)
    return list(elements)[: count.value]


def array_of(handles: list[int]) -> ctypes.Array[ctypes.c_void_p] | None:
    """Handles as the C API takes several of them; None for none."""
    return (ctypes.c_void_p * len(handles))(*handles) if handles else None


def initialize() -> list[int]:
    """Start the driver, once per process, and return its drivers' handles.

    >>> from anyzero.api.library import initialize
    >>> len(initialize()) >= 1
    True
    """
    if not _any_driver:
        # The driver reads the same variables; a wrong one is best reported here, by its name.
        config.read()
        begin = function("zeInit")
        check(begin(0), begin)
        _any_driver.extend(query_all(function("zeDriverGet")))
    return list(_any_driver)
