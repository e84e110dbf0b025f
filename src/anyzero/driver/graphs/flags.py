"""Build flags of a graph: the precisions and layouts of its arguments, and the configuration.

`--inputs_precisions="0:FP32 1:U8" --outputs_layouts="0:NC" --config PERF_COUNT="YES" NPU_PLATFORM="3720"`
"""

from __future__ import annotations

import re
from typing import Final

from anyzero import ze
from anyzero.driver.answering import Refusal
from anyzero.driver.graphs.ir.boundary import Boundary
from anyzero.driver.graphs.ir.element_types import BY_PRECISION, ElementType
from anyzero.lazy_dataclass import dataclass, field
from anyzero.ze import npu_constants as npu

__all__ = ["DEFAULT_LAYOUTS", "Flags", "Wish", "layout_number", "parse", "wishes"]

_TOKEN: Final = re.compile(
    r'\s*(?:--(?P<flag>\w+)(?:=(?P<quote>"?))?|(?P<key>[\w.:-]+)=(?P<value>"[^"]*"|\S*)|(?P<rest>\S+))'
)
_ENTRY: Final = re.compile(r"(\S.*?):([^\s:]+)(?=\s|$)")
_LARGEST: Final = 1 << 20

DEFAULT_LAYOUTS: Final = ("**SCALAR**", "C", "NC", "CHW", "NCHW", "NCDHW")
"""The layout of each rank, if no flag gives another."""
_LAYOUTS: Final = {
    "**SCALAR**": npu.ZE_GRAPH_ARGUMENT_LAYOUT_ANY,
    "ANY": npu.ZE_GRAPH_ARGUMENT_LAYOUT_ANY,
    "BLOCKED": npu.ZE_GRAPH_ARGUMENT_LAYOUT_BLOCKED,
    "C": npu.ZE_GRAPH_ARGUMENT_LAYOUT_C,
    "NC": npu.ZE_GRAPH_ARGUMENT_LAYOUT_NC,
    "CN": npu.ZE_GRAPH_ARGUMENT_LAYOUT_CN,
    "HW": npu.ZE_GRAPH_ARGUMENT_LAYOUT_HW,
    "CHW": npu.ZE_GRAPH_ARGUMENT_LAYOUT_CHW,
    # The extension has no number for it; the flag is obeyed all the same.
    "HWC": npu.ZE_GRAPH_ARGUMENT_LAYOUT_ANY,
    "NCHW": npu.ZE_GRAPH_ARGUMENT_LAYOUT_NCHW,
    "NHWC": npu.ZE_GRAPH_ARGUMENT_LAYOUT_NHWC,
    "OIHW": npu.ZE_GRAPH_ARGUMENT_LAYOUT_OIHW,
    "NCDHW": npu.ZE_GRAPH_ARGUMENT_LAYOUT_NCDHW,
    "NDHWC": npu.ZE_GRAPH_ARGUMENT_LAYOUT_NDHWC,
}
_ANY_RANK: Final = ("**SCALAR**", "ANY", "BLOCKED")
_LISTS: Final = ("inputs_precisions", "outputs_precisions", "inputs_layouts", "outputs_layouts")


@dataclass(slots=True)
class Flags:
    lists: dict[str, dict[str, str]] = field(default_factory=lambda: {name: {} for name in _LISTS})
    """For each flag: the values by index or name."""
    config: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Wish:
    """The requested precision and layout, if they differ from the model's."""

    type: ElementType
    layout: str
    order: tuple[int, ...] | None = None
    """The model's dimension of each of the argument's dimensions; None if the order is the same."""


def refuse(text: str) -> Refusal:
    return Refusal(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"error: build flags: {text}")


def layout_number(layout: str) -> int:
    return _LAYOUTS[layout]


def parse(text: str) -> Flags:
    if len(text) > _LARGEST:
        raise refuse(f"{len(text)} characters are more than the {_LARGEST} that are accepted")
    flags = Flags()
    within, place = "", 0
    while found := _TOKEN.match(text, place):
        place = found.end()
        if flag := found["flag"]:
            within = flag
            value = ""
            if found["quote"] is not None:
                end = text.find('"', place) if found["quote"] else _space(text, place)
                if end < 0:
                    raise refuse(f"the quotation marks of --{flag} are not closed")
                value, place = text[place:end], end + len(found["quote"])
            if flag in flags.lists:
                flags.lists[flag] |= _entries(flag, value)
            elif flag != "config":
                flags.remarks.append(f"warning: the build flag --{flag} is not known and ignored")
        elif found["key"] and within == "config":
            flags.config[found["key"]] = found["value"].strip('"')
        else:
            flags.remarks.append(f"warning: {found[0].strip()[:80]} in the build flags is not understood and ignored")
    return flags


def _space(text: str, place: int) -> int:
    found = re.compile(r"\s|$").search(text, place)
    return found.start() if found else len(text)


def _entries(flag: str, value: str) -> dict[str, str]:
    entries = dict(_ENTRY.findall(value))
    if _ENTRY.sub("", value).strip():
        raise refuse(f'--{flag}="{value[:80]}" is not a list of index:value or name:value')
    return entries


def wishes(flags: Flags, side: str, boundaries: list[Boundary]) -> list[Wish]:
    """The wishes for a model's inputs or outputs."""
    precisions = _by_index(flags, f"{side}_precisions", boundaries)
    layouts = _by_index(flags, f"{side}_layouts", boundaries)
    return [_wish(boundary, precisions.get(index), layouts.get(index)) for index, boundary in enumerate(boundaries)]


def _by_index(flags: Flags, flag: str, boundaries: list[Boundary]) -> dict[int, str]:
    found = {}
    for key, value in flags.lists[flag].items():
        named = [index for index, boundary in enumerate(boundaries) if boundary.called(key)]
        if key.isascii() and key.isdigit() and len(key) < 10:
            # Clients send indices; the key is a name only where there is no such index.
            named = [int(key)] if int(key) < len(boundaries) else named
        if not named:
            raise refuse(f"--{flag} names {key[:80]}, and the model has {len(boundaries)} {flag.partition('_')[0]}")
        found[named[0]] = value
    return found


def _wish(boundary: Boundary, precision: str | None, layout: str | None) -> Wish:
    type_, rank = boundary.type, len(boundary.shape)
    if precision is not None:
        if precision.upper() not in BY_PRECISION:
            raise refuse(f"there is no precision {precision[:40]}, which is asked for {boundary.layer}")
        type_ = BY_PRECISION[precision.upper()]
        if type_.precision == npu.ZE_GRAPH_ARGUMENT_PRECISION_UNKNOWN:
            raise refuse(f"{boundary.layer} cannot have the precision {precision[:40]}")
    usual = DEFAULT_LAYOUTS[rank]
    name = usual if layout is None or layout.upper() == "SCALAR" else layout.upper()
    if name not in _LAYOUTS:
        raise refuse(f"there is no layout {name[:40]}, which is asked for {boundary.layer}")
    if name not in _ANY_RANK and len(name) != rank:
        raise refuse(f"{boundary.layer} has {rank} dimensions, and the layout {name} has {len(name)}")
    if name == usual or sorted(name) != sorted(usual):
        return Wish(type_, name)
    return Wish(type_, name, tuple(usual.index(letter) for letter in name))
