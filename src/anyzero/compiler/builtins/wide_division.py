"""128-bit integer division, on halves of 64 bits: bit by bit, for all lanes at once."""

from __future__ import annotations

from functools import cache

from anyzero.compiler.builtins.routine import Routine
from anyzero.compiler.llvm import Type

NAME = "wide_udiv"
"""Its name in `math`; it is not an OpenCL function."""


@cache
def routine(lanes: int) -> Routine:
    """Unsigned division, lower halves first; undefined for a zero divisor."""
    type_, truth = Type("i64", lanes), Type("i1", lanes)
    symbol = f"az.{NAME}.{type_.mangled}"
    one, top, zero = (f"splat (i64 {value})" if lanes else str(value) for value in (1, 63, 0))
    given = ", ".join(f"{type_} %a{place}" for place in range(4))
    both = f"{{ {type_}, {type_} }}"
    # The bit shifted out of the rest is significant: the divisor may have all 128 bits.
    text = f"""define internal {both} @{symbol}({given}) noinline willreturn nosync nofree memory(none) #0 {{
entry:
  br label %bit
bit:
  %left = phi i32 [ 128, %entry ], [ %fewer, %bit ]
  %low = phi {type_} [ %a0, %entry ], [ %low.next, %bit ]
  %high = phi {type_} [ %a1, %entry ], [ %high.next, %bit ]
  %rest.low = phi {type_} [ {zero}, %entry ], [ %rest.low.next, %bit ]
  %rest.high = phi {type_} [ {zero}, %entry ], [ %rest.high.next, %bit ]
  %over = icmp slt {type_} %rest.high, {zero}
  %digit = lshr {type_} %high, {top}
  %across = lshr {type_} %rest.low, {top}
  %rest.low.moved = shl {type_} %rest.low, {one}
  %rest.high.moved = shl {type_} %rest.high, {one}
  %r.low = or {type_} %rest.low.moved, %digit
  %r.high = or {type_} %rest.high.moved, %across
  %above = icmp ugt {type_} %r.high, %a3
  %same = icmp eq {type_} %r.high, %a3
  %borrows = icmp ult {type_} %r.low, %a2
  %reaches = xor {truth} %borrows, {"splat (i1 true)" if lanes else "true"}
  %equal = and {truth} %same, %reaches
  %enough = or {truth} %above, %equal
  %fits = or {truth} %over, %enough
  %borrow = zext {truth} %borrows to {type_}
  %less.low = sub {type_} %r.low, %a2
  %less.some = sub {type_} %r.high, %a3
  %less.high = sub {type_} %less.some, %borrow
  %rest.low.next = select {truth} %fits, {type_} %less.low, {type_} %r.low
  %rest.high.next = select {truth} %fits, {type_} %less.high, {type_} %r.high
  %carried = lshr {type_} %low, {top}
  %low.moved = shl {type_} %low, {one}
  %high.moved = shl {type_} %high, {one}
  %found = zext {truth} %fits to {type_}
  %low.next = or {type_} %low.moved, %found
  %high.next = or {type_} %high.moved, %carried
  %fewer = sub i32 %left, 1
  %more = icmp ne i32 %fewer, 0
  br i1 %more, label %bit, label %done
done:
  %half = insertvalue {both} poison, {type_} %low.next, 0
  %whole = insertvalue {both} %half, {type_} %high.next, 1
  ret {both} %whole
}}
"""
    return Routine(symbol, (type_,) * 4, (type_, type_), text, (), {})
