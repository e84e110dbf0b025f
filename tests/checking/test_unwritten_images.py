"""Texels that nothing has written: kernels that compute with them are found, with the line, the work-item, the texel
and the image; kernels that only copy them, and texels that copies or kernels have written, are not.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import addressof, byref, c_uint64, c_void_p
from pathlib import Path

import numpy as np
import pytest

import anyzero as az
from anyzero import ze
from anyzero.checking.finding import Finding
from tests.abi.calls import Calls
from tests.checking.programs import Found, checked

SOURCE = Path(__file__).with_name("unwritten_images.cl")

FOUND = {
    # first work-item, how often, the texel
    "of_a_new_image": ("(0, 0, 0)", 12, "reads the texel (0, 0) of an image of 4 × 3 texels"),
    "of_the_lower_rows": ("(0, 2, 0)", 4, "reads the texel (0, 2) of an image of 4 × 3 texels"),
    "of_the_other_kernel": ("(2, 0, 0)", 2, "reads the texel (2, 1) of an image of 4 × 3 texels"),
    "decides_a_branch": ("(0, 0, 0)", 4, "reads the texel (0, 0) of"),
    "is_an_index": ("(0, 0, 0)", 4, "reads the texel (0, 0) of"),
    "of_a_layer": ("(0, 0, 0)", 4, "reads the texel (0, 1, 2) of an image of 4 × 3 × 3 texels"),
    "of_a_slice": ("(3, 0, 0)", 1, "reads the texel (3, 2, 1) of an image of 4 × 3 × 2 texels"),
    "of_a_line": ("(1, 0, 0)", 3, "reads the texel (1) of an image of 4 texels"),
    "of_a_line_of_many": ("(0, 0, 0)", 4, "reads the texel (0, 1) of an image of 4 × 2 texels"),
    "of_a_buffer": ("(0, 0, 0)", 4, "reads the texel (0) of an image of 4 texels"),
    "blends_rows": ("(0, 0, 0)", 4, "reads the texel (0, 2) of an image of 4 × 3 texels"),
    "wraps_around": ("(0, 0, 0)", 4, "reads the texel (0, 2) of an image of 4 × 3 texels"),
    "through_a_view": ("(0, 0, 0)", 4, "reads the texel (0, 2) of an image of 4 × 3 texels"),
    "over_a_buffer": ("(0, 0, 0)", 4, "reads the texel (0, 1) of an image of 4 × 3 texels"),
    "of_a_block": ("(0, 0, 0)", 16, "reads 4 bytes from byte 0 of row 2 of an image of 16 × 4 texels"),
}

FLOATS = az.ImageFormat.of(np.dtype(np.float32), 4)
INTS = az.ImageFormat.of(np.dtype(np.uint32), 4)


class Scene:
    """A context with the kernels, built while checks are on, and with images of which parts are written."""

    def __init__(self, ctx: az.Context) -> None:
        self.ctx = ctx
        self.module = ctx.module(SOURCE.with_suffix(".spv"))
        self.out = ctx.zeros(4096, np.uint8)
        self.calls = Calls(init=False)

    def image(self, *shape: int, form: az.ImageFormat = INTS, kind: az.ImageKind = "2d") -> az.Image:
        return self.ctx.image(shape, form, kind=kind)

    def upper_rows(self, form: az.ImageFormat = FLOATS) -> az.Image:
        """The first two of three rows are written."""
        image = self.image(3, 4, form=form)
        image[:2].copy_from(np.ones((2, 4, 4), image.dtype))
        return image

    def over_memory(self, memory: az.Buffer, rows: int) -> c_void_p:
        """An image over memory of the program, with rows of 64 bytes."""
        pitch = ze.ze_custom_pitch_exp_desc_t(rowPitch=64, slicePitch=64 * rows)
        pitched = ze.ze_image_pitched_exp_desc_t(ptr=memory.pointer, pNext=addressof(pitch))
        form = INTS.structure()
        desc = ze.ze_image_desc_t(type=ze.ZE_IMAGE_TYPE_2D, format=form, width=4, height=rows, pNext=addressof(pitched))
        made = c_void_p()
        owner, device = self.ctx.handle, self.ctx.device.handle
        assert self.calls.lib.zeImageCreate(owner, device, byref(desc), byref(made)) == 0
        return made

    def launch(self, name: str, items: tuple[int, int], *addresses: int | None) -> None:
        """With images by their handles."""
        kernel = self.module[name]
        for index, each in enumerate(addresses):
            assert self.calls.lib.zeKernelSetArgumentValue(kernel.handle, index, 8, byref(c_void_p(each))) == 0
        assert self.calls.lib.zeKernelSetGroupSize(kernel.handle, *items, 1) == 0
        with self.ctx.immediate(mode="synchronous") as lst:
            count = ze.ze_group_count_t(1, 1, 1)
            done = self.calls.lib.zeCommandListAppendLaunchKernel(
                lst.handle, kernel.handle, byref(count), None, 0, None
            )
            assert done == 0


def new_image(scene: Scene) -> None:
    scene.module["of_a_new_image"][4, 3](scene.image(3, 4, form=FLOATS), scene.out)


def lower_rows(scene: Scene) -> None:
    scene.module["of_the_lower_rows"][4, 3](scene.upper_rows(), scene.out)


def other_kernel(scene: Scene) -> None:
    """The kernel that writes has too few work-items."""
    image = scene.image(3, 4)
    scene.module["right_write"][2, 3](image)
    scene.module["of_the_other_kernel"][4](image, scene.out)


def layer(scene: Scene) -> None:
    image = scene.image(3, 3, 4, kind="2darray")
    image[:2].copy_from(np.ones((2, 3, 4, 4), np.uint32))
    scene.module["of_a_layer"][4](image, scene.out)


def part_of_a_slice(scene: Scene) -> None:
    image = scene.image(2, 3, 4, kind="3d")
    image[:, :, :3].copy_from(np.ones((2, 3, 3, 4), np.uint32))
    scene.module["of_a_slice"][4](image, scene.out)


def line(scene: Scene) -> None:
    image = scene.image(4, kind="1d")
    image[:1].copy_from(np.ones((1, 4), np.uint32))
    scene.module["of_a_line"][4](image, scene.out)


def line_of_many(scene: Scene) -> None:
    image = scene.image(2, 4, kind="1darray")
    image[:1].copy_from(np.ones((1, 4, 4), np.uint32))
    scene.module["of_a_line_of_many"][4](image, scene.out)


def view(scene: Scene) -> None:
    image = scene.upper_rows(INTS)
    scene.module["through_a_view"][4](image.view(az.ImageFormat.of(np.dtype(np.int32), 4)), scene.out)


def over_a_buffer(scene: Scene) -> None:
    memory = scene.ctx.empty(3 * 64, np.uint8)
    memory[:64].fill(1)
    scene.launch("over_a_buffer", (4, 1), scene.over_memory(memory, 3).value, scene.out.pointer)


def block(scene: Scene) -> None:
    image = scene.image(4, 16, form=az.ImageFormat.of(np.dtype(np.uint32), 1))
    image[:2].copy_from(np.ones((2, 16), np.uint32))
    scene.module["of_a_block"][16](image, scene.out, group=16)


WRONG: dict[str, Callable[[Scene], None]] = {
    "of_a_new_image": new_image,
    "of_the_lower_rows": lower_rows,
    "of_the_other_kernel": other_kernel,
    "decides_a_branch": lambda scene: scene.module["decides_a_branch"][4](scene.image(3, 4, form=FLOATS), scene.out),
    "is_an_index": lambda scene: scene.module["is_an_index"][4](scene.image(3, 4), scene.out),
    "of_a_layer": layer,
    "of_a_slice": part_of_a_slice,
    "of_a_line": line,
    "of_a_line_of_many": line_of_many,
    "of_a_buffer": lambda scene: scene.module["of_a_buffer"][4](scene.image(4, kind="buffer"), scene.out),
    "blends_rows": lambda scene: scene.module["blends_rows"][4](scene.upper_rows(), scene.out),
    "wraps_around": lambda scene: scene.module["wraps_around"][4](scene.upper_rows(), scene.out),
    "through_a_view": view,
    "over_a_buffer": over_a_buffer,
    "of_a_block": block,
}


@pytest.fixture(scope="module")
def findings() -> Found:
    with checked("init") as found, az.device().context() as ctx:
        scene = Scene(ctx)
        for run in WRONG.values():
            run(scene)
    return found


@pytest.mark.parametrize("name", FOUND)
def test_given_an_unwritten_texel_then_it_is_found_with_its_place(name: str, findings: list[Finding]) -> None:
    item, count, words = FOUND[name]
    (each,) = (finding for finding in findings if finding.kernel == name)
    assert each.rule.name == "uninitialized-texel"
    assert words in each.message
    assert each.work_item.startswith(item)
    assert each.count == count
    number = next(n for n, text in enumerate(SOURCE.read_text().splitlines(), 1) if text.endswith(f"// {name}"))
    assert each.place is not None
    assert (Path(each.place.file).name, each.place.line) == (SOURCE.name, number)


def test_the_report_says_where_the_image_was_made(findings: list[Finding]) -> None:
    (each,) = (finding for finding in findings if finding.kernel == "of_a_new_image")
    assert "an image of 4 × 3 texels; made by zeImageCreate" in each.memory
    assert "test_unwritten_images.py" in each.memory
    (over,) = (finding for finding in findings if finding.kernel == "over_a_buffer")
    assert "inside the device allocation of 192 bytes" in over.memory


def written_by_a_kernel(scene: Scene) -> None:
    image = scene.image(3, 4)
    scene.module["right_write"][4, 3](image)
    scene.module["right_read"][4, 3](image, scene.out)


def written_in_pieces(scene: Scene) -> None:
    image = scene.image(3, 4)
    image[:, :1].copy_from(np.ones((3, 1, 4), np.uint32))
    image[1:, 1:].copy_from(np.ones((2, 3, 4), np.uint32))
    image[0, 1:].copy_from(np.ones((1, 3, 4), np.uint32))
    scene.module["right_read"][4, 3](image, scene.out)


def only_copied(scene: Scene) -> None:
    """What is copied counts as written there."""
    source, to, last = (scene.image(3, 4) for _ in range(3))
    scene.module["right_copy"][4, 3](source, to)
    scene.module["right_read"][4, 3](to, scene.out)
    with scene.ctx.immediate(mode="synchronous") as lst:
        lst.copy_image(last, source)
    scene.module["right_read"][4, 3](last, scene.out)


def view_written(scene: Scene) -> None:
    image = scene.image(3, 4)
    view = image.view(az.ImageFormat.of(np.dtype(np.int32), 4))
    view.copy_from(np.ones((3, 4, 4), np.int32))
    scene.module["right_read"][4, 3](image, scene.out)


def buffer_written(scene: Scene) -> None:
    """By its own commands, and by a kernel through the image."""
    memory, other = scene.ctx.empty(3 * 64, np.uint8), scene.ctx.empty(3 * 64, np.uint8)
    memory.fill(1)
    scene.launch("right_read", (4, 3), scene.over_memory(memory, 3).value, scene.out.pointer)
    scene.launch("right_write", (4, 3), scene.over_memory(other, 3).value)
    scene.launch("right_read", (4, 3), scene.over_memory(other, 3).value, scene.out.pointer)


def bindless(scene: Scene) -> None:
    """Kernels may write it by its address."""
    image, offset = scene.image(3, 4), c_uint64()
    assert scene.calls.lib.zeImageGetDeviceOffsetExp(image.handle, byref(offset)) == 0
    scene.module["right_read"][4, 3](image, scene.out)


def blocks_written(scene: Scene) -> None:
    image, other = (scene.image(4, 16, form=az.ImageFormat.of(np.dtype(np.uint32), 1)) for _ in range(2))
    scene.module["right_move_block"][16](other, image, group=16)
    scene.module["right_write_block"][16](image, group=16)
    scene.module["right_read_block"][16](image, scene.out, group=16)


def destroyed(scene: Scene) -> None:
    """Another image gets the memory: its contents are followed anew, and memory of the host there is not."""
    for _ in range(3):
        with scene.image(3, 4) as image:
            scene.module["right_write"][4, 3](image)
            scene.module["right_read"][4, 3](image, scene.out)


RIGHT: dict[str, Callable[[Scene], None]] = {
    "written by a kernel": written_by_a_kernel,
    "written in pieces": written_in_pieces,
    "only copied": only_copied,
    "in place": lambda scene: scene.module["right_in_place"][4, 3](scene.image(3, 4)),
    "centres, border and edge": lambda scene: scene.module["right_sampling"][4](scene.upper_rows(), scene.out),
    "a view is written": view_written,
    "a buffer is written": buffer_written,
    "bindless": bindless,
    "blocks": blocks_written,
    "destroyed": destroyed,
}


@pytest.mark.parametrize("name", RIGHT)
def test_given_written_texels_then_nothing_is_found(name: str) -> None:
    with checked("init") as found, az.device().context() as ctx:
        RIGHT[name](Scene(ctx))
    assert list(map(str, found)) == []


def test_an_image_from_before_the_checks_counts_as_written() -> None:
    with az.device().context() as ctx:
        image = ctx.image((3, 4), INTS)
        with checked("init") as found:
            scene = Scene(ctx)
            scene.module["right_read"][4, 3](image, scene.out)
        assert list(map(str, found)) == []


def test_an_image_of_other_checks_counts_as_written() -> None:
    with az.device().context() as ctx:
        with checked("init"):
            image = ctx.image((3, 4), INTS)
        image.copy_from(np.ones((3, 4, 4), np.uint32))
        with checked("init") as found:
            scene = Scene(ctx)
            scene.module["right_read"][4, 3](image, scene.out)
        assert list(map(str, found)) == []


@pytest.mark.parametrize("kind", [None, "memory"])
def test_a_kernel_that_was_built_before_counts_as_a_writer_of_its_images(kind: str | None) -> None:
    with az.device().context() as ctx:
        if kind:
            with checked(kind):
                write = ctx.module(SOURCE.with_suffix(".spv"))["right_write"]
        else:
            write = ctx.module(SOURCE.with_suffix(".spv"))["right_write"]
        with checked("memory", "init") as found:
            scene = Scene(ctx)
            image = scene.image(3, 4)
            write[4, 3](image)
            scene.module["right_read"][4, 3](image, scene.out)
        assert list(map(str, found)) == []
