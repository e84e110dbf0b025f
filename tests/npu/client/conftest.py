"""Fixtures of the checks in this folder. `test_openvino_client.py` starts the process that runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import openvino as ov
import pytest

import anyzero
from tests.npu import models

DEVICE = "NPU"


@pytest.fixture(scope="session")
def core() -> ov.Core:
    anyzero.enable_openvino()
    return ov.Core()


@pytest.fixture(scope="session")
def compiled(core: ov.Core) -> Callable[[str], ov.CompiledModel]:
    """A case's model on the NPU, compiled once."""
    made: dict[str, ov.CompiledModel] = {}

    def compile_(name: str) -> ov.CompiledModel:
        if name not in made:
            made[name] = core.compile_model(models.case(name).build(), DEVICE)
        return made[name]

    return compile_


def outputs(request: ov.InferRequest) -> list[models.Array]:
    """Copies of what a request has computed."""
    return [tensor.data.copy() for tensor in request.output_tensors]


def infer(request: ov.InferRequest, inputs: Sequence[Any]) -> list[models.Array]:
    request.infer(list(inputs))
    return outputs(request)
