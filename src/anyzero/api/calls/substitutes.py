"""Substitutes for newer functions of the driver, made of older ones.

Each substitute takes the same arguments as the function that it replaces, and returns a result in the same way.
"""

# ruff: noqa: SLF001 (what byref() refers to has no other name)

from __future__ import annotations

import ctypes
from collections.abc import Callable
from threading import Lock
from time import monotonic_ns
from typing import Any, Final, Protocol

from anyzero import ze
from anyzero.ze.constants import ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, ZE_RESULT_SUCCESS

__all__ = ["Substitutes"]

Call = Callable[..., int]

_FOREVER: Final = (1 << 64) - 1
_HOST: Final = ze.ZE_EVENT_SCOPE_FLAG_HOST


class Loader(Protocol):
    """The interface of a loader that substitutes use."""

    def exported(self, name: str) -> Call | None:
        """A function of the loader, if it has it."""

    def driver_function(self, name: str) -> Call | None:
        """A function of the driver behind it, which takes the driver's own handles."""

    def own_driver(self, handle: int) -> int:
        """The driver's own handle for the loader's."""

    def has_extension(self, name: str) -> bool:
        """Whether the driver lists that extension."""


class Substitutes:
    """The substitutes for the functions of one loader. Any thread may call them."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._counts: bool | None = None
        self._lists: dict[int, _Mark] = {}
        self._pools: dict[int, int] = {}
        self._table: dict[str, Call] = {
            "zeCommandListAppendLaunchKernelWithParameters": self._launch,
            "zeCommandListHostSynchronize": self._synchronize_list,
            "zeDriverGetLastErrorDescription": self._last_error,
            "zeEventCounterBasedCreate": self._create_counting_event,
            "zeEventPoolGetFlags": _no_flags,
            "zeImageViewCreateExt": lambda *arguments: self._call("zeImageViewCreateExp", *arguments),
            "zeMemPutIpcHandle": lambda *_: ZE_RESULT_SUCCESS,  # there was nothing to put back before there was this
        }
        # Functions that the loader has are called; but substitutes must track the objects that they make and destroy.
        self._watched: dict[str, Call] = {
            "zeCommandListCreateImmediate": self._create_list,
            "zeCommandListDestroy": self._destroy_list,
            "zeContextDestroy": self._destroy_context,
            "zeEventDestroy": self._destroy_event,
            "zeMemFreeExt": self._free,
        }

    def find(self, name: str) -> Call | None:
        """The substitute for a missing function, if there is one."""
        return self._table.get(name)

    def watched(self, name: str) -> Call | None:
        """The replacement that is called even if the loader has the function."""
        return self._watched.get(name)

    def _call(self, name: str, *arguments: Any) -> int:
        found = self._loader.exported(name)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE if found is None else found(*arguments)

    # Waits for an immediate list: a mark, an event behind its commands, shows their end.

    def _create_list(self, context: int, device: int, desc: Any, made: Any) -> int:
        result = self._call("zeCommandListCreateImmediate", context, device, desc, made)
        if not result:
            self._lists[made._obj.value] = _Mark(context, device)
        return result

    def _destroy_list(self, handle: int) -> int:
        # Before the call, because the next list may have the same handle.
        mark = self._lists.pop(handle, None)
        result = self._call("zeCommandListDestroy", handle)
        if mark is not None and mark.event:
            self._destroy_event(mark.event)
        return result

    def _destroy_context(self, handle: int) -> int:
        # Python may destroy a list after its context, and then no mark may be created for it any more.
        for mark in list(self._lists.values()):
            if mark.context == handle:
                mark.context = 0
        return self._call("zeContextDestroy", handle)

    def _synchronize_list(self, handle: int, timeout: int) -> int:
        mark = self._lists.get(handle)
        if mark is None:
            return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
        if not mark.context:
            return ZE_RESULT_SUCCESS
        begun = mark.placed
        deadline = monotonic_ns() + timeout
        while True:
            with mark.turn:
                # A mark that was not reached yet means that the list is busy, and another would only make it busier.
                if mark.placed == mark.reached and (result := self._place(handle, mark)):
                    return result
                awaited = mark.placed
            left = min(max(deadline - monotonic_ns(), 0), _FOREVER)
            if result := self._call("zeEventHostSynchronize", mark.event, left):
                return result
            with mark.turn:
                mark.reached = max(mark.reached, awaited)
            # A mark that was placed earlier says nothing about the commands that came after it.
            if awaited > begun:
                return ZE_RESULT_SUCCESS

    def _place(self, handle: int, mark: _Mark) -> int:
        if not mark.event:
            made = ctypes.c_void_p()
            if result := self._create_event(mark.context, mark.device, ctypes.byref(made), counting=False):
                return result
            mark.event = made.value or 0
        elif result := self._call("zeEventHostReset", mark.event):
            return result
        if result := self._call("zeCommandListAppendBarrier", handle, mark.event, 0, None):
            return result
        mark.placed += 1
        return ZE_RESULT_SUCCESS

    # Counter-based events need a pool of that kind, where the driver has it. There is no other substitute: plain events
    # would have to be reset between two uses, and a waiting thread may not have seen the signal by then.

    def _create_counting_event(self, context: int, device: int, _desc: Any, made: Any) -> int:
        if self._counts is None:
            self._counts = self._loader.has_extension(ze.ZE_EVENT_POOL_COUNTER_BASED_EXP_NAME)
        if not self._counts:
            return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
        return self._create_event(context, device, made, counting=True)

    def _create_event(self, context: int, device: int, made: Any, *, counting: bool) -> int:
        counted = ze.ze_event_pool_counter_based_exp_desc_t(flags=ze.ZE_EVENT_POOL_COUNTER_BASED_EXP_FLAG_IMMEDIATE)
        desc = ze.ze_event_pool_desc_t(
            pNext=ctypes.addressof(counted) if counting else None, flags=ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE, count=1
        )
        pool = ctypes.c_void_p()
        devices = (ctypes.c_void_p * 1)(device)
        if result := self._call("zeEventPoolCreate", context, ctypes.byref(desc), 1, devices, ctypes.byref(pool)):
            return result
        only = ze.ze_event_desc_t(index=0, signal=_HOST, wait=_HOST)
        result = self._call("zeEventCreate", pool, ctypes.byref(only), made)
        if result:
            self._call("zeEventPoolDestroy", pool)
        elif pool.value:
            self._pools[made._obj.value] = pool.value
        return result

    def _destroy_event(self, handle: int) -> int:
        pool = self._pools.pop(handle, None)
        result = self._call("zeEventDestroy", handle)
        if pool is not None:
            self._call("zeEventPoolDestroy", pool)
        return result

    # Other functions.

    def _launch(
        self, lst: int, kernel: int, count: Any, parameters: int | None, event: Any, waits: int, handles: Any
    ) -> int:
        cooperative = False
        if parameters:
            said = ze.ze_command_list_append_launch_kernel_param_cooperative_desc_t.from_address(parameters)
            if said.stype != type(said)._stype_ or said.pNext:
                return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
            cooperative = bool(said.isCooperative)
        name = "zeCommandListAppendLaunchCooperativeKernel" if cooperative else "zeCommandListAppendLaunchKernel"
        return self._call(name, lst, kernel, count, event, waits, handles)

    def _free(self, context: int, desc: Any, pointer: int) -> int:
        # A driver may have the function but not the policy. The caller holds the memory until the commands that use it
        # are done, so nothing has to be deferred.
        return self._call("zeMemFreeExt", context, desc, pointer) and self._call("zeMemFree", context, pointer)

    def _last_error(self, driver: int, text: Any) -> int:
        ask = self._loader.driver_function("zeDriverGetLastErrorDescription")
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE if ask is None else ask(self._loader.own_driver(driver), text)


class _Mark:
    """An event behind the commands of a list, made when the list is first waited for."""

    __slots__ = ("context", "device", "event", "placed", "reached", "turn")

    def __init__(self, context: int, device: int) -> None:
        self.context = context
        self.device = device
        self.event = 0
        self.placed = 0
        self.reached = 0
        self.turn = Lock()


def _no_flags(_pool: int, flags: Any) -> int:
    # Without a function to query the flags, an opened pool's events count as having no timestamps.
    flags._obj.value = 0
    return ZE_RESULT_SUCCESS
