"""Connects events of the two APIs without Python: functions of OpenCL, and links in our own library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

import pyopencl as cl

from anyzero import errors
from anyzero.api.library import LIBRARY_PATH, check, function

__all__ = ["Line", "Link", "Turns", "intermediate_language", "link_to_level_zero", "link_to_opencl"]

_POINTER: Final = ctypes.c_void_p
_POCL: Final = "Portable Computing Language"


def _functions(library: ctypes.CDLL, **types: tuple[Any, tuple[Any, ...]]) -> dict[str, Any]:
    found = {}
    for name, (result, arguments) in types.items():
        called = getattr(library, name)
        called.restype, called.argtypes = result, arguments
        found[name] = called
    return found


# The linker also searches the libraries of pyopencl, so this is the OpenCL that pyopencl uses.
_library: Final = ctypes.CDLL(cl._cl.__file__)  # noqa: SLF001 (there is no other way to it)
_opencl: Final = _functions(
    _library,
    clRetainEvent=(ctypes.c_int32, (_POINTER,)),
    clReleaseEvent=(ctypes.c_int32, (_POINTER,)),
    clGetProgramInfo=(ctypes.c_int32, (_POINTER, ctypes.c_uint32, ctypes.c_size_t, _POINTER, _POINTER)),
)
_own: Final = _functions(
    ctypes.CDLL(str(LIBRARY_PATH.with_name("libanyzero_calls.so"))),
    anyzero_link=(_POINTER, (_POINTER, _POINTER, _POINTER, _POINTER, ctypes.c_bool, ctypes.c_int32)),
    anyzero_line=(_POINTER, ()),
    anyzero_line_drop=(None, (_POINTER,)),
    anyzero_link_status=(ctypes.c_int32, (_POINTER,)),
    anyzero_link_done=(ctypes.c_bool, (_POINTER,)),
    anyzero_link_drop=(None, (_POINTER,)),
    anyzero_turns=(_POINTER, (_POINTER, _POINTER, _POINTER, _POINTER, _POINTER, ctypes.c_int32)),
    anyzero_turns_drop=(None, (_POINTER,)),
    anyzero_turns_give=(None, (_POINTER, _POINTER, _POINTER)),
    anyzero_turn_begin=(ctypes.c_int32, (_POINTER, _POINTER)),
    anyzero_turn_end=(ctypes.c_int32, (_POINTER, _POINTER)),
)
_drop: Final[Callable[[int], None]] = _own["anyzero_link_drop"]
_status: Final[Callable[[int], int]] = _own["anyzero_link_status"]
_done: Final[Callable[[int], bool]] = _own["anyzero_link_done"]


def _addresses(*called: Any) -> ctypes.Array[ctypes.c_void_p]:
    return (_POINTER * len(called))(*(ctypes.cast(each, _POINTER) for each in called))


_CALLED: Final = _addresses(
    function("zeEventHostSignal"),
    function("zeEventHostSynchronize"),
    _library.clWaitForEvents,
    _library.clGetEventInfo,
    _library.clSetUserEventStatus,
    _library.clReleaseEvent,
)
"""Functions in the order of a link's fields."""
_append_wait: Final = function("zeCommandListAppendWaitOnEvents")
_append_signal: Final = function("zeCommandListAppendSignalEvent")
_FOR_TURNS: Final = (_POINTER * (len(_CALLED) + 9))(
    *_CALLED,
    *_addresses(
        _library.clEnqueueMarkerWithWaitList,
        _library.clEnqueueBarrierWithWaitList,
        _library.clFlush,
        _library.clCreateUserEvent,
        _library.clRetainEvent,
        _append_wait,
        _append_signal,
        function("zeEventHostReset"),
        function("zeEventDestroy"),
    ),
)
_NEEDS_EVENTS, _OPENCL_FAILED, _LEVEL_ZERO_FAILED = 1, 2, 3
"""Results of a hand-over besides success; any other: no thread could be started."""


class Line:
    """Serves links that end in the order in which they are made, with one thread for all of them."""

    __slots__ = ("_drop", "pointer")

    def __init__(self) -> None:
        self.pointer: int = _own["anyzero_line"]()
        # At interpreter exit the module's names may be gone first.
        self._drop = _own["anyzero_line_drop"]

    def __del__(self) -> None:
        self._drop(self.pointer)


class Link:
    """Signals one event when another ends, independently of Python."""

    __slots__ = ("_drop", "_pointer")

    def __init__(self, opencl: cl.Event, level_zero: int, line: Line | None, *, failure: int | None = None) -> None:
        """To OpenCL, with the status for a failure; else to Level Zero."""
        reference = opencl.int_ptr
        _opencl["clRetainEvent"](reference)
        place = line.pointer if line is not None else None
        made = _own["anyzero_link"](_CALLED, place, reference, level_zero, failure is not None, failure or 0)
        if not made:
            _opencl["clReleaseEvent"](reference)
            raise errors.OutOfHostMemory("the system cannot start a thread that waits for the event")
        self._pointer: int = made
        self._drop = _drop

    @property
    def status(self) -> int:
        """OpenCL's status: 0 when complete, negative when failed, positive before."""
        return _status(self._pointer)

    @property
    def done(self) -> bool:
        """Whether it has finished with both events."""
        return _done(self._pointer)

    def __del__(self) -> None:
        if hasattr(self, "_pointer"):
            self._drop(self._pointer)


class Turns:
    """An OpenCL queue and an immediate list that take turns, each hand-over in one call."""

    __slots__ = ("_drop", "_error", "_events", "_pointer")

    def __init__(self, cl_queue: cl.CommandQueue, lst: int, line: Line, events: Callable[[], tuple[int, int]]) -> None:
        """`events` makes two events that nothing uses."""
        context = cl_queue.context
        failure = _failure_for(context)
        self._events = events
        self._error = ctypes.c_int32()
        made = _own["anyzero_turns"](
            _FOR_TURNS, line.pointer, cl_queue.int_ptr, context.int_ptr, ctypes.c_void_p(lst), failure
        )
        if not made:
            raise errors.OutOfHostMemory("no memory for a shared queue")
        self._pointer: int = made
        self._drop = _own["anyzero_turns_drop"]

    def begin(self) -> None:
        """Orders later commands of the list behind all commands of the OpenCL queue."""
        outcome = _own["anyzero_turn_begin"](self._pointer, ctypes.byref(self._error))
        if outcome == _NEEDS_EVENTS:
            _own["anyzero_turns_give"](self._pointer, *self._events())
            outcome = _own["anyzero_turn_begin"](self._pointer, ctypes.byref(self._error))
        if outcome:
            self._raise(outcome, _append_wait)

    def end(self) -> None:
        """Orders later commands of the OpenCL queue behind all commands of the list."""
        if outcome := _own["anyzero_turn_end"](self._pointer, ctypes.byref(self._error)):
            self._raise(outcome, _append_signal)

    def _raise(self, outcome: int, called: Callable[..., int]) -> None:
        if outcome == _LEVEL_ZERO_FAILED:
            check(self._error.value & 0xFFFFFFFF, called)
        if outcome == _OPENCL_FAILED:
            status = cl.status_code.to_string(self._error.value, "status %d")
            raise errors.Error(f"OpenCL cannot hand over the queue: {status}")
        raise errors.OutOfHostMemory("the system cannot start a thread that waits for the event")

    def __del__(self) -> None:
        if hasattr(self, "_pointer"):
            self._drop(self._pointer)


def link_to_level_zero(source: cl.Event, event: int, line: Line | None = None) -> Link:
    """Signal the event of Level Zero with that handle when an OpenCL event is complete, or has failed."""
    return Link(source, event, line)


def link_to_opencl(event: int, target: cl.UserEvent, line: Line | None = None) -> Link:
    """Complete a user event when the event of Level Zero with that handle is signalled; fail it when that fails."""
    return Link(target, event, line, failure=_failure_for(target.get_info(cl.event_info.CONTEXT)))


def _failure_for(context: cl.Context) -> int:
    """The status of a user event whose command of Level Zero has failed."""
    # PoCL 3.1 ends the process when a command fails and its event was released, as programs usually do.
    return 0 if context.devices[0].platform.name == _POCL else int(cl.status_code.OUT_OF_RESOURCES)


def intermediate_language(program: int) -> bytes:
    """The SPIR-V that a program was created from, if any; pyopencl would decode it as text."""
    ask, size = _opencl["clGetProgramInfo"], ctypes.c_size_t()
    if ask(program, cl.program_info.IL, 0, None, ctypes.byref(size)) or not size.value:
        # None, or an OpenCL before 2.1, which does not have the query.
        return b""
    room = ctypes.create_string_buffer(size.value)
    return b"" if ask(program, cl.program_info.IL, size.value, room, None) else room.raw
