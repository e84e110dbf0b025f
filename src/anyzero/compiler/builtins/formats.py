"""The binary formats: position of fraction and exponent."""

from __future__ import annotations

from anyzero.lazy_namedtuple import NamedTuple


class Format(NamedTuple):
    """A format of IEEE 754; all masks are of its bits as an integer."""

    element: str
    integer: str
    bits: int
    fraction: int
    """Bits of the fraction, without the implicit one."""

    @property
    def bias(self) -> int:
        return (1 << (self.bits - self.fraction - 2)) - 1

    @property
    def sign_mask(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def size_mask(self) -> int:
        """Everything but the sign."""
        return self.sign_mask - 1

    @property
    def fraction_mask(self) -> int:
        return (1 << self.fraction) - 1

    @property
    def infinity_bits(self) -> int:
        return self.size_mask - self.fraction_mask

    @property
    def one_bits(self) -> int:
        return self.bias << self.fraction

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def magic(self) -> float:
        """Added to a small number, it leaves the nearest integer in the lowest bits of the sum."""
        return 1.5 * 2.0**self.fraction

    @property
    def exponent_anchor(self) -> float:
        """As `magic`; the lowest bits of the sum are the integer plus twice the bias, as `scaling.scale` expects."""
        return self.magic + 2 * self.bias


FORMATS = {
    "half": Format("half", "i16", 16, 10),
    "float": Format("float", "i32", 32, 23),
    "double": Format("double", "i64", 64, 52),
}
REALS = tuple(FORMATS)
INTEGERS = ("i8", "i16", "i32", "i64")
