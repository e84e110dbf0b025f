"""Operators on buffers against numpy: values, types, shapes, and how many kernels they take."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyzero as az
from anyzero.arrays import fused
from tests.arrays.running import DTYPES, context, counted, like, on_device, samples

BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.lt),
    *(operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.and_, operator.or_, operator.xor),
    *(np.minimum, np.maximum),
]


@pytest.mark.parametrize("function", BINARY, ids=lambda each: each.__name__)
def test_operators_are_numpys(function: Any) -> None:
    """The same values in the same type, or both refuse."""
    for one, other in [("f4", "f4"), ("i4", "i4"), ("u1", 7)]:
        a = samples(np.dtype(one))
        b: Any = samples(np.dtype(other))[::-1].copy() if isinstance(other, str) else other
        like(function, a, b)


@pytest.mark.parametrize("function", [operator.mul, operator.lt, operator.truediv])
def test_types_are_numpys(function: Any) -> None:
    """Of two types, and of a type with a number of Python's."""
    pairs = [("f8", "f4"), ("i2", "f4"), ("u4", "i4"), ("?", "?"), ("i8", "u8"), ("f2", "i1")]
    for one, other in [*pairs, ("f4", 0.1), ("i4", 0.5), ("?", 1), ("i8", -2)]:
        a = samples(np.dtype(one))
        b: Any = samples(np.dtype(other))[::-1].copy() if isinstance(other, str) else other
        like(function, a, b)
        if not isinstance(other, str):
            like(lambda x, y: function(y, x), a, b)


@pytest.mark.parametrize(
    "name",
    ["negative", "absolute", "invert", "square", "sqrt", "exp", "log1p", "tanh", "floor", "isnan", "sign"],
)
def test_functions_are_numpys(name: str) -> None:
    for dtype in (np.float32, np.int32, np.uint8):
        like(getattr(np, name), samples(np.dtype(dtype)))


def test_powers_and_shifts_are_numpys() -> None:
    whole, small = samples(np.dtype(np.int32)), np.array([0, 1, 2, 3, 5, 31, 32, 40], np.int32)
    for exponent in (0, 1, 2, 3, 9):
        like(lambda x, k=exponent: x**k, whole)
        like(lambda x, k=exponent: x**k, samples(np.dtype(np.float32)))
    like(lambda x: abs(x) ** 0.5, samples(np.dtype(np.float64)))
    like(operator.pow, small % 5, small % 4)
    like(operator.lshift, small, small)
    like(operator.rshift, -small, small)
    with pytest.raises(az.InvalidArgument, match="raised to the power -1"):
        on_device(whole) ** -1


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_expressions_are_numpys(data: st.DataObject) -> None:
    """Random trees over arrays of several shapes and strides."""
    shapes: list[tuple[int, ...]] = [(3, 4), (4,), (3, 1), (), (1, 1, 4)]
    count = data.draw(st.integers(1, 4))
    arrays, buffers = [], []
    for index in range(count):
        dtype = np.dtype(data.draw(st.sampled_from(["f4", "i4"])))
        shape = data.draw(st.sampled_from(shapes))
        array = np.resize(samples(dtype)[index:], (2, *shape)) if shape else np.array(index + 1, dtype)
        buffer = on_device(array)
        step = data.draw(st.sampled_from([1, -1]))
        if shape and step == -1:
            arrays.append(array[1][..., ::-1])
            buffers.append(buffer[1][..., ::-1])
        else:
            arrays.append(array[1] if shape else array)
            buffers.append(buffer[1] if shape else buffer)
    expression = "a0"
    for index in range(1, count):
        symbol = data.draw(st.sampled_from(["+", "-", "*", "<"]))
        expression = f"({expression} {symbol} a{index})"
    expression = data.draw(st.sampled_from([expression, f"({expression} + 2)", f"abs({expression} * 1)"]))
    names = {f"a{index}": each for index, each in enumerate(arrays)}
    with np.errstate(all="ignore"):
        try:
            wanted = eval(expression, {"abs": abs}, names)
        except TypeError:
            return
    found = eval(expression, {"abs": abs}, {f"a{index}": each for index, each in enumerate(buffers)})
    assert found.shape == np.shape(wanted)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found.copy_to(), wanted, rtol=1e-5)


def test_an_expression_is_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = on_device(np.arange(6, dtype=np.float32)), on_device(np.ones(6, np.float32))

    def statements() -> None:
        z = x * 2 + y
        z = -(x + 1) * (y - x) / 3 > x
        z = abs(x - y) + np.sqrt(x * x + y * y) * 2
        z += x * y - 1
        z[1:3] = x[2:4] * 2 + 1
        del z

    statements()
    launches = counted(monkeypatch)
    statements()
    assert len(launches) == 5
    launches.clear()
    total = (x * y + 1).sum().item()
    assert total == 21
    assert len(launches) == 1
    launches.clear()
    x * 2
    x * 3
    assert len(launches) == 2


def test_kernels_are_kept_by_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    x = on_device(np.arange(6, dtype=np.float32))
    first = x * 2.5 - 1
    known = len(fused._kernels)
    second = on_device(np.arange(9, dtype=np.float32)) * 7.0 - 3.5
    assert len(fused._kernels) == known
    assert first.copy_to()[1] == 1.5
    assert second.copy_to()[1] == 3.5


def test_a_value_is_that_of_its_statement() -> None:
    """Whatever happens to operands later, also by ways that the array layer does not see."""
    x = context().full(4, 1, np.float32, kind="shared")
    z = x * 2 + 1
    kept = [x + 1, {"a": x + 2}, (lambda: x + 3)()]
    np.asarray(x)[:] = 100
    assert z.copy_to().tolist() == [3] * 4
    assert kept[0].copy_to()[0] == 2
    assert kept[1]["a"].copy_to()[0] == 3
    assert kept[2].copy_to()[0] == 4
    x[:] = 1

    def change() -> az.Buffer:
        x[:] = 50
        return x

    assert (x * 2 + change()).copy_to()[0] == 52
    x[:] = 1
    assert (x * 2 + np.sqrt(change())).copy_to()[0] == pytest.approx(2 + 50**0.5)
    for value in (x * 1 for _ in range(2)):
        np.asarray(x)[:] = 9
        assert value.copy_to()[0] == 50 or value.copy_to()[0] == 9


def test_in_place_operators_keep_their_memory() -> None:
    x = on_device(np.arange(4, dtype=np.float32))
    alias = x[:]
    x += 1
    x *= x
    np.testing.assert_array_equal(alias.copy_to(), [1, 4, 9, 16])
    n = on_device(np.arange(4, dtype=np.int32))
    n += np.int32(2)
    n //= 2
    np.testing.assert_array_equal(n.copy_to(), [1, 1, 2, 2])
    with pytest.raises(az.InvalidArgument, match="float64 is not converted to int32 implicitly"):
        n /= 2
    with pytest.raises(az.InvalidArgument, match=r"shape \(2, 4\) does not fit shape \(4,\)"):
        n += on_device(np.ones((2, 4), np.int32))


def test_numbers_of_numpy_stand_on_either_side() -> None:
    x = on_device(np.arange(3, dtype=np.float32))
    for found in (np.float32(2) * x, x * np.float32(2), np.array(2, np.float32) * x):
        assert isinstance(found, az.Buffer)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found.copy_to(), [0, 2, 4])
    assert (np.float64(2) * x).dtype == np.float64
    for mixed in (lambda: np.ones(3) * x, lambda: x * np.ones(3)):
        with pytest.raises(TypeError, match=r"Context.to_device\(\) copies the array of shape \(3,\)"):
            mixed()
    with pytest.raises(TypeError, match="does not take a Buffer"):
        np.add.reduce(x)
    with pytest.raises(TypeError):
        x + "text"


def test_mistakes_are_told() -> None:
    x = on_device(np.arange(3, dtype=np.float32))
    with pytest.raises(az.InvalidArgument, match=r"shapes \(3,\) and \(4,\) do not fit together"):
        x + on_device(np.zeros(4, np.float32))
    with pytest.raises(az.InvalidArgument, match="buffers of different contexts"):
        x + az.device().context().zeros(3, np.float32)
    with pytest.raises(az.InvalidArgument, match="bitwise_and does not take float32"):
        x & x
    with pytest.raises(az.InvalidArgument, match="300 does not fit uint8"):
        on_device(np.zeros(2, np.uint8)) + 300
    with pytest.raises(az.InvalidArgument, match="no arithmetic with elements of complex64"):
        context().zeros(3, np.complex64) + 1
    with pytest.raises(az.InvalidArgument, match="no arithmetic with elements of >f4"):
        context().zeros(3, ">f4") + 1
    with pytest.raises(ValueError, match=r"bool takes one element, and the buffer has 3; use any\(\)"):
        bool(x == x)
    closed = on_device(np.zeros(3, np.float32))
    closed.close()
    with pytest.raises(az.ClosedError, match="this Buffer is closed"):
        closed + 1
    with pytest.raises(az.ClosedError):
        x += closed


def test_a_buffer_is_still_a_key() -> None:
    x, y = on_device(np.zeros(2)), on_device(np.zeros(2))
    assert {x: 1, y: 2}[x] == 1
    assert (x == None) is False  # noqa: E711
    assert x in [x]


@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions_are_numpys(dtype: Any) -> None:
    for other in (np.float32, np.uint8, bool):
        a = np.array([0, 1, 2, 100], dtype)
        np.testing.assert_array_equal(on_device(a).astype(other).copy_to(), a.astype(other))
    assert on_device(np.zeros(2, dtype)).copy().dtype == dtype


def test_where_and_clip() -> None:
    a = np.array([[1, -2, 3], [4, 5, -6]], np.float32)
    x = on_device(a)
    np.testing.assert_array_equal(az.where(x > 0, x, 0).copy_to(), np.where(a > 0, a, 0))
    assert az.where(x > 0, 1, 2.5).dtype == np.float64
    np.testing.assert_array_equal(x.clip(-1, 4).copy_to(), a.clip(-1, 4))
    with pytest.raises(TypeError, match="where takes buffers"):
        az.where(True, 1, 2)


def test_long_expressions_are_computed_in_parts() -> None:
    arrays = [np.full(5, index, np.float32) for index in range(60)]
    names = {f"a{index}": on_device(each) for index, each in enumerate(arrays)}
    found = eval(" + ".join(names), {}, names)
    np.testing.assert_array_equal(found.copy_to(), sum(arrays))


def test_results_are_where_their_operands_are() -> None:
    shared, device = context().zeros(2, np.float32, kind="shared"), context().zeros(2, np.float32)
    assert (shared + 1).kind == "shared"
    assert (shared + device).kind == "device"
    assert np.asarray(shared + 1).tolist() == [1, 1]


MATRIX = np.arange(24.0).reshape(2, 3, 4)
REARRANGED: dict[str, Any] = {
    "transpose": lambda x: np.transpose(x, (1, 0, 2)),
    "twice": lambda x: np.transpose(np.transpose(x)),
    "moveaxis": lambda x: np.moveaxis(x, 0, 2),
    "swapaxes": lambda x: np.swapaxes(x, 1, -1),
    "expand_dims": lambda x: np.expand_dims(x, (0, 2)),
    "squeeze": lambda x: np.squeeze(np.expand_dims(x, 0)),
    "reshape": lambda x: np.reshape(x, (4, -1)),
    "ravel": lambda x: np.ravel(x[:, ::2]),
    "concatenate": lambda x: np.concatenate([x, x * 2, x[:, :0]], axis=1),
    "flat": lambda x: np.concatenate([x, x], axis=None),
    "stack": lambda x: np.stack([x, x], axis=-1),
    "where": lambda x: np.where(x > 3, x, 0.0),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 2, 3, 4)),
    "full_like": lambda x: np.full_like(x, 7, dtype=np.int32),
    "zeros_like": lambda x: np.zeros_like(x, shape=(3,)),
    "clip": lambda x: np.clip(x, 1, 5),
    "sum": lambda x: np.sum(x, axis=(0, 1), keepdims=True),
}


@pytest.mark.parametrize("name", REARRANGED)
def test_functions_of_numpy_that_make_arrays(name: str) -> None:
    ctx = context()
    expected = REARRANGED[name](MATRIX)
    found = REARRANGED[name](ctx.to_device(MATRIX))
    assert isinstance(found, az.Buffer)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.copy_to(), expected)


def test_other_functions_see_what_the_host_sees() -> None:
    ctx = context()
    shared = ctx.to_device(MATRIX, kind="shared")
    assert np.median(shared) == np.median(MATRIX)
    assert np.dot(shared[0, 0], shared[0, 0]) == 14
    assert np.shape(ctx.to_device(MATRIX)) == (2, 3, 4)
    with pytest.raises(TypeError, match="copy_to"):
        np.median(ctx.to_device(MATRIX))
    with pytest.raises(TypeError, match="not both"):
        np.concatenate([ctx.to_device(MATRIX), MATRIX])
    with pytest.raises(az.InvalidArgument, match="do not join"):
        np.concatenate([ctx.to_device(MATRIX), ctx.zeros((2, 2, 4))], axis=0)
