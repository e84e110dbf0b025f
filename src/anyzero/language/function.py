"""`@az.function`: a function that kernels call."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from anyzero.language.source import Source

__all__ = ["Function", "function"]


class Function:
    """A function that kernels and other functions call, compiled with them for the types of its arguments.

    >>> @az.function
    ... def square(x):
    ...     return x * x
    >>> square
    <function square of kernels>
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.source = Source(function)
        self.plain: dict[Any, Callable[..., Any]] = {}
        """Functions that the simulator runs, by the types of the parameters."""
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        self.__wrapped__ = function

    @cached_property
    def annotations(self) -> dict[str, Any]:
        """The annotated types of its parameters, and that of its result as `return`."""
        from anyzero.language.parameters import annotations_of

        return annotations_of(self.source)

    def __call__(self, *args: Any, **given: Any) -> Any:
        """Run the function as plain Python, as the simulator does."""
        from anyzero.language.simulate import call_function

        return call_function(self, args, given)

    def __repr__(self) -> str:
        return f"<function {self.source.name} of kernels>"


def function(definition: Callable[..., Any]) -> Function:
    """Make a function callable from kernels. Annotations are optional: without one, a parameter takes any type.

    >>> @az.function
    ... def lerp(a, b, t: az.f32):
    ...     return a + (b - a) * t
    >>> @az.kernel
    ... def blend(y: az.ptr[az.f32], t: az.f32):
    ...     i = az.global_id(0)
    ...     y[i] = lerp(y[i], 10.0, t)
    >>> y = az.device().context().to_device(np.arange(4, dtype=np.float32))
    >>> blend[4](y, 0.5)
    >>> y.copy_to()
    array([5. , 5.5, 6. , 6.5], dtype=float32)
    """
    return Function(definition)
