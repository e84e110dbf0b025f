"""Eight threads mix everything: what the C++ stress does, with the interpreter in between."""

from __future__ import annotations

import random
import threading
from ctypes import c_void_p

from anyzero import ze
from tests.abi.calls import SOON, Calls, read, write

THREADS = 8
OPERATIONS = 2500
ROOM = 2048


class Worker:
    def __init__(self, az: Calls, context: c_void_p, seed: int, queues: list[c_void_p], lists: list[c_void_p]) -> None:
        self.az, self.context, self.chance = az, context, random.Random(seed)
        self.queues, self.shared = queues, lists
        self.own = [az.immediate(context, ordinal=ordinal, mode=1 + seed % 2) for ordinal in (0, 1)]
        self.recorded = [az.list(context, commandQueueGroupOrdinal=ordinal) for ordinal in (0, 1)]
        self.room = az.memory(context, ROOM)
        self.event, self.done = az.events(context, 2)
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            for _ in range(OPERATIONS):
                self.chance.choice(
                    [self.copy, self.replay, self.share, self.cross, self.allocate, self.churn, self.lose]
                )()
        except BaseException as error:
            self.error = error

    def value(self) -> int:
        return self.chance.randrange(1, 256)

    def copy(self) -> None:
        lst, value, size = self.chance.choice(self.own), self.value(), self.chance.randrange(1, ROOM // 2)
        self.az.fill(lst, self.room, value, size)
        self.az.copy(lst, self.room + ROOM // 2, self.room, size)
        self.az.ok("zeCommandListHostSynchronize", lst, SOON)
        assert read(self.room + ROOM // 2, size) == bytes([value]) * size

    def replay(self) -> None:
        engine, value = self.chance.randrange(2), self.value()
        lst = self.recorded[engine]
        self.az.ok("zeCommandListReset", lst)
        self.az.fill(lst, self.room, value, 64)
        self.az.close(lst)
        fence = self.az.fence(self.queues[engine])
        self.az.execute(self.queues[engine], lst, lst, fence=fence)
        self.az.ok("zeFenceHostSynchronize", fence, SOON)
        self.az.ok("zeFenceDestroy", fence)
        assert read(self.room, 64) == bytes([value]) * 64

    def share(self) -> None:
        lst, value = self.chance.choice(self.shared), self.value()
        self.az.fill(lst, self.room, value, 128, self.event)
        self.az.ok("zeEventHostSynchronize", self.event, SOON)
        assert read(self.room, 128) == bytes([value]) * 128
        self.az.ok("zeEventHostReset", self.event)

    def cross(self) -> None:
        engine, value = self.chance.randrange(2), self.value()
        self.az.fill(self.own[engine], self.room, value, 100, self.event)
        self.az.copy(self.own[1 - engine], self.room + 1000, self.room, 100, self.done, [self.event])
        self.az.ok("zeEventHostSynchronize", self.done, SOON)
        assert read(self.room + 1000, 100) == bytes([value]) * 100
        for event in (self.event, self.done):
            self.az.ok("zeEventHostReset", event)

    def allocate(self) -> None:
        size = 1 << self.chance.randrange(21)
        kind = self.chance.choice(["host", "device", "shared"])
        address = self.az.memory(self.context, size, kind)
        write(address, b"\x01")
        self.az.ok("zeMemFree", self.context, address)

    def churn(self) -> None:
        (event,) = self.az.events(self.context, 1)
        lst = self.az.immediate(self.context, ordinal=self.chance.randrange(2))
        self.az.barrier(lst, event)
        self.az.ok("zeCommandListDestroy", lst)
        self.az.ok("zeEventHostSynchronize", event, SOON)
        self.az.ok("zeEventDestroy", event)

    def lose(self) -> None:
        """Occasionally a queue of a separate context is lost; others are not affected."""
        if self.chance.random() < 0.9:
            return
        context = self.az.context()
        lst = self.az.immediate(context)
        self.az.call("zeCommandListAppendMemoryCopy", lst, 0x700000001000, self.room, 64, None, 0, None)
        self.az.error(ze.ZE_RESULT_ERROR_DEVICE_LOST, "zeCommandListHostSynchronize", lst, SOON)
        self.az.ok("zeCommandListDestroy", lst)
        self.az.ok("zeContextDestroy", context)


def test_eight_threads_mix_everything(az: Calls, context: c_void_p) -> None:
    queues = [az.queue(context, ordinal=ordinal) for ordinal in (0, 1)]
    lists = [az.immediate(context, ordinal=ordinal) for ordinal in (0, 1)]
    workers = [Worker(az, context, seed, queues, lists) for seed in range(THREADS)]
    threads = [threading.Thread(target=worker.run) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    errors = [worker.error for worker in workers if worker.error]
    assert not errors, errors
    for lst in lists:
        az.ok("zeCommandListHostSynchronize", lst, SOON)
    for queue in queues:
        az.finish(queue)
    az.ok("zeContextGetStatus", context)
