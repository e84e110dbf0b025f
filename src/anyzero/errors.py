"""Exceptions. Each says what went wrong and what to do next.

Every failure of Level Zero is an :class:`Error` that carries the result code, the function that returned it and the
driver's own words. The subclasses group the results by what a program would do about them; where Python has an
exception of the same meaning (MemoryError, ValueError, TimeoutError), they are that one too.
"""

# ruff: noqa: N818 (named as the results are that they stand for)

from __future__ import annotations

import builtins
import re
from typing import TYPE_CHECKING, Any, Final, Self

from anyzero import ze

if TYPE_CHECKING:
    from traceback import FrameSummary

    from anyzero.ze import ze_result_t

__all__ = [
    "BuildError",
    "ClosedError",
    "DeviceLost",
    "DeviceNotFound",
    "Error",
    "HandleInUse",
    "InvalidArgument",
    "InvalidHandle",
    "NotReady",
    "OutOfDeviceMemory",
    "OutOfHostMemory",
    "OutOfRange",
    "PermissionDenied",
    "TimeoutError",
    "Unavailable",
    "UnsupportedFeature",
    "UnsupportedModel",
    "UnsupportedSize",
    "from_result",
]


_FRAME: Final = re.compile(r'  File "(.*)", line (\d+), in (.*)')
"""A line of a report that names a line of a kernel's source."""


class Error(Exception):
    """The base class of anyzero's own exceptions.

    `result` is the ze_result_t, or None if no function was called; `function` is the function that returned it;
    `detail` is the driver's description; `remedy` says what to do next.

    >>> issubclass(az.OutOfDeviceMemory, az.Error)
    True
    """

    remedy: str = ""

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """An instance before ``__init__``, for libraries that restore exceptions of another process.

        The inherited one of MemoryError or OSError refuses classes whose memory is laid out as another base says.
        """
        base: Any = cls
        while base.__module__ != "builtins":
            base = base.__base__
        made: Self = base.__new__(cls, *args)
        return made

    def __init__(
        self,
        detail: str = "",
        *,
        result: ze_result_t | None = None,
        function: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.detail = detail
        self.result = result
        self.function = function
        if remedy is not None:
            self.remedy = remedy
        super().__init__(detail)

    def __str__(self) -> str:
        where = []
        if self.function is not None:
            where.append(self.function)
        if self.result is not None:
            where.append(self.result.name.removeprefix("ZE_RESULT_").removeprefix("ERROR_"))
        first = ": ".join(filter(None, [" ".join(where), self.detail]))
        return "\n".join(filter(None, [first, self.remedy]))


class DeviceLost(Error):
    """A command faulted and its queue is lost; `detail` names the command, the address and the nearest allocation.

    `stack` holds the source lines of the kernel that led there, outermost call first; empty where they are not known.
    """

    remedy = "This queue or list is lost. Fix the cause that the report names, then continue on a new one."

    def __init__(
        self,
        detail: str = "",
        *,
        result: ze_result_t | None = None,
        function: str | None = None,
        remedy: str | None = None,
    ) -> None:
        said, self.stack = _frames(detail)
        super().__init__(said, result=result, function=function, remedy=remedy)


class OutOfDeviceMemory(Error, MemoryError):
    """The device does not have enough memory."""

    remedy = "Close buffers and images that are no longer needed, or raise ANYZERO_MEMORY."


class OutOfHostMemory(Error, MemoryError):
    """The host does not have enough memory."""

    remedy = "Close buffers that are no longer needed, or allocate less."


class InvalidArgument(Error, ValueError):
    """An argument is out of range, of the wrong kind, or inconsistent with other arguments."""


class OutOfRange(InvalidArgument, OverflowError):
    """A number does not fit the type of its argument."""


class InvalidHandle(Error):
    """A handle is null, of another kind, of another context, or its object was destroyed."""

    remedy = "Use objects of one context, and keep them until the commands that use them are done."


class HandleInUse(Error):
    """The object is still in use by the device."""

    remedy = "Wait for the work that uses it (queue.synchronize(), event.wait()), then try again."


class UnsupportedFeature(Error):
    """The driver or device does not support a feature, a size, an alignment or an image format."""

    remedy = "`anyzero docs coverage` lists what the driver implements, `anyzero info -v` the device's limits."


class UnsupportedSize(UnsupportedFeature, MemoryError):
    """A size is larger than the device supports: of an allocation, a side of an image, a number of events."""

    remedy = "Work in smaller parts; `anyzero info -v` shows the device's limits."


class NotReady(Error):
    """The result is not available yet."""

    remedy = "Wait for the command first, or query again later."


class TimeoutError(NotReady, builtins.TimeoutError):  # noqa: A001 (it is that one, with a remedy)
    """A wait timed out; the work continues."""

    remedy = "The work continues: wait again, with a longer timeout or none."


class ClosedError(Error):
    """The object was closed."""

    remedy = "Create a new one; close an object only after its last use."


class Unavailable(Error):
    """The driver could not start."""

    remedy = "`python -m anyzero.driver --show` runs the same start-up and prints the result."


class DeviceNotFound(Error, LookupError):
    """No device matches the selection; the message lists the devices."""


class PermissionDenied(Error, PermissionError):
    """The operation is not allowed for this user or process."""

    remedy = "IPC handles work between processes of one user, or with their descriptor sent along (SCM_RIGHTS)."


class BuildError(Error):
    """A module or a kernel could not be built; `log` has the compiler's messages."""

    remedy = "`anyzero docs spirv` describes the accepted SPIR-V; ANYZERO_DUMP=FOLDER keeps the generated code."

    def __init__(
        self,
        detail: str = "",
        *,
        result: ze_result_t | None = None,
        function: str | None = None,
        remedy: str | None = None,
        log: str | None = None,
    ) -> None:
        super().__init__(detail, result=result, function=function, remedy=remedy)
        self.log = detail if log is None else log


class UnsupportedModel(BuildError, UnsupportedFeature):
    """A model has a layer that the compiler of graphs does not support; `log` names it."""


def _frames(detail: str) -> tuple[str, list[FrameSummary]]:
    """A report with the text of every source line, and its frames.

    Python knows the text of lines that no file holds, such as those of a notebook.
    """
    import linecache
    from traceback import FrameSummary

    said: list[str] = []
    found: list[FrameSummary] = []
    rows = detail.split("\n")
    for row, after in zip(rows, [*rows[1:], ""], strict=True):
        said.append(row)
        frame = _FRAME.fullmatch(row)
        if frame is None:
            continue
        text = after.strip() if after.startswith("    ") else ""
        if not text and (text := linecache.getline(frame[1], int(frame[2])).strip()):
            said.append(f"    {text}")
        found.append(FrameSummary(frame[1], int(frame[2]), frame[3], lookup_line=False, line=text))
    return "\n".join(said), found


# Results whose name does not say their class; the others are INVALID_… and UNSUPPORTED_….
_CLASSES: dict[int, type[Error]] = {
    ze.ZE_RESULT_NOT_READY: NotReady,
    ze.ZE_RESULT_ERROR_DEVICE_LOST: DeviceLost,
    ze.ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET: DeviceLost,
    ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY: OutOfHostMemory,
    ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY: OutOfDeviceMemory,
    ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE: UnsupportedSize,
    ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE: BuildError,
    ze.ZE_RESULT_ERROR_MODULE_LINK_FAILURE: BuildError,
    ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY: BuildError,
    ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS: PermissionDenied,
    ze.ZE_RESULT_ERROR_UNINITIALIZED: Unavailable,
    ze.ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE: Unavailable,
    ze.ZE_RESULT_ERROR_NOT_AVAILABLE: Unavailable,
    ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE: InvalidHandle,
    ze.ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT: InvalidHandle,
    ze.ZE_RESULT_ERROR_INVALID_KERNEL_HANDLE: InvalidHandle,
    ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE: HandleInUse,
    ze.ZE_RESULT_ERROR_OVERLAPPING_REGIONS: InvalidArgument,
    ze.ZE_RESULT_ERROR_ADDRESS_NOT_FOUND: InvalidArgument,
}


def from_result(result: int, function: str, detail: str = "") -> Error:
    """The exception for a result of `function`; never None, also for results that this version does not know.

    >>> print(from_result(0x78000009, "zeMemAllocDevice", "size 0"))
    zeMemAllocDevice UNSUPPORTED_SIZE: size 0
    ...
    """
    from anyzero.ze import ze_result_t

    try:
        code = ze_result_t(result)
    except ValueError:
        return Error(f"unknown result {result:#x}. {detail}".strip(), function=function)
    kind = _CLASSES.get(code)
    if kind is None:
        name = code.name
        kind = UnsupportedFeature if "_UNSUPPORTED" in name else InvalidArgument if "_INVALID_" in name else Error
    return kind(detail, result=code, function=function)
