"""Models with what a planner has to look at: control flow, states, types, names, shapes.

Those of `models` are the ordinary ones; here are the odd ones.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import openvino.opset6 as op6
from openvino import opset13 as op
from openvino.preprocess import PrePostProcessor

from tests.npu.models import Weights

Node = Any


def serialized(model: ov.Model, folder: Path) -> tuple[bytes, bytes]:
    """IR and weights, nearly as the NPU plugin hands them over."""
    xml, weights = folder / "model.xml", folder / "model.bin"
    ov.serialize(model, str(xml), str(weights))
    return xml.read_bytes(), weights.read_bytes()


def loop() -> ov.Model:
    """A Loop whose body has constants."""
    x = op.parameter([1, 4], np.float32, name="x")
    inner = op.parameter([1, 4], np.float32)
    step = op.add(op.multiply(inner, op.constant(np.float32(1.5))), op.constant(np.float32([[1, 2, 3, 4]])))
    body = ov.Model([op.result(op.constant(True)), op.result(step)], [inner], "body")
    node = op.loop(op.constant(np.int32(3)), op.constant(True))
    node.set_function(body)
    node.set_special_body_ports([-1, 0])
    node.set_merged_input(inner, x.output(0), body.results[1].output(0))
    out = node.get_iter_value(body.results[1].output(0), -1)
    return ov.Model([op.result(out)], [x], "loop")


def iterator() -> ov.Model:
    """A TensorIterator over slices."""
    x = op.parameter([1, 5, 4], np.float32, name="x")
    start = op.parameter([1, 1, 4], np.float32, name="start")
    slice_, sum_ = op.parameter([1, 1, 4], np.float32), op.parameter([1, 1, 4], np.float32)
    total = op.add(slice_, op.multiply(sum_, op.constant(np.float32(0.5))))
    body = ov.Model([op.result(total)], [slice_, sum_], "body")
    node = op.tensor_iterator()
    node.set_function(body)
    node.set_sliced_input(slice_, x.output(0), 0, 1, 1, -1, 1)
    node.set_merged_input(sum_, start.output(0), body.results[0].output(0))
    last = node.get_iter_value(body.results[0].output(0), -1)
    every = node.get_concatenated_slices(body.results[0].output(0), 0, 1, 1, -1, 1)
    return ov.Model([op.result(last), op.result(every)], [x, start], "iterator")


def scalars() -> ov.Model:
    a, b = (op.parameter([], np.float32, name=name) for name in "ab")
    return ov.Model([op.result(op.add(a, b), name="sum")], [a, b], "scalars")


def shared() -> ov.Model:
    """Several Results of one producer, and inputs that are outputs."""
    x, y = (op.parameter([2, 3], np.float32, name=name) for name in "xy")
    total = op.add(x, y)
    total.output(0).get_tensor().set_names({"sum", "the,sum", 'a<b>&"c'})
    results = [op.result(total, name="first"), op.result(y, name="passed"), op.result(total, name="second")]
    return ov.Model([*results, op.result(y, name="passed again")], [x, y], "shared & <odd>")


def booleans() -> ov.Model:
    x, y = (op.parameter([3, 2], bool, name=name) for name in "xy")
    return ov.Model([op.result(op.logical_xor(x, y)), op.result(op.logical_not(x))], [x, y], "booleans")


def brain_floats() -> ov.Model:
    x = op.parameter([2, 4], ov.Type.bf16, name="x")
    y = op.convert(op.multiply(op.convert(x, "f32"), op.constant(np.float32(2))), "bf16")
    return ov.Model([op.result(y)], [x], "brain_floats")


def preprocessed() -> ov.Model:
    """As PrePostProcessor leaves it: NHWC bytes in, with what it wrote into rt_info."""
    weights = Weights(20)
    x = op.parameter([1, 3, 8, 8], np.float32, name="image")
    y = op.relu(op.convolution(x, weights(4, 3, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1]))
    model = ov.Model([op.result(y)], [x], "preprocessed")
    steps = PrePostProcessor(model)
    steps.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC"))
    steps.input().model().set_layout(ov.Layout("NCHW"))
    steps.input().preprocess().convert_element_type(ov.Type.f32).mean(127.5).scale(64.0)
    steps.output().tensor().set_element_type(ov.Type.f16)
    return steps.build()


def bounded() -> ov.Model:
    """Two dynamic dimensions, and an output whose shape depends on the data."""
    x = op.parameter(ov.PartialShape([ov.Dimension(1, 4), 3, ov.Dimension(2, 6)]), np.float32, name="x")
    found = op.non_zero(op.relu(x), "i64")
    return ov.Model([op.result(op.exp(x), name="all"), op.result(found, name="found")], [x], "bounded")


def image() -> ov.Model:
    """For other precisions and layouts of inputs and outputs."""
    weights = Weights(21)
    x = op.parameter([1, 3, 6, 5], np.float32, name="image")
    flat = op.parameter([2, 3], np.float32, name="flat")
    y = op.relu(op.convolution(x, weights(4, 3, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1]))
    return ov.Model([op.result(y, name="map"), op.result(op.negative(flat), name="flipped")], [x, flat], "image")


def two_states() -> ov.Model:
    """Variables of both kinds of ReadValue, one an integer; an input comes after them."""
    x = op.parameter([1, 4], np.float32, name="x")
    first = op6.read_value(op.constant(np.zeros((1, 4), np.float32)), "one two", np.float32, ov.PartialShape([1, 4]))
    second = op.read_value(op.constant(np.zeros((), np.int32)), "count")
    late = op.parameter([1, 4], np.float32, name="late")
    total = op.add(op.multiply(first, late), x)
    count = op.add(second, op.constant(np.int32(1)))
    sinks = [op6.assign(total, "one two"), op.assign(count, "count")]
    results = [op.result(op.relu(total), name="total"), op.result(count, name="counted")]
    return ov.Model(results, sinks, [x, late], "two_states")


def init_from_input() -> ov.Model:
    """A state that begins as what the model computes."""
    x = op.parameter([1, 4], np.float32, name="x")
    held = op.read_value(op.multiply(x, op.constant(np.float32(0))), "held")
    total = op.add(held, x)
    return ov.Model([op.result(total)], [op.assign(total, "held")], [x], "init_from_input")


ODD: dict[str, Callable[[], ov.Model]] = {
    build.__name__: build
    for build in (loop, iterator, scalars, shared, booleans, brain_floats, preprocessed, bounded, image)
}
STATEFUL: dict[str, Callable[[], ov.Model]] = {build.__name__: build for build in (two_states, init_from_input)}
