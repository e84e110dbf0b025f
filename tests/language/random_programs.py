"""Random kernels of the language as text: typed expressions and control flow that the checker takes."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from anyzero.language import types
from anyzero.language.operators import COMPARISONS, binary_types
from anyzero.language.types import F32, F64, I32, I64, U8, U32, Refusal

INPUTS = {"a[i]": I32, "b[i]": U32, "c[i]": I64, "d[i]": F32, "e[i]": F64, "f[i]": U8}
RESULTS = {"I": I64, "F": F64}
LENGTH = 16

Text = tuple[str, Any]


class Program:
    """Writes one program, deciding by what hypothesis draws."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw
        self.variables: dict[str, Any] = {}
        self.names = 0

    def one(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    # Expressions

    def value(self, depth: int) -> Text:
        if depth == 0 or self.one(*range(6)) == 0:
            return self.leaf()
        kind = self.one("binary", "binary", "binary", "unary", "choice", "convert", "call", "divide", "shift")
        return getattr(self, f"_{kind}")(depth - 1)

    def leaf(self) -> Text:
        kind = self.one("input", "input", "variable", "literal")
        if kind == "variable" and self.variables:
            name = self.one(*self.variables)
            return name, self.variables[name]
        if kind == "literal":
            literal = self.one("3", "1", "0", "7", "0.5", "2.25", "0.1")
            return literal, types.WEAK_FLOAT if "." in literal else types.WEAK_INT
        name = self.one(*INPUTS)
        return name, INPUTS[name]

    def _binary(self, depth: int) -> Text:
        (left, a), (right, b) = self.value(depth), self.value(depth)
        sign = self.one("+", "-", "*", "&", "|", "^", "/")
        try:
            return f"({left} {sign} {right})", self._type(sign, left, a, right, b)
        except Refusal:
            return left, a

    def _type(self, sign: str, left: str, a: Any, right: str, b: Any) -> Any:
        if a.weak and b.weak:
            # Of two literals Python computes the value, which may be none.
            raise Refusal
        return binary_types(sign, a, b)[2]

    def _divide(self, depth: int) -> Text:
        (left, a), (right, b) = self.value(depth), self.value(depth)
        if not (types.is_integer(a) and types.is_integer(b)) or a.weak or b.weak:
            return left, a
        sign = self.one("//", "%")
        right = self.one(f"(({right} & 15) + 1)", "5", "8", "3")
        b = types.WEAK_INT if right.isdigit() else binary_types("+", b, types.WEAK_INT)[2]
        return f"({left} {sign} {right})", self._type(sign, left, a, right, b)

    def _shift(self, depth: int) -> Text:
        (left, a), (right, b) = self.value(depth), self.value(depth)
        if not (types.is_integer(a) and types.is_integer(b)) or a.weak or b.weak:
            return left, a
        sign = self.one("<<", ">>")
        return f"({left} {sign} {right})", self._type(sign, left, a, right, b)

    def _unary(self, depth: int) -> Text:
        value, of = self.value(depth)
        if of.weak:
            return value, of
        if types.is_integer(of) and self.one(True, False):
            return f"(~{value})", types.promoted(of)
        return f"(-{value})", types.promoted(of)

    def _choice(self, depth: int) -> Text:
        test = self.test(depth)
        (yes, a), (no, b) = self.value(depth), self.value(depth)
        return f"({yes} if {test} else {no})", a if a is b else types.common(a, b)

    def _convert(self, depth: int) -> Text:
        value, of = self.value(depth)
        to = self.one(I32, U32, I64, F32, F64, U8)
        if types.is_float(of) and not types.is_float(to):
            # Out of range it has no meaning.
            return "az.i32(d[i])", I32
        return f"az.{to}({value})", to

    def _call(self, depth: int) -> Text:
        (left, a), (right, b) = self.value(depth), self.value(depth)
        if a.weak and b.weak:
            return left, a
        name = self.one("min", "max")
        return f"{name}({left}, {right})", types.common(a, b) if a is not b else a

    def test(self, depth: int) -> str:
        (left, a), (right, b) = self.value(depth), self.value(depth)
        if a.weak and b.weak:
            return "True"
        test = f"{left} {self.one(*COMPARISONS)} {right}"
        joined = self.one("", "", "and", "or", "not")
        if joined == "not":
            return f"not {test}"
        return f"({test}) {joined} ({self.test(depth - 1 if depth else 0)})" if joined and depth else f"({test})"

    # Statements

    def block(self, depth: int, indent: str, loops: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.one(1, 2, 3)):
            kind = self.one("assign", "assign", "store", "if", "for", "while", "end")
            lines += getattr(self, f"_write_{kind}")(depth, indent, loops)
        return lines

    def _write_assign(self, depth: int, indent: str, loops: int) -> list[str]:
        value, of = self.value(2)
        fitting = [name for name, t in self.variables.items() if t is of]
        if fitting and self.one(True, False):
            return [f"{indent}{self.one(*fitting)} = {value}"]
        if depth < 2 or of.weak:
            # New variables begin outside of branches, so that they have a value everywhere.
            return self._write_store(depth, indent, loops)
        name = f"v{self.names}"
        self.names += 1
        self.variables[name] = of
        return [f"{indent}{name} = {value}"]

    def _write_store(self, depth: int, indent: str, loops: int) -> list[str]:
        value, of = self.value(2)
        where, to = self.one(*((w, t) for w, t in RESULTS.items() if types.is_float(t) or not types.is_float(of)))
        place = f"{where}[{self.one(0, 1, 2)}, i]"
        return [f"{indent}{place} {self.one('=', '=', '+=', '*=') if to is I64 else '='} {value}"]

    def _write_if(self, depth: int, indent: str, loops: int) -> list[str]:
        if not depth:
            return self._write_store(depth, indent, loops)
        lines = [f"{indent}if {self.test(1)}:", *self.block(depth - 1, f"{indent}    ", loops)]
        if self.one(True, False):
            lines += [f"{indent}else:", *self.block(depth - 1, f"{indent}    ", loops)]
        return lines

    def _write_for(self, depth: int, indent: str, loops: int) -> list[str]:
        if not depth:
            return self._write_store(depth, indent, loops)
        self.names += 1
        bounds = self.one("4", "(a[i] & 7)", "2, 9, 3", "6, az.i32(i) & 3, -1", "c[i] & 3, 5")
        head = f"{indent}for k{self.names} in range({bounds}):"
        return [head, *self.block(depth - 1, f"{indent}    ", loops + 1)]

    def _write_while(self, depth: int, indent: str, loops: int) -> list[str]:
        if not depth:
            return self._write_store(depth, indent, loops)
        self.names += 1
        name = f"n{self.names}"
        inner = f"{indent}    "
        body = [f"{inner}{name} += 1", *self.block(depth - 1, inner, loops + 1)]
        return [f"{indent}{name} = 0", f"{indent}while {name} < 5 and ({self.test(1)}):", *body]

    def _write_end(self, depth: int, indent: str, loops: int) -> list[str]:
        if not loops:
            return self._write_store(depth, indent, loops)
        return [f"{indent}if {self.test(1)}:", f"{indent}    {self.one('break', 'continue')}"]


HEAD = """
import anyzero as az
@az.kernel(contract=False)
def program(
    I: az.array[az.i64, 2], F: az.array[az.f64, 2], a: az.ptr[az.i32], b: az.ptr[az.u32], c: az.ptr[az.i64],
    d: az.ptr[az.f32], e: az.ptr[az.f64], f: az.ptr[az.u8],
):
    i = az.global_id(0)
""".lstrip()


@st.composite
def programs(draw: Callable[[Any], Any]) -> str:
    """The text of a kernel."""
    program = Program(draw)
    lines: list[str] = []
    for _ in range(3):
        lines += program.block(2, "    ", 0)
    for number, name in enumerate(program.variables):
        where = "F" if types.is_float(program.variables[name]) else "I"
        lines.append(f"    {where}[{number % 3}, i] += {name}")
    return HEAD + "\n".join(lines) + "\n"


def compiled(text: str) -> Any:
    """The kernel of a text, which Python finds as if it were a file."""
    name = f"<program {hash(text)}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)
    return space["program"]
