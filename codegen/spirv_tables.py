"""SPIR-V's numbers and names, and those of OpenCL.std.

src/anyzero/spirv/numbers.py has them for every part of the package that reads or writes modules;
src/anyzero/compiler/spirv/tables.py has the operand layouts, for reading whole modules.
"""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from codegen.outputs import Output, hashes

NUMBERS = "src/anyzero/spirv/numbers.py"
TABLES = "src/anyzero/compiler/spirv/tables.py"
WIDTH = 120

Grammar = dict[str, Any]


def outputs(folder: Path) -> Iterator[Output]:
    core: Grammar = json.loads((folder / "spirv.core.grammar.json").read_text())
    opencl: Grammar = json.loads((folder / "extinst.opencl.std.100.grammar.json").read_text())
    yield Output(NUMBERS, "\n".join([*_numbers(core, opencl)]).rstrip("\n") + "\n")
    yield Output(TABLES, "\n".join([*_tables(core, opencl)]).rstrip("\n") + "\n")


def _numbers(core: Grammar, opencl: Grammar) -> Iterator[str]:
    yield from (hashes(), "# ruff: noqa", "# fmt: off")
    yield '"""SPIR-V\'s numbers by their names. Opcodes are spelled without their Op."""'
    yield from ("", f"MAGIC = {core['magic_number']}")
    yield f"VERSION = {core['major_version'] << 16 | core['minor_version'] << 8:#x}"
    yield from _class("Op", [(name.removeprefix("Op"), opcode) for name, opcode in _opcodes(core)])
    yield from _class("OpenCL", [(entry["opname"], entry["opcode"]) for entry in opencl["instructions"]])
    for kind in _enums(core):
        yield from _class(kind["kind"], _enumerators(kind))
    yield from ("", "")
    yield from _block("ENUMS: dict[str, type]", (f'"{kind["kind"]}": {kind["kind"]}' for kind in _enums(core)))


def _tables(core: Grammar, opencl: Grammar) -> Iterator[str]:
    enums = _enums(core)
    names = ("MAGIC", "VERSION", "Op", "OpenCL", "ENUMS", *(kind["kind"] for kind in enums))
    yield from (hashes(), "# ruff: noqa", "# fmt: off")
    yield '"""SPIR-V as data: operand layouts and required capabilities, beside the numbers and names."""'
    yield ""
    yield from _block("from anyzero.spirv.numbers", (f"{name} as {name}" for name in names), " import (", ")")
    yield ""
    bits = (f'"{kind["kind"]}"' for kind in enums if kind["category"] == "BitEnum")
    yield from _block("BIT_ENUMS: frozenset[str]", bits, " = frozenset({", "})")
    yield from _parameters(enums)
    yield from _layouts(core, opencl)


def _enums(core: Grammar) -> list[Grammar]:
    return [kind for kind in core["operand_kinds"] if "enumerants" in kind]


def _opcodes(core: Grammar) -> Iterator[tuple[str, int]]:
    """Every name before any alias: the first name of a number is the canonical one."""
    yield from ((entry["opname"], entry["opcode"]) for entry in core["instructions"])
    yield from ((alias, entry["opcode"]) for entry in core["instructions"] for alias in entry.get("aliases", ()))


def _enumerators(kind: Grammar) -> Iterator[tuple[str, int]]:
    members = kind["enumerants"]
    yield from ((entry["enumerant"], _number(entry)) for entry in members)
    yield from ((alias, _number(entry)) for entry in members for alias in entry.get("aliases", ()))


def _number(entry: Grammar) -> int:
    value = entry["value"]
    return value if isinstance(value, int) else int(value, 0)


def _class(name: str, members: Iterable[tuple[str, int]]) -> Iterator[str]:
    yield from ("", "", f"class {name}:")
    written = set()
    for member, value in members:
        spelled = identifier(name, member)
        if spelled not in written:
            yield f"    {spelled} = {value}"
        written.add(spelled)


def identifier(kind: str, name: str) -> str:
    """`1D` of Dim becomes `Dim1D`, `None` becomes `None_`; every other name is Python's too."""
    if name[0].isdigit():
        return kind + name
    return f"{name}_" if keyword.iskeyword(name) else name


def _parameters(enums: list[Grammar]) -> Iterator[str]:
    yield from ("", "# The operands that come behind a value: those of a mask in the order of its bits.")
    yield "PARAMETERS: dict[str, dict[int, str]] = {"
    for kind in enums:
        members = sorted((_number(entry), entry["parameters"]) for entry in kind["enumerants"] if "parameters" in entry)
        if members:
            entries = (f'{value}: "{_layout(parameters)}"' for value, parameters in members)
            yield from _block(f'    "{kind["kind"]}":', entries, " {", "},")
    yield "}"


def _layouts(core: Grammar, opencl: Grammar) -> Iterator[str]:
    numbers = dict(_enumerators(next(kind for kind in core["operand_kinds"] if kind["kind"] == "Capability")))
    of_opcodes = {entry["opcode"]: _layout(entry.get("operands", ())) for entry in core["instructions"]}
    of_opencl = {entry["opcode"]: _layout(entry.get("operands", ())) for entry in opencl["instructions"]}
    layouts = sorted({*of_opcodes.values(), *of_opencl.values()})
    place = {layout: index for index, layout in enumerate(layouts)}

    yield from ("", "# The operands of an instruction, in order; `?` may be missing, `*` comes any number of times.")
    yield "LAYOUTS: tuple[str, ...] = ("
    yield from (f'    "{layout}",' for layout in layouts)
    yield from (")", "", "# Opcode or number of an instruction of OpenCL.std: index of its layout.")
    yield from _block("LAYOUT_OF_OP: dict[int, int]", (f"{op}: {place[text]}" for op, text in of_opcodes.items()))
    yield from _block("LAYOUT_OF_OPENCL: dict[int, int]", (f"{op}: {place[text]}" for op, text in of_opencl.items()))
    yield from ("", "# Opcode: the capabilities of which one must be declared.")
    needs = (
        f"{entry['opcode']}: {_tuple(numbers[name] for name in entry['capabilities'])}"
        for entry in core["instructions"]
        if "capabilities" in entry
    )
    yield from _block("CAPABILITIES_OF_OP: dict[int, tuple[int, ...]]", needs)
    yield from ("", "# The same of what an id is decorated with, and of how an entry point runs.")
    yield "CAPABILITIES_OF: dict[str, dict[int, tuple[int, ...]]] = {"
    for kind in core["operand_kinds"]:
        if kind["kind"] in ("Decoration", "ExecutionMode"):
            yield from _block(f'    "{kind["kind"]}":', _needs(kind, numbers), " {", "},")
    yield "}"


def _needs(kind: Grammar, numbers: dict[str, int]) -> Iterator[str]:
    for entry in kind["enumerants"]:
        if "capabilities" in entry:
            yield f"{_number(entry)}: {_tuple(numbers[name] for name in entry['capabilities'])}"


def _layout(operands: Iterable[Grammar]) -> str:
    return " ".join(operand["kind"] + operand.get("quantifier", "") for operand in operands)


def _tuple(numbers: Iterable[int]) -> str:
    values = [*numbers]
    return f"({values[0]},)" if len(values) == 1 else f"({', '.join(map(str, values))})"


def _block(name: str, entries: Iterable[str], begin: str = " = {", end: str = "}") -> Iterator[str]:
    """Many short entries on a line: one to a line would make a file that nobody scrolls through."""
    margin = " " * (len(name) - len(name.lstrip()))
    yield f"{name}{begin}"
    line = ""
    for entry in entries:
        if line and len(line) + len(entry) + 2 > WIDTH:
            yield line
            line = ""
        line = f"{line} {entry}," if line else f"{margin}    {entry},"
    yield from (line, f"{margin}{end}")
