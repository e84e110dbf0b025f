"""`@az.kernel`: a typed Python function that a device runs, once for every work-item."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, overload

from anyzero import errors
from anyzero.api.image import Image as ApiImage
from anyzero.api.sampler import Sampler
from anyzero.language.launch import Launch
from anyzero.language.parameters import annotations_of, type_of_annotation
from anyzero.language.source import MISSING, Source
from anyzero.language.specialization import Specialization
from anyzero.language.types import (
    F32,
    I32,
    SAMPLER,
    U32,
    Const,
    Image,
    Memory,
    Pointer,
    Refusal,
    Type,
    defaulted,
    is_float,
    of_dtype,
    of_value,
)

if TYPE_CHECKING:
    from anyzero.api.context import Context
    from anyzero.api.kernel import Kernel as ApiKernel
    from anyzero.language.simulate import Simulation

__all__ = ["Kernel", "kernel"]


class Kernel:
    """A kernel written in Python: ``kernel[n](*arguments)`` launches it, as any other kernel.

    Context and device are those of its buffers. A parameter without an annotation takes any type: the kernel is
    compiled once for each. Any thread may launch it.

    >>> @az.kernel
    ... def saxpy(y: az.ptr[az.f32], x: az.ptr[az.f32], a: az.f32):
    ...     i = az.global_id(0)
    ...     y[i] += a * x[i]
    >>> ctx = az.device().context()
    >>> x, y = ctx.to_device(np.arange(4, dtype=np.float32)), ctx.zeros(4, np.float32)
    >>> saxpy[4](y, x, 2.0)
    >>> y.copy_to()
    array([0., 2., 4., 6.], dtype=float32)
    >>> saxpy.signature
    'saxpy(y: ptr[f32], x: ptr[f32], a: f32)'
    """

    def __init__(self, function: Callable[..., Any], *, group: Any = None, contract: bool = True) -> None:
        self.source = Source(function)
        self.group: tuple[int, ...] | None = (group,) if isinstance(group, int) else tuple(group) if group else None
        self.contract = contract
        functools.update_wrapper(self, function)
        self._launches: dict[Any, Launch] = {}
        self._specializations: dict[Any, Specialization] = {}

    # Types

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The types of its parameters by name; None for those that take any."""
        annotated = annotations_of(self.source)
        code = self.source.function.__code__
        # There is no *args in between; inspect.signature takes as long as reading the kernel from the cache.
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        return {name: annotated.get(name) for name in names}

    @cached_property
    def passed(self) -> tuple[str, ...]:
        """The parameters that a launch passes: all but local memory whose size is known."""
        return tuple(name for name, t in self.parameters.items() if not isinstance(t, Memory))

    @cached_property
    def plain(self) -> Specialization | None:
        """The only specialization, where annotations say all types; None for a kernel that has several."""
        if any(t is None or isinstance(t, Const) for t in self.parameters.values()):
            return None
        return Specialization(self, self.parameters)

    def positional(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments of a launch in order, where some were passed by the names of their parameters."""
        name, rest = self.source.name, self.passed[len(args) :]
        for each in named:
            if each in self.passed and each not in rest:
                raise TypeError(f"{name} got the argument {each} twice: by position and by name")
            if each not in rest:
                raise TypeError(
                    f"{name} has no parameter {each!r}; it has {', '.join(self.passed)}, "
                    "and a launch has the keywords group, on, signal and wait"
                )
        missing = [each for each in rest if each not in named]
        if missing:
            raise TypeError(f"{name} lacks the arguments {', '.join(missing)}")
        return (*args, *(named[each] for each in rest))

    def specialization(self, args: tuple[Any, ...]) -> Specialization:
        """The kernel for arguments of these types."""
        if len(args) != len(self.passed):
            takes = ", ".join(f"{name}: {self.parameters[name] or 'any type'}" for name in self.passed)
            raise errors.InvalidArgument(
                f"{self.source.name} takes {len(self.passed)} arguments ({takes}); {len(args)} were given"
            )
        if self.plain is not None:
            return self.plain
        key = tuple(map(self._given, self.passed, args))
        found = self._specializations.get(key)
        if found is None:
            given = dict(zip(self.passed, key, strict=True))
            types = {name: given.get(name, t) for name, t in self.parameters.items()}
            found = self._specializations.setdefault(key, Specialization(self, types))
        return found

    def _given(self, name: str, value: Any) -> Any:
        """The type of a parameter for the argument that it is given."""
        t = self.parameters[name]
        if isinstance(t, Const):
            number = value.item() if getattr(value, "shape", None) == () else value
            if not isinstance(number, int | float) or (isinstance(number, float) and not is_float(t.element)):
                raise errors.InvalidArgument(f"{name} of {self.source.name} is {t}; {value!r} is not such a constant")
            return Const(t.element, number)
        return t if t is not None else self._type_of(name, value)

    def _type_of(self, name: str, value: Any) -> Type:
        try:
            if (hasattr(value, "dtype") and hasattr(value, "shape") and value.shape != ()) or hasattr(value, "pointer"):
                return Pointer(of_dtype(value.dtype))
            found = of_value(value.item() if hasattr(value, "item") and value.dtype == bool else value)
        except Refusal as refusal:
            raise errors.InvalidArgument(f"{name} of {self.source.name}: {refusal}") from None
        if found is not None:
            t: Type = defaulted(found, value)
            return t
        if isinstance(value, ApiImage):
            return Image({"f": F32, "i": I32, "u": U32}[value.dtype.kind], int(value.kind[0]))
        if isinstance(value, Sampler):
            return SAMPLER
        raise errors.InvalidArgument(
            f"{name} of {self.source.name} cannot be {value!r}",
            remedy="Pass a Buffer, an Image, a Sampler or a number; Context.to_device() copies an array to the device.",
        )

    def specialized(self, *types: Any) -> Specialization:
        """The kernel for these parameter types and values of constants, without a launch.

        >>> @az.kernel
        ... def double(x):
        ...     x[az.global_id(0)] *= 2
        >>> double.specialized(az.ptr[az.i64]).signature
        'double(x: ptr[i64])'
        """
        if len(types) != len(self.passed):
            raise TypeError(f"{self.source.name} has {len(self.passed)} parameters; {len(types)} types were given")
        found = {name: self._specified(name, t) for name, t in zip(self.passed, types, strict=True)}
        return Specialization(self, {name: found.get(name, t) for name, t in self.parameters.items()})

    def _specified(self, name: str, given: Any) -> Any:
        """The type of a parameter as `specialized` is given it; the value of a constant."""
        if isinstance(self.parameters[name], Const):
            if isinstance(given, Const) and given.value is not None:
                return given
            if isinstance(given, Type | type):
                raise TypeError(f"{name} of {self.source.name} is a constant; give its value, 3 for instance")
            return self._given(name, given)
        t = type_of_annotation(given)
        if t is MISSING or t is None:
            raise TypeError(f"{name} of {self.source.name}: {given!r} is not a type; write az.f32, az.ptr[az.f32] …")
        return t

    # Launching

    def __getitem__(self, sizes: Any) -> Launch:
        try:
            found = self._launches[sizes]
            if type(sizes) is int or _are_integers(sizes):
                return found
        except (KeyError, TypeError):
            pass
        made = Launch(self, sizes)
        if sizes.__hash__ and _are_integers(sizes):
            if len(self._launches) >= 64:
                self._launches.clear()
            self._launches[sizes] = made
        return made

    def __call__(self, *_: Any, **__: Any) -> None:
        """Raise an error that shows how a kernel is launched."""
        name = self.source.name
        raise TypeError(f"{name}[n](…) launches the kernel for n work-items; {name}.simulate[n](…) runs it in Python")

    @property
    def simulate(self) -> Simulation:
        """The same function as plain Python, work-item by work-item: ``kernel.simulate[n](*arguments)``.

        Arguments are numpy arrays or buffers. Barriers are honoured, indices outside of the memory raise IndexError,
        and pdb and coverage see the function's own lines.

        >>> @az.kernel
        ... def fill(x: az.ptr[az.i32]):
        ...     i = az.global_id(0)
        ...     x[i] = az.i32(i * i)
        >>> x = np.zeros(4, np.int32)
        >>> fill.simulate[4](x)
        >>> x
        array([0, 1, 4, 9], dtype=int32)
        """
        from anyzero.language.simulate import Simulation

        return Simulation(self)

    def map(self, *args: Any, **options: Any) -> Any:
        """The kernel over the chunks of Dask arrays, as `az.cluster.map(kernel, *args, **options)` describes it."""
        # By its name: imports point down, and most programs have no Dask.
        return import_module("anyzero.cluster").map(self, *args, **options)

    def on(self, context: Context) -> ApiKernel:
        """The kernel in a context: for launches without buffers, and for indirect launches."""
        special = self._only("on(context)")
        found: ApiKernel = context.module(special.spirv)[self.source.name]
        found.enqueue.declare(special.declared)
        return found

    # Compiled forms

    def _only(self, what: str) -> Specialization:
        if self.plain is None:
            from anyzero.language.errors import KernelError

            raise KernelError(
                f"{what} needs all types, and {self.source.name} takes several; "
                f"{self.source.name}.specialized(…) names them"
            )
        return self.plain

    @property
    def spirv(self) -> bytes:
        """The module as SPIR-V, which every Level Zero or OpenCL driver accepts."""
        return self._only("spirv").spirv

    @property
    def spvasm(self) -> str:
        """The module as text, one instruction per line."""
        return self._only("spvasm").spvasm

    @property
    def signature(self) -> str:
        """Its name with the types of its parameters."""
        shown = (f"{name}: {self.parameters[name]}" if self.parameters[name] else name for name in self.passed)
        return f"{self.source.name}({', '.join(shown)})"

    def __repr__(self) -> str:
        return f"<kernel {self.signature}>"


def _are_integers(sizes: Any) -> bool:
    """Whether all sizes are integers; 64.0 is not, although it equals 64 and would find its launch."""
    return all(hasattr(each, "__index__") for each in (sizes if isinstance(sizes, tuple) else (sizes,)))


@overload
def kernel(definition: Callable[..., Any], /) -> Kernel: ...
@overload
def kernel(
    *, group: int | tuple[int, ...] | None = None, contract: bool = True
) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(definition: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a kernel from a function; it is compiled at its first launch.

    `group` is the required group size. With ``contract=False``, `a * b + c` is rounded twice, as in
    `simulate`, instead of being fused.

    >>> @az.kernel(group=64)
    ... def total(out: az.ptr[az.f32], x: az.ptr[az.f32]):
    ...     found = az.group_sum(x[az.global_id(0)])
    ...     if az.local_id(0) == 0:
    ...         out[az.group_id(0)] = found
    >>> ctx = az.device().context()
    >>> x, out = ctx.full(128, 1, np.float32), ctx.zeros(2, np.float32)
    >>> total[128](out, x)
    >>> out.copy_to()
    array([64., 64.], dtype=float32)
    """
    if definition is not None:
        return Kernel(definition)
    return lambda given: Kernel(given, **options)
