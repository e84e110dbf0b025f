"""The models of the tests, each with inputs and with what OpenVINO's CPU device makes of them.

They are made with OpenVINO's own builder, or from ONNX graphs. Nothing here knows of an NPU. Weights come from fixed
seeds, so a model is the same in every process.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import openvino as ov
from openvino import opset13 as op

from benchmarks.npu.networks import Array, Weights, mlp, named, residual, tiny, transformer
from tests.npu import onnx_models


def aligned(array: Array, page: int = 4096) -> Array:
    """A copy of an array that begins with a page and has whole pages to itself."""
    size = -(-array.nbytes // page) * page
    memory = np.zeros(size + page, np.uint8)
    start = -memory.ctypes.data % page
    made = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


@functools.cache
def core() -> ov.Core:
    """The OpenVINO core that reads models and computes expected results."""
    return ov.Core()


def large(megabytes: int = 50) -> ov.Model:
    """Weights of that many megabytes and next to no computation."""
    width, layers = 1024, megabytes * (1 << 20) // (4 * 1024 * 1024)
    model = mlp(width, layers, seed=7)
    model.set_friendly_name("large")
    return model


def lstm(length: int = 6, features: int = 8, hidden: int = 16) -> ov.Model:
    weights = Weights(4)
    x = op.parameter([1, length, features], np.float32, name="sequence")
    start, cell = (op.parameter([1, 1, hidden], np.float32, name=name) for name in ("hidden", "cell"))
    sequence = op.lstm_sequence(
        x,
        start,
        cell,
        np.array([length], np.int64),
        weights(1, 4 * hidden, features, fan_in=features),
        weights(1, 4 * hidden, hidden, fan_in=hidden),
        weights(1, 4 * hidden, fan_in=100),
        hidden,
        "FORWARD",
    )
    results = []
    for index, name in enumerate(("all", "last_hidden", "last_cell")):
        sequence.output(index).get_tensor().set_names({name})
        results.append(op.result(sequence.output(index)))
    return ov.Model(results, [x, start, cell], "lstm")


def integers(kind: Any) -> ov.Model:
    """Arithmetic with exact results, with inputs and outputs of that type."""
    x, y = (op.parameter([2, 8], kind, name=name) for name in "xy")
    total = op.subtract(op.multiply(x, op.constant(np.array(3, kind))), y)
    least = op.minimum(total, op.constant(np.array(100, kind)))
    return ov.Model([named(least, "least"), named(op.maximum(x, y), "most")], [x, y], f"integers_{np.dtype(kind)}")


def lookup() -> ov.Model:
    """Indices that choose rows, i64 in, f32 and i32 out: what begins and ends a language model."""
    weights = Weights(5)
    tokens = op.parameter([1, 6], np.int64, name="tokens")
    rows = op.gather(weights(20, 12), tokens, op.constant(np.int64(0)))
    best = op.topk(rows, op.constant(np.int64(2)), 2, "max", "value", "i32")
    found = []
    for index, name in enumerate(("values", "indices")):
        best.output(index).get_tensor().set_names({name})
        found.append(op.result(best.output(index)))
    return ov.Model(found, [tokens], "lookup")


def quantized() -> ov.Model:
    """A picture of bytes and weights of signed bytes, computed in floating point."""
    random = np.random.default_rng(6)
    x = op.parameter([1, 3, 8, 8], np.uint8, name="picture")
    kernel = op.constant(random.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8))
    scaled = op.multiply(op.convert(kernel, "f32"), op.constant(np.full((4, 1, 1, 1), 1 / 127, np.float32)))
    y = op.multiply(op.convert(x, "f32"), op.constant(np.float32(1 / 255)))
    y = op.convolution(y, scaled, [1, 1], [1, 1], [1, 1], [1, 1])
    return ov.Model([named(op.relu(y), "features")], [x], "quantized")


def condition() -> ov.Model:
    """An `If` whose branches differ in what they compute."""
    choice = op.parameter([], bool, name="choice")
    x = op.parameter([2, 4], np.float32, name="x")
    node = op.if_op(choice.output(0))
    bodies = []
    for factor, constant in ((2.0, 1.0), (-1.0, 0.5)):
        inner = op.parameter([2, 4], np.float32)
        value = op.add(op.multiply(inner, op.constant(np.float32(factor))), op.constant(np.float32(constant)))
        bodies.append((inner, op.result(value)))
    for number, (inner, result) in enumerate(bodies):
        body = ov.Model([result], [inner], f"body_{number}")
        (node.set_else_body if number else node.set_then_body)(body)
    node.set_input(x.output(0), bodies[0][0], bodies[1][0])
    chosen = node.set_output(bodies[0][1], bodies[1][1])
    return ov.Model([named(op.relu(chosen), "chosen")], [choice, x], "condition")


def stateful() -> ov.Model:
    """Adds up what it is given, over calls."""
    x = op.parameter([1, 4], np.float32, name="x")
    held = op.read_value(op.constant(np.zeros((1, 4), np.float32)), "total")
    total = op.add(held, x)
    kept = op.assign(total, "total")
    twice = named(op.multiply(total, op.constant(np.float32(2.0))), "twice")
    return ov.Model([op.result(twice)], [kept], [x], "stateful")


def dynamic(most: int = 8) -> ov.Model:
    """Rows of which there may be 1 up to `most`."""
    weights = Weights(8)
    x = op.parameter(ov.PartialShape([ov.Dimension(1, most), 16]), np.float32, name="rows")
    y = op.matmul(x, weights(4, 16), False, True)
    return ov.Model([named(op.relu(y), "out")], [x], "dynamic")


def outputs() -> ov.Model:
    """Three outputs of different shapes, one of them an input that is passed on."""
    weights = Weights(9)
    x, y = (op.parameter([2, 6], np.float32, name=name) for name in "xy")
    total = named(op.add(x, y), "sum")
    product = named(op.matmul(total, weights(3, 6), False, True), "product")
    mean = named(op.reduce_mean(y, np.array([0, 1]), False), "mean")
    return ov.Model([total, product, mean], [x, y], "outputs")


def batched(batch: int = 4) -> ov.Model:
    """A picture network for several pictures at a time, whose first axis is declared to be that."""
    weights = Weights(10)
    x = op.parameter([batch, 3, 8, 8], np.float32, name="images")
    x.set_layout(ov.Layout("NCHW"))
    y = op.relu(op.convolution(x, weights(6, 3, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1]))
    y = op.matmul(op.reduce_mean(y, np.array([2, 3]), False), weights(5, 6), False, True)
    result = op.result(named(y, "scores"))
    result.set_layout(ov.Layout("NC"))
    return ov.Model([result], [x], "batched")


def half() -> ov.Model:
    """Weights stored in 16 bits and converted at their uses, as models are saved by default."""
    weights = Weights(11)
    x = op.parameter([1, 32], np.float32, name="x")
    stored = op.constant(weights.array(24, 32).astype(np.float16))
    y = op.matmul(x, op.convert(stored, "f32"), False, True)
    return ov.Model([named(op.tanh(y), "out")], [x], "half")


def half_ports() -> ov.Model:
    """16 bits in and out as well."""
    x = op.parameter([2, 8], np.float16, name="x")
    y = op.multiply(op.add(x, op.constant(np.float16(0.5))), op.constant(np.float16(2)))
    return ov.Model([named(y, "out")], [x], "half_ports")


def rank_six() -> ov.Model:
    """More dimensions than the device's arguments have."""
    x = op.parameter([1, 2, 1, 2, 1, 2], np.float32, name="x")
    return ov.Model([op.relu(x, name="too_deep")], [x], "rank_six")


def unbounded() -> ov.Model:
    x = op.parameter(ov.PartialShape([-1, 4]), np.float32, name="endless")
    return ov.Model([op.relu(x)], [x], "unbounded")


@dataclass(frozen=True)
class Case:
    """A model, inputs for it, and what the CPU device makes of them."""

    name: str
    build: Callable[[], ov.Model]
    draw: Callable[[np.random.Generator], Sequence[Array]] | None = None
    """Inputs for the model; by default standard normal ones."""
    exact: bool = False
    """The result has no rounding in it."""

    def inputs(self, seed: int = 0) -> list[Array]:
        random = np.random.default_rng(1000 + seed)
        if self.draw is not None:
            return list(self.draw(random))
        ports = self.build().inputs
        return [random.standard_normal(list(port.shape)).astype(port.get_element_type().to_dtype()) for port in ports]

    def expected(self, inputs: Sequence[Array]) -> list[Array]:
        """The results of OpenVINO's CPU device."""
        request = _on_cpu(self.name).create_infer_request()
        request.infer(list(inputs))
        return [tensor.data.copy() for tensor in request.output_tensors]

    def check(self, found: Sequence[Array], inputs: Sequence[Array]) -> None:
        """Assert that results are those of the CPU device."""
        self.compare(found, self.expected(inputs))

    def compare(self, found: Sequence[Array], wanted: Sequence[Array]) -> None:
        """Assert that both are the same, in number, shape, type and, within the precision, value."""
        assert len(found) == len(wanted)
        for index, (ours, theirs) in enumerate(zip(found, wanted, strict=True)):
            assert ours.shape == theirs.shape, f"{self.name}, output {index}"
            assert ours.dtype == theirs.dtype, f"{self.name}, output {index}"
            if self.exact or theirs.dtype.kind not in "f":
                np.testing.assert_array_equal(ours, theirs, f"{self.name}, output {index}")
            else:
                room = tolerance() * float(np.abs(theirs).max(initial=1e-6))
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=room, err_msg=f"{self.name}, output {index}")


@functools.cache
def tolerance() -> float:
    """Tolerance relative to the largest result: the CPU device may compute in 16 bits.

    With 32 bits the order of sums differs, which depends on the instructions and on the number of threads.
    """
    return 1e-3 if core().get_property("CPU", "INFERENCE_PRECISION_HINT") == ov.Type.f32 else 0.05


def _whole(kind: Any, low: int, high: int, *shapes: tuple[int, ...]) -> Callable[[np.random.Generator], list[Array]]:
    return lambda random: [random.integers(low, high, shape).astype(kind) for shape in shapes]


def _choice(random: np.random.Generator) -> list[Array]:
    return [np.array(random.integers(2) == 1), random.standard_normal((2, 4)).astype(np.float32)]


def _rows(random: np.random.Generator) -> list[Array]:
    return [random.standard_normal((int(random.integers(1, 9)), 16)).astype(np.float32)]


def _cases() -> tuple[Case, ...]:
    pair = ((2, 8), (2, 8))
    return (
        Case("tiny", tiny),
        Case("mlp", mlp),
        Case("residual", residual),
        Case("transformer", transformer),
        Case("lstm", lstm),
        Case("integers_i32", lambda: integers(np.int32), _whole(np.int32, -1000, 1000, *pair), exact=True),
        Case("integers_i64", lambda: integers(np.int64), _whole(np.int64, -1000, 1000, *pair), exact=True),
        Case("integers_u8", lambda: integers(np.uint8), _whole(np.uint8, 20, 60, *pair), exact=True),
        Case("integers_i8", lambda: integers(np.int8), _whole(np.int8, -20, 20, *pair), exact=True),
        Case("lookup", lookup, _whole(np.int64, 0, 20, (1, 6))),
        Case("quantized", quantized, _whole(np.uint8, 0, 256, (1, 3, 8, 8))),
        Case("condition", condition, _choice),
        Case("dynamic", dynamic, _rows),
        Case("outputs", outputs),
        Case("batched", batched),
        Case("half", half),
        Case("half_ports", half_ports),
        *(Case(f"onnx_{build.__name__}", build) for build in onnx_models.MODELS),
    )


CASES: Final = _cases()
"""All models whose result depends only on inputs; `stateful` and `large` have separate tests."""


def case(name: str) -> Case:
    return next(each for each in CASES if each.name == name)


@functools.cache
def _on_cpu(name: str) -> ov.CompiledModel:
    return core().compile_model(case(name).build(), "CPU")
