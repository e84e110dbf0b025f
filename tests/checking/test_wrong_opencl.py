"""Mistakes of OpenCL C kernels with memory and images are found, each with its line and work-item."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import anyzero as az
from anyzero.checking.finding import Finding
from tests.checking.programs import Found, checked

SOURCE = Path(__file__).with_name("wrong.cl")

FOUND = {
    # rule, first work-item, how often, words of the message
    "one_too_many": ("out-of-bounds-write", "(15, 0, 0)", 1, "right behind the end of the device allocation of 64 by"),
    "negative_index": ("out-of-bounds-read", "(0, 0, 0)", 1, "4 bytes before the beginning of the device allocation"),
    "vector_over_the_end": ("out-of-bounds-read", "(13, 0, 0)", 3, "4 bytes over the end of the device allocation"),
    "bytes_over_the_end": ("out-of-bounds-write", "(7, 0, 0)", 1, "4 bytes over the end of the device allocation of"),
    "index_from_memory": ("out-of-bounds-write", "(3, 0, 0)", 1, "3936 bytes behind the end of the device allocation"),
    "null_argument": ("null-pointer", "(0, 0, 0)", 16, "through a null pointer"),
    "small_address": ("null-pointer", "(0, 0, 0)", 1, "through a null pointer"),
    "after_free": ("use-after-free", "(0, 0, 0)", 16, "in memory that has been freed"),
    "behind_the_last_structure": ("out-of-bounds-read", "(4, 0, 0)", 1, "12 bytes behind the end of the device alloc"),
    "other_buffer": ("out-of-bounds-write", "(0, 0, 0)", 16, "right behind the end of the device allocation of 64 by"),
    "misaligned_read": ("misaligned-access", "(0, 0, 0)", 15, "which is not a multiple of 4"),
    "misaligned_atomic": ("misaligned-access", "(0, 0, 0)", 1, "which is not a multiple of 4"),
    "changed_constant": ("write-to-constant", "(0, 0, 0)", 1, "in constant memory"),
    "behind_a_constant": ("out-of-bounds-read", "(4, 0, 0)", 12, 'right behind the end of the constant "table" of 16'),
    "local_over_the_end": ("out-of-bounds-write", "(7, 0, 0)", 2, "right behind the end of the local variable"),
    "local_before_the_begin": ("out-of-bounds-read", "(0, 0, 0)", 2, "4 bytes before the beginning of the local vari"),
    "small_local_argument": ("out-of-bounds-write", "(6, 0, 0)", 4, "right behind the end of the local argument of 24"),
    "local_atomic": ("out-of-bounds-write", "(5, 0, 0)", 1, "right behind the end of the local variable"),
    "private_over_the_end": ("out-of-bounds-write", "(0, 0, 0)", 16, "right behind the end of the private variable"),
    "async_from_too_little": ("out-of-bounds-read", "(0, 0, 0)", 1, "32 bytes over the end of the device allocation"),
    "async_to_too_little": ("out-of-bounds-write", "(0, 0, 0)", 1, "32 bytes over the end of the local variable"),
    "column_behind": ("image-out-of-bounds", "(4, 0, 0)", 3, "writes the texel (4, 0) of an image of 4 × 3 texels"),
    "row_before": ("image-out-of-bounds", "(0, 0, 0)", 1, "reads the texel (0, -1) of an image of 4 × 3 texels"),
    "no_address_mode": ("image-out-of-bounds", "(3, 0, 0)", 1, "reads the texel (4.500000, 0.500000) of an image of"),
    "slice_behind": ("image-out-of-bounds", "(2, 0, 0)", 2, "writes the texel (2, 0, 2) of an image of 4 × 3 × 2"),
    "layer_behind": ("image-out-of-bounds", "(2, 0, 0)", 2, "writes the texel (2, 0, 2) of an image of 4 × 3 × 2"),
    "texel_of_a_line": ("image-out-of-bounds", "(2, 0, 0)", 2, "reads the texel (4) of an image of 4 texels"),
}


def launch_all(ctx: az.Context) -> None:
    module = ctx.module(SOURCE.with_suffix(".spv"))
    int_, uint = np.int32, np.uint32

    def ints(count: int = 16) -> az.Buffer:
        return ctx.zeros(count, int_)

    module["one_too_many"][16](ints())
    module["negative_index"][16](ints(), ints())
    module["vector_over_the_end"][16](ctx.zeros(16, np.float32), ctx.zeros((16, 4), np.float32))
    module["bytes_over_the_end"][8](ctx.zeros(60, np.int8))
    module["index_from_memory"][4](ints(), ctx.to_device(np.array([0, 5, 15, 1000], int_)))
    module["null_argument"][16](0, ints())
    module["small_address"][1](ints(), 8)
    freed, kept = ints(), ints()
    address = freed.pointer
    freed.close()
    module["after_free"][16](address, kept)
    module["behind_the_last_structure"][5](ints(), ints())
    module["other_buffer"][16](ints(), ints())
    module["misaligned_read"][15](ints(), ints())
    module["misaligned_atomic"][1](ints())
    module["changed_constant"][1](ints())
    module["behind_a_constant"][16](ints())
    for name in ("local_over_the_end", "local_before_the_begin"):
        module[name][16](ints(), group=8)
    module["small_local_argument"][16](ints(), az.local(24), group=8)
    module["local_atomic"][8](ctx.to_device(np.array([0, 1, 2, 3, 0, 4, 0, 0], int_)), group=8)
    module["private_over_the_end"][16](ints(), 5)
    module["async_from_too_little"][8](ints(8), ints(), group=8)
    module["async_to_too_little"][8](ints(), ints(), group=8)
    image, texels = ctx.image((3, 4), uint, channels=4), ctx.zeros((8, 4), uint)
    image.copy_from(np.zeros((3, 4, 4), uint))
    module["column_behind"][5, 3](image)
    module["row_before"][4](image, texels)
    module["no_address_mode"][4](image, texels)
    for name, kind in (("slice_behind", "3d"), ("layer_behind", "2darray")):
        module[name][4](ctx.image((2, 3, 4), uint, channels=4, kind=kind))
    module["texel_of_a_line"][4](ctx.image((4,), uint, channels=4, kind="1d"), texels)
    module["right_clamped"][8](image, texels)
    module["right_image"][8, 8](image, ctx.image((3, 4), uint, channels=4))


@pytest.fixture(scope="module")
def findings() -> Found:
    with checked("memory") as found, az.device().context() as ctx:
        launch_all(ctx)
    return found


@pytest.mark.parametrize("name", FOUND)
def test_given_a_mistake_then_it_is_found_with_its_place(name: str, findings: list[Finding]) -> None:
    rule, item, count, words = FOUND[name]
    (each,) = (finding for finding in findings if finding.kernel == name)
    assert each.rule.name == rule
    assert words in each.message
    assert each.work_item.startswith(item)
    assert each.count == count
    line = next(n for n, text in enumerate(SOURCE.read_text().splitlines(), 1) if text.endswith(f"// {name}"))
    assert each.place is not None
    assert (Path(each.place.file).name, each.place.line) == (SOURCE.name, line)


def test_given_a_right_kernel_then_nothing_is_found(findings: list[Finding]) -> None:
    assert {each.kernel for each in findings} == set(FOUND)
