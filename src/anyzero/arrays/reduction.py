"""`az.reduction`: a kernel that combines elements, from two expressions."""

from __future__ import annotations

import ast
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.arrays.arguments import fitted, number_type, one_context
from anyzero.arrays.elementwise import argument_names
from anyzero.arrays.expression import Array
from anyzero.arrays.fused import layout_of
from anyzero.arrays.layout import broadcast
from anyzero.arrays.reductions import reduce_blocks
from anyzero.arrays.text import parsed, place_within, type_name
from anyzero.arrays.view import contiguous
from anyzero.language.errors import KernelError

__all__ = ["Reduction", "reduction"]


class Reduction:
    """A kernel that combines elements; `az.reduction` makes it.

    >>> az.reduction("x * y", "a + b")
    <reduction a + b of x * y (x, y)>
    """

    def __init__(self, text: str, combine: str, neutral: Any, dtype: npt.DTypeLike | None) -> None:
        self.text = text
        self.combine = combine
        self.neutral = neutral
        self.dtype: np.dtype[Any] | None = None if dtype is None else np.dtype(dtype)
        self.parameters: tuple[str, ...] = argument_names(text, "az.reduction")
        """The names of its arguments, in order."""
        names = {each.id for each in ast.walk(parsed(combine, "az.reduction", "eval")) if isinstance(each, ast.Name)}
        if not {"a", "b"} <= names:
            raise KernelError(f"az.reduction combines a and b, as in 'a + b'; {combine!r} does not name both")

    def __call__(self, *args: Any, **given: Any) -> Buffer:
        """Combine the elements of the arrays to one value."""
        names = ", ".join(self.parameters)
        values = dict(zip(self.parameters, args))  # noqa: B905 (the others have names)
        values.update(given)
        if set(values) != set(self.parameters) or len(args) + len(given) != len(self.parameters):
            raise errors.InvalidArgument(f"{self!r} takes the arguments ({names}); {len(args) + len(given)} were given")
        arrays = {name: value for name, value in values.items() if isinstance(value, Buffer)}
        if not arrays:
            raise errors.InvalidArgument(
                f"no argument of {self!r} is a Buffer", remedy="Context.to_device() copies an array to the device."
            )
        one_context(arrays.values(), "az.reduction")
        shape = broadcast((name, value.shape) for name, value in arrays.items())
        dtypes = [value.dtype for value in arrays.values()]
        dtype = np.result_type(*dtypes) if self.dtype is None else self.dtype
        parameters, loads, buffers, numbers, constants = [], [], [], [], []
        strides = []
        for name in self.parameters:
            value = values[name]
            if not isinstance(value, Buffer):
                kind, number = number_type(name, value, dtypes)
                constants.append(f"{name}: {type_name(kind)}")
                numbers.append(number)
                continue
            buffer = contiguous(value, name) if value.size == 1 or value.shape == shape else None
            if buffer is None:
                raise errors.InvalidArgument(f"{name} has shape {value.shape}, the others {shape}")
            strides.append((1,) if value.shape == shape else (0,))
            parameters.append(f"{name}_: az.ptr[{type_name(value.dtype)}]")
            loads.append((name, len(strides) - 1))
            buffers.append(buffer)
        size = prod(shape)
        layout = layout_of((size,), tuple(strides))
        places = layout.places()
        lines = [f"        {name} = {name}_[{places[at]}]" for name, at in loads]
        lines.append(f"        value = {self.text}")
        first = buffers[0]
        node = Array(first, first.shape, ())
        key = (self.text, tuple(parameters), tuple(constants))
        try:
            return reduce_blocks(
                ([*parameters, *constants], lines, ""), key, [*buffers, *numbers], layout, self.combine,
                fitted(self.neutral, dtype), dtype, dtype, size, node,
            )  # fmt: skip
        except KernelError as error:
            raise place_within(error, (self.text, self.combine), "az.reduction") from None

    def __repr__(self) -> str:
        return f"<reduction {self.combine} of {self.text} ({', '.join(self.parameters)})>"


def reduction(text: str, combine: str = "a + b", *, neutral: Any = 0, dtype: npt.DTypeLike | None = None) -> Reduction:
    """A kernel that computes `text` for every element and combines the values, as `a` and `b`, in any order.

    `neutral` is the neutral element of `combine`. The result has no axes and the type that numpy finds for
    the arrays together, unless `dtype` is given.

    >>> ctx = az.device().context()
    >>> x, y = ctx.to_device([1.0, -7.0, 3.0]), ctx.to_device([2.0, 2.0, 2.0])
    >>> dot = az.reduction("x * y")
    >>> dot(x, y).item()
    -6.0
    >>> az.reduction("abs(x)", "max(a, b)", neutral=0)(x).item()
    7.0
    """
    return Reduction(text, combine, neutral, dtype)
