"""The types as a program writes them: `az.f32`, `az.ptr[az.f32]`, `az.local[az.f32, 256]`."""

# ruff: noqa: N801, N813 (these are types to a checker, and are written as the language writes them)

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from anyzero.api.local import Local
from anyzero.api.local import local as _local
from anyzero.language import types

__all__ = [
    "array",
    "const",
    "double2",
    "double3",
    "double4",
    "f16",
    "f32",
    "f64",
    "float2",
    "float3",
    "float4",
    "i8",
    "i16",
    "i32",
    "i64",
    "image",
    "int2",
    "int3",
    "int4",
    "local",
    "output_image",
    "private",
    "ptr",
    "sampler",
    "u8",
    "u16",
    "u32",
    "u64",
    "uint2",
    "uint3",
    "uint4",
    "vector",
]

T = TypeVar("T")


class _Maker:
    """A name that makes types by subscripts."""

    def __init__(self, name: str, example: str, make: Callable[..., Any], doc: str) -> None:
        self._name = name
        self.example = example
        self._make = make
        self.__doc__ = doc

    def __getitem__(self, key: Any) -> Any:
        try:
            return self._make(*key) if isinstance(key, tuple) else self._make(key)
        except (TypeError, ValueError) as error:
            raise TypeError(f"az.{self._name}[{key!r}]: {error}; write it as in {self.example}") from None

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"az.{self._name} is for types in kernels, as in {self.example}; "
            "a context makes arrays: ctx.to_device(…), ctx.zeros(…)"
        )

    def __repr__(self) -> str:
        return f"az.{self._name}"


class _LocalMaker(_Maker):
    """Local memory: a type by subscripts, and by a call the argument of a launch."""

    def __call__(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.uint8) -> Local:
        """Local memory as an argument of a launch, for an array.

        >>> az.local((16, 16), np.float32)
        Local(nbytes=1024)
        """
        return _local(shape, dtype)


def _element(of: Any) -> Any:
    if of is bool:
        return types.BOOL
    if not isinstance(of, types.Scalar | types.Vector) or types.is_weak(of):
        raise TypeError(f"{of!r} is not an element type{_hint(of)}")
    return of


def _hint(of: Any) -> str:
    """The word for a type of numpy or of Python, where there is one."""
    if not isinstance(of, type | np.dtype) or of is object:
        return ""
    try:
        t = types.F32 if of is float else types.I32 if of is int else types.of_dtype(np.dtype(of))
    except (TypeError, types.Refusal):
        return ""
    return f", but {t!r} is"


def _scalar(of: Any) -> types.Scalar:
    found = _element(of)
    if not isinstance(found, types.Scalar):
        raise TypeError(f"{of!r} is not a number")
    return found


def _pointer(of: Any) -> types.Pointer:
    return types.Pointer(_element(of))


def _memory(space: str) -> Callable[..., Any]:
    def make(of: Any, *shape: Any) -> Any:
        if not shape:
            if space == "private":
                raise TypeError("private memory has a size")
            return types.Pointer(_element(of), space)
        extents = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        if not all(isinstance(each, int | np.integer) and each > 0 for each in extents):
            raise TypeError("its sizes are constants above 0")
        return types.Memory(_element(of), tuple(int(each) for each in extents), space)

    return make


def _array(of: Any, ndim: int = 1) -> types.Array:
    if not isinstance(ndim, int) or not 1 <= ndim <= 8:
        raise ValueError("an array has 1 to 8 axes")
    return types.Array(_element(of), ndim)


def _vector(of: Any, count: int) -> types.Vector:
    if count not in (2, 3, 4, 8, 16):
        raise ValueError("a vector has 2, 3, 4, 8 or 16 components")
    return types.Vector(_scalar(of), count)


def _image(of: Any, ndim: int = 2, *, access: str = "r") -> types.Image:
    if of not in (types.F32, types.I32, types.U32):
        raise TypeError("texels are read as az.f32, az.i32 or az.u32")
    if ndim not in (1, 2, 3):
        raise ValueError("an image has 1, 2 or 3 axes")
    return types.Image(of, ndim, access)


def _output_image(of: Any, ndim: int = 2) -> types.Image:
    return _image(of, ndim, access="w")


def _const(of: Any) -> types.Const:
    return types.Const(_scalar(of))


local: Final = _LocalMaker(
    "local", "az.local[az.f32, 256]", _memory("local"), "Memory that the work-items of a group share."
)
private: Final = _Maker(
    "private", "az.private[az.f32, 16]", _memory("private"), "An array of each work-item's own, in a kernel's body."
)

if TYPE_CHECKING:
    # Type checkers treat a number of the language as Any: their rules of arithmetic are not C's.
    from typing import Annotated
    from typing import Annotated as array
    from typing import Annotated as image
    from typing import Annotated as output_image

    from anyzero.api.sampler import AddressMode, FilterMode

    const = Annotated[T, "const"]

    class _Any:
        """A value of the language: every operation on it gives another."""

        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __floordiv__(self, other: Any) -> Any: ...
        def __rfloordiv__(self, other: Any) -> Any: ...
        def __mod__(self, other: Any) -> Any: ...
        def __rmod__(self, other: Any) -> Any: ...
        def __pow__(self, other: Any) -> Any: ...
        def __rpow__(self, other: Any) -> Any: ...
        def __lshift__(self, other: Any) -> Any: ...
        def __rlshift__(self, other: Any) -> Any: ...
        def __rshift__(self, other: Any) -> Any: ...
        def __rrshift__(self, other: Any) -> Any: ...
        def __and__(self, other: Any) -> Any: ...
        def __rand__(self, other: Any) -> Any: ...
        def __or__(self, other: Any) -> Any: ...
        def __ror__(self, other: Any) -> Any: ...
        def __xor__(self, other: Any) -> Any: ...
        def __rxor__(self, other: Any) -> Any: ...
        def __lt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...
        def __neg__(self) -> Any: ...
        def __pos__(self) -> Any: ...
        def __invert__(self) -> Any: ...
        def __abs__(self) -> Any: ...
        def __round__(self) -> Any: ...
        def __float__(self) -> float: ...
        def __int__(self) -> int: ...
        def __index__(self) -> int: ...
        def __len__(self) -> int: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    class _Number(_Any):
        def __init__(self, value: Any = 0) -> None: ...

    class _Vector(_Any):
        def __init__(self, *parts: Any) -> None: ...

    class i8(_Number): ...

    class i16(_Number): ...

    class i32(_Number): ...

    class i64(_Number): ...

    class u8(_Number): ...

    class u16(_Number): ...

    class u32(_Number): ...

    class u64(_Number): ...

    class f16(_Number): ...

    class f32(_Number): ...

    class f64(_Number): ...

    class float2(_Vector): ...

    class float3(_Vector): ...

    class float4(_Vector): ...

    class double2(_Vector): ...

    class double3(_Vector): ...

    class double4(_Vector): ...

    class int2(_Vector): ...

    class int3(_Vector): ...

    class int4(_Vector): ...

    class uint2(_Vector): ...

    class uint3(_Vector): ...

    class uint4(_Vector): ...

    class ptr(Generic[T]):
        def __getitem__(self, index: Any) -> T: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __add__(self, distance: Any) -> ptr[T]: ...

    class sampler(_Any):
        def __init__(
            self,
            *,
            address: AddressMode = "clamp",
            filter: FilterMode = "nearest",  # noqa: A002 (the specification's word)
            normalized: bool = False,
        ) -> None: ...

    vector: Any
else:
    i8, i16, i32, i64 = types.I8, types.I16, types.I32, types.I64
    u8, u16, u32, u64 = types.U8, types.U16, types.U32, types.U64
    f16, f32, f64 = types.F16, types.F32, types.F64
    float2, float3, float4 = (types.Vector(types.F32, count) for count in (2, 3, 4))
    double2, double3, double4 = (types.Vector(types.F64, count) for count in (2, 3, 4))
    int2, int3, int4 = (types.Vector(types.I32, count) for count in (2, 3, 4))
    uint2, uint3, uint4 = (types.Vector(types.U32, count) for count in (2, 3, 4))
    ptr = _Maker("ptr", "az.ptr[az.f32]", _pointer, "A pointer to elements in a buffer.")
    array = _Maker("array", "az.array[az.f32, 2]", _array, "A buffer with its shape, indexed along each axis.")
    vector = _Maker("vector", "az.vector[az.f32, 4]", _vector, "A vector of 2, 3, 4, 8 or 16 numbers.")
    image = _Maker("image", "az.image[az.f32, 2]", _image, "An image that the kernel reads.")
    output_image = _Maker(
        "output_image", "az.output_image[az.f32, 2]", _output_image, "An image that the kernel writes."
    )
    const = _Maker("const", "az.const[az.i32]", _const, "A parameter that is a constant when the kernel is compiled.")
    sampler = types.SAMPLER
