"""Semaphores from outside: an eventfd, and a number in memory that several processes raise and wait for."""

from __future__ import annotations

import os
import struct
from ctypes import addressof, byref, c_void_p
from typing import Any

import pytest

from anyzero import ze
from tests.abi.calls import INVALID_ARGUMENT, NOT_READY, SOON, Calls, handles, read, run_python, waiting, write

BINARY = ze.ZE_EXTERNAL_SEMAPHORE_EXT_FLAG_OPAQUE_FD
TIMELINE = ze.ZE_EXTERNAL_SEMAPHORE_EXT_FLAG_VK_TIMELINE_SEMAPHORE_FD
SIGNAL, WAIT = "zeCommandListAppendSignalExternalSemaphoreExt", "zeCommandListAppendWaitExternalSemaphoreExt"


def imported(az: Calls, kind: int, fd: int) -> c_void_p:
    given = ze.ze_external_semaphore_fd_ext_desc_t(fd=fd)
    desc = ze.ze_external_semaphore_ext_desc_t(flags=kind, pNext=addressof(given))
    return az.new("zeDeviceImportExternalSemaphoreExt", az.device, byref(desc))


def timeline() -> int:
    fd = os.memfd_create("timeline", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.truncate(fd, 64)
    return fd


def append(
    az: Calls, name: str, lst: c_void_p, semaphore: c_void_p, value: int = 0, signal: Any = None, waits: Any = ()
) -> None:
    kind = (
        ze.ze_external_semaphore_signal_params_ext_t if name == SIGNAL else ze.ze_external_semaphore_wait_params_ext_t
    )
    az.ok(name, lst, 1, handles([semaphore]), byref(kind(value=value)), signal, *waiting(waits))


@pytest.mark.parametrize("flags", [0, os.EFD_SEMAPHORE])
def test_eventfd_that_the_program_writes(az: Calls, context: c_void_p, flags: int) -> None:
    fd = os.eventfd(0, os.EFD_CLOEXEC | flags)
    semaphore, lst, row = imported(az, BINARY, fd), az.immediate(context), az.memory(context, 8)
    gate, before, done = az.events(context, 3)
    write(row, bytes(8))
    os.eventfd_write(fd, 1)
    append(az, WAIT, lst, semaphore, waits=[gate])
    az.fill(lst, row, 1, 8, before)
    append(az, WAIT, lst, semaphore)
    az.fill(lst, row, 2, 8, done)
    # The list has not come to the wait yet, so nothing was taken.
    az.error(NOT_READY, "zeEventQueryStatus", before)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeEventHostSynchronize", before, SOON)
    assert read(row, 8) == b"\1" * 8
    az.error(NOT_READY, "zeEventQueryStatus", done)
    os.eventfd_write(fd, 1)
    az.ok("zeEventHostSynchronize", done, SOON)
    append(az, SIGNAL, lst, semaphore)
    az.ok("zeCommandListHostSynchronize", lst, SOON)
    assert os.eventfd_read(fd) == 1
    az.ok("zeDeviceReleaseExternalSemaphoreExt", semaphore)
    os.close(fd)


def test_waiting_for_a_descriptor_blocks_no_other_list(az: Calls, context: c_void_p) -> None:
    """Both lists are walked by the same engine."""
    fd = os.eventfd(0)
    semaphore, first, second = imported(az, BINARY, fd), az.immediate(context), az.immediate(context)
    append(az, WAIT, first, semaphore)
    called = az.counter(context)
    az.barrier(second, called)
    az.ok("zeEventHostSynchronize", called, SOON)
    az.error(NOT_READY, "zeCommandListHostSynchronize", first, 0)
    # The handle may go before what waits by it.
    az.ok("zeDeviceReleaseExternalSemaphoreExt", semaphore)
    os.eventfd_write(fd, 1)
    az.ok("zeCommandListHostSynchronize", first, SOON)
    os.close(fd)


def test_timeline_waits_for_values(az: Calls, context: c_void_p) -> None:
    fd = timeline()
    one, other = imported(az, TIMELINE, fd), imported(az, TIMELINE, fd)
    first, second = az.immediate(context), az.immediate(context)
    at_two, at_five = az.events(context, 2)
    append(az, WAIT, first, other, 2, at_two)
    append(az, WAIT, first, other, 5, at_five)
    append(az, SIGNAL, second, one, 3)
    az.ok("zeEventHostSynchronize", at_two, SOON)
    az.error(NOT_READY, "zeEventQueryStatus", at_five)
    append(az, SIGNAL, second, one, 5)
    append(az, SIGNAL, second, one, 4)  # never backwards
    az.ok("zeEventHostSynchronize", at_five, SOON)
    az.ok("zeCommandListHostSynchronize", second, SOON)
    assert struct.unpack("Q", os.pread(fd, 8, 0)) == (5,)
    os.close(fd)


def test_semaphores_between_processes() -> None:
    """The child waits for its parent by both kinds, and answers by both."""
    run_python(
        """
        from tests.abi.test_external_semaphores import *
        ready, answer, line = os.eventfd(0), os.eventfd(0), timeline()
        pid = os.fork()
        az = Calls()
        context = az.context()
        lst = az.immediate(context)
        go, back, line = imported(az, BINARY, ready), imported(az, BINARY, answer), imported(az, TIMELINE, line)
        if pid == 0:
            append(az, WAIT, lst, go)
            append(az, WAIT, lst, line, 7)
            append(az, SIGNAL, lst, line, 8)
            append(az, SIGNAL, lst, back)
            az.ok("zeCommandListHostSynchronize", lst, SOON)
            os._exit(0)
        append(az, SIGNAL, lst, go)
        append(az, SIGNAL, lst, line, 7)
        append(az, WAIT, lst, line, 8)
        append(az, WAIT, lst, back)
        az.ok("zeCommandListHostSynchronize", lst, SOON)
        assert os.waitpid(pid, 0)[1] == 0
        """
    )


def test_what_is_no_semaphore_is_refused(az: Calls, context: c_void_p) -> None:
    fd, plain = os.eventfd(0), os.open("/dev/null", os.O_RDWR)
    out = c_void_p()

    def refused(result: int, kind: int, given: int) -> None:
        behind = ze.ze_external_semaphore_fd_ext_desc_t(fd=given)
        desc = ze.ze_external_semaphore_ext_desc_t(flags=kind, pNext=addressof(behind))
        az.error(result, "zeDeviceImportExternalSemaphoreExt", az.device, byref(desc), byref(out))

    small = os.memfd_create("small", os.MFD_ALLOW_SEALING)
    for given in (plain, -1, 2**30, small):
        refused(INVALID_ARGUMENT, BINARY, given)
        refused(INVALID_ARGUMENT, TIMELINE, given)
    refused(INVALID_ARGUMENT, TIMELINE, fd)
    refused(ze.ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION, ze.ZE_EXTERNAL_SEMAPHORE_EXT_FLAG_D3D12_FENCE, fd)
    assert "eventfd" in az.last_error()
    desc = ze.ze_external_semaphore_ext_desc_t(flags=BINARY)
    az.error(INVALID_ARGUMENT, "zeDeviceImportExternalSemaphoreExt", az.device, byref(desc), byref(out))
    semaphore, params = imported(az, BINARY, fd), ze.ze_external_semaphore_signal_params_ext_t()
    az.error(INVALID_ARGUMENT, SIGNAL, az.list(context), 1, handles([semaphore]), byref(params), None, 0, None)
    lst, event = az.immediate(context), az.counter(context)
    az.ok("zeCommandListBeginGraphCaptureExt", lst, None)
    az.barrier(lst, event)
    other = az.immediate(context)
    unsupported = ze.ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED
    az.error(unsupported, SIGNAL, lst, 1, handles([semaphore]), byref(params), None, 0, None)
    az.error(unsupported, SIGNAL, other, 1, handles([semaphore]), byref(params), None, *waiting([event]))
    az.ok("zeGraphDestroyExt", az.new("zeCommandListEndGraphCaptureExt", lst, None))
    for each in (fd, plain, small):
        os.close(each)


def test_list_may_be_destroyed_while_it_waits(az: Calls, context: c_void_p) -> None:
    fd, done = os.eventfd(0), az.events(context, 1)[0]
    semaphore, lst = imported(az, BINARY, fd), az.immediate(context)
    append(az, WAIT, lst, semaphore, signal=done)
    az.ok("zeCommandListDestroy", lst)
    az.ok("zeDeviceReleaseExternalSemaphoreExt", semaphore)
    az.error(NOT_READY, "zeEventQueryStatus", done)
    os.eventfd_write(fd, 1)
    az.ok("zeEventHostSynchronize", done, SOON)
    os.close(fd)
