"""LLVM's text, written by computing with values: `b.fma(x, x, y) + 1` appends instructions to the builder.

A value is a scalar (`lanes == 0`) or a vector of lanes. If an operation has operands of both kinds, the scalar is
broadcast to all lanes; a Python number becomes a constant of the other operand's type.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from anyzero.lazy_namedtuple import NamedTuple

BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "half": 16, "float": 32, "double": 64, "ptr": 64}
FLOATS = {"half", "float", "double"}


class Type(NamedTuple):
    """A scalar or vector type of LLVM."""

    element: str
    lanes: int = 0

    @property
    def bits(self) -> int:
        return BITS[self.element]

    @property
    def is_float(self) -> bool:
        return self.element in FLOATS

    def of(self, element: str) -> Type:
        """The type with another element and as many lanes."""
        return Type(element, self.lanes)

    @property
    def mangled(self) -> str:
        """The type's spelling in names of LLVM's intrinsics."""
        element = f"f{self.bits}" if self.is_float else "p0" if self.element == "ptr" else self.element
        return f"v{self.lanes}{element}" if self.lanes else element

    def __str__(self) -> str:
        return f"<{self.lanes} x {self.element}>" if self.lanes else self.element


I1, I8, I16, I32, I64 = Type("i1"), Type("i8"), Type("i16"), Type("i32"), Type("i64")
HALF, FLOAT, DOUBLE, PTR = Type("half"), Type("float"), Type("double"), Type("ptr")

Number = int | float | bool


def float_text(value: float, element: str) -> str:
    """A float constant; LLVM wants the bits of the double that has the same value, or the half's own bits."""
    if element == "half":
        return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    if element == "float":
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def bits_text(bits: int, element: str) -> str:
    """A constant by its bits; NaNs keep theirs."""
    if element == "half":
        return f"0xH{bits:04X}"
    if element == "double":
        return f"0x{bits:016X}"
    if element == "float":
        sign, exponent, fraction = bits >> 31, bits >> 23 & 0xFF, bits & 0x7FFFFF
        if exponent == 0xFF:
            return f"0x{sign << 63 | 0x7FF << 52 | fraction << 29:016X}"
        return float_text(struct.unpack("<f", struct.pack("<I", bits))[0], "float")
    if element == "i1":
        return "true" if bits & 1 else "false"
    if element == "ptr":
        return "null" if bits == 0 else f"inttoptr (i64 {bits} to ptr)"
    return str(bits)


def constant_text(value: Number, element: str) -> str:
    """A constant by its value."""
    if element in FLOATS:
        return float_text(float(value), element)
    return bits_text(int(value) & ((1 << BITS[element]) - 1), element)


def vector_text(values: Sequence[Number], element: str) -> str:
    """A constant vector."""
    return f"<{', '.join([f'{element} {constant_text(each, element)}' for each in values])}>"


integers_text = lru_cache(maxsize=1024)(vector_text)
"""The same for integers: kernels have the same few vectors, as the lanes' numbers, again and again. Floats that are
equal may have different texts: the zeros.
"""


class Value:
    """The result of an instruction, or a constant. `+ - * / % & | ^ ~` and unary minus append instructions; shifts and
    comparisons are methods, because they come signed and unsigned.
    """

    __slots__ = ("builder", "text", "type")

    def __init__(self, builder: Builder, text: str, type_: Type) -> None:
        self.builder = builder
        self.text = text
        self.type = type_

    def __repr__(self) -> str:
        return f"{self.type} {self.text}"

    # `typed` is how operands are written.
    @property
    def typed(self) -> str:
        return f"{self.type} {self.text}"

    def _two(self, other: Value | Number, integer: str, floating: str) -> Value:
        return self.builder.binary(floating if self.type.is_float else integer, self, other)

    def _two_reversed(self, other: Number, integer: str, floating: str) -> Value:
        return self.builder.binary(floating if self.type.is_float else integer, self.like(other), self)

    def like(self, number: Number) -> Value:
        """A constant of this value's type."""
        return self.builder.constant(number, self.type)

    def __add__(self, other: Value | Number) -> Value:
        return self._two(other, "add", "fadd")

    def __radd__(self, other: Number) -> Value:
        return self._two_reversed(other, "add", "fadd")

    def __sub__(self, other: Value | Number) -> Value:
        return self._two(other, "sub", "fsub")

    def __rsub__(self, other: Number) -> Value:
        return self._two_reversed(other, "sub", "fsub")

    def __mul__(self, other: Value | Number) -> Value:
        return self._two(other, "mul", "fmul")

    def __rmul__(self, other: Number) -> Value:
        return self._two_reversed(other, "mul", "fmul")

    def __truediv__(self, other: Value | Number) -> Value:
        return self.builder.binary("fdiv", self, other)

    def __rtruediv__(self, other: Number) -> Value:
        return self.builder.binary("fdiv", self.like(other), self)

    def __and__(self, other: Value | Number) -> Value:
        return self.builder.binary("and", self, other)

    def __or__(self, other: Value | Number) -> Value:
        return self.builder.binary("or", self, other)

    def __xor__(self, other: Value | Number) -> Value:
        return self.builder.binary("xor", self, other)

    def __invert__(self) -> Value:
        return self.builder.binary("xor", self, self.like(-1 if self.type.element != "i1" else 1))

    def __neg__(self) -> Value:
        if self.type.is_float:
            return self.builder.op("fneg", self.type, f"{self.builder.flags}{self.type} %s", self)
        return self.builder.binary("sub", self.like(0), self)

    def shl(self, by: Value | int) -> Value:
        return self.builder.binary("shl", self, by)

    def lshr(self, by: Value | int) -> Value:
        return self.builder.binary("lshr", self, by)

    def ashr(self, by: Value | int) -> Value:
        return self.builder.binary("ashr", self, by)


Kind = Literal["pure", "reads", "effect"]
"""`pure`: the result depends on the operands alone. `reads`: on memory, too. `effect`: anything else."""

_PURE_CALLS = tuple(
    f"llvm.{name}."
    for name in (
        *("umin", "umax", "smin", "smax", "abs", "fma", "fabs", "sqrt", "cttz", "ctlz", "ctpop"),
        "arithmetic.fence",
    )
)
_MAY_TRAP = frozenset({"udiv", "sdiv", "urem", "srem"})
_READING_CALLS = ("llvm.masked.load.", "llvm.masked.gather.")


def kind_of_call(name: str) -> Kind:
    return "pure" if name.startswith(_PURE_CALLS) else "reads" if name.startswith(_READING_CALLS) else "effect"


class Instruction(NamedTuple):
    """An instruction with a result. Its text is made when it is written, which an available expression never is."""

    opcode: str
    form: str
    """LLVM's text behind the opcode, with `%s` for each operand."""
    operands: tuple[str, ...]
    type: Type
    kind: Kind

    @property
    def text(self) -> str:
        return f"{self.opcode} {self.form % self.operands}"


INVARIANT = ", !invariant.load !1"
"""Of a load whose memory is mapped and constant throughout a launch."""


class Builder:
    """Instructions in the order of the calls. `flags` are the fast-math flags of the instructions that follow."""

    def __init__(self, prefix: str = "v") -> None:
        self.lines: list[str] = []
        self.intrinsics: dict[str, str] = {}
        """Declarations of called functions, by name."""
        self.flags = ""
        self._prefix = prefix
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"%{self._prefix}{self._count}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def label(self, name: str) -> None:
        self.lines.append(name + ":")

    def op(self, opcode: str, type_: Type, form: str, *operands: Value, kind: Kind = "pure") -> Value:
        """One instruction with a result. `form` is LLVM's text behind the opcode, with `%s` for each operand."""
        return self.add(Instruction(opcode, form, tuple([each.text for each in operands]), type_, kind))

    def add(self, instruction: Instruction) -> Value:
        name = self.name()
        self.lines.append(f"  {name} = {instruction.text}")
        return Value(self, name, instruction.type)

    # Control flow

    def jump(self, label: str) -> None:
        self.line(f"br label %{label}")

    def branch(self, condition: Value, then: str, otherwise: str, *, unlikely: bool = False) -> None:
        """`unlikely` says that it nearly always goes to `otherwise`."""
        weights = ", !prof !0" if unlikely else ""
        self.line(f"br {condition.typed}, label %{then}, label %{otherwise}{weights}")

    def phi(self, *ways: tuple[Value, str]) -> Value:
        """A value for each label that control may come from."""
        name, type_ = self.name(), ways[0][0].type
        incoming = ", ".join(f"[ {value.text}, %{label} ]" for value, label in ways)
        self.lines.append(f"  {name} = phi {type_} {incoming}")
        return Value(self, name, type_)

    # Memory

    def load(
        self, type_: Type, address: Value, *, align: int = 0, invariant: bool = False, volatile: bool = False
    ) -> Value:
        """`invariant` memory is mapped and constant throughout a launch."""
        form = f"{'volatile ' if volatile else ''}{type_}, ptr %s"
        if align:
            form += f", align {align}"
        if invariant:
            form += INVARIANT
        return self.op("load", type_, form, address, kind="pure" if invariant else "effect" if volatile else "reads")

    def store(self, value: Value, address: Value, *, align: int = 0, volatile: bool = False) -> None:
        aligned = f", align {align}" if align else ""
        self.line(f"store {'volatile ' if volatile else ''}{value.typed}, {address.typed}{aligned}")

    def element(self, element: str | Type, base: Value, index: Value) -> Value:
        """The address of an element; one for each lane where base or index has lanes."""
        type_ = Type("ptr", max(base.type.lanes, index.type.lanes))
        return self.op("getelementptr", type_, f"{element}, {base.type} %s, {index.type} %s", base, index)

    # Constants

    def constant(self, value: Number, type_: Type) -> Value:
        return Value(self, self._splat(constant_text(value, type_.element), type_), type_)

    def bits(self, bits: int, type_: Type) -> Value:
        """A constant by its bits, floats too."""
        return Value(self, self._splat(bits_text(bits, type_.element), type_), type_)

    def each(self, values: Sequence[Number], element: str) -> Value:
        """A constant vector, a number for each lane."""
        text = vector_text(values, element) if element in FLOATS else integers_text(tuple(values), element)
        return Value(self, text, Type(element, len(values)))

    def zero(self, type_: Type) -> Value:
        return Value(self, "zeroinitializer" if type_.lanes else self._zero(type_), type_)

    def poison(self, type_: Type) -> Value:
        return Value(self, "poison", type_)

    @staticmethod
    def _zero(type_: Type) -> str:
        return bits_text(0, type_.element)

    @staticmethod
    def _splat(text: str, type_: Type) -> str:
        return f"splat ({type_.element} {text})" if type_.lanes else text

    # Lanes

    def spread(self, value: Value, lanes: int) -> Value:
        """The same number in every lane."""
        if value.type.lanes or not lanes:
            return value
        type_ = Type(value.type.element, lanes)
        if not value.text.startswith("%") and not value.text.startswith("@"):
            return Value(self, f"splat ({value.typed})" if value.text != "poison" else "poison", type_)
        one = self.op("insertelement", type_, f"{type_} poison, {value.type} %s, i64 0", value)
        return self.op("shufflevector", type_, f"{type_} %s, {type_} poison, <{lanes} x i32> zeroinitializer", one)

    def lane(self, value: Value, index: int | Value) -> Value:
        """One lane's number."""
        if not value.type.lanes:
            return value
        index = index if isinstance(index, Value) else self.constant(index, I64)
        return self.op("extractelement", Type(value.type.element), f"{value.type} %s, {index.type} %s", value, index)

    def with_lane(self, value: Value, index: int | Value, number: Value) -> Value:
        index = index if isinstance(index, Value) else self.constant(index, I64)
        form = f"{value.type} %s, {number.type} %s, {index.type} %s"
        return self.op("insertelement", value.type, form, value, number, index)

    def shuffle(self, a: Value, b: Value | None, places: Sequence[int]) -> Value:
        """Lanes picked from `a` and `b` by constants; -1 for any."""
        type_ = Type(a.type.element, len(places))
        picks = ", ".join(f"i32 {place}" if place >= 0 else "i32 poison" for place in places)
        second = b if b is not None else self.poison(a.type)
        form = f"{a.type} %s, {second.type} %s, <{len(places)} x i32> <{picks}>"
        return self.op("shufflevector", type_, form, a, second)

    def _alike(self, values: Sequence[Value | Number]) -> Sequence[Value]:
        """Converts numbers to constants, and splats scalars where others have lanes; callers match element types."""
        types = [value.type for value in values if isinstance(value, Value)]
        if len(types) == len(values) and all(each.lanes == types[0].lanes for each in types):
            return values  # type: ignore[return-value]
        lanes = max(each.lanes for each in types)
        made = (each if isinstance(each, Value) else self.constant(each, Type(types[0].element)) for each in values)
        return [self.spread(each, lanes) for each in made]

    # Arithmetic

    def binary(self, operation: str, a: Value, b: Value | Number) -> Value:
        a, b = self._alike([a, b])
        flags = self.flags if operation[0] == "f" else ""
        kind: Kind = "effect" if operation in _MAY_TRAP else "pure"
        return self.op(operation, a.type, f"{flags}{a.type} %s, %s", a, b, kind=kind)

    def call(self, name: str, result: Type, *arguments: Value) -> Value:
        """An intrinsic or routine whose arguments already have the right types."""
        flags = self.flags if result.is_float and name.startswith("llvm.") else ""
        parameters = ", ".join(str(each.type) for each in arguments)
        self.intrinsics.setdefault(name, f"declare {result} @{name}({parameters})")
        return self.apply(name, result, *arguments, flags=flags)

    def apply(self, name: str, result: Type, *arguments: Value, flags: str = "", also: str = "") -> Value:
        """A function that is declared elsewhere; `also` are arguments behind the others, as text."""
        given = ", ".join(f"{each.type} %s" for each in arguments)
        return self.op("call", result, f"{flags}{result} @{name}({given}{also})", *arguments, kind=kind_of_call(name))

    def apply_several(self, name: str, results: Sequence[Type], *arguments: Value) -> list[Value]:
        """The same for a function with several results."""
        shape = f"{{ {', '.join(map(str, results))} }}"
        whole = self.name()
        self.line(f"{whole} = call {shape} @{name}({', '.join(each.typed for each in arguments)})")
        return [
            self.op("extractvalue", type_, f"{shape} %s, {at}", Value(self, whole, type_))
            for at, type_ in enumerate(results)
        ]

    def intrinsic(self, name: str, *arguments: Value | Number) -> Value:
        """`llvm.<name>` on arguments that are all of the result's type."""
        values = self._alike(arguments)
        return self.call(f"llvm.{name}.{values[0].type.mangled}", values[0].type, *values)

    def fma(self, a: Value | Number, b: Value | Number, c: Value | Number) -> Value:
        """Rounded once."""
        return self.intrinsic("fma", a, b, c)

    def sqrt(self, a: Value) -> Value:
        return self.intrinsic("sqrt", a)

    def fabs(self, a: Value) -> Value:
        return self.intrinsic("fabs", a)

    def copysign(self, size: Value | Number, sign: Value | Number) -> Value:
        return self.intrinsic("copysign", size, sign)

    def compare(self, predicate: str, a: Value, b: Value | Number) -> Value:
        """`predicate` is LLVM's: eq ne slt ule …, or olt une ord … for floats."""
        a, b = self._alike([a, b])
        opcode, flags = ("fcmp", self.flags) if a.type.is_float else ("icmp", "")
        return self.op(opcode, a.type.of("i1"), f"{flags}{predicate} {a.type} %s, %s", a, b)

    def select(self, condition: Value, then: Value | Number, otherwise: Value | Number) -> Value:
        a, b = self._alike([then, otherwise])
        lanes = max(condition.type.lanes, a.type.lanes)
        if condition.type.lanes:
            a, b = self.spread(a, lanes), self.spread(b, lanes)
        return self.op("select", a.type, f"{condition.type} %s, {a.type} %s, {b.type} %s", condition, a, b)

    def cast(self, operation: str, value: Value, element: str) -> Value:
        """trunc zext sext fptrunc fpext fptosi fptoui sitofp uitofp bitcast ptrtoint inttoptr, lane by lane."""
        type_ = value.type.of(element)
        if type_ == value.type:
            return value
        return self.op(operation, type_, f"{value.type} %s to {type_}", value)

    def bitcast(self, value: Value, element: str) -> Value:
        return self.cast("bitcast", value, element)

    def reinterpret(self, value: Value, type_: Type) -> Value:
        """The same bits as another number of lanes, or as one integer."""
        return self.op("bitcast", type_, f"{value.type} %s to {type_}", value)

    def hidden(self, value: Value) -> Value:
        """The same integers, of which LLVM does not see how they were computed."""
        bits = value.type.bits * value.type.lanes
        real = "double" if value.type.element == "i64" else "float" if bits % 32 == 0 else "half"
        number = self.reinterpret(value, Type(real, bits // Type(real).bits))
        fenced = self.call(f"llvm.arithmetic.fence.{number.type.mangled}", number.type, number)
        return self.reinterpret(fenced, value.type)

    def freeze(self, value: Value) -> Value:
        """`freeze`: an arbitrary but fixed value instead of poison."""
        return self.op("freeze", value.type, f"{value.type} %s", value)
