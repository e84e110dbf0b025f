"""Integers of 128 bits as two of 64: processors have no others.

`WideBuilder` writes operations as any builder does. Its results of type i128 are no operations of the body: each is a
pair, whose arguments are the lower and the upper half.
"""

from __future__ import annotations

from anyzero.compiler.builder import Builder
from anyzero.compiler.builtins.wide_division import NAME
from anyzero.compiler.ir import Op

I128 = "i128"


def pair(low: Op, high: Op) -> Op:
    return Op("pair", I128, [low, high])


def halves(value: Op) -> tuple[Op, Op]:
    low, high = value.args
    return low, high


class WideBuilder(Builder):
    def const(self, type_: str, bits: int) -> Op:
        if type_ != I128:
            return super().const(type_, bits)
        return pair(super().const("i64", bits), super().const("i64", bits >> 64))

    def binary(self, name: str, a: Op, b: Op, flags: str = "") -> Op:
        if a.type != I128:
            return super().binary(name, a, b, flags)
        if name in ("and", "or", "xor"):
            return pair(*(super(WideBuilder, self).binary(name, *both) for both in zip(a.args, b.args, strict=True)))
        if name in ("shl", "lshr", "ashr"):
            return self._shifted(name, a, b)
        if name in ("udiv", "sdiv", "urem", "srem"):
            return self._divided(name, a, b)
        return {"add": self._sum, "sub": self._difference, "mul": self._product}[name](a, b)

    def _sum(self, a: Op, b: Op) -> Op:
        low = self.add(a.args[0], b.args[0])
        carry = self.cast("zext", self.icmp("ult", low, a.args[0]), "i64")
        return pair(low, self.add(self.add(a.args[1], b.args[1]), carry))

    def _difference(self, a: Op, b: Op) -> Op:
        borrow = self.cast("zext", self.icmp("ult", a.args[0], b.args[0]), "i64")
        return pair(self.sub(a.args[0], b.args[0]), self.sub(self.sub(a.args[1], b.args[1]), borrow))

    def _product(self, a: Op, b: Op) -> Op:
        (a_low, a_high), (b_low, b_high) = halves(a), halves(b)
        across = self.add(self.mul(a_low, b_high), self.mul(a_high, b_low))
        return pair(self.mul(a_low, b_low), self.add(self.math("u_mul_hi", "i64", a_low, b_low), across))

    def _shifted(self, name: str, value: Op, by: Op) -> Op:
        """Shifts within halves, then by a whole half; crossing bits take two shifts: none shifts by 64."""
        (low, high), (count, _) = halves(value), halves(by)
        last, one = self.const("i64", 63), self.const("i64", 1)
        inside = self.and_(count, last)
        back = self.sub(last, inside)
        whole = self.icmp("ne", self.and_(count, self.const("i64", 64)), self.const("i64", 0))
        if name == "shl":
            moved = self.shl(low, inside)
            above = self.or_(self.shl(high, inside), self.lshr(self.lshr(low, one), back))
            return pair(self.select(whole, self.const("i64", 0), moved), self.select(whole, moved, above))
        moved = self.binary(name, high, inside)
        below = self.or_(self.lshr(low, inside), self.shl(self.shl(high, one), back))
        rest = self.ashr(high, last) if name == "ashr" else self.const("i64", 0)
        return pair(self.select(whole, moved, below), self.select(whole, rest, moved))

    def _divided(self, name: str, a: Op, d: Op) -> Op:
        # The routine accepts a zero; this division traps, as every division does.
        self.emit("udiv", "i64", [super().const("i64", 1), self.or_(*halves(d))])
        signed, zero = name[0] == "s", self.const(I128, 0)
        above, below = a, d
        if signed:
            above, below = (self.select(self.icmp("slt", x, zero), self.sub(zero, x), x) for x in (a, d))
        both = self.math(NAME, "i64", *halves(above), *halves(below))
        quotient = pair(self.part(both, 0, "i64"), self.part(both, 1, "i64"))
        if signed:
            other_sign = self.icmp("slt", self.xor(a.args[1], d.args[1]), self.const("i64", 0))
            quotient = self.select(other_sign, self.sub(zero, quotient), quotient)
        return quotient if name.endswith("div") else self.sub(a, self.mul(quotient, d))

    def icmp(self, predicate: str, a: Op, b: Op) -> Op:
        if a.type != I128:
            return super().icmp(predicate, a, b)
        (a_low, a_high), (b_low, b_high) = halves(a), halves(b)
        if predicate in ("eq", "ne"):
            either = self.or_(self.xor(a_low, b_low), self.xor(a_high, b_high))
            return self.icmp(predicate, either, self.const("i64", 0))
        # If the upper halves are equal, the lower ones decide, compared without a sign.
        lower = self.icmp(f"u{predicate[1:]}", a_low, b_low)
        return self.select(self.icmp("eq", a_high, b_high), lower, self.icmp(predicate, a_high, b_high))

    def select(self, condition: Op, then: Op, otherwise: Op) -> Op:
        if then.type != I128:
            return super().select(condition, then, otherwise)
        both = zip(then.args, otherwise.args, strict=True)
        return pair(*(super(WideBuilder, self).select(condition, *each) for each in both))

    def cast(self, kind: str, value: Op, to: str) -> Op:
        """Conversions between integers; `wide_floats` has the others."""
        if I128 not in (value.type, to) or value.type == to:
            return super().cast(kind, value, to)
        if value.type == I128:
            return self.resized(value.args[0], to)
        low = super().resized(value, "i64", signed=kind == "sext")
        return pair(low, self.ashr(low, self.const("i64", 63)) if kind == "sext" else self.const("i64", 0))

    def intrinsic(self, name: str, *args: Op) -> Op:
        if args[0].type != I128:
            return super().intrinsic(name, *args)
        low, high = (super(WideBuilder, self).intrinsic(name, each) for each in halves(args[0]))
        if name == "bitreverse":
            return pair(high, low)
        assert name == "ctpop"
        return pair(self.add(low, high), self.const("i64", 0))
