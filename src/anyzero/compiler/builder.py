"""The builder of operations, with peephole folding.

There is a method for each name of the vocabulary. Methods fold patterns that producers of SPIR-V write because SPIR-V
has no shorter form, and patterns that would hide strides and constants from the analyses. LLVM folds the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anyzero.compiler import folding
from anyzero.compiler.errors import CompileError
from anyzero.compiler.folding import width
from anyzero.compiler.ir import SIZES, Access, Atomic, Block, Body, Collective, Op
from anyzero.compiler.operations import COMMUTATIVE, OPPOSITE, SWAPPED
from anyzero.compiler.spirv.float_controls import USUAL
from anyzero.lazy_dataclass import replace

LIMIT = 1_000_000
"""Operations of one kernel."""

_NEUTRAL = {"add": 0, "sub": 0, "or": 0, "xor": 0, "shl": 0, "lshr": 0, "ashr": 0, "mul": 1, "udiv": 1, "sdiv": 1}
_NARROW = {0xFF: "i8", 0xFFFF: "i16", 0xFFFFFFFF: "i32"}
_SIZES = ("global_size", "group_size", "group_count")
"""Builtins that are positive."""
_EXTENDED = {"lshr": "zext", "ashr": "sext"}
_FLOAT_OPPOSITE = {"oeq": "une", "one": "ueq", "olt": "uge", "ogt": "ule", "ole": "ugt", "oge": "ult", "ord": "uno"}
_FLOAT_OPPOSITE |= {b: a for a, b in _FLOAT_OPPOSITE.items()}
_EXPONENT = {"half": 0x7C00, "float": 0x7F800000, "double": 0x7FF0000000000000}

ROUNDING = ("rte", "rtz", "rtp", "rtn")
"""In the order of SPIR-V's numbers."""


class Builder:
    def __init__(self, body: Body) -> None:
        self.body = body
        self.block = Block(0)
        self.word = 0
        """The source place of the instruction that is being translated."""
        self.written = 0
        self.floats = USUAL
        """The float controls of the function that is being translated."""
        self._blocks = 0
        self._flushed: set[Op] = set()

    def new_block(self) -> Block:
        self._blocks += 1
        return Block(self._blocks)

    def emit(self, name: str, type_: str, args: list[Op], info: object = None, flags: str = "") -> Op:
        self.written += 1
        if self.written > LIMIT:
            raise CompileError(f"the kernel has more than {LIMIT} operations once its calls are resolved")
        block = self.block
        op = Op(name, type_, args, info, flags, self.word, block)
        block.ops.append(op)
        return op

    def const(self, type_: str, bits: int) -> Op:
        return self.body.const(type_, bits)

    # Integers

    def binary(self, name: str, a: Op, b: Op, flags: str = "") -> Op:
        if b.name == "const":
            return self._by_constant(name, a, b, flags)
        if a.name == "const" and name in COMMUTATIVE:
            return self._by_constant(name, b, a, flags)
        return self.emit(name, a.type, [a, b], None, flags)

    def _by_constant(self, name: str, a: Op, b: Op, flags: str) -> Op:
        type_, value = a.type, b.info
        if a.name == "const":
            known = folding.binary(name, width(type_), a.info, value)
            if known is not None:
                return self.const(type_, known)
        if value == _NEUTRAL.get(name):
            return a
        if value == 0 and name in ("mul", "and"):
            return b
        if name == "and":
            if value == (1 << width(type_)) - 1:
                return a
            if value in _NARROW:
                return self.cast("zext", self.cast("trunc", a, _NARROW[value]), type_)
        elif name in _EXTENDED and a.name == "shl" and a.args[1] is b:
            kept = f"i{width(type_) - value}"
            if kept in ("i8", "i16", "i32"):
                return self.cast(_EXTENDED[name], self.cast("trunc", a.args[0], kept), type_)
        elif name == "xor" and type_ == "i1":
            return self._not(a, b)
        return self.emit(name, type_, [a, b], None, flags)

    def _not(self, a: Op, true: Op) -> Op:
        if a.name == "icmp":
            return self.emit("icmp", "i1", a.args, OPPOSITE[a.info])
        if a.name == "fcmp" and a.info in _FLOAT_OPPOSITE:
            return self.emit("fcmp", "i1", a.args, _FLOAT_OPPOSITE[a.info], a.flags)
        if a.name == "xor" and a.args[1] is true:
            return a.args[0]
        return self.emit("xor", "i1", [a, true])

    def add(self, a: Op, b: Op, flags: str = "") -> Op:
        return self.binary("add", a, b, flags)

    def sub(self, a: Op, b: Op, flags: str = "") -> Op:
        return self.binary("sub", a, b, flags)

    def mul(self, a: Op, b: Op, flags: str = "") -> Op:
        return self.binary("mul", a, b, flags)

    def and_(self, a: Op, b: Op) -> Op:
        return self.binary("and", a, b)

    def or_(self, a: Op, b: Op) -> Op:
        return self.binary("or", a, b)

    def xor(self, a: Op, b: Op) -> Op:
        return self.binary("xor", a, b)

    def shl(self, a: Op, b: Op, flags: str = "") -> Op:
        return self.binary("shl", a, b, flags)

    def lshr(self, a: Op, b: Op) -> Op:
        return self.binary("lshr", a, b)

    def ashr(self, a: Op, b: Op) -> Op:
        return self.binary("ashr", a, b)

    def not_(self, a: Op) -> Op:
        return self.xor(a, self.const(a.type, -1))

    def icmp(self, predicate: str, a: Op, b: Op) -> Op:
        if a.name == "const" and b.name != "const":
            a, b, predicate = b, a, SWAPPED[predicate]
        if b.name == "const":
            if a.name == "const":
                return self.const("i1", folding.compared(predicate, width(a.type), a.info, b.info))
            if b.info == 0 and predicate in ("eq", "ne") and a.name == "cast" and a.info in ("zext", "sext"):
                source = a.args[0]
                if source.type == "i1":
                    return source if predicate == "ne" else self.not_(source)
            if b.info == 0 and predicate == "sgt" and a.name == "builtin" and a.info[0] in _SIZES:
                return self.const("i1", 1)
        return self.emit("icmp", "i1", [a, b], predicate)

    def is_zero(self, a: Op) -> Op:
        return self.icmp("eq", a, self.const(a.type, 0))

    # Floats

    def float_binary(self, name: str, a: Op, b: Op, flags: str = "") -> Op:
        """A float operation in the function's rounding mode. A remainder is exact."""
        direction = self.rounding(a.type) if name != "frem" else ""
        operands = [self.flush(a), self.flush(b)]
        return self.flush(self.emit(name, a.type, operands, direction or None, "" if direction else flags))

    def rounding(self, type_: str) -> str:
        """The function's rounding mode; empty for round to nearest."""
        direction = self.floats.direction(width(type_))
        return ROUNDING[direction] if direction else ""

    def flush(self, a: Op) -> Op:
        """The value, with denormals flushed to zero of the same sign if the function's float controls say so."""
        if not self.floats.flushed or a.type not in _EXPONENT or width(a.type) not in self.floats.flushed:
            return a
        if a in self._flushed:
            return a
        bits = self.as_integer(a)
        small = self.is_zero(self.and_(bits, self.const(bits.type, _EXPONENT[a.type])))
        sign = self.and_(bits, self.const(bits.type, 1 << (width(a.type) - 1)))
        found = self.from_integer(self.select(small, sign, bits), a.type)
        self._flushed.add(found)
        return found

    @contextmanager
    def keeping_denormals(self) -> Iterator[None]:
        """Does not flush the operations inside: intermediate steps, whose final result is flushed."""
        floats, self.floats = self.floats, replace(self.floats, flushed=frozenset())
        try:
            yield
        finally:
            self.floats = floats

    def fneg(self, a: Op, flags: str = "") -> Op:
        a = self.flush(a)
        if a.name == "const":
            return self.const(a.type, a.info ^ 1 << (width(a.type) - 1))
        return self.flush(self.emit("fneg", a.type, [a], None, flags))

    def fcmp(self, predicate: str, a: Op, b: Op, flags: str = "") -> Op:
        return self.emit("fcmp", "i1", [self.flush(a), self.flush(b)], predicate, flags)

    def intrinsic(self, name: str, *args: Op) -> Op:
        return self.emit("intrinsic", args[0].type, list(args), name)

    def math(self, name: str, type_: str, *args: Op, components: int = 1) -> Op:
        return self.emit("math", type_, list(args), (name, components))

    # Choices and conversions

    def select(self, condition: Op, then: Op, otherwise: Op) -> Op:
        if condition.name == "const":
            return then if condition.info else otherwise
        if then is otherwise:
            return then
        type_ = then.type
        if type_[0] == "i" and otherwise.name == "const" and then.name == "const" and otherwise.info == 0:
            # SPIR-V has no other instruction that widens a boolean.
            if then.info == 1:
                return self.cast("zext", condition, type_)
            if then.info == (1 << width(type_)) - 1:
                return self.cast("sext", condition, type_)
        return self.emit("select", type_, [condition, then, otherwise])

    def cast(self, kind: str, value: Op, to: str) -> Op:
        from_ = value.type
        if from_ == to:
            return value
        if value.name == "const":
            known = folding.cast(kind, value.info, from_, to)
            if known is not None:
                return self.const(to, known)
        elif value.name == "cast":
            shorter = self._twice(value.info, kind, value.args[0], to)
            if shorter is not None:
                return shorter
        elif kind == "inttoptr" and value.name == "add" and _is_address(value.args[0]):
            # Some producers compute addresses as numbers.
            return self.offset(value.args[0].args[0], value.args[1])
        return self.emit("cast", to, [value], kind)

    def _twice(self, first: str, second: str, source: Op, to: str) -> Op | None:
        """One conversion for two in a row."""
        from_ = source.type
        if second == "trunc" and first in ("zext", "sext", "trunc"):
            if from_ == to:
                return source
            return self.cast("trunc" if width(to) < width(from_) else first, source, to)
        if second == first and first in ("zext", "sext"):
            return self.cast(first, source, to)
        if (first, second) == ("zext", "sext"):
            return self.cast("zext", source, to)
        if from_ == to and {first, second} <= {"bitcast", "ptrtoint", "inttoptr"}:
            return source
        return self.cast("bitcast", source, to) if first == second == "bitcast" else None

    def resized(self, value: Op, to: str, signed: bool = False) -> Op:
        """An integer in another width."""
        if value.type == to:
            return value
        if width(to) < width(value.type):
            return self.cast("trunc", value, to)
        return self.cast("sext" if signed else "zext", value, to)

    def as_integer(self, value: Op) -> Op:
        """The bits of any scalar."""
        if value.type[0] == "i":
            return value
        return self.cast("ptrtoint" if value.type == "ptr" else "bitcast", value, f"i{width(value.type)}")

    def from_integer(self, value: Op, to: str) -> Op:
        return self.cast("inttoptr" if to == "ptr" else "bitcast", value, to)

    # Memory

    def offset(self, pointer: Op, by: Op | int) -> Op:
        """The address plus an offset. Constant offsets are combined into one, which is added last."""
        constant = 0
        if pointer.name == "offset" and pointer.args[1].name == "const":
            constant = pointer.args[1].info
            pointer = pointer.args[0]
        if isinstance(by, int):
            constant += by
        elif by.name == "const":
            constant += by.info
        else:
            pointer = self.emit("offset", "ptr", [pointer, by])
        constant &= (1 << 64) - 1
        return self.emit("offset", "ptr", [pointer, self.const("i64", constant)]) if constant else pointer

    def load(self, pointer: Op, type_: str, access: Access) -> list[Op]:
        """The components; a single one is the operation itself."""
        return self.parts(self.emit("load", type_, [pointer], access), access.count)

    def store(self, pointer: Op, components: list[Op], access: Access) -> None:
        how = access if access.count == len(components) else replace(access, count=len(components))
        self.emit("store", "", [pointer, *components], how)

    def parts(self, op: Op, number: int) -> list[Op]:
        if number == 1:
            return [op]
        return [self.emit("part", op.type, [op], index) for index in range(number)]

    def part(self, op: Op, index: int, type_: str) -> Op:
        return self.emit("part", type_, [op], index)

    def atomic(self, type_: str, atomic: Atomic, pointer: Op, *operands: Op) -> Op:
        return self.emit("atomic", type_, [pointer, *operands], atomic)

    def group(self, type_: str, collective: Collective, *operands: Op) -> Op:
        return self.emit("group", type_, list(operands), collective)

    # Flow

    def goto(self, target: Block) -> None:
        self.block.successors = [target]
        target.predecessors.append(self.block)

    def branch(self, condition: Op, then: Block, otherwise: Block) -> None:
        if then is otherwise:
            self.goto(then)
        elif condition.name == "const":
            self.goto(then if condition.info else otherwise)
        else:
            self.block.condition = condition
            self.block.successors = [then, otherwise]
            then.predecessors.append(self.block)
            otherwise.predecessors.append(self.block)

    def phi(self, type_: str, block: Block) -> Op:
        return block.add_phi(Op("phi", type_, word=self.word))


def _is_address(op: Op) -> bool:
    return op.name == "cast" and op.info == "ptrtoint" and SIZES[op.type] == 8
