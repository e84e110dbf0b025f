"""printf: one string per call."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from anyzero.compiler.reference import memory
from anyzero.compiler.reference.decoder import ITEM, Decoder, Registers, Step
from anyzero.compiler.reference.errors import Fault
from anyzero.compiler.reference.numbers import signed
from anyzero.compiler.reference.opencl.table import function
from anyzero.compiler.reference.work_item import Item
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import OpenCL as Cl
from anyzero.compiler.spirv.types import Float, Int, Type, Vector
from anyzero.lazy_dataclass import dataclass

_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d*)(?:\.(?P<precision>\d*))?(?:v(?P<count>\d+))?"
    r"(?P<length>hh|hl|h|ll|l|)(?P<kind>[diouxXfFeEgGaAcsp%])"
)
_BITS = {"hh": 8, "h": 16, "hl": 32, "l": 64, "ll": 64}


@dataclass(frozen=True, slots=True)
class _Argument:
    type: Type
    value: Any


@function(Cl.printf)
def printf(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    to, (format_, *slots) = decoder.result(instruction), decoder.slot_list(ids)
    types = [decoder.type_of(id_) for id_ in ids[1:]]

    def step(r: Registers) -> None:
        item = r[ITEM]
        arguments = [_Argument(type_, r[slot]) for type_, slot in zip(types, slots, strict=True)]
        said = formatted(item, memory.text(item.regions, r[format_]), arguments)
        if item.group.launch.printf is not None:
            item.group.launch.printf(said)
        r[to] = 0

    return step


def formatted(item: Item, format_: bytes, arguments: list[_Argument]) -> str:
    rest = iter(arguments)
    text = format_.decode("utf-8", "surrogateescape")
    return _CONVERSION.sub(lambda found: _one(item, found, rest), text)


def _one(item: Item, found: re.Match[str], rest: Iterator[_Argument]) -> str:
    if found["kind"] == "%":
        return "%"
    argument = next(rest, None)
    if argument is None:
        raise Fault(f"printf has no argument for {found[0]}")
    if found["count"]:
        if not isinstance(argument.type, Vector) or argument.type.length != int(found["count"]):
            raise Fault(f"printf has {argument.type} for {found[0]}")
        element = argument.type.element
        return ",".join(_scalar(item, found, _Argument(element, each)) for each in argument.value)
    return _scalar(item, found, argument)


def _scalar(item: Item, found: re.Match[str], argument: _Argument) -> str:
    kind = found["kind"]
    if kind == "s":
        return _padded(found, _string(item, found, argument.value))
    if kind == "c":
        return _padded(found, chr(argument.value & 0xFF))
    if kind == "p":
        return _padded(found, f"{argument.value:#x}")
    if isinstance(argument.type, Float) != (kind in "fFeEgGaA"):
        raise Fault(f"printf has {argument.type} for {found[0]}")
    return _float(found, argument.value) if isinstance(argument.type, Float) else _integer(found, argument)


def _string(item: Item, found: re.Match[str], address: int) -> str:
    text = memory.text(item.regions, address) if address else b"(null)"
    if found["precision"] is not None:
        text = text[: int(found["precision"] or 0)]
    return text.decode("utf-8", "surrogateescape")


def _padded(found: re.Match[str], text: str) -> str:
    width = int(found["width"] or 0)
    return text.ljust(width) if "-" in found["flags"] else text.rjust(width)


def _integer(found: re.Match[str], argument: _Argument) -> str:
    """Truncated to the conversion's length modifier; the default is an int, as in C."""
    own = argument.type.width if isinstance(argument.type, Int) else 64
    width = min(_BITS.get(found["length"], 32), max(own, 8))
    value = argument.value & ((1 << width) - 1)
    kind = found["kind"]
    if kind in "di":
        value = signed(value, width)
    digits = {"o": "o", "x": "x", "X": "X"}.get(kind, "d")
    body = format(abs(value), digits)
    if found["precision"] is not None:
        precision = int(found["precision"] or 0)
        body = body.rjust(precision, "0") if value or precision else ""
    prefix = "" if "#" not in found["flags"] or not value else {"x": "0x", "X": "0X", "o": "0"}.get(kind, "")
    return _signed_text(found, body, value < 0, kind in "di", prefix, found["precision"] is None)


def _float(found: re.Match[str], value: float) -> str:
    kind, flags = found["kind"], found["flags"]
    precision = None if found["precision"] is None else int(found["precision"] or 0)
    negative = math.copysign(1.0, value) < 0.0
    size, prefix = abs(value), ""
    if not math.isfinite(value):
        body = "nan" if value != value else "inf"
        body = body.upper() if kind.isupper() else body
        return _signed_text(found, body, negative, True, "", False)
    if kind in "aA":
        body = _hexadecimal(size, precision)
        prefix, body = "0x", body[2:]
        if kind == "A":
            prefix, body = "0X", body.upper()
    else:
        alternate = "#" if "#" in flags else ""
        body = format(size, f"{alternate}.{6 if precision is None else precision}{kind}")
    return _signed_text(found, body, negative, True, prefix, True)


def _hexadecimal(size: float, precision: int | None) -> str:
    """The %a format of C: the exact digits, or the given precision."""
    head, _, exponent = size.hex().partition("p")
    lead, _, digits = head.partition(".")
    if precision is None:
        digits = digits.rstrip("0")
    elif precision < len(digits):
        whole = int(lead, 16) << 4 * len(digits) | int(digits, 16)
        drop = 4 * (len(digits) - precision)
        kept, lost, half = whole >> drop, whole & ((1 << drop) - 1), 1 << (drop - 1)
        kept += lost > half or (lost == half and kept & 1)
        text = f"{kept:0{precision + 1}x}"
        lead, digits = f"0x{text[: len(text) - precision]}", text[len(text) - precision :]
    else:
        digits = digits.ljust(precision, "0")
    return f"{lead}{'.' if digits else ''}{digits}p{exponent}"


def _signed_text(
    found: re.Match[str], body: str, negative: bool, shows_sign: bool, prefix: str, may_pad_zeros: bool
) -> str:
    flags, width = found["flags"], int(found["width"] or 0)
    sign = ""
    if shows_sign:
        sign = "-" if negative else "+" if "+" in flags else " " if " " in flags else ""
    if "0" in flags and "-" not in flags and may_pad_zeros:
        body = body.rjust(width - len(sign) - len(prefix), "0")
    return _padded(found, sign + prefix + body)
