"""What begins with a guess of the processor is as good as what was computed at length."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler.builtins.library import routine
from anyzero.compiler.targets import cpu
from tests.compiler.builtins import samples
from tests.compiler.builtins.machine import compiled, with_estimates
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
@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("element", ["float", "double"])
def test_scalars_and_short_vectors_have_the_same_result(element: str, lanes: int) -> None:
    x = np.concatenate([samples.edges(element), samples.within(element, 1, 4, 20000)])
    x = x[: len(x) // 16 * 16]
    same(with_estimates("rsqrt", element, lanes)(x)[0], with_estimates("rsqrt", element, 16)(x)[0])


@has_estimates
@pytest.mark.parametrize(("element", "dtype"), [("float", np.float32), ("double", np.float64)])
def test_edges_are_exact(element: str, dtype: type) -> None:
    x = np.array([0.0, -0.0, np.inf, 1.0, 4.0, 0.25, -1.0, -np.inf, np.nan], dtype)
    got = with_estimates("rsqrt", element, 8)(x)[0].tolist()
    assert got[:6] == [np.inf, -np.inf, 0.0, 1.0, 0.5, 2.0]
    assert np.isnan(got[6:]).all()


@has_estimates
@pytest.mark.parametrize("lanes", [2, 8, 32])
@pytest.mark.parametrize("name", ["erfc", "tgamma"])
def test_doubles_are_scaled_to_the_same_number(name: str, lanes: int) -> None:
    points = [samples.of_all_sizes("double", 3000), samples.within("double", -1100, 1100, 9000)]
    x = np.concatenate([samples.edges("double"), *points])
    same(with_estimates(name, "double", lanes)(x)[0], compiled(name, "double", 8)(x)[0])


def tabulated_points(name: str, element: str, count: int) -> np.ndarray:
    """Besides everywhere: around the bounds of the tables' entries, and around one."""
    ranges = (
        ((0.5, 2), (0.9, 1.1), (0.99999, 1.00001)) if name.startswith("log") else ((-1, 1), (-104, 90), (-746, 710))
    )
    inside = [samples.within(element, low, high, count) for low, high in ranges]
    ends = np.arange(8, 33) / 16
    near = np.concatenate([np.nextafter(ends.astype(inside[0].dtype), side) for side in (0, 3, 1)])
    everywhere = samples.strided(count) if element == "float" else samples.of_all_sizes(element, count)
    return np.concatenate([samples.edges(element), everywhere, near, *inside])


@has_estimates
@pytest.mark.parametrize(("element", "count"), [("float", 60000), ("double", 600)])
@pytest.mark.parametrize("name", ["exp", "exp2", "exp10", "log", "log2", "log10"])
def test_functions_with_tables_keep_the_bound(name: str, element: str, count: int) -> None:
    x = tabulated_points(name, element, count)
    got = with_estimates(name, element, 16)(x)[0]
    assert errors(got, *wanted(name, x, exact=element == "double")).max() <= 2


@has_estimates
@pytest.mark.parametrize("element", ["float", "double"])
@pytest.mark.parametrize("name", ["exp", "exp2", "exp10", "log", "log2", "log10"])
def test_tables_give_every_number_of_lanes_the_same_result(name: str, element: str) -> None:
    x = tabulated_points(name, element, 2000)
    first = with_estimates(name, element, 16)(x)[0]
    for lanes in (0, 2, 4, 8, 64):
        same(with_estimates(name, element, lanes)(x)[0], first)


@has_estimates
@pytest.mark.parametrize(("element", "lanes"), [("float", 32), ("double", 16)])
def test_powers_are_scaled_to_the_same_number(element: str, lanes: int) -> None:
    x = np.concatenate([samples.edges(element), samples.within(element, 0, 20, 20000, 1)])
    y = np.concatenate([samples.edges(element)[::-1], samples.within(element, -300, 300, 20000, 2)])
    same(with_estimates("pow", element, lanes)(x, y)[0], compiled("pow", element)(x, y)[0])


@has_estimates
@pytest.mark.parametrize(("element", "lanes"), [("float", 4), ("float", 32), ("double", 8), ("double", 64)])
def test_ldexp_is_exact(element: str, lanes: int) -> None:
    edges = samples.edges(element)
    steps = [0, 1, -1, 20, -20, 130, -150, 1000, -1074, 2100, -2100, 2**24 + 1, 2**31 - 1, -(2**31)]
    x, k = (each.ravel() for each in np.meshgrid(edges, np.array(steps, np.int32)))
    some = samples.of_all_sizes(element, 5000)
    x = np.concatenate([x, some])
    k = np.concatenate([k, np.random.default_rng(3).integers(-2200, 2200, len(some), np.int32)])
    with np.errstate(all="ignore"):
        same(with_estimates("ldexp", element, lanes)(x, k)[0], np.ldexp(x, k))


def same(got: np.ndarray, right: np.ndarray) -> None:
    assert ((got == right) | (np.isnan(got) & np.isnan(right))).all()


def test_parts_of_registers_are_guessed_as_well() -> None:
    for element, lanes in (("float", 0), ("float", 2), ("double", 0), ("half", 0), ("half", 2), ("half", 16)):
        assert "rsqrt14" in routine("rsqrt", element, lanes, estimates=True).text
    assert "rsqrt14" not in routine("rsqrt", "float", 12, estimates=True).text
    assert "rsqrt14" not in routine("rsqrt", "float", 16).text
