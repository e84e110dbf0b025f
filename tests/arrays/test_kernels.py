"""`az.elementwise` and `az.reduction`: kernels from texts."""

from __future__ import annotations

import numpy as np
import pytest

import anyzero as az
from tests.arrays.running import context, on_device


def test_elementwise_writes_its_outputs() -> None:
    a, b = np.arange(5, dtype=np.float32), np.ones(5, np.float32)
    x, y = on_device(a), on_device(b)
    saxpy = az.elementwise("y = a * x + y")
    assert saxpy.parameters == ("y", "a", "x")
    saxpy(y, 2.0, x)
    saxpy(y=y, x=x, a=np.float32(1))
    np.testing.assert_array_equal(y.copy_to(), 3 * a + b)


def test_elementwise_makes_outputs_that_are_not_given() -> None:
    x, k = on_device(np.array([1, 4, 9], np.float64)), on_device(np.array([1, 2, 3], np.int32))
    root, double = az.elementwise("root = math.sqrt(x)\ndouble = k * 2")(x=x, k=k)
    assert root.dtype == double.dtype == np.float64
    np.testing.assert_array_equal(root.copy_to(), [1, 2, 3])
    np.testing.assert_array_equal(double.copy_to(), [2, 4, 6])


def test_elementwise_takes_statements_shapes_and_strides() -> None:
    a = np.arange(12, dtype=np.int32).reshape(3, 4)
    x, row = on_device(a), on_device(np.arange(4, dtype=np.int32))
    text = """
        _t = x - row
        if _t > 5:
            y = _t
        else:
            y = -1
    """
    y = context().zeros((3, 4), np.int32)
    az.elementwise(text)(x=x, row=row, y=y)
    t = a - np.arange(4)
    np.testing.assert_array_equal(y.copy_to(), np.where(t > 5, t, -1))
    y = az.elementwise("y = x + i * 100 + n")(x=x.T)
    np.testing.assert_array_equal(y.copy_to(), a.T + np.arange(12).reshape(4, 3) * 100 + 12)
    az.elementwise("y = x")(y=x[:, ::2], x=x[:, 1::2])
    np.testing.assert_array_equal(x.copy_to()[:, ::2], a[:, 1::2])


def test_elementwise_indexes_whole_arrays() -> None:
    x = on_device(np.arange(5, dtype=np.float32))
    y = context().zeros(5, np.float32)
    az.elementwise("y = x[n - 1 - i]")(y=y, x=x)
    np.testing.assert_array_equal(y.copy_to(), [4, 3, 2, 1, 0])
    az.elementwise("y[n - 1 - i] = x")(y=y, x=x)
    np.testing.assert_array_equal(y.copy_to(), [4, 3, 2, 1, 0])


def test_elementwise_reads_before_it_writes() -> None:
    x = on_device(np.arange(6, dtype=np.int32))
    az.elementwise("y = x + 10")(y=x[1:], x=x[:-1])
    np.testing.assert_array_equal(x.copy_to(), [0, 10, 11, 12, 13, 14])


def test_numbers_take_the_type_of_the_arrays() -> None:
    x = on_device(np.zeros(2, np.float64))
    assert az.elementwise("y = x + a")(x=x, a=0.1).copy_to()[0] == 0.1
    whole = on_device(np.zeros(2, np.int64))
    assert az.elementwise("y = x + a")(x=whole, a=1 << 40).copy_to()[0] == 1 << 40


def test_wrong_texts_show_the_place() -> None:
    x = on_device(np.zeros(3, np.int32))
    with pytest.raises(az.KernelError) as caught:
        az.elementwise("y = x +* 2")
    assert str(caught.value).splitlines()[1:] == ["    y = x +* 2", "           ^"]
    with pytest.raises(az.KernelError) as caught:
        az.elementwise("_t = x + 1\ny = x / _t")(x=x)
    first, *shown = str(caught.value).splitlines()
    assert first.startswith("az.elementwise, line 2, in text: i32 / i32: integers are divided by //")
    assert shown == ["    y = x / _t", "        ^^^^^^"]
    with pytest.raises(az.KernelError) as caught:
        az.elementwise("y = frobnicate(x)")(x=x)
    assert "    y = frobnicate(x)\n        ^^^" in str(caught.value)
    with pytest.raises(az.KernelError, match="assigns nothing"):
        az.elementwise("x + 1")
    with pytest.raises(az.KernelError, match="return"):
        az.elementwise("if x > 1: return\ny = x")
    with pytest.raises(az.KernelError) as caught:
        az.reduction("x +")
    assert "    x +" in str(caught.value)
    with pytest.raises(az.KernelError) as caught:
        az.reduction("x / 2")(x)
    assert str(caught.value).splitlines()[1:] == ["    x / 2", "    ^^^^^"]
    with pytest.raises(az.KernelError) as caught:
        az.reduction("x", "a / b")(x)
    assert str(caught.value).splitlines()[1:] == ["    a / b", "    ^^^^^"]


def test_wrong_arguments_are_told() -> None:
    x, y = on_device(np.zeros(3, np.float32)), on_device(np.zeros(4, np.float32))
    saxpy = az.elementwise("y = a * x + y")
    with pytest.raises(az.InvalidArgument, match=r"shapes y \(4,\) and x \(3,\) do not fit together"):
        saxpy(y, 1.0, x)
    with pytest.raises(az.InvalidArgument, match=r"has no z; its arguments are \(y, a, x\)"):
        saxpy(z=1)
    with pytest.raises(az.InvalidArgument, match=r"a of .* was not given"):
        saxpy(x=x, y=x)
    with pytest.raises(az.InvalidArgument, match="y is read by"):
        saxpy(x=x, a=1.0)
    with pytest.raises(az.InvalidArgument, match="x is an array of numpy"):
        saxpy(x, 1.0, np.zeros(3, np.float32))
    with pytest.raises(az.InvalidArgument, match=r"y has shape .* and the elements have shape"):
        az.elementwise("y = x")(y=x, x=on_device(np.zeros((2, 3), np.float32)))
    with pytest.raises(az.InvalidArgument, match="different contexts"):
        saxpy(x, 1.0, az.device().context().zeros(3, np.float32))
    with pytest.raises(az.InvalidArgument, match=r"no argument of .* is a Buffer"):
        az.reduction("x")(1)
    with pytest.raises(az.InvalidArgument, match="takes the arguments"):
        az.reduction("x * y")(x)
    with pytest.raises(az.KernelError, match="does not name both"):
        az.reduction("x", "a + 1")


@pytest.mark.parametrize("n", [0, 1, 63, 5000])
def test_reductions_combine_all_elements(n: int) -> None:
    a = (np.arange(n) % 97).astype(np.float32)
    b = np.full(n, 2, np.float32)
    x, y = on_device(a), on_device(b)
    assert az.reduction("x * y")(x, y).item() == (a * b).sum()
    assert az.reduction("abs(x - c)", "max(a, b)", neutral=0)(x, c=3.0).item() == abs(a - 3).max(initial=0)
    found = az.reduction("1", dtype=np.int64)
    if n:
        assert az.reduction("x * 0 + 1", dtype=np.int64)(on_device(np.zeros(n, np.int32))).item() == n
    assert found.parameters == ()
