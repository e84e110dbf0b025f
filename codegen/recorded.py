"""recorded.h and recorded.cpp: entry points for recordings, for functions that programs call often.

Each is the entry point once more with a record around it, for calls that nothing but a recording looks at. The others
go on to the examined function (traced.py), by a jump: the return address stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from codegen import c_types, traced
from codegen.entries import Entry, of_tables
from codegen.model import Api
from codegen.outputs import Output, slashes
from codegen.scan import Class
from codegen.traced import Hooks, quick_test

FOLDER: Final = "engine/abi/gen"

WAITS: Final = {
    "zeCommandListHostSynchronize",
    "zeCommandQueueSynchronize",
    "zeEventHostSynchronize",
    "zeEventQueryStatus",
    "zeFenceHostSynchronize",
    "zeFenceQueryStatus",
}
"""Return at once where nothing is to be waited for."""

OTHERS: Final = {
    "zeCommandListAppendLaunchKernelWithArguments",
    "zeCommandListClose",
    "zeKernelSetArgumentValue",
    "zeKernelSetGroupSize",
}
"""Called as often as those that check mode has a quick test for."""


def functions(api: Api, classes: dict[str, Class], hooks: Hooks) -> list[Entry]:
    entries = (entry for entries in of_tables(api, classes, "ze").values() for entry in entries)
    chosen = WAITS | OTHERS
    return [
        each
        for each in entries
        if each.implemented and (each.function.name in chosen or quick_test(each.function.name, hooks))
    ]


def outputs(api: Api, entries: list[Entry]) -> Iterator[Output]:
    yield Output(f"{FOLDER}/recorded.h", "\n".join(_header(entries)) + "\n")
    yield Output(f"{FOLDER}/recorded.cpp", "\n".join(_source(api, entries)) + "\n")


def _signature(kind: str, entry: Entry) -> str:
    listed = c_types.parameters((param.name, param.type) for param in entry.function.params)
    return f"{entry.function.type} ZE_APICALL {kind}_{entry.function.name}({listed})"


def _header(entries: list[Entry]) -> Iterator[str]:
    yield from (slashes(), "#pragma once", "", '#include "ze_api.h"', "", "namespace anyzero {", "")
    for entry in entries:
        yield from (f"{_signature(kind, entry)};" for kind in ("recorded", "examined"))
    yield from ("", "}  // namespace anyzero")


def _source(api: Api, entries: list[Entry]) -> Iterator[str]:
    yield from (slashes(), '#include "recorded.h"', "")
    headers = {header for entry in entries for header in entry.headers()} | {"trace/calls.h"}
    yield from (f'#include "../../{header}"' for header in sorted(headers))
    yield from ('#include "entry.h"', "", "namespace anyzero {", "", "namespace {", "")
    for entry in entries:
        yield from (*entry.inlined_lines(), "")
    yield from ("}  // namespace", "")
    numbers = traced.numbered(api)
    for entry in entries:
        name, type_ = entry.function.name, entry.function.type
        arguments = ", ".join(param.name for param in entry.function.params)
        returned = "returned_from_wait" if name in WAITS else "returned"
        yield from (
            f"[[gnu::noinline]] {_signature('recorded', entry)} {{",
            "  Recorder* const alone = recorder_alone();",
            f"  if (!alone) [[unlikely]] return examined_{name}({arguments});",
            f"  QuickCallRecord record({numbers[name]}, *alone);",
            f"  const {type_} result = run_{name}({arguments});",
            f"  record.{returned}({traced.words(api, entry.function)});",
            "  return result;",
            "}",
            "",
        )
    yield "}  // namespace anyzero"
