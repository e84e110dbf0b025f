"""`az.random`: random numbers by a counter, Philox 4x32 with ten rounds.

The number at an index depends on the seed and the index alone: not on the device, on group sizes or on what else runs.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from anyzero import errors
from anyzero.arrays.text import kernel_of, type_name
from anyzero.language.kernel import Kernel

if TYPE_CHECKING:
    from anyzero.api.buffer import Buffer, Shape
    from anyzero.api.context import Context
    from anyzero.api.device import Device

__all__ = ["RandomGenerator", "random"]

_PHILOX: Final = """
@az.function
def philox(c0: az.u32, c1: az.u32, c2: az.u32, c3: az.u32, k0: az.u32, k1: az.u32):
    for _ in range(10):
        p0 = az.u64(c0) * az.u64(0xD2511F53)
        p1 = az.u64(c2) * az.u64(0xCD9E8D57)
        c0, c1, c2, c3 = az.u32(p1 >> 32) ^ c1 ^ k0, az.u32(p1), az.u32(p0 >> 32) ^ c3 ^ k1, az.u32(p0)
        k0 = k0 + az.u32(0x9E3779B9)
        k1 = k1 + az.u32(0xBB67AE85)
    return c0, c1, c2, c3

@az.function
def block(index: az.u64, stream: az.u64, key: az.u64):
    return philox(
        az.u32(index), az.u32(index >> 32), az.u32(stream), az.u32(stream >> 32), az.u32(key), az.u32(key >> 32)
    )

@az.function
def single(bits: az.u32):
    return az.f32(bits >> 8) * az.f32(1.0 / 16777216.0)

@az.function
def double(high: az.u32, low: az.u32):
    return (az.f64(high >> 5) * az.f64(67108864.0) + az.f64(low >> 6)) / az.f64(9007199254740992.0)
"""

_HEAD: Final = "n: az.i64, key: az.u64, stream: az.u64"
_START: Final = """
    i = az.global_id(0)
    a, b, c, d = block(az.u64(i), stream, key)
"""
_STORE: Final = """
    for k in range({count}):
        if i * {count} + k < n:
            out[i * {count} + k] = {type}(found[k])
"""

_kernels: Final[dict[str, Kernel]] = {}


class RandomGenerator:
    """Random numbers for buffers of a context; `az.random` makes it. Each call continues where the last one ended.

    Any thread may use a generator; calls of several come in any order.

    >>> r = az.random(az.device().context(), seed=7)
    >>> again = az.random(az.device().context(), seed=7)
    >>> bool((r.uniform(5).copy_to() == again.uniform(5).copy_to()).all())
    True
    """

    def __init__(self, context: Context, seed: int, stream: int, device: Device | None) -> None:
        for name, value in (("seed", seed), ("stream", stream)):
            if not 0 <= value < 1 << 64:
                raise errors.InvalidArgument(f"{name} is {value}; it must be an unsigned integer of 64 bits")
        self.context = context
        self.device = device or context.device
        self.seed = seed
        self.stream = stream
        """The next call's stream: each call takes one, in which elements are counted."""

    def uniform(self, shape: Shape, dtype: npt.DTypeLike = np.float32, *, low: float = 0, high: float = 1) -> Buffer:
        """Floats from `low` up to and excluding `high`, in steps of 2 ** -24 of the range (float64: 2 ** -53).

        >>> x = az.random(az.device().context(), seed=1).uniform((2, 3), low=-1, high=1)
        >>> x.shape, bool((abs(x) <= 1).all())
        ((2, 3), True)
        """
        own = _floats(dtype, "uniform")
        values = [f"single({each})" for each in "abcd"] if own.itemsize == 4 else ["double(a, b)", "double(c, d)"]
        scaled = [f"low + (high - low) * {each}" for each in values]
        return self._filled("uniform", shape, own, scaled, own, (float(low), float(high)))

    def normal(
        self, shape: Shape, dtype: npt.DTypeLike = np.float32, *, mean: float = 0, deviation: float = 1
    ) -> Buffer:
        """Normally distributed floats, by the Box-Muller method.

        >>> x = az.random(az.device().context(), seed=1).normal(10000)
        >>> abs(x.mean().item()) < 0.1
        True
        """
        own = _floats(dtype, "normal")
        pairs = [("single(a)", "single(b)"), ("single(c)", "single(d)")]
        if own.itemsize == 8:
            pairs = [("double(a, b)", "double(c, d)")]
        values = []
        for first, second in pairs:
            radius = f"az.math.sqrt(-2 * az.math.log(1 - {first}))"
            values += [f"low + high * {radius} * az.math.{each}(2 * {second})" for each in ("cospi", "sinpi")]
        return self._filled("normal", shape, own, values, own, (float(mean), float(deviation)))

    def integers(self, low: int, high: int, shape: Shape, dtype: npt.DTypeLike = np.int32) -> Buffer:
        """Integers from `low` up to and excluding `high`, each made from 64 random bits.

        >>> x = az.random(az.device().context(), seed=1).integers(1, 7, 1000)
        >>> x.min().item(), x.max().item()
        (1, 6)
        """
        own: np.dtype[Any] = np.dtype(dtype)
        if own.kind not in "iu":
            raise errors.InvalidArgument(f"integers() makes integers, not {own}")
        limits = np.iinfo(own)
        if not limits.min <= low < high <= limits.max + 1:
            raise errors.InvalidArgument(f"the range from {low} up to {high} is empty, or does not fit {own}")
        bits = [f"((az.u64({one}) << 32) | az.u64({other}))" for one, other in ("ab", "cd")]
        values = [f"az.math.mul_hi({each}, high) + low" for each in bits]
        unsigned: np.dtype[Any] = np.dtype(np.uint64)
        return self._filled("integers", shape, own, values, unsigned, (low % (1 << 64), (high - low) % (1 << 64)))

    def bits(self, shape: Shape) -> Buffer:
        """Random bits as uint32, as Philox makes them.

        >>> az.random(az.device().context(), seed=0).bits(4).dtype
        dtype('uint32')
        """
        own: np.dtype[Any] = np.dtype(np.uint32)
        return self._filled("bits", shape, own, list("abcd"), own, (0, 0))

    def _filled(
        self, name: str, shape: Shape, dtype: np.dtype[Any], values: list[str], own: np.dtype[Any], limits: Any
    ) -> Buffer:
        out = self.context.buffer(shape, dtype, device=self.device)
        count = len(values)
        target, number = type_name(dtype), type_name(own)
        text = f"{_PHILOX}\ndef {name}(out: az.ptr[{target}], low: {number}, high: {number}, {_HEAD}):{_START}"
        text += f"    found = az.private[{number}, {count}]\n"
        text += "".join(f"    found[{index}] = {each}\n" for index, each in enumerate(values))
        text += _STORE.format(count=count, type=target)
        kernel = _kernels.get(text)
        if kernel is None:
            kernel = _kernels[text] = kernel_of(name, text)
        stream, self.stream = self.stream, (self.stream + 1) % (1 << 64)
        size = prod(out.shape)
        if size:
            kernel[-(-size // count)](out, *limits, size, self.seed, stream)
        return out

    def __repr__(self) -> str:
        return f"<RandomGenerator, seed {self.seed}, stream {self.stream}>"


def _floats(dtype: npt.DTypeLike, what: str) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(dtype)
    if found not in (np.float32, np.float64):
        raise errors.InvalidArgument(f"{what} numbers are float32 or float64, not {found}")
    return found


def random(context: Context, seed: int, *, stream: int = 0, device: Device | None = None) -> RandomGenerator:
    """A generator of random numbers for buffers of a context; a seed gives the same numbers on every device.

    Each call uses one stream. Generators with the same seed are independent as long as their streams differ.

    >>> r = az.random(az.device().context(), seed=42)
    >>> r.uniform(3).copy_to()
    array([...], dtype=float32)
    >>> r.integers(0, 10, 4).shape
    (4,)
    """
    return RandomGenerator(context, seed, stream, device)
