"""Networks in the sizes one likes, made with OpenVINO's own builder. Weights come from fixed seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
from openvino import opset13 as op

__all__ = ["Array", "Node", "Weights", "mlp", "named", "residual", "tiny", "transformer"]

Array = np.ndarray[Any, Any]
Node = Any
"""OpenVINO has stubs for some of its builder only."""


class Weights:
    """Constants that are the same every time."""

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)

    def array(self, *shape: int, fan_in: int | None = None) -> Array:
        scale = np.sqrt(2 / (fan_in or int(np.prod(shape[1:])) or 1))
        made: Array = self._random.standard_normal(shape) * scale
        return made.astype(np.float32)

    def __call__(self, *shape: int, fan_in: int | None = None) -> Node:
        return op.constant(self.array(*shape, fan_in=fan_in))


def named(node: Node, name: str) -> Node:
    """An output port with a name of its own."""
    node.output(0).get_tensor().set_names({name})
    return node


def tiny() -> ov.Model:
    x = op.parameter([1, 16], np.float32, name="x")
    return ov.Model([named(op.relu(op.add(x, op.constant(np.float32(-0.25)))), "out")], [x], "tiny")


def mlp(width: int = 64, layers: int = 3, seed: int = 1) -> ov.Model:
    weights = Weights(seed)
    x = op.parameter([1, width], np.float32, name="x")
    y: Node = x
    for number in range(layers):
        y = op.matmul(y, weights(width, width), False, True)
        y = op.relu(op.add(y, weights(1, width, fan_in=100)), name=f"relu_{number}")
    return ov.Model([named(op.softmax(y, 1, name="probabilities"), "probabilities")], [x], "mlp")


def residual(channels: int = 16, size: int = 16, blocks: int = 2) -> ov.Model:
    """Convolutions with residuals, pooling and a classifier: a network like those for images."""
    weights = Weights(2)
    one, two, none = [1, 1], [2, 2], [0, 0]
    x = op.parameter([1, 3, size, size], np.float32, name="image")

    def convolution(y: Node, outs: int, ins: int, stride: list[int], name: str) -> Node:
        y = op.convolution(y, weights(outs, ins, 3, 3), stride, one, one, one, name=name)
        return op.add(y, weights(1, outs, 1, 1, fan_in=100), name=f"{name}/bias")

    y = op.relu(convolution(x, channels, 3, one, "stem"))
    for number in range(blocks):
        inner = op.relu(convolution(y, channels, channels, one, f"block_{number}/first"))
        inner = convolution(inner, channels, channels, one, f"block_{number}/second")
        y = op.relu(op.add(inner, y, name=f"block_{number}/sum"))
    y = op.max_pool(y, two, one, none, none, two).output(0)
    y = op.reduce_mean(y, np.array([2, 3]), False)
    y = op.matmul(y, weights(10, channels), False, True, name="classifier")
    return ov.Model([named(y, "logits")], [x], "residual")


def transformer(length: int = 8, width: int = 32, heads: int = 4) -> ov.Model:
    """One block with attention, as language models repeat it."""
    weights = Weights(3)
    x = op.parameter([1, length, width], np.float32, name="tokens")

    def norm(y: Node) -> Node:
        y = op.mvn(y, np.array([2]), True, 1e-5, "inside_sqrt")
        return op.add(op.multiply(y, weights(1, 1, width, fan_in=2)), weights(1, 1, width, fan_in=100))

    def linear(y: Node, outs: int, ins: int, name: str) -> Node:
        return op.matmul(y, weights(outs, ins, fan_in=2 * ins), False, True, name=name)

    def split(y: Node) -> Node:
        y = op.reshape(y, np.array([0, 0, heads, width // heads]), True)
        return op.transpose(y, np.array([0, 2, 1, 3]))

    y = norm(x)
    query, key, value = (split(linear(y, width, width, name)) for name in ("query", "key", "value"))
    scores = op.multiply(op.matmul(query, key, False, True), op.constant(np.float32((width // heads) ** -0.5)))
    attended = op.matmul(op.softmax(scores, -1, name="attention"), value, False, False)
    attended = op.reshape(op.transpose(attended, np.array([0, 2, 1, 3])), np.array([0, 0, width]), True)
    y = op.add(x, linear(attended, width, width, "projection"))
    inner = op.gelu(linear(norm(y), 4 * width, width, "up"), "tanh")
    y = op.add(y, linear(inner, width, 4 * width, "down"))
    return ov.Model([named(y, "out")], [x], "transformer")
