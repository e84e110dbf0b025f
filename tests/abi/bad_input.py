"""A program: calls every implemented function with one thing wrong at a time, and checks what it answers.

It prints a line before each call, so that the parent knows which one crashed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import sys
from collections.abc import Iterator
from ctypes import POINTER, addressof, byref, c_uint32, c_void_p
from typing import Any

from anyzero import ze
from codegen import gaps
from codegen.model import Function, Param
from tests.abi.appends import image, nothing
from tests.abi.calls import (
    INVALID_ENUMERATION,
    INVALID_NULL_HANDLE,
    INVALID_NULL_POINTER,
    INVALID_SYNC,
    OK,
    SOON,
    Calls,
    read,
)
from tests.abi.kernels_in_c import build, kernel, planner
from tests.abi.specification import api, core, implemented

KINDS = {
    "ze_driver_handle_t": "driver",
    "ze_device_handle_t": "device",
    "ze_context_handle_t": "context",
    "ze_command_queue_handle_t": "queue",
    "ze_command_list_handle_t": "list",
    "ze_fence_handle_t": "fence",
    "ze_event_pool_handle_t": "pool",
    "ze_event_handle_t": "event",
    "ze_image_handle_t": "image",
    "ze_sampler_handle_t": "sampler",
    "ze_physical_mem_handle_t": "physical",
    "ze_module_handle_t": "module",
    "ze_module_build_log_handle_t": "log",
    "ze_kernel_handle_t": "kernel",
    "ze_graph_handle_t": "graph",
    "ze_executable_graph_handle_t": "executable",
    "ze_external_semaphore_ext_handle_t": "semaphore",
    "ze_fabric_vertex_handle_t": "vertex",
    "ze_fabric_edge_handle_t": "edge",
}
DESTROY = {
    "context": "zeContextDestroy",
    "queue": "zeCommandQueueDestroy",
    "list": "zeCommandListDestroy",
    "fence": "zeFenceDestroy",
    "pool": "zeEventPoolDestroy",
    "event": "zeEventDestroy",
    "image": "zeImageDestroy",
    "sampler": "zeSamplerDestroy",
    "kernel": "zeKernelDestroy",
    "module": "zeModuleDestroy",
    "log": "zeModuleBuildLogDestroy",
    "executable": "zeExecutableGraphDestroyExt",
    "graph": "zeGraphDestroyExt",
    "semaphore": "zeDeviceReleaseExternalSemaphoreExt",
}
ROOM = 1 << 16
SOURCE = """
//kernel {"name": "some", "args": [["global", 8], ["value", 4], ["local", 8], ["image", 8], ["sampler", 8]]}
KERNEL(some) {}
//global {"name": "variable", "size": 8}
"""


def fabric(az: Calls) -> dict[str, c_void_p]:
    """The vertex of a device, and an edge between two of them: they are the driver's, and never die."""
    two = (c_void_p * 2)()
    az.ok("zeFabricVertexGetExp", az.driver, byref(c_uint32(2)), two)
    edge = c_void_p()
    az.ok("zeFabricEdgeGetExp", two[0], two[1], byref(c_uint32(1)), byref(edge))
    return {"vertex": c_void_p(two[0]), "edge": edge}


class Bench:
    """Good objects of every kind, dead ones of every kind, and values that never were objects."""

    def __init__(self) -> None:
        self.az = az = Calls()
        self.context = az.context()
        self.good = {"driver": az.driver, "device": az.device} | self.make() | fabric(az)
        self.dead = self.make()
        for kind, destroy in DESTROY.items():
            az.ok(destroy, self.dead[kind])
        az.ok("zePhysicalMemDestroy", self.context, self.dead["physical"])
        self.memory = az.memory(self.context, ROOM)
        self.rooms = [(ctypes.c_uint8 * ROOM)() for _ in range(20)]
        gone = mmap.mmap(-1, 4096)
        self.unmapped = addressof(ctypes.c_char.from_buffer(gone))
        stack = (ctypes.c_uint64 * 64)()
        self.garbage = [1, 8, 64, 0xDEADBEEF, addressof(stack), id(self), self.unmapped, 2**63, 2**64 - 1, 2**64 - 64]
        del gone

    def make(self) -> dict[str, c_void_p]:
        az = self.az
        context = az.context()
        queue, pool = az.queue(self.context), az.pool(self.context, 4)
        physical = ze.ze_physical_mem_desc_t(size=1 << 16)
        module, log = build(az, self.context, SOURCE)
        return {
            "context": context,
            "queue": queue,
            # Asynchronous: a call that wrongly succeeds must not wait here for ever.
            "list": az.immediate(self.context, mode=2),
            "fence": az.fence(queue),
            "pool": pool,
            "event": az.event(pool),
            "image": image(az, self.context),
            "sampler": az.new("zeSamplerCreate", self.context, az.device, byref(ze.ze_sampler_desc_t())),
            "physical": az.new("zePhysicalMemCreate", self.context, az.device, byref(physical)),
            "module": module,
            "log": log,
            "kernel": kernel(az, module, "some"),
            "semaphore": self.semaphore(),
        } | self.graphs()

    def graphs(self) -> dict[str, c_void_p]:
        graph = self.az.new("zeGraphCreateExt", self.context, None)
        lst = self.az.immediate(self.context)
        self.az.ok("zeCommandListBeginCaptureIntoGraphExt", lst, graph, None)
        self.az.barrier(lst)
        self.az.new("zeCommandListEndGraphCaptureExt", lst, None)
        return {"graph": graph, "executable": self.az.new("zeGraphInstantiateExt", graph, None)}

    def semaphore(self) -> c_void_p:
        fd = ze.ze_external_semaphore_fd_ext_desc_t(fd=os.eventfd(0))
        desc = ze.ze_external_semaphore_ext_desc_t(
            pNext=addressof(fd), flags=ze.ZE_EXTERNAL_SEMAPHORE_EXT_FLAG_OPAQUE_FD
        )
        return self.az.new("zeDeviceImportExternalSemaphoreExt", self.az.device, byref(desc))

    def bad_handles(self, kind: str) -> Iterator[tuple[str, int]]:
        for value in self.garbage:
            yield f"{value:#x}", value
        for other, handle in self.good.items():
            if other != kind:
                yield f"a {other}", handle.value
            yield f"inside a {other}", handle.value + 8
            yield f"a line behind a {other}", handle.value + 64
        for other, handle in self.dead.items():
            yield f"a dead {other}", handle.value

    def value(self, function: Function, param: Param, position: int) -> Any:
        """A valid value for a parameter, by its type."""
        if param.type in KINDS:
            kind = KINDS[param.type]
            return self.context if kind == "context" and "Destroy" not in function.name else self.good[kind]
        if param.type in api().callbacks:
            return ctypes.cast(nothing, c_void_p)
        if param.pointee in KINDS and param.pointer:
            array = (c_void_p * 64)()
            if param.input:
                array[0] = self.good[KINDS[param.pointee]]
            return array
        if param.pointer and hasattr(ze, param.pointee) and isinstance(getattr(ze, param.pointee), type):
            kind = getattr(ze, param.pointee)
            if issubclass(kind, ctypes.Structure):
                # More than one: a query may have many answers.
                many = (kind * 64)()
                if hasattr(kind, "_stype_"):
                    for each in many:
                        each.stype = kind._stype_
                if param.pointee == "ze_event_pool_desc_t":
                    many[0].count = 1
                return many
        if param.pointer:
            return b"zeInit" if param.type == "const char*" else self.rooms[position]
        if param.pointee in api().structs:
            return getattr(ze, param.pointee)()
        if param.name == "pattern_size" or any(other.length == param.name for other in function.params):
            return 1
        return 0

    def arguments(self, function: Function) -> list[Any]:
        return [self.value(function, param, position) for position, param in enumerate(function.params)]


class Run:
    def __init__(self) -> None:
        self.bench = Bench()
        self.failures: list[str] = []
        self.calls = 0

    def call(self, function: Function, args: list[Any], what: str, expected: set[int]) -> None:
        print(f"{function.name}: {what}", flush=True)
        self.calls += 1
        result = self.bench.az.call(function.name, *args)
        if result not in expected:
            wanted = " or ".join(f"{code:#x}" for code in sorted(expected))
            self.failures.append(f"{function.name}: {what}: {result:#x} instead of {wanted}")
        elif result not in (OK, None) and function.name not in self.bench.az.last_error():
            self.failures.append(f"{function.name}: {what}: the text does not name it: {self.bench.az.last_error()!r}")

    def handles(self, function: Function) -> None:
        has_sync = "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT" in function.results
        for position, param in enumerate(function.params):
            args = self.bench.arguments(function)
            if param.type in KINDS:
                kind = KINDS[param.type]
                sync = has_sync and position > 0 and kind in ("event", "fence")
                if not param.optional:
                    args[position] = None
                    self.call(function, args, f"{param.name} is null", {INVALID_NULL_HANDLE})
                for what, value in self.bench.bad_handles(kind):
                    args[position] = value
                    expected = {INVALID_SYNC} if sync else {INVALID_NULL_HANDLE}
                    self.call(function, args, f"{param.name} is {what}", expected)
            elif param.pointee in KINDS and param.input and param.length:
                kind = KINDS[param.pointee]
                sync = has_sync and kind in ("event", "fence")
                if (function.name, param.name) not in gaps.NULL_ELEMENTS:
                    args[position] = (c_void_p * 1)(None)
                    self.call(function, args, f"{param.name}[0] is null", {INVALID_NULL_HANDLE})
                for what, value in self.bench.bad_handles(kind):
                    args[position] = (c_void_p * 1)(value)
                    expected = {INVALID_SYNC} if sync else {INVALID_NULL_HANDLE}
                    self.call(function, args, f"{param.name}[0] is {what}", expected)

    def pointers(self, function: Function) -> None:
        for position, param in enumerate(function.params):
            if param.optional or not (param.pointer or param.type in api().callbacks):
                continue
            args = self.bench.arguments(function)
            args[position] = None
            self.call(function, args, f"{param.name} is null", {INVALID_NULL_POINTER})

    def enums(self, function: Function) -> None:
        for position, param in enumerate(function.params):
            if not param.input or param.name == "pNext":
                continue
            for value in bad_values(param.type):
                args = self.bench.arguments(function)
                args[position] = value
                self.call(function, args, f"{param.name} = {value:#x}", {INVALID_ENUMERATION})
            if not (param.pointer and param.pointee in api().structs and param.length is None):
                continue
            for path, type_ in fields(param.pointee):
                for value in bad_values(type_):
                    if (param.pointee, path[-1]) in gaps.ANY_BITS and value == 2**32 - 1:
                        continue
                    args = self.bench.arguments(function)
                    structure = getattr(ze, param.pointee)()
                    owner = structure
                    for name in path[:-1]:
                        owner = getattr(owner, name)
                    setattr(owner, path[-1], value)
                    args[position] = byref(structure)
                    what = f"{param.name}->{'.'.join(path)} = {value:#x}"
                    self.call(function, args, what, {INVALID_ENUMERATION})

    def still_works(self) -> None:
        """A copy through the objects that all those calls were made with."""
        az, bench = self.bench.az, self.bench
        for kind in ("driver", "device", "context"):
            assert bench.good[kind].value
        print("still working?", flush=True)
        az.ok("zeContextGetStatus", bench.context)
        az.fill(bench.good["list"], bench.memory, 0x5C, 256)
        az.ok("zeCommandListHostSynchronize", bench.good["list"], SOON)
        assert read(bench.memory, 256) == b"\x5c" * 256
        az.ok("zeEventHostSignal", bench.good["event"])
        az.ok("zeEventHostReset", bench.good["event"])
        az.ok("zeFenceReset", bench.good["fence"])
        az.ok("zeCommandQueueSynchronize", bench.good["queue"], SOON)


def bad_values(type_: str) -> list[int]:
    bits = api().flag_bits(type_)
    if bits is not None:
        mask = 0
        for bit in bits.values():
            mask |= bit
        unknown = [1 << shift for shift in range(32) if not mask >> shift & 1]
        return [unknown[0], unknown[-1], unknown[0] | mask, 2**32 - 1]
    values = api().enum_values(type_)
    if values is None or type_ in gaps.OPEN_ENUMS:
        return []
    return [value for value in (max(values) + 1, 0x7FFFFFF0, 2**31, 2**31 + 1, 2**32 - 1) if value not in values]


def fields(struct: str, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    for field in api().structs[struct]:
        if field.name in ("stype", "pNext"):
            continue
        here = (*path, str(field.name))
        if field.type in api().structs:
            yield from fields(field.type, here)
        else:
            yield here, field.type


def fuzz(run: Run, seed: int, rounds: int) -> None:
    """Everything wrong or extreme at once: any answer but a crash. Memory is only ever touched inside a room."""
    chance = random.Random(seed)
    numbers = [0, 1, 2, 3, 7, 64, 4095, 4096, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1]
    harmless = [
        function
        for name, function in core().items()
        if name in implemented()
        and "Append" not in name
        and not name.startswith(("zeInit", "zeMemFreeExt"))
        # An open descriptor by number could be one of this program's own, and a wait for ever is no crash.
        and "FileDescriptor" not in name
        and "Synchronize" not in name
        and "Destroy" not in name
        # They change what a room is mapped to, or write as much as the caller says there is room for.
        and not name.startswith(("zeVirtualMem", "zeEventQuery"))
    ]
    for index in range(rounds):
        function = chance.choice(harmless)
        for room in run.bench.rooms:
            room[0:16] = bytes(16)
        args = run.bench.arguments(function)
        for position, param in enumerate(function.params):
            if chance.random() < 0.6:
                continue
            if param.type in KINDS:
                bad = chance.choice(list(run.bench.bad_handles(KINDS[param.type])))[1]
                args[position] = chance.choice([None, bad, run.bench.good[KINDS[param.type]].value])
            elif param.pointer and not param.input:
                args[position] = chance.choice([None, args[position]])
            elif not param.pointer and param.type not in api().structs and param.type not in api().callbacks:
                limit = 2 ** (8 * ctypes.sizeof(ze.FUNCTIONS[function.name][1][position])) - 1
                counts = any(other.length == param.name for other in function.params)
                args[position] = chance.choice([0, 1, 8]) if counts else min(chance.choice(numbers), limit)
            elif param.pointer and param.pointee in api().structs:
                structure = getattr(ze, param.pointee)()
                for path, type_ in fields(param.pointee):
                    owner = structure
                    for name in path[:-1]:
                        owner = getattr(owner, name)
                    if type_.endswith("*") or "[" in type_ or type_ in api().callbacks or chance.random() < 0.5:
                        continue
                    setattr(
                        owner, path[-1], chance.choice(numbers) % 2**32 if "64" not in type_ else chance.choice(numbers)
                    )
                args[position] = byref(structure)
        shown = [arg if isinstance(arg, int) else type(arg).__name__ for arg in args]
        print(f"{function.name}: round {index} of seed {seed}: {shown}", flush=True)
        result = run.bench.az.call(function.name, *args)
        created = function.params[-1]
        if result == OK and "Alloc" in function.name and created.type == "void**":
            address = ctypes.cast(args[-1], POINTER(c_void_p))[0]
            if address:
                run.bench.az.call("zeMemFree", args[0], address)


def main() -> int:
    run = Run()
    for name, function in core().items():
        if name not in implemented() or function.type != "ze_result_t":
            continue
        run.handles(function)
        run.pointers(function)
        run.enums(function)
        run.still_works()
    for seed in range(3):
        fuzz(run, seed, 1500)
        run.still_works()
    print(f"{run.calls} calls, {len(run.failures)} wrong")
    print("\n".join(run.failures), file=sys.stderr)
    return 1 if run.failures else 0


if __name__ == "__main__":
    with planner():
        status = main()
    sys.exit(status)
