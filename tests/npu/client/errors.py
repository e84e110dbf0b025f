"""Errors have our messages, and do not affect later work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as op

from tests.npu import models
from tests.npu.client.conftest import DEVICE, infer

Compiled = Callable[[str], ov.CompiledModel]


class Fold(ov.Op):  # type: ignore[misc]
    """An operation known only to this file."""

    def __init__(self, inputs: Any = None) -> None:
        super().__init__(self, inputs)
        if inputs is not None:
            self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self) -> None:
        self.set_output_type(0, self.get_input_element_type(0), self.get_input_partial_shape(0))

    def clone_with_new_inputs(self, new_inputs: Any) -> Fold:
        return Fold(new_inputs)

    def visit_attributes(self, _: Any) -> bool:
        return True


def unknown_operation() -> ov.Model:
    x = op.parameter([1, 4], np.float32, name="x")
    folded = Fold([op.relu(x)])
    folded.set_friendly_name("strange_layer")
    return ov.Model([op.result(folded.output(0))], [x], "unknown")


def refusal(core: ov.Core, model: ov.Model) -> str:
    with pytest.raises(RuntimeError) as raised:
        core.compile_model(model, DEVICE)
    # Whatever was refused, the next one works.
    case = models.case("tiny")
    inputs = case.inputs()
    case.check(infer(core.compile_model(case.build(), DEVICE).create_infer_request(), inputs), inputs)
    return str(raised.value)


def test_too_many_dimensions(core: ov.Core) -> None:
    said = refusal(core, models.rank_six())
    assert '"x" (Parameter) has 6 dimensions' in said
    assert "5 at most" in said


def test_outputs_without_bounds(core: ov.Core) -> None:
    """Its shape is what the values of an input say."""
    x, shape = op.parameter([1, 8], np.float32, name="x"), op.parameter([2], np.int64, name="shape")
    said = refusal(core, ov.Model([op.reshape(x, shape, False, name="reshaped")], [x, shape], "shaped"))
    assert "UNSUPPORTED_FEATURE" in said
    assert "without an upper bound" in said
    assert "model.reshape(" in said


def test_dimensions_without_bounds(core: ov.Core) -> None:
    said = refusal(core, models.unbounded())
    assert "endless" in said
    assert "bound" in said


def test_an_operation_that_nobody_knows(core: ov.Core) -> None:
    said = refusal(core, unknown_operation())
    assert "strange_layer" in said or "Fold" in said


def test_tensors_that_do_not_fit(compiled: Compiled) -> None:
    request = compiled("mlp").create_infer_request()
    for wrong in (np.zeros((1, 65), np.float32), np.zeros((2, 64), np.float32), np.zeros((1, 64), np.int32)):
        with pytest.raises(RuntimeError):
            request.set_input_tensor(ov.Tensor(wrong))
    case = models.case("mlp")
    inputs = case.inputs()
    case.check(infer(request, inputs), inputs)


def test_options_that_do_not_exist(core: ov.Core) -> None:
    with pytest.raises(RuntimeError, match="NPU_NO_SUCH_THING"):
        core.compile_model(models.tiny(), DEVICE, {"NPU_NO_SUCH_THING": "1"})
