"""Ranges of integers of up to 32 bits, as intervals: bytes and shorts stay small through sums, products and shifts.

A range lies within the numbers that its type has as a signed or as an unsigned integer. The bits of a value are those
of a number in its range; what is known to be in neither order has all signed numbers as its range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from anyzero.compiler.folding import signed
from anyzero.compiler.ir import Body, Op

__all__ = ["Range", "fits", "fits_signed", "fits_unsigned", "value_ranges"]

Range = tuple[int, int]

TERMS = 8
"""Terms of a sum that are searched for weights that add up to a constant."""
WIDE = 16
"""Bits of a sum that is small enough without such a search."""
ROUNDS = 3
"""Rounds over the body in which the ranges of phis may grow."""
_BITS = {"i8": 8, "i16": 16, "i32": 32}


def fits_signed(range_: Range, bits: int) -> bool:
    return -(1 << (bits - 1)) <= range_[0] and range_[1] < 1 << (bits - 1)


def fits_unsigned(range_: Range, bits: int) -> bool:
    return range_[0] >= 0 and range_[1] < 1 << bits


def fits(range_: Range, bits: int) -> bool:
    """Do so many bits tell the number?"""
    return fits_signed(range_, bits) or fits_unsigned(range_, bits)


def _inverse(op: Op) -> tuple[Op, int] | None:
    """The operand and the constant of `c - x`, also where it is written as `x ^ c` with low bits."""
    if op.name == "sub" and op.args[0].name == "const":
        return op.args[1], signed(int(op.args[0].info), _BITS[op.type])
    if op.name == "xor" and op.args[1].name == "const" and not op.args[1].info & (op.args[1].info + 1):
        return op.args[0], int(op.args[1].info)
    return None


def value_ranges(body: Body) -> Mapping[Op, Range]:
    """The ranges of all integers of up to 32 bits."""
    found = _Ranges()
    changed, turn = True, 0
    while changed:
        changed = False
        for block in body.blocks:
            for op in block.everything:
                if op.type in _BITS and op.name != "load":
                    changed |= found.visit(op, turn >= ROUNDS)
        turn += 1
        if not any(block.phis for block in body.blocks):
            break
    return found


class _Ranges(dict[Op, Range]):
    """Of operations that were not visited yet, nothing is assumed, except by phis."""

    def __missing__(self, op: Op) -> Range:
        bits = _BITS.get(op.type, 64)
        return (signed(int(op.info), bits),) * 2 if op.name == "const" else _every(bits)

    def visit(self, op: Op, last: bool) -> bool:
        """True if the range is another than before; after some rounds, phis that still grow have every number."""
        bits = _BITS[op.type]
        if op.name == "phi":
            known = [self[arg] for arg in op.args if arg in self or arg.name in ("const", "load")]
            new = _union(known) if known else _every(bits)
        else:
            rule = _RULES.get(op.name)
            new = rule(self, op) if rule is not None else _every(bits)
        if not fits(new, bits):
            new = _every(bits)
        old = self.get(op)
        if old == new:
            return False
        if last and op.name == "phi" and old is not None:
            new = _every(bits)
        self[op] = new
        return old != new


def _every(bits: int) -> Range:
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def _union(ranges: Sequence[Range]) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


_Rule = Callable[[_Ranges, Op], Range]
_RULES: dict[str, _Rule] = {}


def _rule(*names: str) -> Callable[[_Rule], _Rule]:
    def register(rule: _Rule) -> _Rule:
        for name in names:
            _RULES[name] = rule
        return rule

    return register


@_rule("add")
def _add(known: _Ranges, op: Op) -> Range:
    first, second = (known[arg] for arg in op.args)
    usual = first[0] + second[0], first[1] + second[1]
    # Never both: they are of numbers with the same bits, but not of one number where a part of the sum wraps around.
    return usual if fits(usual, WIDE) else _mixture(known, op) or usual


def _mixture(known: _Ranges, op: Op) -> Range | None:
    """The range of a sum with two products whose weights add up to a constant, as in `x * t + y * (255 - t)`: it is
    between those of the constant times either.
    """
    terms = [op]
    place = 0
    while place < len(terms) and len(terms) <= TERMS:
        if terms[place].name == "add":
            terms[place : place + 1] = terms[place].args
        else:
            place += 1
    products = [term for term in terms if term.name == "mul"]
    for product in products:
        for weight, factor in (product.args, product.args[::-1]):
            inverse = _inverse(weight) if weight.name in ("sub", "xor") else None
            if inverse is None:
                continue
            of, total = inverse
            low, high = known[of]
            if low < 0 or high > total:
                continue
            for other in products:
                if other is product or of not in other.args:
                    continue
                second = other.args[1] if other.args[0] is of else other.args[0]
                both = _union([known[factor], known[second]])
                rest = [known[term] for term in terms if term is not product and term is not other]
                return (
                    both[0] * total + sum(each[0] for each in rest),
                    both[1] * total + sum(each[1] for each in rest),
                )
    return None


@_rule("sub")
def _sub(known: _Ranges, op: Op) -> Range:
    first, second = (known[arg] for arg in op.args)
    return first[0] - second[1], first[1] - second[0]


def _product(first: Range, second: Range) -> Range:
    corners = [one * other for one in first for other in second]
    return min(corners), max(corners)


@_rule("mul")
def _mul(known: _Ranges, op: Op) -> Range:
    return _product(known[op.args[0]], known[op.args[1]])


@_rule("shl", "lshr", "ashr")
def _shift(known: _Ranges, op: Op) -> Range:
    bits = _BITS[op.type]
    (low, high), by = known[op.args[0]], op.args[1]
    if by.name != "const" or by.info >= bits:
        return _every(bits)
    if op.name == "shl":
        return low << by.info, high << by.info
    if op.name == "lshr":
        return (low >> by.info, high >> by.info) if low >= 0 else (0, ((1 << bits) - 1) >> by.info)
    return (low >> by.info, high >> by.info) if fits_signed((low, high), bits) else _every(bits)


@_rule("and")
def _and(known: _Ranges, op: Op) -> Range:
    most = [high for low, high in (known[arg] for arg in op.args) if low >= 0]
    return (0, min(most)) if most else _every(_BITS[op.type])


@_rule("or", "xor")
def _or(known: _Ranges, op: Op) -> Range:
    first, second = (known[arg] for arg in op.args)
    if op.name == "xor" and op.args[1].name == "const":
        number = second[0]
        if number == -1:
            return -1 - first[1], -1 - first[0]
        if number > 0 and not number & (number + 1) and first[0] >= 0 and first[1] <= number:
            return number - first[1], number - first[0]
    if min(first[0], second[0]) < 0:
        return _every(_BITS[op.type])
    return 0, (1 << max(first[1], second[1]).bit_length()) - 1


@_rule("udiv", "sdiv", "urem", "srem")
def _divide(known: _Ranges, op: Op) -> Range:
    bits = _BITS[op.type]
    (low, high), by = known[op.args[0]], op.args[1]
    divisor = signed(int(by.info), bits) if by.name == "const" else 0
    if divisor <= 0 or not fits_signed((low, high), bits) or (low < 0 and op.name[0] == "u"):
        return _every(bits)
    if op.name[1:] == "div":
        return -(-low // divisor) if low < 0 else low // divisor, -(-high // divisor) if high < 0 else high // divisor
    return max(low, 1 - divisor) if low < 0 else 0, min(high, divisor - 1) if high >= 0 else 0


@_rule("cast")
def _cast(known: _Ranges, op: Op) -> Range:
    source = op.args[0]
    if op.info == "trunc" and source.type in _BITS:
        return known[source]
    if op.info in ("zext", "sext") and source.type == "i1":
        return (0, 1) if op.info == "zext" else (-1, 0)
    if op.info not in ("zext", "sext") or source.type not in _BITS:
        return _every(_BITS[op.type])
    bits, (low, high) = _BITS[source.type], known[source]
    if op.info == "zext":
        return (low, high) if low >= 0 else (0, (1 << bits) - 1)
    return (low, high) if fits_signed((low, high), bits) else _every(bits)


@_rule("select")
def _select(known: _Ranges, op: Op) -> Range:
    condition, *choices = op.args
    ranges = [known[choice] for choice in choices]
    if condition.name == "icmp" and condition.info[0] in "su":
        one, other = condition.args
        ordered = fits_signed if condition.info[0] == "s" else fits_unsigned
        if all(ordered(known[arg], _BITS.get(arg.type, 64)) for arg in condition.args):
            less = condition.info[1:] in ("lt", "le")
            if choices == [one, other] or choices == [other, one]:
                return _extreme(ranges, less == (choices[0] is one))
            # Each choice, where it is compared with a constant, is at most or at least that constant.
            if other.name == "const":
                bound = known[other][0]
                for place, choice in enumerate(choices):
                    if choice is one:
                        low, high = ranges[place]
                        below = less == (place == 0)
                        limited = (low, min(high, bound)) if below else (max(low, bound), high)
                        ranges[place] = limited if limited[0] <= limited[1] else (low, high)
    return _union(ranges)


def _extreme(ranges: Sequence[Range], least: bool) -> Range:
    pick = min if least else max
    return pick(low for low, _ in ranges), pick(high for _, high in ranges)


@_rule("math")
def _math(known: _Ranges, op: Op) -> Range:
    bits = _BITS[op.type]
    name, ranges = op.info[0], [known[arg] for arg in op.args]
    sign, _, what = name.partition("_")
    ordered = fits_signed if sign == "s" else fits_unsigned
    if sign not in ("s", "u") or any(arg.type != op.type for arg in op.args):
        return _every(bits)
    if what in ("mul24", "mad24"):
        if not all(ordered(each, 24) for each in ranges[:2]):
            return _every(bits)
        low, high = _product(ranges[0], ranges[1])
        return (low, high) if what == "mul24" else (low + ranges[2][0], high + ranges[2][1])
    if what == "min" and sign == "u":
        most = [high for low, high in ranges if low >= 0]
        return _extreme(ranges, True) if len(most) == 2 else (0, most[0]) if most else _every(bits)
    if not all(ordered(each, bits) for each in ranges):
        return _every(bits)
    if what in ("min", "max"):
        return _extreme(ranges, what == "min")
    if what == "clamp":
        return _extreme([_extreme(ranges[:2], False), ranges[2]], True)
    if what == "abs":
        low, high = ranges[0]
        return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))
    if what == "abs_diff":
        (low, high), (other_low, other_high) = ranges
        return 0, max(high - other_low, other_high - low, 0)
    return _every(bits)
