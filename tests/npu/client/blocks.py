"""Models that the plugin cuts into parts, with one part for all layers that are alike, as it does with language models.

Its option NPU_USE_NPUW has it do so; with NPUW_FOLD a repeated block is compiled once and its weights are inputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as op

from tests.npu.client.conftest import DEVICE

WIDTH, ROWS = 32, 8
SHARE = 0.05
"""Of the largest result: the plugin makes weights and what passes between parts half precision."""


def weights(layers: int) -> list[tuple[Any, Any]]:
    drawn = np.random.default_rng(3)

    def matrix(rows: int, columns: int) -> Any:
        return (drawn.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)

    return [(matrix(WIDTH, 2 * WIDTH), matrix(2 * WIDTH, WIDTH)) for _ in range(layers)]


def layered(matrices: list[tuple[Any, Any]]) -> ov.Model:
    x = op.parameter([1, ROWS, WIDTH], np.float32, name="x")
    value = x
    for up, down in matrices:
        normal = op.mvn(value, [-1], True, 1e-5, "inside_sqrt")
        inner = op.relu(op.matmul(normal, op.constant(up), False, False))
        value = op.add(value, op.matmul(inner, op.constant(down), False, False))
    return ov.Model([op.result(value)], [x], "layered")


def expected(matrices: list[tuple[Any, Any]], x: Any) -> Any:
    for up, down in matrices:
        normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        x = x + np.maximum(normal @ up, 0) @ down
    return x


@pytest.mark.parametrize("fold", ["YES", "NO"])
def test_a_model_of_repeated_layers(core: ov.Core, fold: str) -> None:
    matrices = weights(6)
    settings = {"NPU_USE_NPUW": "YES", "NPUW_FOLD": fold, "NPUW_DEVICES": DEVICE}
    request = core.compile_model(layered(matrices), DEVICE, settings).create_infer_request()
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((1, ROWS, WIDTH)).astype(np.float32)
        wanted = expected(matrices, x)
        request.infer([x])
        np.testing.assert_allclose(request.get_output_tensor().data, wanted, atol=SHARE * np.abs(wanted).max())
