"""Two processes, one event pool: a command of the receiver signals an event on which the sender sleeps."""

import multiprocessing
import os
from multiprocessing.connection import Connection

import anyzero as az

COUNT, PLACE = 10, 5


def receiver(socket: Connection) -> None:
    with az.device().context() as ctx:
        pool = ctx.open_event_pool(socket.recv_bytes(), COUNT)
        event = pool[PLACE]
        assert socket.recv() == "go"
        memory = ctx.buffer(4096)
        with ctx.immediate() as lst:
            lst.fill(memory, 1, signal=event)
        assert event.done
        print(f"ok: receiver {os.getpid()}: a command signalled event {PLACE}", flush=True)
        event.close()
        pool.close()
        socket.send("done")


if __name__ == "__main__":
    ours, theirs = multiprocessing.Pipe()
    other = multiprocessing.get_context("spawn").Process(target=receiver, args=(theirs,), daemon=True)
    other.start()
    theirs.close()

    with az.device().context() as ctx:
        pool = ctx.event_pool(COUNT, ipc=True)
        # The same index in the pool is the same event in both processes.
        event = pool[PLACE]
        ours.send_bytes(pool.ipc_handle())
        assert not event.done
        print(f"ok: sender {os.getpid()}: event {PLACE} is not signalled")
        ours.send("go")
        event.wait(timeout=30)
        assert event.done
        print(f"ok: sender {os.getpid()}: was woken by the other process")
        # The receiver releases it first, then the sender.
        assert ours.recv() == "done"

    other.join(timeout=30)
    assert other.exitcode == 0, f"the receiver ended with {other.exitcode}"
    print("ok: the receiving process succeeded")
