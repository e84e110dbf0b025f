"""Models as other frameworks hand them over: small ONNX graphs, read by OpenVINO."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import onnx
import openvino as ov
from onnx import TensorProto, helper, numpy_helper

OPSET: Final = 17
Array = np.ndarray[Any, Any]


def _constants(**arrays: Array) -> list[TensorProto]:
    return [numpy_helper.from_array(array, name) for name, array in arrays.items()]


def _port(name: str, shape: Sequence[int], kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _random(seed: int) -> Callable[..., Array]:
    source = np.random.default_rng(seed)
    return lambda *shape, scale=0.3: (source.standard_normal(shape) * scale).astype(np.float32)


def _read(graph: onnx.GraphProto) -> ov.Model:
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model)
    return ov.Core().read_model(io.BytesIO(model.SerializeToString()))


def perceptron() -> ov.Model:
    array = _random(20)
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], transB=1),
        helper.make_node("Sigmoid", ["h"], ["s"]),
        helper.make_node("Gemm", ["s", "w2", "b2"], ["y"], transB=1),
    ]
    weights = _constants(w1=array(24, 12), b1=array(24), w2=array(5, 24), b2=array(5))
    return _read(helper.make_graph(nodes, "perceptron", [_port("x", [2, 12])], [_port("y", [2, 5])], weights))


def convolution() -> ov.Model:
    array = _random(21)
    nodes = [
        helper.make_node("Conv", ["x", "kernel"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"]),
        helper.make_node("LeakyRelu", ["n"], ["a"], alpha=0.1),
        helper.make_node("GlobalAveragePool", ["a"], ["y"]),
    ]
    weights = _constants(
        kernel=array(8, 3, 3, 3),
        scale=array(8, scale=1),
        shift=array(8),
        mean=array(8),
        variance=np.abs(array(8, scale=1)) + np.float32(0.5),
    )
    ports = [_port("x", [1, 3, 12, 12])], [_port("y", [1, 8, 1, 1])]
    return _read(helper.make_graph(nodes, "convolution", *ports, weights))


def recurrent() -> ov.Model:
    array = _random(22)
    nodes = [
        helper.make_node("LSTM", ["x", "w", "r", "b"], ["all", "last", ""], hidden_size=6, direction="bidirectional"),
    ]
    weights = _constants(w=array(2, 24, 4), r=array(2, 24, 6), b=array(2, 48))
    ports = [_port("x", [5, 1, 4])], [_port("all", [5, 2, 1, 6]), _port("last", [2, 1, 6])]
    return _read(helper.make_graph(nodes, "recurrent", *ports, weights))


def branches() -> ov.Model:
    """An `If` that chooses by what a sum is, with weights inside of its branches."""
    array = _random(23)

    def branch(name: str) -> onnx.GraphProto:
        made = helper.make_node("MatMul", ["x", f"{name}_w"], [f"{name}_y"])
        return helper.make_graph(
            [made], name, [], [_port(f"{name}_y", [2, 3])], _constants(**{f"{name}_w": array(4, 3)})
        )

    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["positive"]),
        helper.make_node("If", ["positive"], ["y"], then_branch=branch("then"), else_branch=branch("else")),
    ]
    weights = _constants(zero=np.zeros((), np.float32))
    return _read(helper.make_graph(nodes, "branches", [_port("x", [2, 4])], [_port("y", [2, 3])], weights))


MODELS: Final = (perceptron, convolution, recurrent, branches)
