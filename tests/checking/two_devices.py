"""Programs in which one device reads what another one has written: of each pair of devices, those whose events make it
visible, and those whose events do not, on the line that says so. The tests run this file with several devices.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable
from ctypes import byref, c_float, c_void_p

from anyzero import ze
from tests.abi.calls import ASYNCHRONOUS, FOREVER, Calls, handles
from tests.checking.programs import checked, is_at_mark
from tests.shape.tree import ROOT

NOTHING, TILE, DEVICE, HOST = 0, *(1 << bit for bit in range(3))
"""Scopes."""
SIZE = 64


class Pair:
    """A list on each of two devices, and memory of the first one."""

    def __init__(self, az: Calls, one: c_void_p, two: c_void_p) -> None:
        self.az, self.devices, self.context = az, (one, two), az.context()
        self.one, self.other, self.two = (
            az.immediate(self.context, device, mode=ASYNCHRONOUS) for device in (one, one, two)
        )
        self.memory, self.target = (az.memory(self.context, SIZE, "device", device=one) for _ in range(2))
        self.pool = az.pool(self.context, 8)
        self.made = 0

    def event(self, signal: int = NOTHING, wait: int = NOTHING) -> c_void_p:
        self.made += 1
        return self.az.event(self.pool, self.made - 1, signal, wait)

    def copy(self, *waits: c_void_p) -> None:
        append = self.az.lib.zeCommandListAppendMemoryCopy
        append(self.two, self.target, self.memory, SIZE, None, len(waits), handles(waits))  # mistake

    def finish(self) -> None:
        for each in (self.one, self.other, self.two):
            self.az.ok("zeCommandListHostSynchronize", each, FOREVER)


def between(signal: int, wait: int = NOTHING) -> Callable[[Pair], None]:
    """A fill signals an event with these scopes, for which a copy on the other device waits."""

    def run(pair: Pair) -> None:
        event = pair.event(signal, wait)
        pair.az.fill(pair.one, pair.memory, 1, SIZE, event)
        pair.copy(event)

    return run


def barriers(pair: Pair) -> None:
    """Neither the fill nor the copy has the event itself."""
    event = pair.event()
    pair.az.fill(pair.one, pair.memory, 1, SIZE)
    pair.az.barrier(pair.one, event)
    pair.az.barrier(pair.two, waits=[event])
    pair.copy()


def too_early(pair: Pair) -> None:
    """The event with the scope of the device was signalled in front of the fill."""
    early, late = pair.event(DEVICE), pair.event()
    pair.az.barrier(pair.two)
    pair.az.barrier(pair.one, early)
    pair.az.fill(pair.one, pair.memory, 1, SIZE, late)
    pair.copy(early, late)


def recorded(pair: Pair) -> None:
    az, event = pair.az, pair.event()
    first, second = (az.list(pair.context, device) for device in pair.devices)
    queues = [az.queue(pair.context, device, mode=ASYNCHRONOUS) for device in pair.devices]
    az.fill(first, pair.memory, 1, SIZE, event)
    append = az.lib.zeCommandListAppendMemoryCopy
    append(second, pair.target, pair.memory, SIZE, None, 1, byref(event))  # mistake
    az.close(first, second)
    az.execute(queues[1], second)
    az.execute(queues[0], first)
    for queue in queues:
        az.finish(queue)


def kernels(pair: Pair) -> None:
    """The first work-item of the one writes what that of the other reads."""
    az, event, code = pair.az, pair.event(), (ROOT / "tests" / "kernels" / "saxpy.spv").read_bytes()
    text = ctypes.create_string_buffer(code, len(code))
    desc = ze.ze_module_desc_t(
        format=ze.ZE_MODULE_FORMAT_IL_SPIRV, inputSize=len(code), pInputModule=ctypes.addressof(text)
    )

    def kernel(device: c_void_p, *values: c_void_p | c_float) -> c_void_p:
        module = c_void_p()
        az.ok("zeModuleCreate", pair.context, device, byref(desc), byref(module), None)
        made = az.new("zeKernelCreate", module, byref(ze.ze_kernel_desc_t(pKernelName=b"triad")))
        for index, value in enumerate(values):
            az.ok("zeKernelSetArgumentValue", made, index, ctypes.sizeof(value), byref(value))
        az.ok("zeKernelSetGroupSize", made, 4, 1, 1)
        return made

    memory, target, source = (c_void_p(each) for each in (pair.memory, pair.target, az.memory(pair.context, SIZE)))
    writer = kernel(pair.devices[0], memory, source, source, c_float(1))
    reader = kernel(pair.devices[1], target, memory, source, c_float(1))
    append, count = az.lib.zeCommandListAppendLaunchKernel, byref(ze.ze_group_count_t(1, 1, 1))
    append(pair.one, writer, count, event, 0, None)
    append(pair.two, reader, count, None, 1, byref(event))  # mistake


def other_list(pair: Pair) -> None:
    """Lists of one device see what the other has written, and show it with the scope of theirs."""
    inner, outer = pair.event(), pair.event(DEVICE)
    pair.az.barrier(pair.two)
    pair.az.fill(pair.one, pair.memory, 1, SIZE, inner)
    pair.az.barrier(pair.other, outer, [inner])
    pair.copy(outer)


def same_device(pair: Pair) -> None:
    event = pair.event()
    pair.az.barrier(pair.two)
    pair.az.fill(pair.one, pair.memory, 1, SIZE, event)
    pair.az.copy(pair.other, pair.target, pair.memory, SIZE, waits=[event])


def later_scope(pair: Pair) -> None:
    narrow, wide = pair.event(), pair.event(NOTHING, DEVICE)
    pair.az.barrier(pair.two)
    pair.az.fill(pair.one, pair.memory, 1, SIZE, narrow)
    pair.az.barrier(pair.one, wide)
    pair.copy(narrow, wide)


def host_waits(pair: Pair) -> None:
    """The program waits for the list of the first before it appends to that of the second."""
    event = pair.event()
    pair.az.fill(pair.one, pair.memory, 1, SIZE, event)
    pair.az.ok("zeCommandListHostSynchronize", pair.one, FOREVER)
    pair.copy(event)


def host_waits_for_a_fence(pair: Pair) -> None:
    az, event = pair.az, pair.event()
    queue = az.queue(pair.context, pair.devices[0], mode=ASYNCHRONOUS)
    lst, fence = az.list(pair.context, pair.devices[0]), az.fence(queue)
    az.fill(lst, pair.memory, 1, SIZE, event)
    az.close(lst)
    az.execute(queue, lst, fence=fence)
    az.ok("zeFenceHostSynchronize", fence, FOREVER)
    pair.copy(event)


def counting(pair: Pair) -> None:
    event = pair.az.counter(pair.context)
    pair.az.fill(pair.one, pair.memory, 1, SIZE, event)
    pair.copy(event)


def other_memory(pair: Pair) -> None:
    event, third = pair.event(), pair.az.memory(pair.context, SIZE)
    pair.az.fill(pair.one, third, 1, SIZE, event)
    pair.copy(event)


def only_writes(pair: Pair) -> None:
    event = pair.event()
    pair.az.fill(pair.one, pair.memory, 1, SIZE, event)
    pair.az.fill(pair.two, pair.memory, 2, SIZE, waits=[event])


def signalled_by_the_host(pair: Pair) -> None:
    gate, event = pair.event(), pair.event(DEVICE)
    pair.az.fill(pair.one, pair.memory, 1, SIZE, event)
    pair.copy(event, gate)
    pair.az.ok("zeEventHostSignal", gate)


PROGRAMS: dict[str, Callable[[Pair], None]] = {
    "no_scope": between(NOTHING),
    "scope_of_a_tile": between(TILE),
    "waits_with_the_scope_of_a_tile": between(NOTHING, TILE),
    "barriers": barriers,
    "too_early": too_early,
    "recorded": recorded,
    "kernels": kernels,
    "signals_to_devices": between(DEVICE),
    "waits_for_devices": between(NOTHING, DEVICE),
    "signals_to_the_host": between(HOST),
    "waits_for_the_host": between(TILE, HOST),
    "other_list": other_list,
    "same_device": same_device,
    "later_scope": later_scope,
    "host_waits": host_waits,
    "host_waits_for_a_fence": host_waits_for_a_fence,
    "counting": counting,
    "other_memory": other_memory,
    "only_writes": only_writes,
    "signalled_by_the_host": signalled_by_the_host,
}


def main() -> None:
    """Prints the findings of each program: rules, and whether they are on the line of the mistake."""
    az = Calls()
    devices = az.several("zeDeviceGetSubDevices", az.device) if sys.argv[1] == "tiles" else az.devices
    found = {}
    for name, run in PROGRAMS.items():
        pair = Pair(az, *devices[:2])
        with checked("strict") as findings:
            run(pair)
            pair.finish()
        found[name] = [(each.rule.name, is_at_mark(each), each.message, each.other) for each in findings]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
