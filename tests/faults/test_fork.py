"""os.fork in a process that uses the driver: the child starts fresh, the parent is not affected."""

from __future__ import annotations

import pytest

from tests.abi.calls import run_python
from tests.thorough import examples

OPENING = """
az = Calls()
context = az.context()
size = 1 << 20
def use(az, rounds=3):
    mine = az.context()
    for ordinal in (0, 1):
        for mode in (0, 1):
            l = az.immediate(mine, ordinal=ordinal, mode=mode)
            one, two = az.memory(mine, size, "device"), az.memory(mine, size)
            for i in range(1, rounds + 1):
                az.fill(l, one, i, size)
                az.copy(l, two, one, size)
                az.ok("zeCommandListHostSynchronize", l, SOON)
                assert read(two, size) == bytes([i]) * size
            az.ok("zeMemFree", mine, one)
            az.ok("zeMemFree", mine, two)
            az.ok("zeCommandListDestroy", l)
    queue, recorded, room = az.queue(mine), az.list(mine), az.memory(mine, 64)
    az.fill(recorded, room, 7, 64)
    az.close(recorded)
    fence = az.fence(queue)
    az.execute(queue, recorded, fence=fence)
    az.ok("zeFenceHostSynchronize", fence, SOON)
    az.ok("zeDeviceSynchronize", az.device)
    az.ok("zeMemFreeExt", mine, byref(ze.ze_memory_free_ext_desc_t(freePolicy=1)), room)
    az.ok("zeContextDestroy", mine)
def fork(work):
    pid = os.fork()
    if pid == 0:
        signal.alarm(200)  # only a child that hangs takes that long
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid
def reap(pid):
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"child: {status} (14 means that it hung)"
"""


def test_child_of_a_process_that_has_worked() -> None:
    run_python(
        OPENING
        + """
use(az)
reap(fork(lambda: use(Calls())))
reap(fork(lambda: use(az)))
use(az)
""",
    )


def test_child_of_a_process_whose_queues_are_blocked() -> None:
    """The child must not wait for the parent's work, which continues when it is released."""
    run_python(
        OPENING
        + """
gate, = az.events(context, 1)
room = az.memory(context, 1 << 20)
lists = [az.immediate(context, ordinal=i % 2) for i in range(6)]
for l in lists:
    az.fill(l, room, 9, 1 << 20, None, [gate])
queue, recorded = az.queue(context), az.list(context)
az.barrier(recorded, None, [gate])
az.close(recorded)
az.execute(queue, recorded)
doomed = az.memory(context, 4096, "device")
az.ok("zeMemFreeExt", context, byref(ze.ze_memory_free_ext_desc_t(freePolicy=2)), doomed)
await_sleep_of_others()
def child():
    use(az)
    # The inherited context: memory and new lists work there too, and so do its destroys.
    l, mine = az.immediate(context, mode=1), az.memory(context, 4096)
    az.fill(l, mine, 3, 4096)
    assert read(mine, 4096) == bytes([3]) * 4096
    az.ok("zeMemFreeExt", context, byref(ze.ze_memory_free_ext_desc_t(freePolicy=1)), mine)
    for l in lists:
        az.ok("zeCommandListDestroy", l)
    az.ok("zeCommandQueueDestroy", queue)
for _ in range(3):
    reap(fork(child))
az.ok("zeEventHostSignal", gate)
for l in lists:
    az.ok("zeCommandListHostSynchronize", l, SOON)
az.finish(queue)
assert read(room, 1 << 20) == bytes([9]) * (1 << 20)
use(az)
""",
    )


def test_child_of_a_child_and_many_children() -> None:
    run_python(
        OPENING
        + """
use(az)
def grandparent():
    use(az, 1)
    reap(fork(lambda: use(az, 1)))
    use(az, 1)
reap(fork(grandparent))
pids = [fork(lambda: use(az, 1)) for _ in range(6)]
use(az)
for pid in pids:
    reap(pid)
""",
    )


@pytest.mark.parametrize(
    "churn",
    [
        "[az.ok('zeMemFree', context, az.memory(context, size)) for size in (4096, 2 << 20)]",
        "az.ok('zeEventDestroy', az.event(pool, index)); az.ok('zeContextDestroy', az.context())",
        "l = az.immediate(context); az.barrier(l, None, [never]); az.ok('zeCommandListDestroy', l)",
        "l = az.immediate(context, mode=1); az.copy(l, room, room + half, half); az.ok('zeCommandListDestroy', l)",
        "az.call('zeContextDestroy', None); az.call('zeMemFree', context, 1)",
        "i = ze.ze_ipc_mem_handle_t(); az.ok('zeMemGetIpcHandle', context, room, byref(i)); "
        "az.ok('zeMemPutIpcHandle', context, i)",
    ],
)
def test_fork_in_the_middle_of_everything(churn: str) -> None:
    """Threads create, destroy, submit and free while the process forks: with any lock held, the child works."""
    run_python(
        OPENING
        + f"""
pool, never = az.pool(context, 8), az.events(context, 1)[0]
room, half = az.memory(context, 2 << 20), 1 << 20
stop = threading.Event()
def work(index):
    while not stop.is_set():
        {churn}
threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
[t.start() for t in threads]
try:
    for _ in range({examples(4, 25)}):
        reap(fork(lambda: use(az, 1)))
finally:
    stop.set()
    [t.join() for t in threads]
az.ok("zeEventHostSignal", never)
use(az, 1)
""",
    )


def test_fork_then_exec_leaks_no_descriptors() -> None:
    run_python(
        OPENING
        + """
use(az)
wish = ze.ze_external_memory_export_desc_t(flags=1)
desc, out = ze.ze_device_mem_alloc_desc_t(pNext=ctypes.addressof(wish)), c_void_p()
az.ok("zeMemAllocDevice", context, byref(desc), 4096, 0, az.device, byref(out))
handle = ze.ze_ipc_mem_handle_t()
az.ok("zeMemGetIpcHandle", context, out, byref(handle))
az.pool(context, 4, 3)
import subprocess
listing = subprocess.run(["ls", "-l", "/proc/self/fd"], capture_output=True, text=True, close_fds=False).stdout
assert "anyzero" not in listing, listing
""",
    )


def test_child_exits_normally() -> None:
    """Through the interpreter's whole shutdown, with the parent's objects still around."""
    run_python(
        OPENING
        + """
use(az, 1)
gate, = az.events(context, 1)
l = az.immediate(context)
az.barrier(l, None, [gate])
pid = os.fork()
if pid == 0:
    signal.alarm(200)
    use(az, 1)
    sys.exit(0)
reap(pid)
az.ok("zeEventHostSignal", gate)
az.ok("zeCommandListHostSynchronize", l, SOON)
""",
    )


def test_multiprocessing_with_fork() -> None:
    run_python(
        OPENING
        + """
import multiprocessing
use(az, 1)
def job(n):
    mine = az.context()
    l, room = az.immediate(mine, mode=1), az.memory(mine, 256)
    az.fill(l, room, n, 256)
    return sum(read(room, 256))
with multiprocessing.get_context("fork").Pool(3) as workers:
    assert workers.map(job, range(30)) == [256 * n for n in range(30)]
use(az, 1)
""",
    )


def test_fork_before_init() -> None:
    run_python(
        """
        lib = ze.Library(LIBRARY)
        lib.zeInit
        pid = os.fork()
        az = Calls()
        context = az.context()
        l, room = az.immediate(context, mode=1), az.memory(context, 64)
        az.fill(l, room, 1, 64)
        assert read(room, 64) == bytes([1]) * 64
        if pid == 0:
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        """
    )
