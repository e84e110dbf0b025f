"""Halves are computed as floats: all 65536 of them, and what is allowed to be less exact than the full functions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.builtins import samples
from tests.compiler.builtins.machine import compiled
from tests.compiler.builtins.test_accuracy import BOUNDS, PAIRS, SLOW, WITH_INTEGERS
from tests.compiler.builtins.truth import C_RULES, errors, wanted

EVERY_HALF = np.arange(1 << 16).astype(np.uint16).view(np.float16)
QUIET = EVERY_HALF[~np.isnan(EVERY_HALF)]
UNARY = ("exp", "exp2", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "sqrt", "rsqrt")
# Ordinary operands of the fast functions, as large as they may be.
ORDINARY = {"exp": (-80, 80), "exp2": (-120, 120), "exp10": (-37, 37)} | dict.fromkeys(
    ("sin", "cos", "tan"), (-60000, 60000)
)
TESTED = {f"{kind}_{name}" for kind in ("half", "native") for name in (*UNARY, "recip", "divide", "powr")}


@pytest.mark.parametrize("name", BOUNDS)
def test_every_half(name: str) -> None:
    x = EVERY_HALF[::37] if name in SLOW else EVERY_HALF
    if name == "lgamma":
        x = x[~(x < 0)]
    with np.errstate(all="ignore"):
        found = errors(compiled(name, "half")(x)[0], *wanted(name, x, exact=False))
    assert found.max() <= 0.51, x[int(np.argmax(found))]


@pytest.mark.parametrize("name", [*PAIRS, *WITH_INTEGERS])
def test_pairs_of_halves(name: str) -> None:
    x = np.concatenate([samples.edges("half"), QUIET[::91]])
    if name in PAIRS:
        y = np.concatenate([samples.edges("half"), QUIET[::97]])
    else:
        y = np.arange(-20, 20)
    x, y = (axis.ravel() for axis in np.meshgrid(x, y))
    y = y.astype(np.float16 if name in PAIRS else np.int32)
    with np.errstate(all="ignore"):
        found = errors(compiled(name, "half")(x, y)[0], *wanted(name, x, y, exact=False))
    at = int(np.argmax(found))
    assert found[at] <= 0.51, (x[at], y[at])


@pytest.mark.parametrize("element", ["half", "float", "double"])
@pytest.mark.parametrize("name", UNARY)
def test_half_functions(name: str, element: str) -> None:
    """Within 8192 units of floats wherever they are defined, edges included."""
    low, high = ORDINARY.get(name, (0.0, 1e4))
    low, high = (low / 2, high / 2) if element == "half" else (low, high)
    x = np.concatenate([samples.edges(element), samples.within(element, low, high, 3000)])
    if name in ("sin", "cos", "tan"):
        x = x[~(np.abs(x) > 60000) | np.isinf(x)]
    with np.errstate(all="ignore"):
        found = errors(compiled(f"half_{name}", element)(x)[0], *wanted(name, x, exact=False))
    assert found.max() <= 8, x[int(np.argmax(found))]


@pytest.mark.parametrize("name", UNARY)
def test_native_functions(name: str) -> None:
    low, high = ORDINARY.get(name, (1e-30, 1e4))
    x = samples.within("float", low, high, 5000)
    x = x[np.abs(C_RULES[name](x.astype(np.float64))) > 1e-3] if name in ("sin", "cos", "tan") else x
    right = C_RULES[name](x.astype(np.float64))
    assert np.abs(compiled(f"native_{name}", "float")(x)[0] / right - 1).max() <= 2e-5


@pytest.mark.parametrize("kind", ["half", "native"])
@pytest.mark.parametrize("element", ["half", "float", "double"])
def test_quotients_and_powers(kind: str, element: str) -> None:
    x, y = (samples.within(element, 0.1, 4, 1000, seed) for seed in (1, 2))
    eps = float(np.finfo(x.dtype).eps)
    wide = x.astype(np.float64)
    assert np.abs(compiled(f"{kind}_recip", element)(x)[0] * wide - 1).max() <= 2 * eps
    assert np.abs(compiled(f"{kind}_divide", element)(x, y)[0] * y.astype(np.float64) / wide - 1).max() <= 2 * eps
    assert np.abs(compiled(f"{kind}_powr", element)(x, y)[0] / wide ** y.astype(np.float64) - 1).max() <= max(eps, 5e-5)


def test_native_functions_of_zero() -> None:
    zero = np.zeros(16, np.float32)
    assert (compiled("native_log", "float")(zero)[0] == -np.inf).all()
    assert (compiled("native_exp", "float")(zero)[0] == 1).all()
    assert (compiled("native_powr", "float")(zero, zero + 2)[0] == 0).all()
