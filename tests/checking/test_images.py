"""Images that calls name: destroyed, of another context, copied beyond their edges."""

from __future__ import annotations

from ctypes import byref, c_void_p

import numpy as np
import pytest

import anyzero
from anyzero import ze
from tests.abi.calls import ASYNCHRONOUS, FOREVER, Calls
from tests.checking.programs import checked, expect
from tests.shape.tree import ROOT

IMAGES = ROOT / "tests" / "kernels" / "images.spv"


def made(az: Calls, context: c_void_p) -> c_void_p:
    layout = ze.ZE_IMAGE_FORMAT_LAYOUT_32
    desc = ze.ze_image_desc_t(
        type=ze.ZE_IMAGE_TYPE_2D, format=ze.ze_image_format_t(layout=layout), width=4, height=3, depth=1
    )
    return az.new("zeImageCreate", context, az.device, byref(desc))


def test_an_image_is_destroyed_while_a_command_is_to_use_it(az: Calls, context: c_void_p) -> None:
    lst, (event,), image, memory = (
        az.immediate(context, mode=ASYNCHRONOUS),
        az.events(context, 1),
        made(az, context),
        az.memory(context, 64),
    )
    az.ok("zeCommandListAppendImageCopyToMemory", lst, memory, image, None, None, 1, byref(event))
    with checked("sync") as found:
        az.lib.zeImageDestroy(image)  # mistake
        az.ok("zeEventHostSignal", event)
    assert "command 1 of queue" in expect("memory-freed-in-use", found).other


def test_an_image_is_destroyed_after_its_command(az: Calls, context: c_void_p) -> None:
    lst, (event,), image, memory = (
        az.immediate(context, mode=ASYNCHRONOUS),
        az.events(context, 1),
        made(az, context),
        az.memory(context, 64),
    )
    with checked("sync", "memory") as found:
        az.ok("zeCommandListAppendImageCopyToMemory", lst, memory, image, None, event, 0, None)
        az.ok("zeEventHostSynchronize", event, FOREVER)
        az.ok("zeImageDestroy", image)
    assert list(map(str, found)) == []


def test_a_kernel_is_launched_with_a_destroyed_image() -> None:
    with anyzero.device().context() as ctx, ctx.immediate(mode="synchronous") as lst:
        kernel = ctx.module(IMAGES)["read_unsigned"]
        out, image = ctx.zeros((16, 4), np.uint32), ctx.image((4, 4), np.uint32, channels=4)
        lib, count = Calls(init=False).lib, ze.ze_group_count_t(1, 1, 1)
        for index, value in enumerate((c_void_p(out.pointer), c_void_p(image.handle))):
            assert lib.zeKernelSetArgumentValue(kernel.handle, index, 8, byref(value)) == 0
        image.close()
        with checked("memory") as found:
            lib.zeCommandListAppendLaunchKernel(lst.handle, kernel.handle, byref(count), None, 0, None)  # mistake
        expect("use-after-free", found)


@pytest.mark.parametrize("region", [(2, 0, 0, 4, 3, 1), (0, 1, 0, 4, 3, 1)])
def test_a_region_beyond_the_edges_is_refused(az: Calls, context: c_void_p, region: tuple[int, ...]) -> None:
    """Without check mode, too: the call has an error for it."""
    lst, image, memory = az.immediate(context), made(az, context), az.memory(context, 64)
    outside = byref(ze.ze_image_region_t(*region))
    assert az.call("zeCommandListAppendImageCopyFromMemory", lst, image, memory, outside, None, 0, None) != 0
    assert az.call("zeCommandListAppendImageCopyToMemory", lst, memory, image, outside, None, 0, None) != 0
