"""Integers that 16 bits suffice for: ranges hold, results are the same, and arithmetic on bytes becomes shorter."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import pytest

from anyzero.compiler.analysis.value_ranges import value_ranges
from anyzero.compiler.ir import Body, Op
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.narrow_integers import narrow_integers
from tests.compiler.lowering.draft import Draft
from tests.compiler.translate.machine import Machine, Memory, signed

INPUTS = 4
ROOM = 16
RING = ("add", "sub", "mul", "and", "or", "xor")
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
CONSTANTS = (0, 1, 2, 3, 9, 77, 127, 128, 255, 256, 257, 1000, 32767, 32768, 65535, 65536, -1, -2, -128, -255, -32768)
DIVISORS = (1, 2, 3, 9, 16, 255, 256, 1000, 32767)
EXTREMES = {"i8": (0, 1, 127, 128, 255, 254), "i16": (0, 1, 255, 32767, 32768, 65535, 65534)}
UNARY = ("s_abs", "u_abs")
BINARY = ("s_min", "s_max", "u_min", "u_max", "s_abs_diff", "u_abs_diff", "s_mul24")


class Expressions:
    """Random operations of 32 bits on bytes and shorts, as C writes them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.d = d = Draft()
        self.pointer = d.argument("ptr")
        pick = self.random.choice
        self.types = [pick(("i8", "i8", "i16")) for _ in range(INPUTS)]
        self.values = []
        for place, type_ in enumerate(self.types):
            (loaded,) = d.get(d.offset(self.pointer, 2 * place), type_, alignment=1)
            self.values.append(d.cast(pick(("zext", "zext", "sext")), loaded, "i32"))
        self.values.append(d.argument("i32", 8))

    def any(self) -> Op:
        if self.random.random() < 0.25:
            return self.d.const("i32", self.random.choice(CONSTANTS))
        return self.random.choice(self.values[-6:])

    def operation(self) -> Op:
        d, pick = self.d, self.random.choice
        match pick(("ring", "ring", "ring", "shift", "divide", "select", "math", "weights", "truth")):
            case "ring":
                return d.binary(pick(RING), self.any(), self.any())
            case "shift":
                return d.binary(pick(("shl", "lshr", "ashr")), self.any(), d.const("i32", pick((1, 2, 4, 8, 15, 16))))
            case "divide":
                return d.binary(pick(("udiv", "sdiv", "urem", "srem")), self.any(), d.const("i32", pick(DIVISORS)))
            case "select":
                a, b = self.any(), self.any()
                choices = pick(((a, b), (b, a), (self.any(), self.any())))
                return d.select(d.icmp(pick(PREDICATES), a, b), *choices)
            case "math":
                return self.math()
            case "weights":
                total = pick((255, 256, 128))
                weight = self.any()
                rest = d.sub(d.const("i32", total), weight)
                return d.add(d.mul(self.any(), weight), d.add(d.mul(self.any(), rest), d.const("i32", 127)))
        return d.cast("zext", d.icmp(pick(PREDICATES), self.any(), self.any()), "i32")

    def math(self) -> Op:
        d, pick = self.d, self.random.choice
        name = pick((*UNARY, *BINARY, "s_clamp", "u_clamp", "s_mad24"))
        if name in ("s_clamp", "u_clamp"):
            return d.math(name, "i32", self.any(), d.const("i32", 0), d.const("i32", pick((255, 65535, 100))))
        if name in ("s_mul24", "s_mad24"):
            # Of wider numbers their results are undefined.
            low = [d.cast("sext", d.cast("trunc", self.any(), "i16"), "i32") for _ in range(2)]
            return d.math(name, "i32", *low, *([self.any()] if name == "s_mad24" else []))
        return d.math(name, "i32", *(self.any() for _ in range(1 if name in UNARY else 2)))

    def body(self) -> Body:
        d = self.d
        for _ in range(self.random.randrange(1, 9)):
            self.values.append(self.operation())
        if self.random.random() < 0.5:
            self.loop()
        out = d.offset(self.pointer, ROOM)
        for place in range(2):
            value = self.random.choice(self.values[-3:])
            type_ = self.random.choice(("i8", "i8", "i16", "i32"))
            d.put(d.offset(out, 4 * place), d.resized(value, type_), alignment=1)
        return d.done()

    def loop(self) -> None:
        """A value that some iterations change."""
        d, before = self.d, self.d.block
        header, after = d.place(2)
        start, old = self.any(), self.values
        d.goto(header)
        d.at(header)
        count, carried = d.phi("i32", header), d.phi("i32", header)
        self.values = [*old, carried]
        for _ in range(self.random.randrange(1, 4)):
            self.values.append(self.operation())
        further = d.add(count, d.const("i32", 1))
        d.branch(d.icmp("ult", further, d.const("i32", 3)), header, after)
        assert header.predecessors == [before, header]
        count.args, carried.args = [d.const("i32", 0), further], [start, self.values[-1]]
        self.values = [*old, *self.values[-2:], carried]
        d.at(after)


def run(body: Body, inputs: bytes, argument: int) -> tuple[bytes, Machine]:
    memory, data = Memory(), bytearray(inputs.ljust(ROOM + 8, b"\0"))
    place = memory.place(data)
    machine = Machine(body, struct.pack("<QI", place, argument), memory)
    machine.run()
    return bytes(data), machine


def inputs_of(types: list[str], pick: random.Random) -> bytes:
    return b"".join(pick.choice(EXTREMES[type_]).to_bytes(2, "little") for type_ in types)


@pytest.mark.parametrize("part", range(8))
def test_given_any_expressions_then_ranges_hold_and_results_are_the_same(part: int) -> None:
    narrowed = 0
    for seed in range(part * 150, part * 150 + 150):
        made = Expressions(seed)
        body = made.body()
        ranges = dict(value_ranges(body))
        given = [(inputs_of(made.types, made.random), made.random.choice((0, 3, 255, 40000, -7))) for _ in range(12)]
        wanted = []
        for inputs, argument in given:
            found, machine = run(body, inputs, argument & 0xFFFFFFFF)
            wanted.append(found)
            for op, (low, high) in ranges.items():
                if op in machine.values:
                    bits = int(op.type[1:])
                    value = machine.values[op]
                    assert low <= value <= high or low <= signed(value, bits) <= high, (seed, op, low, high, value)
        narrowed += narrow_integers(body)
        dce(body)
        check(body)
        for (inputs, argument), result in zip(given, wanted, strict=True):
            assert run(body, inputs, argument & 0xFFFFFFFF)[0] == result, (seed, inputs, argument)
    assert narrowed > 30


Filter = Callable[[Draft, Op, Op, Op], Op]


def number(d: Draft, value: int) -> Op:
    return d.const("i32", value)


FILTERS: dict[str, Filter] = {
    "gradient": lambda d, a, b, c: d.math("s_abs", "i32", d.sub(d.shl(a, number(d, 1)), d.add(b, c))),
    "grey": lambda d, a, b, c: d.lshr(
        d.add(d.mul(a, number(d, 77)), d.add(d.mul(b, number(d, 150)), d.mul(c, number(d, 29)))), number(d, 8)
    ),
    "mixture": lambda d, a, b, c: d.lshr(
        d.add(d.mul(a, c), d.add(d.mul(b, d.sub(number(d, 255), c)), number(d, 128))), number(d, 8)
    ),
    "mean": lambda d, a, b, c: d.binary("sdiv", d.add(a, d.add(b, c)), number(d, 3)),
}


def filtered(make: Filter) -> Body:
    d = Draft()
    pointer = d.argument("ptr")
    loaded = [d.cast("zext", d.get(d.offset(pointer, place), "i8", alignment=1)[0], "i32") for place in range(3)]
    d.put(d.offset(pointer, ROOM), d.cast("trunc", make(d, *loaded), "i8"), alignment=1)
    return d.done()


@pytest.mark.parametrize("name", FILTERS)
def test_given_a_filter_of_bytes_then_nothing_has_32_bits(name: str) -> None:
    body = filtered(FILTERS[name])
    assert narrow_integers(body)
    dce(body)
    check(body)
    assert not [op for op in body.ops if op.type == "i32"]


def test_given_a_sum_of_two_products_of_bytes_then_it_keeps_32_bits() -> None:
    body = filtered(lambda d, a, b, c: d.lshr(d.add(d.mul(a, b), d.mul(b, c)), number(d, 8)))
    narrow_integers(body)
    assert any(op.name == "add" and op.type == "i32" for op in body.ops)


def test_given_one_short_operation_whose_result_is_an_int_then_nothing_is_converted_twice() -> None:
    d = Draft()
    pointer = d.argument("ptr")
    one, other = (d.cast("zext", d.get(d.offset(pointer, at), "i8", alignment=1)[0], "i32") for at in range(2))
    d.put(d.offset(pointer, ROOM), d.add(one, other))
    assert not narrow_integers(d.done())


def test_given_a_body_without_bytes_and_shorts_then_nothing_is_analysed() -> None:
    d = Draft()
    pointer = d.argument("ptr")
    d.put(pointer, d.add(d.get(pointer)[0], number(d, 1)))
    assert not narrow_integers(d.done())
