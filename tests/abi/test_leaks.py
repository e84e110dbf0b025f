"""Making and destroying for ever costs nothing: memory and descriptors of the process stay where they are."""

from __future__ import annotations

import textwrap

import pytest

from tests.abi.calls import run_python
from tests.patience import PATIENCE

MEASURE = """
import gc
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
def descriptors():
    return len(os.listdir("/proc/self/fd"))
az = Calls()
context = az.context()
room = az.memory(context, 4096)
shared = az.immediate(context)
queue = az.queue(context)
def once():
BODY
def repeat(times):
    for _ in range(times):
        once()
    az.ok("zeCommandListHostSynchronize", shared, SOON)
    az.finish(queue)
    gc.collect()
repeat(TIMES)
before, files = resident(), descriptors()
repeat(3 * TIMES)
grown = resident() - before
assert grown < 2 << 20, f"{grown} bytes more after {3 * TIMES} rounds"
assert descriptors() <= files
"""

BODIES = {
    "events": (
        3000,
        """
        pool = az.pool(context, 4)
        event = az.event(pool, 1)
        az.barrier(shared, event)
        az.ok("zeEventDestroy", event)
        az.ok("zeEventPoolDestroy", pool)
        """,
    ),
    "counters": (
        3000,
        """
        event = az.counter(context)
        az.barrier(shared, event)
        az.ok("zeEventDestroy", event)
        """,
    ),
    "shareable pools": (
        1000,
        """
        pool, handle = az.pool(context, 4, 3), ze.ze_ipc_event_pool_handle_t()
        az.ok("zeEventPoolGetIpcHandle", pool, byref(handle))
        az.ok("zeEventPoolDestroy", pool)
        """,
    ),
    "contexts with memory": (
        1500,
        """
        mine = az.context()
        az.memory(mine, 3000, "device")
        az.memory(mine, 100)
        az.ok("zeContextDestroy", mine)
        """,
    ),
    "queues and fences": (
        2000,
        """
        mine = az.queue(context)
        az.ok("zeFenceDestroy", az.fence(mine))
        az.ok("zeCommandQueueDestroy", mine)
        """,
    ),
    "lists": (
        1500,
        """
        lst = az.list(context)
        for _ in range(60):
            az.fill(lst, room, 1, 64)
        az.close(lst)
        az.execute(queue, lst)
        az.ok("zeCommandListDestroy", lst)
        """,
    ),
    "resets": (
        1000,
        """
        lst = az.list(context)
        az.fill(lst, room, 1, 64)
        az.close(lst)
        az.execute(queue, lst)
        az.ok("zeCommandListReset", lst)
        az.fill(lst, room, 1, 64)
        az.ok("zeCommandListDestroy", lst)
        """,
    ),
    "immediate lists": (
        1500,
        """
        lst = az.immediate(context)
        az.fill(lst, room, 1, 64)
        az.copy(lst, room, room + 1000, 900)
        az.ok("zeCommandListDestroy", lst)
        """,
    ),
    "appends": (
        5000,
        """
        az.fill(shared, room, 1, 64)
        az.copy(shared, room, room + 1000, 900)
        """,
    ),
    "memory": (
        1500,
        """
        for address in [az.memory(context, s, k) for s in (1, 5000, 300000, 3 << 20) for k in ("host", "device")]:
            az.ok("zeMemFree", context, address)
        """,
    ),
    "mappings": (
        500,
        """
        desc, base = ze.ze_physical_mem_desc_t(size=1 << 16), c_void_p()
        memory = az.new("zePhysicalMemCreate", context, az.device, byref(desc))
        az.ok("zeVirtualMemReserve", context, None, 1 << 20, byref(base))
        az.ok("zeVirtualMemMap", context, base, 1 << 16, memory, 0, 1)
        az.ok("zeVirtualMemFree", context, base, 1 << 20)
        az.ok("zePhysicalMemDestroy", context, memory)
        """,
    ),
    "lost queues": (
        500,
        """
        mine = az.context()
        lst = az.immediate(mine)
        az.call("zeCommandListAppendMemoryCopy", lst, 0x700000001000, room, 64, None, 0, None)
        az.error(DEVICE_LOST, "zeCommandListHostSynchronize", lst, SOON)
        az.ok("zeCommandListDestroy", lst)
        az.ok("zeContextDestroy", mine)
        """,
    ),
    "errors": (
        5000,
        """
        az.call("zeContextDestroy", None)
        az.call("zeMemFree", context, room + 1)
        """,
    ),
    "deferred frees": (
        1500,
        """
        address = az.memory(context, 5000, "device")
        az.fill(shared, address, 1, 5000)
        az.ok("zeMemFreeExt", context, byref(ze.ze_memory_free_ext_desc_t(freePolicy=2)), address)
        """,
    ),
    "handles of memory": (
        1000,
        """
        address, handle = az.memory(context, 5000, "device"), ze.ze_ipc_mem_handle_t()
        az.ok("zeMemGetIpcHandle", context, address, byref(handle))
        az.ok("zeMemFree", context, address)
        """,
    ),
}


@pytest.mark.parametrize("what", BODIES)
def test_nothing_grows(what: str) -> None:
    times, body = BODIES[what]
    indented = textwrap.indent(textwrap.dedent(body), "    ")
    code = MEASURE.replace("BODY", indented).replace("TIMES", str(times))
    run_python(code, timeout=PATIENCE, ANYZERO_LOG="off")
