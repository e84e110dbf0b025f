"""What begins with a guess of the processor is as good as what was computed at length."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler.builtins.library import routine
from anyzero.compiler.targets import cpu
from tests.compiler.builtins import samples
from tests.compiler.builtins.machine import with_estimates
from tests.compiler.builtins.truth import errors, wanted

NAMES = ("rsqrt", "native_rsqrt", "half_rsqrt")
has_estimates = pytest.mark.skipif(not cpu.host().wide, reason="this processor has no AVX-512")


@has_estimates
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lanes", [4, 8, 16, 32, 64])
def test_floats_keep_the_bound(name: str, lanes: int) -> None:
    x = np.concatenate([samples.edges("float"), samples.strided(60000), samples.within("float", 1, 4, 60000)])
    got = with_estimates(name, "float", lanes)(x)[0]
    assert errors(got, *wanted("rsqrt", x, exact=False)).max() <= 1.5


@has_estimates
@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 64])
def test_doubles_keep_the_bound(lanes: int) -> None:
    points = [samples.edges("double"), samples.of_all_sizes("double", 300), samples.within("double", 1, 4, 2000)]
    x = np.concatenate(points)
    got = with_estimates("rsqrt", "double", lanes)(x)[0]
    assert errors(got, *wanted("rsqrt", x, exact=True)).max() <= 1.5


@has_estimates
@pytest.mark.parametrize(("element", "dtype"), [("float", np.float32), ("double", np.float64)])
def test_edges_are_exact(element: str, dtype: type) -> None:
    x = np.array([0.0, -0.0, np.inf, 1.0, 4.0, 0.25, -1.0, -np.inf, np.nan], dtype)
    got = with_estimates("rsqrt", element, 8)(x)[0].tolist()
    assert got[:6] == [np.inf, -np.inf, 0.0, 1.0, 0.5, 2.0]
    assert np.isnan(got[6:]).all()


def test_only_whole_registers_are_guessed() -> None:
    for element, lanes in (("float", 0), ("float", 2), ("float", 12), ("double", 0), ("half", 2)):
        assert "rsqrt14" not in routine("rsqrt", element, lanes, estimates=True).text
    assert "rsqrt14" in routine("rsqrt", "half", 16, estimates=True).text
    assert "rsqrt14" not in routine("rsqrt", "float", 16).text
