"""The builder of LLVM text, with operations for math routines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from anyzero.compiler.builtins.formats import FORMATS, Format
from anyzero.compiler.llvm import Builder, Number, Type, Value

if TYPE_CHECKING:
    from anyzero.compiler.builtins.routine import Routine


def format_of(x: Value) -> Format:
    return FORMATS[x.type.element]


class Writer(Builder):
    """Instructions of one routine. No fast-math flags: the routines rely on every rounding."""

    def __init__(self, estimates: bool = False, fused: bool = True) -> None:
        super().__init__()
        self.fused = fused
        """True if the target has fused multiply-adds."""
        self.estimates = estimates
        """True if the target has AVX-512's inverse square root estimates and scaling by powers of two."""
        self.needs: list[Routine] = []
        self.rare = False
        """True if the routine is better not inlined."""
        self._block = "entry"
        self._blocks = 0

    # Multiply-adds

    def mad(self, a: Value | Number, b: Value | Number, c: Value | Number) -> Value:
        """A multiply-add whose product may be rounded."""
        if self.fused:
            return self.intrinsic("fma", a, b, c)
        x, y, z = self._alike([a, b, c])
        return x * y + z

    def fma(self, a: Value | Number, b: Value | Number, c: Value | Number) -> Value:
        """A multiply-add rounded once, except for ties and doubles above 2^990: the product plus its error."""
        x, y, z = self._alike([a, b, c])
        if self.fused:
            return self.intrinsic("fma", x, y, z)
        if x.type.element == "float":
            # The product is exact.
            wide = [self.cast("fpext", each, "double") for each in (x, y, z)]
            return self.cast("fptrunc", wide[0] * wide[1] + wide[2], "float")
        product = x * y
        (x1, x0), (y1, y0) = self._halves(x), self._halves(y)
        error = ((x1 * y1 - product) + x1 * y0 + x0 * y1) + x0 * y0
        total = product + z
        shadow = total - product
        lost = (product - (total - shadow)) + (z - shadow) + error
        # Not for infinities and numbers too large to split, nor where a zero would lose its sign.
        return self.select(self.compare("one", lost, 0.0), total + lost, total)

    def exact_fma(self, a: Value | Number, b: Value | Number, c: Value | Number) -> Value:
        """Rounded once, by a call if the target has no instruction for it."""
        return self.intrinsic("fma", a, b, c)

    def _halves(self, x: Value) -> tuple[Value, Value]:
        """Two doubles of 26 bits each with this sum, whose products are exact (Veltkamp splitting)."""
        spread = x * 134217729.0
        high = spread - (spread - x)
        return high, x - high

    # Bits

    def to_bits(self, x: Value) -> Value:
        return self.bitcast(x, format_of(x).integer)

    def from_bits(self, bits: Value) -> Value:
        return self.bitcast(bits, {16: "half", 32: "float", 64: "double"}[bits.type.bits])

    def sign_bit(self, x: Value) -> Value:
        """The sign alone, as bits."""
        return self.to_bits(x) & format_of(x).sign_mask

    def flip(self, x: Value, signs: Value) -> Value:
        """`x` with its sign flipped where the top bit of `signs` is set; the other bits of `signs` are zero."""
        return self.from_bits(self.to_bits(x) ^ signs)

    # Selection

    def at_most(self, x: Value, bound: Value | Number) -> Value:
        """The minimum, NaN if `x` is NaN: one instruction, `fmin` takes three."""
        limit = bound if isinstance(bound, Value) else x.like(bound)
        return self.select(self.compare("olt", limit, x), limit, x)

    def at_least(self, x: Value, bound: Value | Number) -> Value:
        limit = bound if isinstance(bound, Value) else x.like(bound)
        return self.select(self.compare("ogt", limit, x), limit, x)

    def is_nan(self, x: Value) -> Value:
        return self.compare("uno", x, x)

    def is_infinite(self, x: Value) -> Value:
        return self.compare("oeq", self.fabs(x), float("inf"))

    # Rounding to integers

    def nearest(self, x: Value) -> Value:
        """Rounds to nearest even, independent of the rounding mode."""
        return self.intrinsic("roundeven", x)

    def floor(self, x: Value) -> Value:
        return self.intrinsic("floor", x)

    def trunc(self, x: Value) -> Value:
        return self.intrinsic("trunc", x)

    def small_to_real(self, n: Value, element: str) -> Value:
        """Converts an integer of magnitude below 2^51 without the 64-bit instruction that AVX2 lacks."""
        if element != "double":
            return self.cast("sitofp", n, element)
        magic = FORMATS["double"].magic
        anchor = self.to_bits(self.constant(magic, n.type.of("double")))
        return self.from_bits(n + anchor) - magic

    # Any lane

    def any_lane(self, mask: Value) -> Value:
        """True if any lane's bit is set."""
        if not mask.type.lanes:
            return mask
        return self.call(f"llvm.vector.reduce.or.{mask.type.mangled}", Type("i1"), mask)

    def start_block(self) -> str:
        self._blocks += 1
        return f"b{self._blocks}"

    def enter(self, name: str) -> None:
        self.label(name)
        self._block = name

    def unlikely(self, mask: Value, otherwise: list[Value], rare: Callable[[], list[Value]]) -> list[Value]:
        """`rare()` if any lane is in `mask`, else `otherwise`; both must agree for lanes outside of the mask, so that a
        lane's result does not depend on other lanes.
        """
        go, join = self.start_block(), self.start_block()
        before = self._block
        expected = self.any_lane(mask)
        expected = self.call("llvm.expect.i1", Type("i1"), expected, self.constant(0, Type("i1")))
        self.branch(expected, go, join)
        self.enter(go)
        found = rare()
        after = self._block
        self.jump(join)
        self.enter(join)
        return [self.phi((a, before), (b, after)) for a, b in zip(otherwise, found, strict=True)]

    def repeat(self, start: list[Value], step: Callable[[list[Value]], tuple[list[Value], Value]]) -> list[Value]:
        """`step` returns the next values and a mask; it runs at least once, until no lane's bit is set. It must not
        change the values of finished lanes.
        """
        head, done = self.start_block(), self.start_block()
        before = self._block
        self.jump(head)
        self.enter(head)
        mark = len(self.lines)
        state = [Value(self, self.name(), value.type) for value in start]
        following, mask = step(state)
        self.lines[mark:mark] = [
            f"  {now.text} = phi {now.type} [ {first.text}, %{before} ], [ {after.text}, %{self._block} ]"
            for now, first, after in zip(state, start, following, strict=True)
        ]
        self.branch(self.any_lane(mask), head, done)
        self.enter(done)
        return following

    # Other routines

    def use(self, routine: Routine, *arguments: Value) -> list[Value]:
        """Calls another routine."""
        if routine not in self.needs:
            self.needs.append(routine)
        if len(routine.results) == 1:
            return [self.apply(routine.symbol, routine.results[0], *arguments)]
        return self.apply_several(routine.symbol, routine.results, *arguments)
