"""Modules in the manner of AdaptiveCpp, through the driver: its local memory, and integers of odd widths."""

from __future__ import annotations

import numpy as np
import pytest

import anyzero as az
from tests.kernels.suite import case


@pytest.mark.parametrize("name", ["sscp_reduction", "sscp_histogram", "sscp_pixels", "sscp_widths"])
def test_a_kernel_of_adaptivecpp_gives_what_is_expected(name: str) -> None:
    each = case(name)
    with az.device().context() as ctx:
        kernel = ctx.module(each.spv.read_bytes())[each.kernel]
        buffers = [ctx.to_device(array) for array in each.arguments()]
        with ctx.immediate() as lst:
            kernel[each.global_size](*buffers, group=each.group_size, on=lst)
        for place, expected in each.expected(each.arguments()).items():
            assert np.array_equal(buffers[place].copy_to(), expected)
