"""The operators and array methods of buffers. The array layer, above this package, implements them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy.typing as npt

if TYPE_CHECKING:
    from anyzero.api.buffer import Buffer

__all__ = ["Arithmetic", "indexed"]

_LAYER: Final = "anyzero.arrays.operators"
"""The module that defines the operators. It is loaded by its name on first use: imports point down, and a program that
does no arithmetic loads nothing."""
_FUNCTIONS: Final = "anyzero.arrays.functions"


@cache
def _layer() -> Any:
    return import_module(_LAYER)


@cache
def _functions() -> Any:
    return import_module(_FUNCTIONS)


def indexed(buffer: Buffer, index: Any) -> Buffer:
    """The elements at an index that is more than one integer or slice without a step."""
    found: Buffer = _layer().indexed(buffer, index)
    return found


def _binary(name: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """An operator with its operands as they stand, reflected, and in place."""

    def forward(self: Any, other: Any) -> Any:
        return _layer().binary(name, self, other)

    def reflected(self: Any, other: Any) -> Any:
        return _layer().binary(name, other, self)

    def in_place(self: Any, other: Any) -> Any:
        return _layer().in_place(name, self, other)

    return forward, reflected, in_place


def _unary(name: str) -> Callable[[Any], Any]:
    def operator(self: Any) -> Any:
        return _layer().unary(name, self)

    return operator


class Arithmetic:
    """The part of a buffer that computes: operators, comparisons, reductions, assignment."""

    __slots__ = ()

    __add__, __radd__, __iadd__ = _binary("add")
    __sub__, __rsub__, __isub__ = _binary("subtract")
    __mul__, __rmul__, __imul__ = _binary("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _binary("true_divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary("floor_divide")
    __mod__, __rmod__, __imod__ = _binary("remainder")
    __pow__, __rpow__, __ipow__ = _binary("power")
    __lshift__, __rlshift__, __ilshift__ = _binary("left_shift")
    __rshift__, __rrshift__, __irshift__ = _binary("right_shift")
    __and__, __rand__, __iand__ = _binary("bitwise_and")
    __or__, __ror__, __ior__ = _binary("bitwise_or")
    __xor__, __rxor__, __ixor__ = _binary("bitwise_xor")
    __lt__ = _binary("less")[0]
    __le__ = _binary("less_equal")[0]
    __gt__ = _binary("greater")[0]
    __ge__ = _binary("greater_equal")[0]
    # Comparisons are elementwise, as in numpy; buffers are still keys by their identity.
    __eq__ = _binary("equal")[0]
    __ne__ = _binary("not_equal")[0]
    __hash__ = object.__hash__
    __neg__ = _unary("negative")
    __pos__ = _unary("positive")
    __abs__ = _unary("absolute")
    __invert__ = _unary("invert")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _layer().ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        return _functions().called(function, args, options)

    def __bool__(self) -> bool:
        return bool(_layer().only(self, "bool"))

    def __int__(self) -> int:
        return int(_layer().only(self, "int"))

    def __float__(self) -> float:
        return float(_layer().only(self, "float"))

    def __setitem__(self, index: Any, value: Any) -> None:
        _layer().assign(self, index, value)

    def item(self) -> Any:
        """The only element, as a number of Python's.

        >>> az.device().context().full(1, 2.5).item()
        2.5
        """
        return _layer().only(self, "item()")

    def copy(self) -> Buffer:
        """A new buffer with the same elements.

        >>> x = az.device().context().to_device(np.arange(4))
        >>> x[::-1].copy().copy_to()
        array([3, 2, 1, 0])
        """
        found: Buffer = _layer().copy(self)
        return found

    def astype(self, dtype: npt.DTypeLike) -> Buffer:
        """A new buffer with the elements converted; floats lose their fraction in integers.

        >>> az.device().context().to_device([1.5, -2.5]).astype(np.int32).copy_to()
        array([ 1, -2], dtype=int32)
        """
        found: Buffer = _layer().astype(self, dtype)
        return found

    @property
    def T(self) -> Buffer:  # noqa: N802 (numpy's name)
        """The same memory with its axes in reverse order.

        >>> az.device().context().zeros((2, 3)).T.shape
        (3, 2)
        """
        found: Buffer = _layer().transposed(self)
        return found

    def clip(self, low: Any = None, high: Any = None) -> Buffer:
        """The elements, but none below `low` or above `high`.

        >>> az.device().context().to_device([-3, 1, 9]).clip(0, 5).copy_to()
        array([0, 1, 5])
        """
        found: Buffer = _layer().clip(self, low, high)
        return found

    def sum(
        self, axis: Any = None, dtype: npt.DTypeLike | None = None, out: None = None, *, keepdims: bool = False
    ) -> Buffer:
        """The sum of all elements, or along axes; integers add up as 64 bits unless `dtype` says otherwise.

        >>> x = az.device().context().to_device([[1, 2], [3, 4]])
        >>> x.sum().item(), x.sum(axis=0).copy_to()
        (10, array([4, 6]))
        """
        found: Buffer = _layer().reduced("sum", self, axis, dtype, keepdims)
        return found

    def mean(
        self, axis: Any = None, dtype: npt.DTypeLike | None = None, out: None = None, *, keepdims: bool = False
    ) -> Buffer:
        """The mean of all elements, or along axes; of integers a float64.

        >>> az.device().context().to_device([1, 2, 6]).mean().item()
        3.0
        """
        found: Buffer = _layer().reduced("mean", self, axis, dtype, keepdims)
        return found

    def min(self, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Buffer:
        """The least element, or that along axes; NaN if there is one.

        >>> az.device().context().to_device([3, 1, 2]).min().item()
        1
        """
        found: Buffer = _layer().reduced("min", self, axis, None, keepdims)
        return found

    def max(self, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Buffer:
        """The greatest element, or that along axes; NaN if there is one.

        >>> az.device().context().to_device([[3, 1], [2, 5]]).max(axis=1).copy_to()
        array([3, 5])
        """
        found: Buffer = _layer().reduced("max", self, axis, None, keepdims)
        return found

    def any(self, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Buffer:
        """Whether any element is not zero.

        >>> x = az.device().context().to_device([0, 1, 2])
        >>> bool((x > 5).any())
        False
        """
        found: Buffer = _layer().reduced("any", self, axis, None, keepdims)
        return found

    def all(self, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Buffer:
        """Whether no element is zero.

        >>> x = az.device().context().to_device([0, 1, 2])
        >>> bool((x < 5).all())
        True
        """
        found: Buffer = _layer().reduced("all", self, axis, None, keepdims)
        return found

    def argmin(self, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Buffer:
        """The index of the first least element, of all in order or along an axis.

        >>> az.device().context().to_device([3, 1, 2, 1]).argmin().item()
        1
        """
        found: Buffer = _layer().located("argmin", self, axis, keepdims)
        return found

    def argmax(self, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Buffer:
        """The index of the first greatest element, of all in order or along an axis.

        >>> az.device().context().to_device([[3, 1], [2, 5]]).argmax(axis=1).copy_to()
        array([0, 1])
        """
        found: Buffer = _layer().located("argmax", self, axis, keepdims)
        return found

    def dot(self, other: Any) -> Buffer:
        """The scalar product of two arrays with one axis.

        >>> x = az.device().context().to_device([1.0, 2.0, 3.0])
        >>> x.dot(x).item()
        14.0
        """
        found: Buffer = _layer().dot(self, other)
        return found

    def cumsum(self, axis: int | None = None, dtype: npt.DTypeLike | None = None, out: None = None) -> Buffer:
        """The sums up to each element, in order or along an axis; integers add up as 64 bits without `dtype`.

        >>> az.device().context().to_device([1, 2, 3]).cumsum().copy_to()
        array([1, 3, 6])
        """
        found: Buffer = _layer().cumsum(self, axis, dtype)
        return found
