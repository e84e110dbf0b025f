"""Kernels of a device without on-demand paging touch only what is resident, wherever their pointers come from."""

from __future__ import annotations

import pytest

from tests.abi.calls import ROOT, run_python

LINKS = f"""
import numpy as np, anyzero
from pathlib import Path
KERNEL = Path({str(ROOT / "examples" / "kernels" / "residency.spv")!r})
NODE = np.dtype([("next", np.uint64), ("value", np.uint64)])
fixed = anyzero.devices()[0]
assert not fixed.on_demand_paging


class Links:
    '''begin -> middle -> end; only the first is an argument.'''

    def __init__(self, *devices, residency=None, indirect=()):
        self.ctx = anyzero.Context(*(devices or (fixed,)))
        self.nodes = [self.ctx.zeros(1, NODE, kind="host") for _ in range(3)]
        self.link(self.nodes[1].pointer, self.nodes[2].pointer, 0)
        self.total = self.ctx.zeros(1, np.uint64, kind="shared")
        self.kernel = self.ctx.module(KERNEL).kernel("add_up", residency=residency)
        self.kernel.set_indirect_access(*indirect)

    def link(self, *pointers):
        for node, pointer, value in zip(self.nodes, pointers, (1, 10, 100)):
            np.asarray(node)[0] = (pointer, value)

    def run(self, resident=(), evicted=()):
        '''What the kernel adds up, or the report of its fault.'''
        for node in resident:
            self.ctx.make_resident(node)
        for node in evicted:
            self.ctx.evict(node)
        lst = self.ctx.immediate(mode="synchronous")
        try:
            lst.launch(self.kernel, 1, args=(self.nodes[0], self.total)).wait()
        except anyzero.DeviceLost as error:
            return str(error)
        return int(np.asarray(self.total)[0])
"""


def test_links_are_followed_to_resident_memory_only() -> None:
    run_python(
        LINKS
        + """
links = Links()
_, middle, end = links.nodes
# Commands have named all nodes before; that does not let this kernel reach them.
lost = links.run()
assert "not resident" in lost and hex(middle.pointer + 8) in lost and "host allocation of 16 bytes" in lost, lost
assert "zeContextMakeMemoryResident" in lost and "zeKernelSetIndirectAccess" in lost, lost
assert hex(end.pointer + 8) in links.run(resident=[middle])
assert links.run(resident=[end]) == 111
assert "not resident" in links.run(evicted=[middle])
# The host can still use memory evicted from a device.
np.asarray(middle)["value"] = 20
assert links.run(resident=[middle]) == 121
# Another test covers arguments evicted after the append; evicted before, they become resident again.
assert links.run(evicted=[links.nodes[0]]) == 121
""",
        ANYZERO_DEVICES="cpu:paging=off",
    )


def test_kinds_are_reached_while_the_kernel_runs() -> None:
    run_python(
        LINKS
        + """
links = Links(indirect=["host"])
assert links.run(evicted=links.nodes) == 111
links.kernel.set_indirect_access()
assert "not resident" in links.run()
links.kernel.set_indirect_access("device", "shared")
assert "not resident" in links.run()
assert Links(residency="force").run() == 111
explicit = Links(residency="explicit", indirect=["host"])
assert "not resident" in explicit.run(resident=explicit.nodes)
assert explicit.run(resident=[explicit.total]) == 111
# Memory of another context is no memory of that kind.
links.kernel.set_indirect_access("host")
other = Links()
links.link(links.nodes[1].pointer, other.nodes[2].pointer, 0)
assert "not resident" in links.run()
""",
        ANYZERO_DEVICES="cpu:paging=off",
    )


def test_memory_of_the_system_is_out_of_reach_of_kernels() -> None:
    run_python(
        LINKS
        + """
plain = np.zeros(1, NODE)
plain[0] = (0, 5)
links = Links(indirect=["host", "device", "shared"])
links.link(plain.ctypes.data, 0, 0)
lost = links.run()
assert "not resident" in lost and "cannot access memory" in lost, lost
# A pointer to nothing is reported as what it is.
links.link(64, 0, 0)
assert "a null pointer" in links.run()
# A device that pages reaches both, at the same time and at the same addresses.
paging = Links(anyzero.devices()[1])
assert paging.run() == 111
paging.link(links.nodes[1].pointer, 0, 0)
links.link(0, plain.ctypes.data, 0)
assert paging.run() == 1 + 10 + 5
""",
        ANYZERO_DEVICES="cpu:paging=off,cpu",
    )


@pytest.mark.parametrize("strict", ["", "1"])
def test_the_rest_of_a_page_is_for_careless_kernels(strict: str) -> None:
    run_python(
        f"""
import anyzero, numpy as np
ctx = anyzero.device().context()
x, y = ctx.zeros(4, np.float32), ctx.zeros(4, np.float32)
saxpy = ctx.module({str(ROOT / "examples" / "kernels" / "saxpy.spv")!r})["saxpy"]
try:
    saxpy[5](y, x, 2.0)
except anyzero.DeviceLost as error:
    assert {strict!r} and "0 bytes after the end" in str(error), error
else:
    assert not {strict!r}
""",
        ANYZERO_DEVICES="cpu:paging=off",
        **({"ANYZERO_STRICT": strict} if strict else {}),
    )


def test_programs_that_stay_within_their_memory_run_as_ever() -> None:
    """Every way of touching memory: generic and masked accesses, copies, atomics, blocks, constants, variables."""
    run_python(
        """
from benchmarks.kernels.ours import Anyzero
from tests.kernels.suite import case
names = [
    "pointers_any_space", "pointers_any_space.O0", "pointers_constants", "pointers_read_program", "pointers_spaces",
    "async_copies_strided", "atomics_sparse", "atomics_float_by_exchange", "control_flow_guarded", "indices_backwards",
    "barriers_through_global", "histogram", "loads_stores_copy_float3", "images_on_a_buffer", "matmul_tiled",
    "private_arrays_pointer_to_one_of.O0", "move_block_inside", "structs_nested.O0",
]
device = Anyzero()
assert not device.device.on_demand_paging
for each in map(case, names):
    prepared = device.prepare(each, each.arguments())
    prepared.run()
    wrong = each.mismatch(prepared.results())
    assert wrong is None, wrong
""",
        ANYZERO_DEVICES="cpu:paging=off",
        ANYZERO_OPT_LEVEL="1",
    )
