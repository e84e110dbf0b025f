"""The driver's library for Python: its functions, and the one place that converts results to exceptions.

`ANYZERO_LOADER` selects the library: this package's driver itself, or a loader and its drivers.

Other modules of this package bind the functions they use once, when they are imported, and test each result in line;
only a result other than 0 comes here. Every call releases the GIL while it is in the driver.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from anyzero import config, errors, ze
from anyzero.ze.library import Library

if TYPE_CHECKING:
    from anyzero.api.calls.adapted import Adapter

__all__ = [
    "LIBRARY_PATH",
    "OURS",
    "PLACE",
    "array_of",
    "check",
    "create",
    "function",
    "initialize",
    "offers",
    "own_kernel",
    "query_all",
]

LIBRARY_PATH: Final = Path(__file__).parents[1] / "lib" / "libze_anyzero.so.1"
"""The driver that comes with this package."""

LOADER_NAME: Final = "libze_loader.so.1"
"""The system's loader, by the name that every program asks the linker for."""

_REINSTALL: Final = (
    "In a checkout run `make build`; otherwise reinstall the package: pip install --force-reinstall anyzero."
)


def _load(path: str) -> Library:
    try:
        # The linker opens any file at a path, and would wait for a writer of a pipe.
        if "/" in path and os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113
            raise OSError(f"{path} is not a regular file")
        return Library(path)
    except OSError as error:
        if path == str(LIBRARY_PATH):
            raise errors.Unavailable(f"the driver cannot be loaded: {error}", remedy=_REINSTALL) from None
        remedy = (
            "Install a Level Zero loader (Debian, Ubuntu: apt install libze1; Fedora: dnf install oneapi-level-zero), "
            "name one by its path (ANYZERO_LOADER=/path/to/libze_loader.so.1), or unset ANYZERO_LOADER."
        )
        raise errors.Unavailable(f"the loader cannot be loaded: {error}", remedy=remedy) from None


def _where(path: str) -> str:
    """The path of a library that the linker found by its name."""
    try:
        with Path("/proc/self/maps").open() as maps:
            return next((line.split(maxsplit=5)[5].strip() for line in maps if LOADER_NAME in line), path)
    except OSError:
        return path


_chosen: Final = config.read(only=["loader"]).loader
OURS: Final = _chosen == "ours"
"""Whether the driver of this package is called without a loader in between."""

_library: Final = _load(str(LIBRARY_PATH) if OURS else LOADER_NAME if _chosen == "system" else _chosen)
PLACE: Final = _where(_library.path) if _chosen == "system" else _library.path
"""The path of that library: the driver itself, or a loader."""

_any_driver: list[int] = []


def _adapt() -> Adapter:
    # Imported only where it is needed: most programs use the driver as it is.
    from anyzero.api.calls.adapted import Adapter

    return Adapter(_library, PLACE, lambda: _any_driver)


_adapter: Final = None if OURS else _adapt()


def function(name: str) -> Callable[..., int]:
    """A function of the driver, typed; the same object every time."""
    found: Callable[..., int] = getattr(_library, name) if _adapter is None else _adapter.function(name)
    return found


def own_kernel(handle: int) -> int:
    """A kernel's handle as the driver knows it, for functions that no loader passes on."""
    return handle if _adapter is None else _adapter.own_kernel(handle)


def offers(name: str, driver: int) -> bool:
    """Whether both the loader and that driver have a function."""
    return _adapter is None or _adapter.offers(name, driver)


_last_error: Final = function("zeDriverGetLastErrorDescription")

_IN_PYTHON: Final = {
    "ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP": "timing=True (ctx.event(timing=True))",
    "ZE_EVENT_POOL_FLAG_IPC": "ipc=True (ctx.event_pool(count, ipc=True))",
    "ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE": "cloneable=True (ctx.command_list(cloneable=True))",
    "ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS": 'mode="asynchronous"',
    "zeKernelSetCacheConfig(ZE_CACHE_CONFIG_FLAG_LARGE_SLM)": 'Kernel.set_cache_config("local")',
    "zeModuleDynamicLink": "az.link(module, other)",
}
"""Python spellings of the C names in the driver's messages."""


def _detail() -> str:
    """The driver's description of the last failure on this thread."""
    text = ctypes.c_char_p()
    if _any_driver:
        _last_error(_any_driver[0], ctypes.byref(text))
    else:
        # Start-up itself failed, so there is no driver to ask yet; and behind a loader it may be another one.
        try:
            ask = ctypes.CDLL(str(LIBRARY_PATH), mode=os.RTLD_NOLOAD | os.RTLD_NOW).zerGetLastErrorDescription
        except (AttributeError, OSError):
            return ""
        if ask(ctypes.byref(text)) != ze.ZE_RESULT_SUCCESS:
            return ""
    said = (text.value or b"").decode(errors="replace")
    for in_c, in_python in _IN_PYTHON.items():
        said = said.replace(in_c, in_python)
    return said


def check(result: int, called: Callable[..., int]) -> None:
    """Raise the exception for `result`, which `called` returned; 0 is success.

    >>> from anyzero.api.library import check, function
    >>> check(0, function("zeInit"))
    """
    if result:
        lacking: str = getattr(called, "lacking", "")
        # A result that is no error leaves no text, and the one that is there belongs to something else.
        said = "" if result == ze.ZE_RESULT_NOT_READY else _detail()
        error = errors.from_result(result, called.__name__, lacking or said)
        if lacking:
            error.remedy = "Use a newer loader, or this package's: ANYZERO_LOADER=ours."
        raise error


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
    """A C array of handles; None if there are none."""
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
        begin, get = function("zeInit"), function("zeDriverGet")
        result = begin(0)
        if not OURS and result == ze.ZE_RESULT_ERROR_UNINITIALIZED:
            raise _nothing_behind_it()
        check(result, begin)
        found = query_all(get)
        if not found:
            raise _nothing_behind_it()
        _any_driver.extend(found)
    return list(_any_driver)


def _nothing_behind_it() -> errors.Unavailable:
    said = _detail()
    asked = os.environ.get("ZE_ENABLE_ALT_DRIVERS", "")
    tried = f" (ZE_ENABLE_ALT_DRIVERS={asked})" if asked else ""
    return errors.Unavailable(
        f"no driver is available through the loader {PLACE}{tried}{': ' if said else ''}{said}",
        remedy="Install the driver of your device; or use this package's driver with that loader: "
        f"ZE_ENABLE_ALT_DRIVERS={LIBRARY_PATH}, or without a loader, with ANYZERO_LOADER=ours.",
    )
