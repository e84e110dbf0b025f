"""A model that a cluster serves, on the NPU of this process."""

from __future__ import annotations

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as op

import anyzero as az
from anyzero.cluster import replica


def test_batches_are_filled_up_and_cut() -> None:
    x = op.parameter([1, 4], np.float32, name="x")
    factor = op.constant(np.eye(4, dtype=np.float32) * 3)
    model = ov.Model([op.relu(op.matmul(x, factor, False, False))], [x], "tiny")
    sent, batch = replica.served(model, batch=4, config={})
    assert not sent.is_function
    assert batch == 4
    inputs = np.arange(12, dtype=np.float32).reshape(3, 4) - 2
    first, second = replica.infer(sent, {0: inputs}, [1, 2], [0.0, 0.0])
    np.testing.assert_allclose(np.concatenate([first, second]), np.maximum(inputs * 3, 0))
    assert first.shape == (1, 4)


def test_a_model_without_samples_has_no_batches() -> None:
    x = op.parameter([], np.float32, name="x")
    model = ov.Model([op.relu(x)], [x], "scalar")
    with pytest.raises(az.InvalidArgument, match="batch=1"):
        replica.served(model, batch=2, config={})
