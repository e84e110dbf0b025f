"""A slow machine for the compiler's own form: one work-item at a time, each operation as its name says."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from anyzero.compiler.ir import SIZES, Body, Op, Variable

FLOATS = {"half": "e", "float": "f", "double": "d"}


def width(type_: str) -> int:
    return 1 if type_ == "i1" else SIZES[type_] * 8


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def number(bits: int, type_: str) -> float:
    found: float = struct.unpack("<" + FLOATS[type_], bits.to_bytes(SIZES[type_], "little"))[0]
    return found


def bits(value: float, type_: str) -> int:
    try:
        packed = struct.pack("<" + FLOATS[type_], value)
    except OverflowError:
        packed = struct.pack("<" + FLOATS[type_], math.copysign(math.inf, value))
    return int.from_bytes(packed, "little")


class Memory:
    """Regions at made-up addresses, far enough apart that no offset leads from one to another unnoticed."""

    def __init__(self) -> None:
        self.regions: dict[int, bytearray] = {}

    def place(self, data: bytes | bytearray | int) -> int:
        base = (len(self.regions) + 1) << 32
        self.regions[base] = data if isinstance(data, bytearray) else bytearray(data)
        return base

    def find(self, address: int, size: int) -> tuple[bytearray, int]:
        base = (address >> 32) << 32
        data, offset = self.regions[base], address - base
        assert offset + size <= len(data), f"{size} bytes at {offset} of {len(data)}"
        return data, offset

    def load(self, address: int, size: int) -> int:
        data, offset = self.find(address, size)
        return int.from_bytes(data[offset : offset + size], "little")

    def store(self, address: int, size: int, value: int) -> None:
        data, offset = self.find(address, size)
        data[offset : offset + size] = value.to_bytes(size, "little")


@dataclass
class Machine:
    body: Body
    arguments: bytes = b""
    memory: Memory = field(default_factory=Memory)
    builtins: dict[tuple[str, int], int] = field(default_factory=dict)
    parameters: tuple[int, ...] = ()
    blocks: dict[int, int] = field(default_factory=dict)
    """Where the modules' blocks of variables lie."""
    printed: list[tuple[int, ...]] = field(default_factory=list)
    steps: int = 200_000

    def __post_init__(self) -> None:
        self.values: dict[Op, int] = {}
        self.parts: dict[Op, list[int]] = {}
        self.places: dict[Variable, int] = {}
        self.block_of_arguments = self.memory.place(self.arguments or b"\0")
        self.local = self.memory.place(1 << 16)
        self.result: list[int] = []

    def run(self) -> list[int]:
        self.values.clear()
        self.places = {each: place for each, place in self.places.items() if each.space != "private"}
        block, before = self.body.blocks[0], None
        while True:
            if before is not None:
                place = block.predecessors.index(before)
                phis = {phi: self.value(phi.args[place]) for phi in block.phis}
                self.values.update(phis)
            for op in block.ops:
                self.steps -= 1
                assert self.steps > 0, "takes too long"
                found = self.step(op)
                if found is not None:
                    self.values[op] = found & ((1 << width(op.type)) - 1)
            if not block.successors:
                return self.result
            taken = block.successors[0]
            if block.condition is not None and not self.value(block.condition):
                taken = block.successors[1]
            before, block = block, taken

    def value(self, op: Op) -> int:
        return op.info if op.name == "const" else self.values[op]

    def step(self, op: Op) -> int | None:
        args = [self.value(arg) for arg in op.args if arg not in self.parts]
        method: Callable[..., int | None] | None = getattr(self, f"op_{op.name}", None)
        if method is not None:
            return method(op, *args)
        if op.name in ("fadd", "fsub", "fmul", "fdiv", "frem"):
            return self.float_binary(op, *args)
        return self.integer_binary(op, *args)

    def integer_binary(self, op: Op, a: int, b: int) -> int:
        size = width(op.type)
        x, y = signed(a, size), signed(b, size)
        match op.name:
            case "add":
                return a + b
            case "sub":
                return a - b
            case "mul":
                return a * b
            case "and":
                return a & b
            case "or":
                return a | b
            case "xor":
                return a ^ b
            case "shl":
                return a << b if b < size else 0
            case "lshr":
                return a >> b if b < size else 0
            case "ashr":
                return x >> min(b, size - 1)
            case "udiv":
                return a // b
            case "urem":
                return a % b
            case "sdiv":
                return int(abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1)
            case "srem":
                return int(math.copysign(1, x)) * (abs(x) % abs(y))
        raise NotImplementedError(op.name)

    def float_binary(self, op: Op, a: int, b: int) -> int:
        x, y = number(a, op.type), number(b, op.type)
        match op.name:
            case "fadd":
                found = x + y
            case "fsub":
                found = x - y
            case "fmul":
                found = x * y
            case "frem":
                found = math.fmod(x, y) if y and math.isfinite(x) else math.nan
            case _:
                found = x / y if y else math.nan if not x or x != x else math.inf * math.copysign(1, x * y)
        return bits(found, op.type)

    def op_fneg(self, op: Op, a: int) -> int:
        return a ^ 1 << (width(op.type) - 1)

    def op_undef(self, op: Op) -> int:
        return 0

    def op_argument(self, op: Op) -> int:
        return self.memory.load(self.block_of_arguments + op.info, SIZES[op.type])

    def op_argument_address(self, op: Op) -> int:
        return self.block_of_arguments + int(op.info)

    def op_local_argument(self, op: Op) -> int:
        return self.local + self.memory.load(self.block_of_arguments + op.info, 8)

    def op_parameter(self, op: Op) -> int:
        return self.parameters[op.info]

    def op_result(self, op: Op, *values: int) -> None:
        self.result = list(values)

    def op_builtin(self, op: Op) -> int:
        return self.builtins.get(op.info, 0)

    def op_variable(self, op: Op) -> int:
        variable: Variable = op.info
        if variable.space == "local":
            return self.local + variable.offset
        if variable.space == "global":
            return self.blocks[variable.module] + variable.offset
        if variable not in self.places:
            self.places[variable] = self.memory.place(variable.image or variable.size)
        return self.places[variable]

    def op_icmp(self, op: Op, a: int, b: int) -> int:
        size = width(op.args[0].type)
        if op.info[0] == "s":
            a, b = signed(a, size), signed(b, size)
        return {"eq": a == b, "ne": a != b, "lt": a < b, "gt": a > b, "le": a <= b, "ge": a >= b}[op.info.lstrip("us")]

    def op_fcmp(self, op: Op, a: int, b: int) -> int:
        x, y = (number(each, op.args[0].type) for each in (a, b))
        unordered = x != x or y != y
        if op.info in ("ord", "uno"):
            return unordered == (op.info == "uno")
        if unordered:
            return op.info[0] == "u"
        return {"eq": x == y, "ne": x != y, "lt": x < y, "gt": x > y, "le": x <= y, "ge": x >= y}[op.info[1:]]

    def op_select(self, op: Op, condition: int, then: int, otherwise: int) -> int:
        return then if condition else otherwise

    def op_cast(self, op: Op, a: int) -> int:
        kind, source = op.info.split(".")[0], op.args[0].type
        match kind:
            case "sext":
                return signed(a, width(source))
            case "trunc" | "zext" | "bitcast" | "ptrtoint" | "inttoptr":
                return a
            case "sitofp":
                return bits(float(signed(a, width(source))), op.type)
            case "uitofp":
                return bits(float(a), op.type)
            case "fptosi" | "fptoui":
                return self.to_integer(op, number(a, source))
        return bits(number(a, source), op.type)

    def to_integer(self, op: Op, value: float) -> int:
        modes = op.info.split(".")[1:]
        size = width(op.type)
        low, high = (0, (1 << size) - 1) if "fptoui" in op.info else (-(1 << (size - 1)), (1 << (size - 1)) - 1)
        if "sat" in modes and (value != value or not low <= value <= high):
            return 0 if value != value else low if value < low else high
        if value != value:
            return 0
        rounding = {"rte": round, "rtp": math.ceil, "rtn": math.floor}
        return int(next((rounding[mode] for mode in modes if mode in rounding), math.trunc)(value))

    def op_intrinsic(self, op: Op, a: int = 0, b: int = 0) -> int:
        match op.info:
            case "ctpop":
                return a.bit_count()
            case "bitreverse":
                return int(f"{a:0{width(op.type)}b}"[::-1], 2)
            case "fabs":
                return a & ((1 << (width(op.type) - 1)) - 1)
            case "copysign":
                sign = 1 << (width(op.type) - 1)
                return (a & (sign - 1)) | (b & sign)
        raise NotImplementedError(op.info)

    def op_math(self, op: Op, *args: int) -> int | None:
        name, _ = op.info
        kind = op.args[0].type
        if kind in FLOATS:
            values = [number(value, arg.type) for value, arg in zip(args, op.args, strict=True) if arg.type in FLOATS]
            if name in ("fract", "modf", "sincos", "frexp"):
                self.parts[op] = self.two(name, values[0], kind)
                return None
            return bits(_MATHS[name](*values), op.type)
        whole = [signed(value, width(kind)) if name.startswith("s_") else value for value in args]
        return int(_INTEGERS[name](width(kind), *whole))

    def two(self, name: str, x: float, kind: str) -> list[int]:
        if name == "frexp":
            fraction, exponent = math.frexp(x)
            return [bits(fraction, kind), exponent & 0xFFFFFFFF]
        if name == "sincos":
            return [bits(math.sin(x), kind), bits(math.cos(x), kind)]
        whole = math.floor(x) if name == "fract" else math.trunc(x)
        return [bits(x - whole, kind), bits(float(whole), kind)]

    def op_offset(self, op: Op, pointer: int, by: int) -> int:
        return pointer + by

    def op_load(self, op: Op, pointer: int) -> int | None:
        size = SIZES[op.type]
        found = [self.memory.load(pointer + index * size, size) for index in range(op.info.count)]
        if op.info.count == 1:
            return found[0]
        self.parts[op] = found
        return None

    def op_part(self, op: Op) -> int:
        return self.parts[op.args[0]][op.info]

    def op_store(self, op: Op, pointer: int, *values: int) -> None:
        size = SIZES[op.args[1].type]
        for index, value in enumerate(values):
            self.memory.store(pointer + index * size, size, value)

    def op_copy(self, op: Op, to: int, from_: int, size: int) -> None:
        self.memory.store(to, size, self.memory.load(from_, size))

    def op_atomic(self, op: Op, pointer: int, *operands: int) -> int | None:
        type_ = op.type or op.args[1].type
        size = SIZES[type_]
        old = self.memory.load(pointer, size)
        a, b = (signed(each, size * 8) for each in (old, operands[0] if operands else 0))
        new = {
            "load": lambda: old,
            "store": lambda: operands[0],
            "exchange": lambda: operands[0],
            "compare_exchange": lambda: operands[0] if old == operands[1] else old,
            "add": lambda: old + operands[0],
            "sub": lambda: old - operands[0],
            "and": lambda: old & operands[0],
            "or": lambda: old | operands[0],
            "xor": lambda: old ^ operands[0],
            "umax": lambda: max(old, operands[0]),
            "umin": lambda: min(old, operands[0]),
            "smax": lambda: max(a, b),
            "smin": lambda: min(a, b),
            "fadd": lambda: bits(number(old, type_) + number(operands[0], type_), type_),
        }[op.info.kind]()
        self.memory.store(pointer, size, new & ((1 << size * 8) - 1))
        return old if op.type else None

    def op_fence(self, op: Op) -> None:
        pass

    op_barrier = op_fence

    def op_group(self, op: Op, *operands: int) -> int | None:
        """A group of one."""
        if op.info.kind == "elect":
            return 1
        if op.info.kind == "ballot":
            self.parts[op] = [operands[0], 0, 0, 0]
            return None
        return operands[0]

    def op_printf(self, op: Op, *values: int) -> None:
        self.printed.append(values)

    def op_fault(self, op: Op) -> None:
        raise AssertionError(op.info)


_MATHS: dict[str, Callable[..., float]] = {
    "mad": lambda a, b, c: a * b + c,
    "fma": lambda a, b, c: a * b + c,
    "fabs": abs,
    "fmin": min,
    "fmax": max,
    "sqrt": math.sqrt,
    "rsqrt": lambda a: 1 / math.sqrt(a),
    "exp": math.exp,
    "native_exp": math.exp,
    "log": math.log,
    "native_log": math.log,
    "floor": math.floor,
    "native_sqrt": math.sqrt,
    "native_rsqrt": lambda a: 1 / math.sqrt(a),
    "erf": math.erf,
    "erfc": math.erfc,
    "length": lambda *x: math.sqrt(sum(a * a for a in x)),
    "fclamp": lambda x, low, high: min(max(x, low), high),
}
_INTEGERS: dict[str, Callable[..., int]] = {
    "s_max": lambda w, a, b: max(a, b),
    "s_min": lambda w, a, b: min(a, b),
    "u_max": lambda w, a, b: max(a, b),
    "u_min": lambda w, a, b: min(a, b),
    "s_clamp": lambda w, a, b, c: min(max(a, b), c),
    "u_clamp": lambda w, a, b, c: min(max(a, b), c),
    "s_abs": lambda w, a: abs(a),
    "u_abs": lambda w, a: a,
    "s_abs_diff": lambda w, a, b: abs(a - b),
    "u_abs_diff": lambda w, a, b: abs(a - b),
    "s_mul24": lambda w, a, b: a * b,
    "s_mad24": lambda w, a, b, c: a * b + c,
    "u_mul_hi": lambda w, a, b: a * b >> w,
    "s_mul_hi": lambda w, a, b: a * b >> w,
    "u_add_sat": lambda w, a, b: min(a + b, (1 << w) - 1),
    "s_add_sat": lambda w, a, b: min(max(a + b, -(1 << (w - 1))), (1 << (w - 1)) - 1),
    "rotate": lambda w, a, b: a << b % w | a >> (w - b % w),
}
