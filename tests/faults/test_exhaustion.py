"""Exhausted resources: errors with their specified codes, and recovery after resources are freed."""

from __future__ import annotations

import pytest

from tests.abi.calls import run_python

OPENING = """
import gc, resource
az = Calls()
context = az.context()
# Engines and workers are up before the limit comes.
for ordinal in (0, 1):
    warm = az.immediate(context, ordinal=ordinal)
    az.fill(warm, az.memory(context, 8 << 20), 1, 8 << 20)
    az.ok("zeCommandListHostSynchronize", warm, SOON)
# Python itself runs in the free memory between these, without garbage collection.
gc.disable()
between = [[bytes(size) for _ in range(1000)] for size in range(1, 480, 16)]
between += [[float(i) for i in range(1000)], [object() for _ in range(1000)]]
for each in between:
    del each[::2]
def limit_memory(more):
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (now + more, resource.RLIM_INFINITY))
def unlimited():
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
OUT = (ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)
"""


@pytest.mark.parametrize("kind", ["host", "device", "shared"])
def test_no_address_space_for_memory(kind: str) -> None:
    run_python(
        OPENING
        + f"""
kind = {kind!r}
d, h, out = byref(ze.ze_device_mem_alloc_desc_t()), byref(ze.ze_host_mem_alloc_desc_t()), c_void_p()
allocate = dict(
    host=lambda size: az.call("zeMemAllocHost", context, h, size, 0, byref(out)),
    device=lambda size: az.call("zeMemAllocDevice", context, d, size, 0, az.device, byref(out)),
    shared=lambda size: az.call("zeMemAllocShared", context, d, h, size, 0, az.device, byref(out)),
)[kind]
made = (c_uint64 * 5_000_000)()
limit_memory(256 << 20)
for size in (64 << 20, 3 << 20, 100_000, 100):
    count = 0
    while not (result := allocate(size)):
        made[count] = out.value
        count += 1
    assert result in OUT, hex(result)
    assert count or size > 3 << 20
    for index in range(count):
        az.ok("zeMemFree", context, made[index])
unlimited()
az.fill(warm, az.memory(context, 8 << 20, kind), 1, 8 << 20)
az.ok("zeCommandListHostSynchronize", warm, SOON)
""",
    )


def test_no_memory_for_objects() -> None:
    """The C++ heap itself runs dry: every creation and every append fails cleanly, and works again afterwards."""
    run_python(
        OPENING
        + """
pool = az.pool(context, 10)
lists, out = [az.list(context) for _ in range(3)], c_void_p()
room, pattern = az.memory(context, 64), ctypes.create_string_buffer(128)
l, p = ze.ze_command_list_desc_t(), ze.ze_event_pool_desc_t(count=1_000_000, flags=3)
limit_memory(24 << 20)
calls = [
    lambda: az.call("zeCommandListAppendMemoryFill", lists[0], room, pattern, 128, 0, None, 0, None),
    lambda: az.call("zeEventPoolCreate", context, byref(p), 0, None, byref(out)),
    lambda: az.call("zeCommandListCreate", context, az.device, byref(l), byref(out)),
]
for call in calls:
    for _ in range(2_000_000):
        result = call()
        if result:
            break
    assert result in OUT, hex(result)
    # It keeps failing, or finds a little more; it never crashes.
    for _ in range(1000):
        assert call() in (OK, *OUT)
unlimited()
for call in calls:
    assert call() == OK
az.ok("zeCommandListReset", lists[0])
az.fill(lists[0], room, 1, 64)
az.close(lists[0])
queue = az.queue(context)
az.execute(queue, lists[0])
az.finish(queue)
assert read(room, 64) == bytes([1]) * 64
""",
    )


def test_no_descriptors_left() -> None:
    run_python(
        OPENING
        + """
shareable = az.memory(context, 3 << 20, "device")
small = az.memory(context, 100, "device")
soft = len(os.listdir("/proc/self/fd")) + 12
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, soft))
opened = []
try:
    while True:
        opened.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
handle, out = ze.ze_ipc_mem_handle_t(), c_void_p()
for address in (shareable, small):
    r = az.call("zeMemGetIpcHandle", context, address, byref(handle))
    assert r in OUT, hex(r)
pool = ze.ze_event_pool_desc_t(count=4, flags=3)
r = az.call("zeEventPoolCreate", context, byref(pool), 0, None, byref(out))
assert r in OUT, hex(r)
physical = ze.ze_physical_mem_desc_t(size=1 << 16)
r = az.call("zePhysicalMemCreate", context, az.device, byref(physical), byref(out))
assert r in (OK, *OUT), hex(r)
# Memory that needs no descriptor can still be allocated, and existing objects work.
az.memory(context, 64 << 20, "device")
az.fill(warm, shareable, 1, 3 << 20)
az.ok("zeCommandListHostSynchronize", warm, SOON)
for fd in opened:
    os.close(fd)
az.ok("zeMemGetIpcHandle", context, shareable, byref(handle))
az.ok("zeMemOpenIpcHandle", context, az.device, handle, 0, byref(out))
assert read(out.value, 100) == bytes([1]) * 100
""",
    )


def test_no_threads_left() -> None:
    """The engine cannot start its thread: a waiting thread does the work, or it fails; the process survives."""
    run_python(
        """
        import resource
        az = Calls()
        context = az.context()
        room = az.memory(context, 1 << 20)
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * 4096
        # A thread's stack does not fit any more; ordinary memory does.
        resource.setrlimit(resource.RLIMIT_AS, (now + (4 << 20), resource.RLIM_INFINITY))
        try:
            threading.Thread(target=print).start()
            raise SystemExit("the limit does not work here")
        except RuntimeError:
            pass
        for ordinal in (0, 1):
            l = az.immediate(context, ordinal=ordinal)
            pattern = c_uint8(7)
            r = az.call("zeCommandListAppendMemoryFill", l, room, byref(pattern), 1, 1 << 20, None, 0, None)
            r = r or az.call("zeCommandListHostSynchronize", l, SOON)
            assert r in (OK, ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, DEVICE_LOST), hex(r)
            assert r or read(room, 1 << 20) == bytes([7]) * (1 << 20)
        """,
    )
