"""A launch of a Python kernel: the context is that of its buffers, and the API's own launch does the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.api.kernel import Launch as ApiLaunch
from anyzero.api.launches.enqueue import launch as api_launch
from anyzero.language.types import Array, Const, Image, Pointer

if TYPE_CHECKING:
    from anyzero.api.context import Context
    from anyzero.api.device import Device
    from anyzero.language.kernel import Kernel
    from anyzero.language.specialization import Specialization

__all__ = ["Launch"]

_LAUNCHES: Final = 512
"""Number of launches that are cached in a context."""


class Launch:
    """A kernel with the sizes of a launch. Contexts cache the launches made of it, so it keeps no context alive."""

    __slots__ = ("_at", "_sizes", "kernel")

    def __init__(self, kernel: Kernel, sizes: Any) -> None:
        self.kernel = kernel
        self._sizes = sizes
        # The argument whose context is used; -1, the last, is as good as any where there is no such parameter.
        self._at = -1
        plain = kernel.plain
        if plain is not None and not plain.expands:
            found = (at for at, name in enumerate(plain.passed) if isinstance(plain.types[name], Pointer | Image))
            self._at = next(found, -1)

    def __call__(
        self, *args: Any, group: Any = None, on: Any = None, signal: Any = None, wait: Any = None, **named: Any
    ) -> Any:
        """Launch it; the keywords are those of any kernel, and names of its parameters."""
        if named:
            args = self.kernel.positional(args, named)
        try:
            launch = args[self._at].context.launches[self]
        except (AttributeError, IndexError, KeyError):
            return self._first(args, group, on, signal, wait)
        return api_launch(launch.kernel, launch.range, args, group, on, signal, wait)

    def _first(self, args: tuple[Any, ...], group: Any, on: Any, signal: Any, wait: Any) -> Any:
        """A launch that is new to its context, or whose arguments have to be looked at each time."""
        special = self.kernel.specialization(args)
        context, device = self._owner(args, on)
        alone = self.kernel.plain is not None and not special.expands and len(context.devices) == 1
        key = self if alone else (special, self._sizes, device)
        launch = context.launches.get(key)
        if launch is None:
            found = context.launches.get((special, device))
            if found is None:
                module = context.module(special.spirv, device=device)
                found = context.launches[special, device] = module[self.kernel.source.name]
                found.enqueue.declare(special.declared)
            launch = found[self._sizes]
            if len(context.launches) >= _LAUNCHES:
                _forget(context)
            if self._sizes.__hash__:
                context.launches[key] = launch
        given = _expanded(special, args) if special.expands else args
        return launch(*given, group=group, on=on, signal=signal, wait=wait)

    def _owner(self, args: tuple[Any, ...], on: Any) -> tuple[Context, Device]:
        for each in (*args, on):
            context = getattr(each, "context", None)
            if context is not None:
                return context, getattr(each, "device", None) or context.device
        name = self.kernel.source.name
        arrays = any(hasattr(each, "__array_interface__") and getattr(each, "shape", ()) for each in args)
        raise errors.InvalidArgument(
            f"no argument of {name} is a Buffer, so it has no context to run in",
            remedy="Context.to_device(array) copies an array to the device; "
            f"{name}.simulate[…](…) takes arrays as they are."
            if arrays
            else f"Name a list with on=, or launch {name}.on(context)[…](…).",
        )

    def __repr__(self) -> str:
        return f"<Launch of {self.kernel.source.name}, {self._sizes}>"


def _forget(context: Context) -> None:
    """Remove cached launches, one for each size; kernels stay."""
    for key in [key for key, value in context.launches.items() if isinstance(value, ApiLaunch)]:
        del context.launches[key]


def _expanded(special: Specialization, args: tuple[Any, ...]) -> list[Any]:
    """The arguments with the sizes of arrays behind them, and without constants."""
    found: list[Any] = []
    for name, value in zip(special.passed, args, strict=True):
        t = special.types[name]
        if isinstance(t, Const):
            continue
        found.append(value)
        if isinstance(t, Array):
            found += _sizes(special, name, t, value)
    return found


def _sizes(special: Specialization, name: str, t: Array, value: Any) -> list[int]:
    if not isinstance(value, Buffer):
        raise errors.InvalidArgument(
            f"{name} of {special.kernel.source.name} is {t} and cannot be a {type(value).__name__}",
            remedy="Pass a Buffer: Context.to_device() copies an array to the device.",
        )
    shape = value.shape
    width = t.element.size // value.dtype.itemsize
    if width > 1 and len(shape) == t.ndim + 1:
        shape = shape[:-1]
    if len(shape) != t.ndim:
        raise errors.InvalidArgument(
            f"{name} of {special.kernel.source.name} has {t.ndim} axes; the buffer's shape is {value.shape}",
            remedy="Change it with reshape().",
        )
    strides = []
    for axis in range(1, t.ndim):
        product = 1
        for extent in shape[axis:]:
            product *= extent
        strides.append(product)
    return [*shape, *strides]
