"""The facts of one specification file as typed, immutable values."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from codegen import gaps

Version = tuple[int, int]

NAMESPACES = ("ze", "zet", "zes", "zer")


@dataclass(frozen=True)
class Field:
    """A member of a struct, union or table, or a nameless parameter of a callback."""

    name: str | None
    type: str


@dataclass(frozen=True)
class Param:
    name: str
    type: str
    tags: tuple[str, ...]

    @property
    def optional(self) -> bool:
        return "optional" in self.tags

    @property
    def input(self) -> bool:
        """Read and never written by the function."""
        return "in" in self.tags and "out" not in self.tags

    @property
    def pointer(self) -> bool:
        return self.type.endswith("*")

    @property
    def length(self) -> str | None:
        """The C expression that says how many elements an array has: `range(0, n)` gives `n`."""
        for tag in self.tags:
            if match := re.fullmatch(r"range\(0,\s*`?([^`)]+)`?\)", tag):
                return match[1]
        return None

    @property
    def pointee(self) -> str:
        return base_type(self.type)


@dataclass(frozen=True)
class Rule:
    """A condition, as the specification words it, and the error a function returns when it holds."""

    result: str
    text: str


@dataclass(frozen=True)
class Function:
    name: str
    since: Version
    params: tuple[Param, ...]
    results: frozenset[str]
    rules: tuple[Rule, ...]
    type: str = "ze_result_t"
    failure: str | None = None
    """What to return on failure where that is not the result code itself."""

    @property
    def namespace(self) -> str:
        return namespace_of(self.name)


@dataclass(frozen=True)
class Slot:
    """A member of a table: `pfnCreate` holding `zeEventCreate`."""

    name: str
    type: str
    function: str


@dataclass(frozen=True)
class Table:
    """A table of functions: `ze_event_pool_dditable_t`, known as `EventPool`."""

    type: str
    name: str
    slots: tuple[Slot, ...]

    @property
    def namespace(self) -> str:
        return self.type.split("_", 1)[0]

    @property
    def getter(self) -> str:
        return f"{self.namespace}Get{self.name}ProcAddrTable"


@dataclass(frozen=True)
class Api:
    enums: dict[str, dict[str, int]]
    structs: dict[str, tuple[Field, ...]]
    unions: dict[str, tuple[Field, ...]]
    handles: tuple[str, ...]
    typedefs: dict[str, str]
    callbacks: dict[str, tuple[Field, ...]]
    constants: dict[str, str]
    functions: dict[str, Function]
    table_structs: dict[str, tuple[Field, ...]]

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The tables of functions by type; the tables of tables (`ze_dditable_t`) only supply their names."""
        names = {
            field.type: str(field.name)
            for name, fields in self.table_structs.items()
            if re.fullmatch(r"ze[tsr]?_dditable_t", name)
            for field in fields
        }
        return {name: self._table(name, spoken) for name, spoken in names.items()}

    def _table(self, type_: str, name: str) -> Table:
        slots = tuple(Slot(str(f.name), f.type, _function_of(f.type)) for f in self.table_structs[type_])
        return Table(type_, name, slots)

    def handle(self, type_: str) -> str | None:
        """The handle type that `type_` is, or is another name of; None when it is no handle."""
        target = self.typedefs.get(type_, type_)
        return target if target in self.handles else None

    def is_function_pointer(self, type_: str) -> bool:
        return type_ in self.callbacks

    def flag_bits(self, type_: str) -> dict[str, int] | None:
        """The named bits of a flags type, or None when `type_` is something else."""
        if not type_.endswith("_flags_t"):
            return None
        enum = self.enums.get(type_.replace("_flags_t", "_flag_t").replace(gaps.PACKED, "_"))
        return None if enum is None else enumerators(enum)

    def enum_values(self, type_: str) -> list[int] | None:
        """The values an enum may take, in order, or None when `type_` is not an enum."""
        enum = self.enums.get(type_)
        return None if enum is None else sorted(set(enumerators(enum).values()))


def enumerators(enum: dict[str, int]) -> dict[str, int]:
    """The members that mean something; FORCE_UINT32 only sets the width."""
    return {name: value for name, value in enum.items() if not name.endswith("_FORCE_UINT32")}


def base_type(type_: str) -> str:
    """`const ze_event_desc_t*` and `ze_event_desc_t[4]` are both about `ze_event_desc_t`."""
    return re.sub(r"\bconst\b|[*\s]|\[\d+\]", "", type_)


def namespace_of(function: str) -> str:
    match = re.match(r"ze[tsr]?(?=[A-Z])", function)
    if match is None:
        raise ValueError(f"{function} is in no known namespace")
    return match[0]


def _function_of(pointer_type: str) -> str:
    """`ze_pfnEventCreate_t` points to `zeEventCreate`."""
    match = re.fullmatch(r"(ze[tsr]?)_pfn(\w+)_t", pointer_type)
    if match is None:
        raise ValueError(f"{pointer_type} is not the type of a table slot")
    return match[1] + match[2]


def _fields(raw: dict[str, list[list[Any]]]) -> dict[str, tuple[Field, ...]]:
    return {name: tuple(Field(*field) for field in fields) for name, fields in raw.items()}


def _version(text: str) -> Version:
    major, minor = text.split(".")
    return int(major), int(minor)


def _param(function: str, name: str, type_: str, tags: list[str]) -> Param:
    optional = ["optional"] if (function, name) in gaps.MAY_BE_NULL else []
    return Param(name, type_, (*tags, *optional))


def _function(name: str, raw: dict[str, Any]) -> Function:
    returns = raw.get("returns", [])
    codes = frozenset(code for code, _ in returns if code.startswith("ZE_RESULT"))
    if ("type" in {code for code, _ in returns}) != (name in gaps.RETURN_TYPES):
        raise ValueError(f"{name}: gaps.RETURN_TYPES and the facts disagree on what it returns")
    type_, failure = gaps.RETURN_TYPES.get(name, ("ze_result_t", None))
    return Function(
        name,
        gaps.SINCE.get(name) or _version(raw["since"]),
        tuple(_param(name, *param) for param in raw["params"]),
        codes,
        tuple(
            Rule(code, text)
            for code, texts in returns
            for text in texts
            if code in codes and (name, text) not in gaps.LEFT_TO_THE_ENGINE
        ),
        type_,
        failure,
    )


def load(path: Path) -> Api:
    raw = json.loads(path.read_text())
    return Api(
        enums=raw["enums"],
        structs=_fields(raw["structs"]),
        unions=_fields(raw["unions"]),
        handles=tuple(raw["handles"]),
        typedefs={name: target for name, target in raw["typedefs"].items() if name.startswith("ze")},
        callbacks=_fields(raw["function_pointers"]),
        constants=raw["constants"],
        functions={name: _function(name, fact) for name, fact in raw["functions"].items()},
        table_structs=_fields(raw["tables"]),
    )
