"""Hints: Python passes them on to the driver."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest

import anyzero as az
from anyzero import ze
from anyzero.api import image
from anyzero.api.memory import allocation
from tests.patience import PATIENCE


def test_lists_tell_their_flags(ctx: az.Context) -> None:
    assert ctx.command_list().flags == {"in_order"}
    assert ctx.command_list(in_order=False).flags == {"relaxed_ordering"}
    given = {"maximize_throughput": True, "explicit_only": True, "cloneable": True, "copy_offload": True}
    assert ctx.command_list(**given).flags == {"in_order", *given}


def test_queues_and_immediate_lists_tell_their_flags(ctx: az.Context) -> None:
    assert ctx.queue().flags == frozenset()
    assert ctx.queue(explicit_only=True).flags == {"explicit_only"}
    assert ctx.immediate().flags == {"in_order"}
    assert ctx.immediate(explicit_only=True, copy_offload=True).flags == {"in_order", "explicit_only", "copy_offload"}


def test_events_tell_their_scopes(ctx: az.Context) -> None:
    event = ctx.event()
    assert (event.signal_scope, event.wait_scope) == ("host", "host")
    event = ctx.event(signal_scope="subdevice", wait_scope="none")
    assert (event.signal_scope, event.wait_scope) == ("subdevice", "none")
    for event in [*ctx.events(2, signal_scope="device"), ctx.event_pool(1, signal_scope="device")[0]]:
        assert (event.signal_scope, event.wait_scope) == ("device", "host")
    with pytest.raises(ValueError, match="wait_scope='world' is not one of none, subdevice, device, host"):
        ctx.event(wait_scope="world")  # type: ignore[arg-type]


def test_events_of_every_scope_work(ctx: az.Context) -> None:
    done = ctx.event(signal_scope="none", wait_scope="none")
    x = ctx.zeros(4, np.int32, kind="shared")
    with ctx.immediate() as lst:
        lst.fill(x, 3, signal=done).wait(timeout=200)
    assert np.asarray(x).tolist() == [3] * 4


def test_descriptors_hold_the_hints(ctx: az.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """The API does not report the cache hints of memory and images, so the descriptors are checked."""
    seen: list[int] = []

    def noted(module: object, name: str, *places: int) -> None:
        real = getattr(module, name)

        def call(*arguments: object) -> int:
            # Every descriptor has stype, pNext and then, but for host memory, its flags in the same place.
            seen.extend(
                ctypes.cast(arguments[at], ctypes.POINTER(ze.ze_host_mem_alloc_desc_t))[0].flags for at in places
            )
            return int(real(*arguments))

        monkeypatch.setattr(module, name, call)

    noted(allocation, "_alloc_device", 1)
    noted(allocation, "_alloc_host", 1)
    noted(allocation, "_alloc_shared", 1, 2)
    noted(image, "_create", 2)
    ctx.buffer(4, device_cache="cached")
    ctx.buffer(4, uncached=True)
    ctx.buffer(4, kind="host", host_cache="write_combined")
    ctx.buffer(4, kind="shared", device_cache="uncached", host_cache="cached", placement="device")
    ctx.buffer(4, kind="shared", placement="host")
    ctx.image(4, uncached=True)
    device, host = "ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_", "ZE_HOST_MEM_ALLOC_FLAG_BIAS_"
    wanted = [
        [f"{device}CACHED"],
        [f"{device}UNCACHED"],
        [f"{host}WRITE_COMBINED"],
        [f"{device}UNCACHED", f"{device}INITIAL_PLACEMENT"],
        [f"{host}CACHED"],
        [],
        [f"{host}INITIAL_PLACEMENT"],
        ["ZE_IMAGE_FLAG_KERNEL_WRITE", "ZE_IMAGE_FLAG_BIAS_UNCACHED"],
    ]
    assert seen == [sum(getattr(ze, name) for name in names) for names in wanted]


@pytest.mark.parametrize(
    ("option", "said"), [("device_cache", "cached"), ("host_cache", "write_combined"), ("placement", "device")]
)
def test_unknown_words_are_refused(ctx: az.Context, option: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"{option}='nowhere'.*{said}"):
        ctx.buffer(4, **{option: "nowhere"})  # type: ignore[arg-type]


PLACED = """
import ctypes, mmap
import anyzero as az

def resident(buffer):
    pages = (ctypes.c_ubyte * -(-buffer.nbytes // mmap.PAGESIZE))()
    assert ctypes.CDLL(None).mincore(ctypes.c_void_p(buffer.pointer), ctypes.c_size_t(buffer.nbytes), pages) == 0
    return sum(page & 1 for page in pages) / len(pages)

ctx = az.device().context()
kept = [ctx.buffer(32 << 20, kind="shared", placement=each) for each in (None, "device", "host")]
print([resident(each) for each in kept])
"""


def test_memory_is_there_where_it_was_placed() -> None:
    """Other pages are populated on first touch. A new process, whose memory was never used."""
    done = subprocess.run([sys.executable, "-c", PLACED], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout == "[0.0, 1.0, 1.0]\n"
