"""Every function of reals keeps within the error that OpenCL allows it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.builtins import samples
from tests.compiler.builtins.machine import DTYPES, compiled, unfused
from tests.compiler.builtins.truth import errors, wanted

Ranges = tuple[tuple[float, float], ...]

# What OpenCL allows, in units of the last place, and where to look besides everywhere.
BOUNDS: dict[str, tuple[float, Ranges]] = {
    "exp": (3, ((-1, 1), (-104, 90), (-746, 710))),
    "exp2": (3, ((-1, 1), (-150, 129), (-1075, 1025))),
    "exp10": (3, ((-1, 1), (-46, 39), (-324, 309))),
    "expm1": (3, ((-1, 1), (-40, 90), (0.3, 0.4))),
    "log": (3, ((0, 2), (0.9, 1.1), (0, 1e5))),
    "log2": (3, ((0, 2), (0.9, 1.1), (0, 1e5))),
    "log10": (3, ((0, 2), (0.9, 1.1), (0, 1e5))),
    "log1p": (2, ((-1, 2), (-0.1, 0.1), (0.38, 0.46))),
    "sin": (4, ((-8, 8), (-7e4, 7e4), (-1e13, 1e13), (3.1415, 3.1417))),
    "cos": (4, ((-8, 8), (-7e4, 7e4), (-1e13, 1e13), (1.5707, 1.5709))),
    "tan": (5, ((-8, 8), (-7e4, 7e4), (-1e13, 1e13), (3.1415, 3.1417))),
    "sinpi": (4, ((-3, 3), (-1e4, 1e4), (-0.01, 0.01))),
    "cospi": (4, ((-3, 3), (-1e4, 1e4), (0.49, 0.51))),
    "tanpi": (6, ((-3, 3), (-1e4, 1e4), (0.49, 0.51))),
    "asin": (4, ((-1, 1), (0.45, 0.55))),
    "acos": (4, ((-1, 1), (0.99, 1))),
    "atan": (5, ((-1, 1), (-10, 10))),
    "asinpi": (5, ((-1, 1), (0.45, 0.55))),
    "acospi": (5, ((-1, 1), (0.99, 1))),
    "atanpi": (5, ((-1, 1), (-10, 10))),
    "sinh": (4, ((-1, 1), (-90, 90), (-711, 711))),
    "cosh": (4, ((-1, 1), (-90, 90), (-711, 711))),
    "tanh": (5, ((-1, 1), (-10, 10), (-20, 20))),
    "asinh": (4, ((-1, 1), (-100, 100))),
    "acosh": (4, ((1, 2), (1, 100))),
    "atanh": (5, ((-1, 1), (-0.1, 0.1))),
    "sqrt": (0.5001, ((0, 1),)),
    "rsqrt": (2, ((0, 1),)),
    "cbrt": (2, ((0, 8),)),
    "erf": (16, ((-1, 1), (-6, 6))),
    "erfc": (16, ((-1, 1), (-6, 28))),
    "tgamma": (16, ((-6, 6), (0, 172), (-185, 0))),
    # No bound there; this is what there is, away from the roots on the negative side.
    "lgamma": (8, ((0.01, 5), (0, 1000))),
}
PAIRS: dict[str, tuple[float, tuple[tuple[tuple[float, float], tuple[float, float]], ...]]] = {
    "pow": (16, (((0, 2), (-100, 100)), ((0.99, 1.01), (-1e4, 1e4)), ((0.5, 2), (-1000, 1000)), ((0, 1e4), (-9, 9)))),
    "powr": (16, (((0, 2), (-100, 100)), ((0.99, 1.01), (-1e4, 1e4)))),
    "atan2": (6, (((-1, 1), (-1, 1)), ((-1, 1), (-100, 100)))),
    "atan2pi": (6, (((-1, 1), (-1, 1)), ((-1, 1), (-100, 100)))),
    "hypot": (4, (((-1, 1), (-1, 1)), ((-1, 1), (-100, 100)))),
}
WITH_INTEGERS: dict[str, tuple[float, tuple[tuple[tuple[float, float], tuple[int, int]], ...]]] = {
    "pown": (16, (((-10, 10), (-20, 20)), ((0, 2), (-300, 300)), ((0.999999, 1.000001), (-(2**31), 2**31 - 1)))),
    "rootn": (16, (((0, 10), (-20, 20)), ((0, 1e6), (-300, 300)), ((0, 1e6), (-(2**31), 2**31 - 1)))),
}
# Functions whose value in doubles takes long to compute.
SLOW = {"tgamma", "lgamma", "sinpi", "cospi", "tanpi"}


def worst(name: str, bound: float, operands: list[np.ndarray], exact: bool) -> None:
    """With fused multiply-adds, and without."""
    element = {4: "float", 8: "double"}[operands[0].itemsize]
    right = wanted(name, *operands, exact=exact)
    for how in (compiled, unfused):
        got = how(name, element)(*operands)[0]
        found = errors(got, *right)
        at = int(np.argmax(found))
        where = [operand[at].item() for operand in operands]
        assert found[at] <= bound, f"{name}{where} is {got[at]!r}, {found[at]:.3} units off, {how.__name__}"


@pytest.mark.parametrize("name", BOUNDS)
def test_floats_keep_the_bound(name: str) -> None:
    bound, ranges = BOUNDS[name]
    count = 4000 if name in SLOW else 60000
    points = [samples.edges("float"), samples.strided(count)]
    points += [samples.within("float", low, high, count // 2) for low, high in ranges]
    if name == "lgamma":
        points = [x[~(x < 0)] for x in points]
    worst(name, bound, [np.concatenate(points)], exact=False)


@pytest.mark.parametrize("name", BOUNDS)
def test_doubles_keep_the_bound(name: str) -> None:
    bound, ranges = BOUNDS[name]
    points = [samples.edges("double"), samples.of_all_sizes("double", 300)]
    points += [samples.within("double", low, high, 300) for low, high in ranges]
    if name == "lgamma":
        points = [x[~(x < 0)] for x in points]
    worst(name, bound, [np.concatenate(points)], exact=True)


def grid(element: str) -> list[np.ndarray]:
    """Each edge with each."""
    edges = samples.edges(element)
    return [axis.ravel() for axis in np.meshgrid(edges, edges)]


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("element", ["float", "double"])
def test_functions_of_two_keep_the_bound(name: str, element: str) -> None:
    bound, ranges = PAIRS[name]
    worst(name, bound, grid(element), exact=element == "double")
    count = 500 if element == "double" else 30000
    for first, second in ranges:
        operands = [samples.within(element, *first, count, 3), samples.within(element, *second, count, 4)]
        worst(name, bound, operands, exact=element == "double")
    operands = [samples.of_all_sizes(element, count, seed)[: count // 2] for seed in (5, 6)]
    worst(name, bound, operands, exact=element == "double")


@pytest.mark.parametrize("name", WITH_INTEGERS)
@pytest.mark.parametrize("element", ["float", "double"])
def test_functions_with_an_integer_keep_the_bound(name: str, element: str) -> None:
    bound, ranges = WITH_INTEGERS[name]
    integers = np.array([0, 1, -1, 2, -2, 3, -3, 7, 2**31 - 1, -(2**31), 2**30 + 1], np.int32)
    axes = [axis.ravel() for axis in np.meshgrid(samples.edges(element), integers)]
    worst(name, bound, [axes[0].astype(DTYPES[element]), axes[1].astype(np.int32)], exact=element == "double")
    count = 500 if element == "double" else 30000
    for first, (low, high) in ranges:
        x = samples.within(element, *first, count, 3)
        n = np.random.default_rng(7).integers(low, high, count, endpoint=True).astype(np.int32)
        worst(name, bound, [x, n], exact=element == "double")


@pytest.mark.parametrize("element", ["float", "double"])
@pytest.mark.parametrize("name", ["sin", "cos", "sinpi", "cospi", "tanh", "erf"])
def test_functions_that_end_at_one_do_not_exceed_it(name: str, element: str) -> None:
    near = samples.within(element, -1e-3, 1e-3, 20000)
    quarter = near + near.dtype.type(np.pi / 2)
    far = samples.within(element, -30, 30, 20000)
    for x in (near, quarter, far):
        assert np.abs(compiled(name, element)(x)[0]).max() <= 1


@pytest.mark.parametrize("element", ["float", "double"])
def test_sine_and_cosine_together_are_those_alone(element: str) -> None:
    x = np.concatenate(
        [samples.edges(element), samples.of_all_sizes(element, 500), samples.within(element, -9, 9, 500)]
    )
    sine, cosine = compiled("sincos", element)(x)
    for name, got in (("sin", sine), ("cos", cosine)):
        assert errors(got, *wanted(name, x, exact=element == "double")).max() <= 4


@pytest.mark.parametrize("element", ["float", "double"])
def test_landmarks_are_exact(element: str) -> None:
    def of(name: str, *operands: object) -> list[float]:
        return compiled(name, element)(*(np.atleast_1d(np.array(x, DTYPES[element])) for x in operands))[0].tolist()

    octaves = [float(n) for n in range(-100, 100)]
    powers = [2.0**n for n in octaves]
    whole = [float(n) for n in range(1, 100)]
    assert of("exp2", octaves) == powers
    assert of("log2", powers) == octaves
    assert of("pow", [2.0] * 200, octaves) == powers
    assert of("pow", whole, [2.0] * 99) == [n * n for n in whole]
    assert of("exp10", whole[:10]) == [10.0**n for n in whole[:10]]
    assert of("log10", [10.0**n for n in whole[:10]]) == whole[:10]
    assert of("cbrt", [n**3 for n in whole]) == whole
    assert of("hypot", [3 * n for n in whole], [4 * n for n in whole]) == [5 * n for n in whole]
    for name in ("exp", "exp2", "exp10", "cos", "cosh", "cospi"):
        assert of(name, [0.0, -0.0]) == [1.0, 1.0]
    for name in ("erf", "tanh"):
        assert of(name, [np.inf, -np.inf, 40.0, -40.0]) == [1.0, -1.0, 1.0, -1.0]
    assert of("erfc", [-np.inf, 0.0, np.inf]) == [2.0, 1.0, 0.0]
    assert of("atan2pi", [0.0, 1.0, -1.0, 1.0], [1.0, 0.0, 0.0, 1.0]) == [0.0, 0.5, -0.5, 0.25]
