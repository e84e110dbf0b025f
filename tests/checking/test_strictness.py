"""What works here, and may not on hardware or by the specification."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import addressof, byref, c_uint8, c_void_p

import numpy as np
import pytest

import anyzero
from anyzero import ze
from tests.abi.calls import COMPUTE, COPY, SOON, SYNCHRONOUS, Calls, handles
from tests.checking.programs import checked, expect
from tests.shape.tree import ROOT

INVALID_GROUP_SIZE = ze.ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION
INVALID_LIST_TYPE = ze.ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE


def test_an_event_of_another_context_is_signalled(az: Calls, context: c_void_p) -> None:
    other = az.context()
    event, lst = az.events(other, 1)[0], az.immediate(context, mode=SYNCHRONOUS)
    with checked("strict") as found:
        az.lib.zeCommandListAppendBarrier(lst, event, 0, None)  # mistake
    expect("other-context", found)
    az.ok("zeContextDestroy", other)


@pytest.mark.parametrize("name", ["zeCommandListAppendSignalEvent", "zeCommandListAppendEventReset"])
def test_a_command_changes_an_event_of_another_context(az: Calls, context: c_void_p, name: str) -> None:
    other = az.context()
    (own,), (event,), lst = az.events(context, 1), az.events(other, 1), az.immediate(context, mode=SYNCHRONOUS)
    with checked("strict") as found:
        az.ok(name, lst, own)
        getattr(az.lib, name)(lst, event)  # mistake
    expect("other-context", found)
    az.ok("zeContextDestroy", other)


def test_a_list_waits_for_an_event_of_another_context(az: Calls, context: c_void_p) -> None:
    other = az.context()
    (own,), (event,), lst = az.events(context, 1), az.events(other, 1), az.immediate(context, mode=SYNCHRONOUS)
    for each in (own, event):
        az.ok("zeEventHostSignal", each)
    with checked("strict") as found:
        az.ok("zeCommandListAppendWaitOnEvents", lst, 1, byref(own))
        az.lib.zeCommandListAppendWaitOnEvents(lst, 1, byref(event))  # mistake
    expect("other-context", found)
    az.ok("zeContextDestroy", other)


def test_an_event_of_another_context_is_waited_for(az: Calls, context: c_void_p) -> None:
    other = az.context()
    event, lst = az.events(other, 1)[0], az.immediate(context, mode=SYNCHRONOUS)
    az.ok("zeEventHostSignal", event)
    with checked("strict") as found:
        az.lib.zeCommandListAppendBarrier(lst, None, 1, byref(event))  # mistake
    expect("other-context", found)
    az.ok("zeContextDestroy", other)


@pytest.mark.parametrize("function", ["zeEventQueryStatus", "zeEventHostSignal", "zeEventHostReset"])
def test_the_host_uses_an_event_that_it_cannot_see(az: Calls, context: c_void_p, function: str) -> None:
    event = az.events(context, 1, flags=0)[0]
    with checked("strict") as found:
        getattr(az.lib, function)(event)  # mistake
    expect("event-not-host-visible", found)


def test_the_host_waits_for_an_event_that_it_cannot_see(az: Calls, context: c_void_p) -> None:
    event, lst = az.events(context, 1, flags=0)[0], az.immediate(context, mode=SYNCHRONOUS)
    az.barrier(lst, event)
    with checked("strict") as found:
        az.lib.zeEventHostSynchronize(event, SOON)  # mistake
    expect("event-not-host-visible", found)


def test_a_descriptor_has_the_wrong_type(az: Calls) -> None:
    desc, made = ze.ze_context_desc_t(stype=ze.ZE_STRUCTURE_TYPE_IMAGE_DESC), c_void_p()
    with checked("strict") as found:
        az.lib.zeContextCreate(az.driver, byref(desc), byref(made))  # mistake
    assert "ze_context_desc_t" in expect("wrong-structure-type", found).message
    az.ok("zeContextDestroy", made)


def test_properties_have_no_type(az: Calls) -> None:
    properties = ze.ze_device_properties_t()
    properties.stype = 0
    with checked("strict") as found:
        az.lib.zeDeviceGetProperties(az.device, byref(properties))  # mistake
    assert "ze_device_properties_t" in expect("wrong-structure-type", found).message


def test_a_chain_has_an_unknown_structure(az: Calls) -> None:
    unknown = ze.ze_base_desc_t(stype=0x7FFFFFF)
    desc, made = ze.ze_context_desc_t(pNext=addressof(unknown)), c_void_p()
    with checked("strict") as found:
        az.lib.zeContextCreate(az.driver, byref(desc), byref(made))  # mistake
    expect("unknown-structure", found)
    az.ok("zeContextDestroy", made)


@pytest.mark.parametrize("address", [0x10, 0xCDCDCDCDCDCDCDCD])
def test_a_chain_leads_nowhere(az: Calls, address: int) -> None:
    desc, made = ze.ze_context_desc_t(pNext=address), c_void_p()
    with checked("strict") as found:
        az.lib.zeContextCreate(az.driver, byref(desc), byref(made))  # mistake
    assert "where no structure can be" in expect("unknown-structure", found).message
    az.ok("zeContextDestroy", made)


def test_a_command_is_appended_to_a_closed_list(az: Calls, context: c_void_p) -> None:
    lst = az.list(context)
    az.close(lst)
    with checked("strict") as found:
        az.lib.zeCommandListAppendBarrier(lst, None, 0, None)  # mistake
    expect("closed-list", found)


@pytest.fixture
def two(az: Calls, context: c_void_p) -> Iterator[tuple[c_void_p, c_void_p]]:
    """A list, and another context."""
    other = az.context()
    yield az.immediate(context, mode=SYNCHRONOUS), other
    az.ok("zeContextDestroy", other)


def test_memory_of_another_context_is_copied(az: Calls, context: c_void_p, two: tuple[c_void_p, c_void_p]) -> None:
    lst, other = two
    memory, foreign = az.memory(context, 64), az.memory(other, 64)
    with checked("strict") as found:
        az.lib.zeCommandListAppendMemoryCopy(lst, memory, foreign, 64, None, 0, None)  # mistake
        az.ok("zeCommandListAppendMemoryCopyFromContext", lst, memory, other, foreign, 64, None, 0, None)
    expect("other-context", found)
    az.ok("zeMemFree", other, foreign)


def test_memory_of_another_context_is_filled(az: Calls, two: tuple[c_void_p, c_void_p]) -> None:
    lst, other = two
    foreign = az.memory(other, 64)
    with checked("strict") as found:
        az.lib.zeCommandListAppendMemoryFill(lst, foreign, byref(c_uint8(1)), 1, 64, None, 0, None)  # mistake
    expect("other-context", found)
    az.ok("zeMemFree", other, foreign)


def test_a_list_of_another_context_is_executed(az: Calls, context: c_void_p, two: tuple[c_void_p, c_void_p]) -> None:
    queue, foreign = az.queue(context, mode=SYNCHRONOUS), az.list(two[1])
    az.close(foreign)
    with checked("strict") as found:
        az.lib.zeCommandQueueExecuteCommandLists(queue, 1, handles([foreign]), None)  # mistake
    expect("other-context", found)
    az.ok("zeCommandListDestroy", foreign)


def test_a_timestamp_is_misaligned(az: Calls, context: c_void_p) -> None:
    lst, memory = az.immediate(context, mode=SYNCHRONOUS), az.memory(context, 64)
    with checked("strict") as found:
        az.ok("zeCommandListAppendWriteGlobalTimestamp", lst, c_void_p(memory + 8), None, 0, None)
        az.lib.zeCommandListAppendWriteGlobalTimestamp(lst, c_void_p(memory + 4), None, 0, None)  # mistake
    expect("misaligned-pointer", found)


@anyzero.kernel
def add_to(total: anyzero.ptr[anyzero.i32], values: anyzero.ptr[anyzero.i32]):  # type: ignore[no-untyped-def]
    total[0] = values[0]


def test_a_kernel_gets_memory_of_another_context() -> None:
    own, other = (anyzero.device().context() for _ in range(2))
    total, values = own.zeros(1, np.int32), other.zeros(1, np.int32)
    lst = own.immediate(mode="synchronous")
    kernel = add_to.on(own)
    with checked("strict") as found:
        lst.launch(kernel, 1, (total, values.pointer))  # mistake
    assert "inside the device allocation of 4 bytes" in expect("other-context", found).other


def test_calls_beyond_the_device_are_refused(az: Calls) -> None:
    """By the call itself; there is no report of the same within the limits."""
    most = az.query("zeDeviceGetComputeProperties", ze.ze_device_compute_properties_t, az.device).maxGroupSizeX
    ctx, one = anyzero.device().context(), byref(ze.ze_group_count_t(1, 1, 1))
    total, values = ctx.zeros(1, np.int32), ctx.zeros(1, np.int32)
    with checked("memory", "sync", "strict") as found:
        made = add_to.on(ctx)
        kernel, context = made.handle, c_void_p(ctx.handle)
        for index, memory in enumerate((total, values)):
            az.ok("zeKernelSetArgumentValue", kernel, index, 8, byref(c_void_p(memory.pointer)))
        az.error(INVALID_GROUP_SIZE, "zeKernelSetGroupSize", kernel, most + 1, 1, 1)
        az.ok("zeKernelSetGroupSize", kernel, most, 1, 1)
        compute = az.immediate(context, ordinal=COMPUTE, mode=SYNCHRONOUS)
        copy = az.list(context, commandQueueGroupOrdinal=COPY)
        az.ok("zeCommandListAppendLaunchKernel", compute, kernel, one, None, 0, None)
        az.error(INVALID_LIST_TYPE, "zeCommandListAppendLaunchKernel", copy, kernel, one, None, 0, None)
        az.copy(copy, total.pointer, values.pointer, 4)
        for each in (compute, copy):
            az.ok("zeCommandListDestroy", each)
    assert [(each.rule.name, each.call) for each in found] == [
        ("refused-call", "zeKernelSetGroupSize"),
        ("refused-call", "zeCommandListAppendLaunchKernel"),
    ]


NODE = np.dtype([("next", np.uint64), ("value", np.uint64)])


@pytest.mark.parametrize(("allowed", "reports"), [("", 1), ("host", 0), ("resident", 0)])
def test_a_kernel_follows_a_pointer_in_memory(allowed: str, reports: int) -> None:
    with checked("memory", "strict") as found, anyzero.device().context() as ctx:
        begin, end = (ctx.zeros(1, NODE, kind="host") for _ in range(2))
        np.asarray(begin)[0] = (end.pointer, 1)
        np.asarray(end)[0] = (0, 10)
        add_up = ctx.module(ROOT / "examples" / "kernels" / "residency.spv")["add_up"]
        if allowed == "host":
            add_up.set_indirect_access("host")
        elif allowed:
            ctx.make_resident(end)
        total = ctx.zeros(1, np.uint64, kind="shared")
        add_up[1](begin, total)
        assert np.asarray(total)[0] == 11
    assert [each.rule.name for each in found] == ["missing-indirect-access"] * reports


HOST, DEVICE = ze.ZE_EVENT_SCOPE_FLAG_HOST, ze.ZE_EVENT_SCOPE_FLAG_DEVICE


def test_a_result_is_waited_for_by_an_event_without_host_scope(az: Calls, context: c_void_p) -> None:
    lst, memory, source = az.immediate(context), az.memory(context, 64), az.memory(context, 64, "device")
    pool = az.pool(context, 2)
    event = az.event(pool, 0, signal=DEVICE)
    with checked("strict") as found:
        az.copy(lst, memory, source, 64, event)
        az.lib.zeEventHostSynchronize(event, SOON)  # mistake
    finding = expect("missing-host-scope", found)
    assert "zeCommandListAppendMemoryCopy" in finding.other
    assert "host allocation of 64 bytes" in finding.memory


@pytest.mark.parametrize(("scopes", "kind"), [((HOST, 0), "host"), ((0, HOST), "host"), ((0, 0), "device")])
def test_right_waits_for_results(az: Calls, context: c_void_p, scopes: tuple[int, int], kind: str) -> None:
    lst, memory, source = az.immediate(context), az.memory(context, 64, kind), az.memory(context, 64, "device")
    pool = az.pool(context, 2)
    event, start = az.event(pool, 0, *scopes), az.event(pool, 1)
    with checked("strict") as found:
        az.ok("zeEventHostSignal", start)
        az.copy(lst, memory, source, 64, event, [start])
        az.ok("zeEventHostSynchronize", event, SOON)
        az.ok("zeEventQueryStatus", start)
        # Without a result, an event tells of time only.
        az.ok("zeEventHostReset", start)
        az.barrier(lst, start)
        az.ok("zeEventHostSynchronize", start, SOON)
    assert list(map(str, found)) == []


def test_a_kernel_writes_a_result_for_an_event_without_host_scope() -> None:
    with anyzero.device().context() as ctx, ctx.immediate() as lst:
        total, values = ctx.zeros(1, np.int32, kind="shared"), ctx.zeros(1, np.int32)
        kernel = add_to.on(ctx)
        done = ctx.event(signal_scope="device", wait_scope="none")
        with checked("strict") as found:
            lst.launch(kernel, 1, (total, values), signal=done)
            done.wait()  # mistake
        expect("missing-host-scope", found)
