"""The same function on buffers and on arrays of numpy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.language.launch import Launch

__all__ = ["DTYPES", "context", "counted", "like", "on_device", "samples"]

DTYPES = [np.dtype(each) for each in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")]


@cache
def context() -> az.Context:
    return az.device().context()


def on_device(array: Any) -> az.Buffer:
    return context().to_device(array)


def samples(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Ordinary values and the ends of the range."""
    if dtype.kind == "b":
        return np.array([True, False, True, True, False, False, True, False])
    if dtype.kind == "f":
        return np.array([0, -1.5, 2.25, -7, 3, np.inf, np.nan, 100], dtype)
    limits = np.iinfo(dtype)
    return np.array([0, 1, 7, 3, limits.max, limits.min, limits.max - 1, 100], dtype)


def like(function: Callable[..., Any], *args: Any) -> None:
    """The function gives the same on buffers as on arrays: values, type and shape; or both refuse."""
    given = [on_device(each) if isinstance(each, np.ndarray) else each for each in args]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = np.asarray(function(*args))
        except TypeError:
            with pytest.raises((TypeError, az.InvalidArgument)):
                function(*given)
            return
    found = function(*given)
    assert isinstance(found, az.Buffer)
    assert found.dtype == wanted.dtype, (function, [getattr(each, "dtype", each) for each in args])
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.copy_to(), wanted, rtol=1e-6, atol=0, err_msg=f"{function} of {args}")


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that grows by every launch of a kernel."""
    launches: list[Any] = []
    plain = Launch.__call__

    def launch(self: Launch, *args: Any, **options: Any) -> Any:
        launches.append(self.kernel)
        return plain(self, *args, **options)

    monkeypatch.setattr(Launch, "__call__", launch)
    return launches
