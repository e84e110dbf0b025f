"""Two processes, one allocation: the sender exports device memory, the receiver opens it, reads it and writes to it."""

import multiprocessing
import os
from multiprocessing.connection import Connection

import numpy as np

import anyzero as az


def receiver(socket: Connection) -> None:
    with az.device().context() as ctx:
        handle = socket.recv_bytes()
        memory = ctx.open_ipc(handle, 1024, np.uint32)
        values = memory.copy_to()
        assert values[-1] == 1023
        print(f"ok: receiver {os.getpid()}: read the sender's memory", flush=True)
        memory.copy_from(values * 2)
        memory.close()
        socket.send("done")


if __name__ == "__main__":
    ours, theirs = multiprocessing.Pipe()
    # A new process, not a fork: each initializes its own driver.
    other = multiprocessing.get_context("spawn").Process(target=receiver, args=(theirs,), daemon=True)
    other.start()
    theirs.close()

    with az.device().context() as ctx:
        memory = ctx.to_device(np.arange(1024, dtype=np.uint32))
        # The program chooses the transport of the 64 bytes; here it is a pipe.
        handle = memory.ipc_handle()
        ours.send_bytes(handle)
        assert ours.recv() == "done"
        assert memory.copy_to()[-1] == 2 * 1023
        print(f"ok: sender {os.getpid()}: reads the receiver's data")
        ctx.close_ipc(handle)

    other.join(timeout=30)
    assert other.exitcode == 0, f"the receiver ended with {other.exitcode}"
    print("ok: the receiving process succeeded")
