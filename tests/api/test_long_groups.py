"""Launches of few groups that take long: they are shared out at once, and cut where the kernel cannot tell."""

from __future__ import annotations

import numpy as np
import pytest

import anyzero as az
from tests.api.kernels import KERNELS
from tests.kernels.topics.long_groups import churned

ROUNDS = 3000
LAUNCHES = 4
"""The first ones tell how long a work-item takes."""


@pytest.mark.parametrize("group", [(1024, 1), (512, 2), (96, 4), (1, 3), (1000, 1)])
@pytest.mark.parametrize("name", ["unaware", "aware"])
def test_every_work_item_runs_once(ctx: az.Context, name: str, group: tuple[int, int]) -> None:
    groups = (3, 2)
    width, height = groups[0] * group[0], groups[1] * group[1]
    to = ctx.zeros(width * height, np.uint32, kind="shared")
    kernel = ctx.module(KERNELS / "long_groups.spv")[name]
    for _ in range(LAUNCHES):
        kernel[width, height](to, np.uint32(ROUNDS), group=group)
    expected = churned(width * height, ROUNDS)
    if name == "aware":
        expected += np.uint32(group[0] * 1000 + groups[0])
    np.testing.assert_array_equal(to.copy_to(), expected * np.uint32(LAUNCHES))
