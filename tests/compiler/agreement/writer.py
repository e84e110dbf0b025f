"""Writes SPIR-V as text: declarations come into being when something asks for them."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import NamedTuple

from tests.compiler.samples import PROLOGUE

INTEGERS = ("i32", "i64", "i8", "i16")
FLOATS = ("f32", "f64", "f16")
WIDTH = {"bool": 1, **{name: int(name[1:]) for name in (*INTEGERS, *FLOATS)}}
LENGTHS = (2, 4, 3, 8)


class Value(NamedTuple):
    """Something that was computed."""

    id: str
    type: str
    """As the text calls it, without the percent sign: i32, v4f32, bool."""
    uniform: bool = False
    """Is it the same for all work-items of a group?"""


def scalar(type_: str) -> str:
    """The type of a component."""
    return type_[2:] if type_[0] == "v" else type_


def length(type_: str) -> int:
    """Components; 1 of a scalar."""
    return int(type_[1]) if type_[0] == "v" else 1


def vector(type_: str, count: int) -> str:
    return f"v{count}{type_}" if count > 1 else type_


def size(type_: str) -> int:
    """Bytes in memory, where three take the place of four."""
    return WIDTH[scalar(type_)] // 8 * (4 if length(type_) == 3 else length(type_))


class Writer:
    """A module that grows."""

    def __init__(self) -> None:
        self.decorations: list[str] = []
        self.declarations: list[str] = []
        self.functions: list[str] = []
        self.interface: list[str] = []
        self._declared: set[str] = set()
        self._names = 0

    def name(self, hint: str = "t") -> str:
        self._names += 1
        return f"%{hint}{self._names}"

    def _declare(self, id_: str, text: str) -> str:
        if id_ not in self._declared:
            self._declared.add(id_)
            self.declarations.append(f"{id_} = {text}")
        return id_

    def type(self, name: str) -> str:
        if name == "void":
            return self._declare("%void", "OpTypeVoid")
        if name == "bool":
            return self._declare("%bool", "OpTypeBool")
        if name[0] == "v":
            return self._declare(f"%{name}", f"OpTypeVector {self.type(scalar(name))} {length(name)}")
        if name[0] in "if":
            kind = "OpTypeInt {} 0" if name[0] == "i" else "OpTypeFloat {}"
            return self._declare(f"%{name}", kind.format(WIDTH[name]))
        assert f"%{name}" in self._declared, name
        return f"%{name}"

    def array(self, element: str, count: int) -> str:
        """The name of an array type."""
        self._declare(f"%a{count}_{element}", f"OpTypeArray {self.type(element)} {self.const('i32', count)}")
        return f"a{count}_{element}"

    def struct(self, members: Sequence[str], packed: bool = False) -> str:
        name = f"s{'p' if packed else ''}_" + "_".join(members)
        if f"%{name}" not in self._declared:
            self._declare(f"%{name}", "OpTypeStruct " + " ".join(self.type(each) for each in members))
            if packed:
                self.decorations.append(f"OpDecorate %{name} CPacked")
        return name

    def pointer(self, storage: str, pointee: str) -> str:
        return self._declare(f"%p_{storage}_{pointee}", f"OpTypePointer {storage} {self.type(pointee)}")

    def function_type(self, result: str, parameters: Sequence[str]) -> str:
        """`parameters` are ids of types."""
        id_ = "%fn_" + "_".join([result, *(each[1:] for each in parameters)])
        return self._declare(id_, " ".join(["OpTypeFunction", self.type(result), *parameters]))

    def function_address(self, function: str, result: str, parameters: Sequence[str]) -> Value:
        """Its type is an id here."""
        type_ = self.function_type(result, parameters)
        pointer = self._declare(f"%p_code_{type_[1:]}", f"OpTypePointer CodeSectionINTEL {type_}")
        return Value(
            self._declare(f"%address_of_{function[1:]}", f"OpConstantFunctionPointerINTEL {pointer} {function}"),
            pointer,
        )

    def const(self, type_: str, value: float) -> str:
        """A scalar, by its value; bits of integers are taken modulo their width."""
        if type_ == "bool":
            return self._declare("%true" if value else "%false", f"OpConstant{bool(value)} {self.type('bool')}")
        if type_[0] == "i":
            bits = int(value) & ((1 << WIDTH[type_]) - 1)
            return self._declare(f"%c_{type_}_{bits}", f"OpConstant {self.type(type_)} {bits}")
        raw = struct.pack("<d", value).hex()
        text = repr(value) if math.isfinite(value) else str(value)
        return self._declare(f"%c_{type_}_{raw}", f"OpConstant {self.type(type_)} {text}")

    def composite(self, type_: str, parts: Sequence[str]) -> str:
        id_ = "%k_" + type_ + "_" + "_".join(each[1:] for each in parts)
        return self._declare(id_, f"OpConstantComposite {self.type(type_)} {' '.join(parts)}")

    def variable(self, id_: str, storage: str, pointee: str, initial: str = "") -> str:
        """Of the module itself."""
        return self._declare(id_, f"OpVariable {self.pointer(storage, pointee)} {storage} {initial}")

    def builtin(self, which: str, type_: str) -> str:
        """The variable that holds one."""
        id_ = f"%builtin_{which}"
        if id_ not in self._declared:
            self.variable(id_, "Input", type_)
            self.decorations.append(f"OpDecorate {id_} BuiltIn {which}")
            self.interface.append(id_)
        return id_

    def text(self, kernel: str) -> str:
        lines = [
            PROLOGUE,
            f'OpEntryPoint Kernel {kernel} "main" {" ".join(self.interface)}',
            f"OpExecutionMode {kernel} ContractionOff",
            *self.decorations,
            *self.declarations,
            *self.functions,
        ]
        return "\n".join(lines) + "\n"
