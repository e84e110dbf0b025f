"""Random programs of the language: the compiled kernel computes what the simulated one does."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings

from tests.language.random_programs import LENGTH, compiled, programs
from tests.language.running import run, validate
from tests.thorough import examples


def inputs() -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [
        rng.integers(-100, 100, LENGTH, np.int32) * np.where(np.arange(LENGTH) % 4, 1, 16000000).astype(np.int32),
        rng.integers(0, 2**32, LENGTH, np.uint32),
        rng.integers(-(2**40), 2**40, LENGTH),
        (rng.standard_normal(LENGTH) * 50).astype(np.float32),
        rng.standard_normal(LENGTH),
        rng.integers(0, 256, LENGTH, np.uint8),
    ]


@settings(max_examples=examples(5, 100), suppress_health_check=list(HealthCheck))
@given(programs())
def test_programs(text: str) -> None:
    kernel = compiled(text)
    validate(kernel.spirv)
    results = np.zeros((3, LENGTH), np.int64), np.zeros((3, LENGTH))
    found = run(kernel, LENGTH, *results, *inputs())
    kernel.simulate[LENGTH](*results, *inputs())
    np.testing.assert_array_equal(found[0], results[0], text)
    np.testing.assert_array_equal(found[1], results[1], text)
