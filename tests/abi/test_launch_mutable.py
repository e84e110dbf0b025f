"""Mutable command lists: launches whose arguments, sizes, offsets and kernels change after the list was closed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from ctypes import addressof, byref, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

import pytest

from anyzero import ze
from tests.abi.appends import image
from tests.abi.calls import INVALID_ARGUMENT, Calls, handles, read, write
from tests.abi.kernels_in_c import Local, build, kernel, launch, planner

SOURCE = """
//kernel {"name": "note", "args": [["global",8], ["value",4], ["local",8], ["local",8], ["image",8], ["sampler",8]]}
KERNEL(note) {
  u64* to = ARG(u64*, 0);
  to[0] = ARG(u32, 8); to[1] = ARG(u64, 16); to[2] = ARG(u64, 24); to[3] = worker->local_bytes;
  to[4] = grid->group_count[0]; to[5] = grid->group_size[0]; to[6] = grid->global_offset[0];
  to[7] = ARG(u64, 32) != 0; to[8] = ARG(u64, 40) != 0;
}
//kernel {"name": "other", "args": [["global", 8], ["value", 4], ["value", 64], ["value", 1000]]}
KERNEL(other) { *ARG(u64*, 0) = 1000 + ARG(u32, 8); }
"""


@pytest.fixture(scope="module")
def module(az: Calls) -> Iterator[c_void_p]:
    context = az.context()
    with planner():
        made, _ = build(az, context, SOURCE)
        for name in ("note", "other"):
            az.ok("zeKernelDestroy", kernel(az, made, name))
        yield made
    az.ok("zeModuleDestroy", made)
    az.ok("zeContextDestroy", context)


class Scene:
    """A mutable list with one launch, and what it wrote."""

    def __init__(self, az: Calls, context: c_void_p, module: c_void_p, flags: int = 0, choices: Any = ()) -> None:
        self.az, self.context = az, context
        extra = ze.ze_mutable_command_list_exp_desc_t()
        desc = ze.ze_command_list_desc_t(pNext=addressof(extra))
        self.list = az.new("zeCommandListCreate", context, az.device, byref(desc))
        self.queue = az.queue(context)
        self.to = az.memory(context, 128)
        self.note = kernel(az, module, "note", self.to, c_uint32(5), Local(100), Local(200))
        number = c_uint64()
        wanted = ze.ze_mutable_command_id_exp_desc_t(flags=flags)
        if choices:
            name = "zeCommandListGetNextCommandIdWithKernelsExp"
            az.ok(name, self.list, byref(wanted), len(choices), handles(choices), byref(number))
        else:
            az.ok("zeCommandListGetNextCommandIdExp", self.list, byref(wanted), byref(number))
        self.id = number.value
        launch(az, self.list, self.note, 3)
        launch(az, self.list, kernel(az, module, "other", az.memory(context, 8)), 1)
        az.close(self.list)

    def run(self) -> tuple[int, ...]:
        self.az.close(self.list)
        write(self.to, bytes(128))
        self.az.execute(self.queue, self.list)
        self.az.finish(self.queue)
        return struct.unpack("<9Q", read(self.to, 72))

    def change(self, *descs: Any) -> int:
        following = None
        for desc in reversed(descs):
            desc.pNext = addressof(following) if following is not None else None
            following = desc
        first = ze.ze_mutable_commands_exp_desc_t(pNext=addressof(following))
        return self.az.call("zeCommandListUpdateMutableCommandsExp", self.list, byref(first))

    def argument(self, index: int, value: Any, size: int | None = None) -> Any:
        self.kept = value
        return ze.ze_mutable_kernel_argument_exp_desc_t(
            commandId=self.id,
            argIndex=index,
            argSize=size if size is not None else len(bytes(value)),
            pArgValue=addressof(value) if value is not None else None,
        )


def test_everything_but_the_kernel_changes(az: Calls, context: c_void_p, module: c_void_p) -> None:
    scene = Scene(az, context, module)
    assert scene.run() == (5, 0, 128, 384, 3, 1, 0, 0, 0)
    assert scene.change(scene.argument(1, c_uint32(77))) == 0
    assert scene.run() == (77, 0, 128, 384, 3, 1, 0, 0, 0)
    groups = ze.ze_group_count_t(9, 2, 1)
    changes = (
        ze.ze_mutable_group_count_exp_desc_t(commandId=scene.id, pGroupCount=addressof(groups)),
        ze.ze_mutable_group_size_exp_desc_t(commandId=scene.id, groupSizeX=16, groupSizeY=2, groupSizeZ=1),
        ze.ze_mutable_global_offset_exp_desc_t(commandId=scene.id, offsetX=11),
        scene.argument(2, None, 1000),
    )
    assert scene.change(*changes) == 0
    assert scene.run() == (77, 0, 1024, 1280, 9, 16, 11, 0, 0)
    picture = image(az, context)
    sampler = az.new("zeSamplerCreate", context, az.device, byref(ze.ze_sampler_desc_t()))
    for index, handle in ((4, picture), (5, sampler)):
        assert scene.change(scene.argument(index, handle)) == 0
    az.ok("zeImageDestroy", picture)  # the list holds it
    assert scene.run()[7:] == (1, 1)
    assert scene.change(scene.argument(4, None, 8)) == 0
    assert scene.run()[7:] == (0, 1)


def test_sizes_that_differ_from_the_kernels_own(az: Calls, context: c_void_p, module: c_void_p) -> None:
    scene = Scene(az, context, module)
    assert scene.change(scene.argument(1, c_uint64(0x1_0000_0007))) == 0
    assert scene.run()[:2] == (7, 0)
    assert scene.change(scene.argument(1, c_uint32(2**32 - 1), 2)) == 0
    assert scene.run()[0] == 0xFFFF
    assert scene.change(scene.argument(0, c_void_p(scene.to + 8), 4)) == 0
    assert scene.run()[:2] == (0, 0xFFFF)


def test_changes_that_do_not_fit(az: Calls, context: c_void_p, module: c_void_p) -> None:
    scene = Scene(az, context, module)
    bad = [
        scene.argument(9, c_uint32(1)),
        scene.argument(4, c_uint64(12345)),
        ze.ze_mutable_group_count_exp_desc_t(commandId=scene.id),
        ze.ze_mutable_group_size_exp_desc_t(commandId=scene.id),
        ze.ze_mutable_group_size_exp_desc_t(commandId=77, groupSizeX=1, groupSizeY=1, groupSizeZ=1),
        ze.ze_mutable_graph_argument_exp_desc_t(commandId=scene.id),
    ]
    for desc in bad:
        assert scene.change(desc) == INVALID_ARGUMENT, desc
    assert scene.run() == (5, 0, 128, 384, 3, 1, 0, 0, 0)
    limited = Scene(az, context, module, flags=ze.ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_SIZE)
    assert limited.change(limited.argument(1, c_uint32(1))) == INVALID_ARGUMENT
    size = ze.ze_mutable_group_size_exp_desc_t(commandId=limited.id, groupSizeX=4, groupSizeY=1, groupSizeZ=1)
    assert limited.change(size) == 0
    assert limited.run()[5] == 4


def test_kernels_change(az: Calls, context: c_void_p, module: c_void_p) -> None:
    other = kernel(az, module, "other", az.memory(context, 8), c_uint32(1))
    stranger = kernel(az, module, "note")
    flags = ze.ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_ARGUMENTS
    first = kernel(az, module, "note", az.memory(context, 128), c_uint32(5), Local(100), Local(200))
    scene = Scene(az, context, module, flags, [first, other])
    ids = (c_uint64 * 1)(scene.id)
    name = "zeCommandListUpdateMutableCommandKernelsExp"
    az.ok(name, scene.list, 1, ids, handles([other]))
    assert (
        scene.change(
            scene.argument(0, c_void_p(scene.to)),
        )
        == 0
    )
    assert scene.change(scene.argument(1, c_uint32(8))) == 0
    assert scene.change(scene.argument(3, (c_uint8 * 1000)())) == 0
    assert scene.run()[0] == 1008
    az.ok(name, scene.list, 1, ids, handles([first]))
    assert scene.change(scene.argument(0, c_void_p(scene.to))) == 0
    assert scene.run()[:4] == (5, 0, 128, 384)
    az.error(ze.ZE_RESULT_ERROR_INVALID_KERNEL_HANDLE, name, scene.list, 1, ids, handles([stranger]))
    # By default the kernel itself stays.
    plain = Scene(az, context, module, 0, [first, other])
    ids[0] = plain.id
    az.error(INVALID_ARGUMENT, name, plain.list, 1, ids, handles([other]))
