"""From the names of the specification to those of the C++ engine."""

from __future__ import annotations

import re

from codegen import gaps
from codegen.model import Api, Param, Slot, Table


def snake(camel: str) -> str:
    """`hSignalEvent`'s `SignalEvent` is `signal_event`, `RTASBuilder` is `rtas_builder`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", camel).lower()


def lower_first(camel: str) -> str:
    """`AppendBarrier` is `appendBarrier`, `RTASFormatCheck` is `rtasFormatCheck`."""
    return re.sub(r"^[A-Z]+(?=[A-Z][a-z])|^[A-Z]", lambda match: match[0].lower(), camel)


# The namespaces use the same nouns; the engine's classes tell them apart.
NAMESPACES = {"ze": "", "zet": "Tools", "zes": "Sysman", "zer": "Runtime"}


def class_of_table(table: Table) -> str:
    """Experimental functions of a noun are methods of the same class. Metrics are the tools' own nouns."""
    if table.namespace == "zet" and table.name.startswith("Metric"):
        return table.name.removesuffix("Exp")
    return NAMESPACES[table.namespace] + table.name.removesuffix("Exp")


def noun_of_table(table: Table) -> str:
    return re.sub(r"^ze[tsr]?_|(_exp)?_dditable_t$", "", table.type)


def class_of_handle(api: Api, handle: str) -> str:
    """What system management calls a driver or a device is the very same object; its other nouns are its own."""
    handle = api.handle(handle) or handle
    noun = re.sub(r"^ze[tsr]?_|(_exp|_ext)?_handle_t$", "", handle)
    camel = "".join(word.capitalize() for word in noun.split("_"))
    if handle.startswith("zes_"):
        return NAMESPACES["zes"] + gaps.SYSMAN_NOUNS.get(noun, camel)
    # The tables spell some nouns with capitals that the handles do not have: RTASBuilder.
    return next((c for c in map(class_of_table, api.tables.values()) if c.lower() == camel.lower()), camel)


def method_of_slot(slot: Slot) -> str:
    return lower_first(slot.name.removeprefix("pfn"))


def object_of_param(param: Param) -> str:
    """What the engine calls the object behind the handle `hSignalEvent`: `signal_event`."""
    return snake(re.sub(r"^h(?=[A-Z])", "", param.name))
