"""Memory that several sides work on: two devices, the host, and memory that no driver allocated."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import anyzero as az
from tests.api.conftest import RunPython
from tests.api.kernels import EXAMPLES, SAXPY


def test_devices_work_on_each_others_memory(run_python: RunPython) -> None:
    run_python(
        f"""
        one, two = az.devices()
        ctx = az.Context(one, two)
        n = 1 << 14
        modules = {{device: ctx.module({str(EXAMPLES / "peer_to_peer.spv")!r}, device=device) for device in (one, two)}}
        lists = {{device: ctx.immediate(device=device) for device in (one, two)}}
        go = ctx.event()
        for kind in ("device", "shared", "host"):
            near = ctx.zeros(n, np.uint32, kind=kind, device=one)
            far = ctx.to_device(np.arange(n, dtype=np.uint32), kind=kind, device=two)
            assert near.device in (one, None) and far.device in (two, None), kind
            # A kernel of each device on the memory of the other; the second device waits for an event of the first.
            first = modules[one]["exchange"][n](near, far, on=lists[one], wait=go)
            second = modules[two]["exchange"][n](far, near, on=lists[two], wait=first)
            assert not second.done
            go.signal()
            second.wait(timeout=200)
            assert (near.copy_to() == np.arange(n) + 1000).all(), kind
            assert (far.copy_to() == np.arange(n)).all(), kind
            # Atomics of both at a time.
            go.reset()
            places = ctx.zeros(4, np.uint32, kind=kind, device=two)
            counting = [modules[d]["count"][n](places, on=lists[d], wait=go) for d in (one, two)]
            go.signal()
            for each in counting:
                each.wait(timeout=200)
            assert places.copy_to().tolist() == [n // 2] * 4, kind
            go.reset()
        """,
        ANYZERO_DEVICES="cpu,cpu",
    )


def test_kernels_use_memory_of_the_system(ctx: az.Context) -> None:
    """Memory of numpy, at its own address."""
    x, y = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    ctx.module(SAXPY)["saxpy"][64](y.ctypes.data, x.ctypes.data, 2.0)
    assert np.array_equal(y, 2 * np.arange(64) + 1)


COUNT = """
void count(unsigned *places, unsigned n) {
  for (unsigned i = 0; i < n; ++i) __atomic_fetch_add(&places[i % 4], 1, __ATOMIC_RELAXED);
}
"""


@pytest.mark.skipif(not shutil.which("gcc"), reason="NOT TESTED: atomics of the host; apt install gcc")
def test_host_and_device_count_in_one_place(ctx: az.Context, tmp_path: Path) -> None:
    library = tmp_path / "count.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-xc", "-", "-o", library], input=COUNT.encode(), check=True)
    n = 1 << 18
    kernel = ctx.module(EXAMPLES / "peer_to_peer.spv")["count"]
    for kind in ("host", "shared"):
        places = ctx.zeros(4, np.uint32, kind=kind)
        with ctx.immediate() as lst:
            launched = kernel[n](places, on=lst)
            ctypes.CDLL(str(library)).count(ctypes.c_void_p(places.pointer), n)
            launched.wait(timeout=200)
        assert np.asarray(places).tolist() == [n // 2] * 4, kind
