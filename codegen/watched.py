"""watched.h and watched.cpp: entry points for check mode, for functions that engine/validation/passing.h has a test of.

Each is the entry point once more, with the test in front of its last call: most calls pass, and pay for little more
than the test. The others go on to the examined function (traced.py), by a jump: the return address stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from codegen import c_types
from codegen.entries import Entry, of_tables
from codegen.model import Api, Function
from codegen.outputs import Output, slashes
from codegen.scan import Class
from codegen.traced import Hooks, quick_test

FOLDER = "engine/abi/gen"

NO_EVENTS = {"hSignalEvent": "nullptr", "numWaitEvents": "0", "phWaitEvents": "nullptr"}


def outputs(api: Api, classes: dict[str, Class], hooks: Hooks) -> Iterator[Output]:
    tested = []
    for entry in (entry for entries in of_tables(api, classes, "ze").values() for entry in entries):
        if quick := quick_test(entry.function.name, hooks):
            tested.append((entry, quick))
    yield Output(f"{FOLDER}/watched.h", "\n".join(_header([entry for entry, _ in tested])) + "\n")
    yield Output(f"{FOLDER}/watched.cpp", "\n".join(_source(tested)) + "\n")


def _header(entries: list[Entry]) -> Iterator[str]:
    yield from (slashes(), "#pragma once", "", '#include "ze_api.h"', "", "namespace anyzero {", "")
    yield from ("// Functions that check mode lets pass if a test says so, else examines.", "")
    for entry in entries:
        yield from (f"{_signature(kind, entry.function)};" for kind in ("watched", "examined"))
    yield from ("", "}  // namespace anyzero")


def _source(tested: list[tuple[Entry, str]]) -> Iterator[str]:
    yield from (slashes(), '#include "watched.h"', "")
    headers = {header for entry, _ in tested for header in entry.headers()}
    headers |= {"validation/hooks.h", "validation/passing.h"}
    yield from (f'#include "../../{header}"' for header in sorted(headers))
    yield from ('#include "entry.h"', "", "namespace anyzero {", "", "namespace {", "")
    for entry, quick in tested:
        if entry.implemented:
            yield from (*entry.tested_lines(quick), "")
            if _has_events(entry.function):
                yield from _function("eventful", entry.function, {})
    yield from ("}  // namespace", "")
    for entry, _ in tested:
        if not entry.implemented:
            yield from (
                f"{_signature('watched', entry.function)} {{",
                f"  {_return('examined', entry.function)}",
                "}",
                "",
            )
        else:
            # A call without events needs no code for them.
            yield from _function("watched", entry.function, NO_EVENTS if _has_events(entry.function) else {})
    yield "}  // namespace anyzero"


def _has_events(function: Function) -> bool:
    return NO_EVENTS.keys() <= {param.name for param in function.params}


def _function(kind: str, function: Function, known: dict[str, str]) -> Iterator[str]:
    yield f"[[gnu::noinline]] {_signature(kind, function)} {{"
    if known:
        yield f"  if (hSignalEvent || numWaitEvents) {_return('eventful', function)}"
    yield f"  if (!may_pass()) [[unlikely]] {_return('examined', function)}"
    arguments = ", ".join([*(known.get(param.name, param.name) for param in function.params), "examine"])
    yield from ("  bool examine = false;", f"  const {function.type} result = enter_{function.name}({arguments});")
    yield f"  if (examine) [[unlikely]] {_return('examined', function)}"
    refused = f'check_refused(result, "{function.name}", __builtin_return_address(0))'
    yield f"  if (result != ZE_RESULT_SUCCESS) [[unlikely]] {refused};"
    yield from ("  return result;", "}", "")


def _signature(kind: str, function: Function) -> str:
    listed = c_types.parameters((param.name, param.type) for param in function.params)
    return f"{function.type} ZE_APICALL {kind}_{function.name}({listed})"


def _return(kind: str, function: Function) -> str:
    return f"return {kind}_{function.name}({', '.join(param.name for param in function.params)});"
