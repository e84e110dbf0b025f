"""A producer and a consumer: two processes, a ring of two slots in device memory, and events between them.

The producer fills slots, the consumer reads them where they are: no data goes through a pipe. An event for each item
says that it is there; another says that its slot is free again.
"""

import multiprocessing
from multiprocessing.connection import Connection

import numpy as np

import anyzero as az

SLOTS, ITEMS, SIZE = 2, 8, 1 << 12


@az.kernel
def produce(slot: az.ptr[az.i32], item: az.i32) -> None:
    i = az.i32(az.global_id(0))
    slot[i] = item * 1000 + i % 10


def consumer(socket: Connection) -> None:
    with az.device().context() as ctx:
        ring = ctx.open_ipc(socket.recv_bytes(), (SLOTS, SIZE), np.int32)
        pool = ctx.open_event_pool(socket.recv_bytes(), 2 * ITEMS)
        filled, emptied = [pool[i] for i in range(ITEMS)], [pool[ITEMS + i] for i in range(ITEMS)]
        with ctx.immediate() as lst:
            for item in range(ITEMS):
                values = np.zeros(SIZE, np.int32)
                # The copy waits for the other process's command, and tells it when the slot is free.
                lst.copy(values, ring[item % SLOTS], wait=filled[item], signal=emptied[item])
                lst.synchronize(timeout=60)
                assert (values == item * 1000 + np.arange(SIZE) % 10).all(), item
        print(f"ok: the consumer read {ITEMS} items in order", flush=True)
        for event in (*filled, *emptied):
            event.close()
        pool.close()
        ring.close()
        socket.send("done")


if __name__ == "__main__":
    ours, theirs = multiprocessing.Pipe()
    other = multiprocessing.get_context("spawn").Process(target=consumer, args=(theirs,), daemon=True)
    other.start()
    theirs.close()
    with az.device().context() as ctx, ctx.immediate() as lst:
        ring = ctx.zeros((SLOTS, SIZE), np.int32)
        pool = ctx.event_pool(2 * ITEMS, ipc=True)
        filled, emptied = [pool[i] for i in range(ITEMS)], [pool[ITEMS + i] for i in range(ITEMS)]
        ours.send_bytes(ring.ipc_handle())
        ours.send_bytes(pool.ipc_handle())
        for item in range(ITEMS):
            wait = [emptied[item - SLOTS]] if item >= SLOTS else []
            produce[SIZE](ring[item % SLOTS], item, on=lst, wait=wait, signal=filled[item])
        lst.synchronize(timeout=60)
        assert ours.recv() == "done"
        print(f"ok: the producer sent {ITEMS} items through {SLOTS} slots")
    other.join(timeout=30)
    assert other.exitcode == 0, f"the consumer ended with {other.exitcode}"
