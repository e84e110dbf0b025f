"""Other processes that a test talks to in lines, and handles as lines can carry them."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from ctypes import byref, c_void_p
from typing import Any

from anyzero import ze
from tests.abi.calls import OPENING, Calls, environment
from tests.patience import PATIENCE

IPC = ze.ZE_EVENT_POOL_FLAG_IPC | ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE

PEER = (
    OPENING
    + """
def receive():
    line = sys.stdin.readline().strip()
    if not line:
        os._exit(0)
    return line
def send(text):
    print(text, flush=True)
def memory_handle(text):
    return ze.ze_ipc_mem_handle_t.from_buffer_copy(bytes.fromhex(text))
def pool_handle(text):
    return ze.ze_ipc_event_pool_handle_t.from_buffer_copy(bytes.fromhex(text))
az = Calls()
context = az.context()
def open_memory(text):
    address = c_void_p()
    az.ok("zeMemOpenIpcHandle", context, az.device, memory_handle(text), 0, byref(address))
    return address.value
def open_pool(text):
    return az.new("zeEventPoolOpenIpcHandle", context, pool_handle(text))
"""
)


class Peer:
    """Another process, told what to do as a program and spoken to in lines."""

    def __init__(self, code: str, **variables: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PEER + textwrap.dedent(code)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(**variables),
        )

    def send(self, text: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def receive(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)

    def finish(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0
        self.process.stdout.close()


@contextlib.contextmanager
def peer(code: str, **variables: str) -> Iterator[Peer]:
    made = Peer(code, **variables)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.kill()
        for stream in (made.process.stdin, made.process.stdout):
            if stream:
                stream.close()


def memory_handle(az: Calls, context: c_void_p, address: int) -> str:
    handle = ze.ze_ipc_mem_handle_t()
    az.ok("zeMemGetIpcHandle", context, address, byref(handle))
    return bytes(handle).hex()


def pool_handle(az: Calls, pool: c_void_p) -> str:
    handle = ze.ze_ipc_event_pool_handle_t()
    az.ok("zeEventPoolGetIpcHandle", pool, byref(handle))
    return bytes(handle).hex()


def from_hex(kind: Any, text: str) -> Any:
    return kind.from_buffer_copy(bytes.fromhex(text))
