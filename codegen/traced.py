"""traced.h and traced.cpp: every function once more, for recordings and for check mode.

Loaders get the watched ones instead of the plain ones if a recording or check mode began before them. The Python API
always calls the traced ones, which test whether anything looks at calls. Check mode looks before and after a call by
the functions that engine/validation/hooks.h declares: `before_NAME` has the parameters of the function, and refuses the
call where it returns a result; `after_NAME` has the call's result in front. engine/validation/passing.h has tests that
decide for most calls: where `passes_NAME` is true, none of the hooks is needed (watched.py).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from codegen import c_types
from codegen.ctypes_package import structure_type
from codegen.model import Api, Function, Param
from codegen.outputs import Output, slashes

FOLDER = "engine/abi/gen"

_HEADER = """
#pragma once

#include <span>

namespace anyzero {

struct TracedFunction {
  const char* name;
  const char* signature;  // with the names of its parameters
  void* plain;
  void* examined;  // recorded and checked
  void* recorded;  // the same, but quicker where nothing but a recording looks at calls
  void* watched;   // the same, unless nothing but check mode looks at calls and lets this one pass
  void* traced;    // the same where anything looks at calls, else the plain one
};

// Sorted by name. Records of calls have the index.
extern const std::span<const TracedFunction> traced_functions;

}  // namespace anyzero
"""


_HOOK = re.compile(r"\b(ze_result_t|void|bool) ((?:before|after|passes|passes_briefly)_z\w+)\(")

Hooks = Mapping[str, str]
"""What each hook returns."""


def outputs(api: Api, hooks: Hooks, recorded: Collection[str]) -> Iterator[Output]:
    yield Output(f"{FOLDER}/traced.h", slashes() + _HEADER)
    yield Output(f"{FOLDER}/traced.cpp", "\n".join(_source(api, hooks, recorded)) + "\n")


def read_hooks(validation: Path) -> Hooks:
    text = "".join((validation / name).read_text() for name in ("hooks.h", "passing.h"))
    return {name: type_ for type_, name in _HOOK.findall(text)}


def quick_test(name: str, hooks: Hooks) -> str | None:
    """The test of passing.h that decides for most calls of that function."""
    return next((each for each in (f"passes_{name}", f"passes_briefly_{name}") if each in hooks), None)


def numbered(api: Api) -> Mapping[str, int]:
    """The functions of all tables, each with its index in `traced_functions`."""
    in_tables = {slot.function for table in api.tables.values() for slot in table.slots}
    return {name: index for index, name in enumerate(sorted(in_tables))}


def _parameters(function: Function) -> str:
    return c_types.parameters((param.name, param.type) for param in function.params) if function.params else ""


def _source(api: Api, hooks: Hooks, recorded: Collection[str]) -> Iterator[str]:
    functions = [api.functions[name] for name in numbered(api)]
    yield from (slashes(), '#include "traced.h"', "", '#include "../../trace/calls.h"')
    yield from (f'#include "../../validation/{name}.h"' for name in ("call", "hooks"))
    yield from ('#include "recorded.h"', '#include "watched.h"', '#include "ze_api.h"', "")
    yield from ("namespace anyzero {", "")
    quick = {function.name for function in functions if quick_test(function.name, hooks)}
    for index, function in enumerate(functions):
        if function.name in quick or function.name in recorded:
            yield from _examining(api, function, index, hooks, "examined")
    yield from ("namespace {", "")
    for index, function in enumerate(functions):
        if function.name not in quick and function.name not in recorded:
            yield from _examining(api, function, index, hooks, "watched")
        yield from _tracing(function, function.name in quick, function.name in recorded)
    yield "const TracedFunction all[] = {"
    for function in functions:
        name = function.name
        listed = ", ".join(param.name for param in function.params)
        watched = "watched_" if name in quick or name not in recorded else "examined_"
        examined = "examined_" if name in quick or name in recorded else "watched_"
        kinds = ("", examined, "recorded_" if name in recorded else examined, watched, "traced_")
        addresses = ", ".join(f"reinterpret_cast<void*>({each}{name})" for each in kinds)
        yield f'    {{"{name}", "{name}({listed})", {addresses}}},'
    yield from ("};", "", "}  // namespace", "")
    yield from ("const std::span<const TracedFunction> traced_functions(all);", "", "}  // namespace anyzero")


def _examining(api: Api, function: Function, index: int, hooks: Hooks, kind: str) -> Iterator[str]:
    """The function with all hooks around it."""
    name = function.name
    arguments = ", ".join(param.name for param in function.params)
    yield f"[[gnu::noinline]] {function.type} ZE_APICALL {kind}_{name}({_parameters(function)}) {{"
    yield f"  CallRecord record({index}, __builtin_return_address(0));"
    before, after = hooks.get(f"before_{name}"), f"after_{name}" in hooks
    general = list(_general_checks(api, function))
    lists = [param.name for param in function.params if param.type == "ze_command_list_handle_t"]
    appended_to = lists[0] if lists and "Append" in name else ""
    returns = function.type == "ze_result_t"
    if before or after or general or appended_to or returns:
        yield f'  CheckedCall checked("{name}", __builtin_return_address(0));'
    yield from (f"  if (checked) {check};" for check in general)
    if before == "void":
        yield f"  if (checked) before_{name}({arguments});"
    elif before:
        yield f"  if (checked) if (const ze_result_t refused = before_{name}({arguments})) return refused;"
    yield f"  const {function.type} result = {name}({arguments});"
    if after:
        yield f"  if (checked) after_{name}({', '.join(['result', *(param.name for param in function.params)])});"
    if appended_to:
        yield f"  if (checked) check_appended({appended_to});"
    if returns:
        yield "  if (checked && result != ZE_RESULT_SUCCESS) [[unlikely]] check_refused(result);"
    yield f"  record.returned({words(api, function)});"
    yield from ("  return result;", "}", "")


def _tracing(function: Function, quick: bool, recorded: bool) -> Iterator[str]:
    """The choice between the plain function and the watched one."""
    arguments = ", ".join(param.name for param in function.params)
    # Two functions: compilers make unlikely code small, not fast. The second call is a jump: the return address stays.
    yield f"{function.type} ZE_APICALL traced_{function.name}({_parameters(function)}) {{"
    yield f"  if (!is_watched()) [[likely]] return {function.name}({arguments});"
    if quick or recorded:
        kind = "recorded" if recorded else "examined"
        yield f"  if (is_recording()) return {kind}_{function.name}({arguments});"
    yield f"  return {'watched' if quick or not recorded else 'examined'}_{function.name}({arguments});"
    yield from ("}", "")


def _events(function: Function) -> tuple[str, ...]:
    """The list and the events of an append that has them: the signalled one, the number of the others, and they."""
    names = [param.name for param in function.params]
    if "Append" in function.name and names == ["hCommandList", "hEvent"]:
        return ("hCommandList", "hEvent", "0", "nullptr")
    if "Append" in function.name and names == ["hCommandList", "numEvents", "phEvents"]:
        return ("hCommandList", "nullptr", "numEvents", "phEvents")
    usual = ("hCommandList", "hSignalEvent", "numWaitEvents", "phWaitEvents")
    return usual if set(usual) <= set(names) else ()


def _general_checks(api: Api, function: Function) -> Iterator[str]:
    """Checks of parameters that many functions have."""
    given = {param.name: param for param in function.params}
    if events := _events(function):
        yield f"check_append({', '.join(events)})"
    if "hCommandList" in given:
        for param in function.params:
            if param.type in ("ze_kernel_handle_t", "ze_image_handle_t"):
                yield f"check_context(hCommandList, {param.name})"
            if param.type == "ze_kernel_handle_t":
                values = "pArguments" if "pArguments" in given else "nullptr"
                signal = "hSignalEvent" if "hSignalEvent" in given else "nullptr"
                yield f"check_arguments(hCommandList, {param.name}, {values}, {signal})"
    for param in function.params:
        name = param.type.removeprefix("const ").removesuffix("*").strip()
        if (
            not {"in", "in,out"}.isdisjoint(param.tags)
            and param.pointer
            and param.length is None
            and name in api.structs
        ):
            kind = structure_type(api, name)
            if kind is not None:
                yield f'check_structure({param.name}, {kind:#x}, "{name}")'


def words(api: Api, function: Function) -> str:
    """Result and arguments, as a record of the call gets them."""
    return ", ".join(["result", *(_word(api, function, param) for param in function.params)])


def _word(api: Api, function: Function, param: Param) -> str:
    is_result = function.type == "ze_result_t" and "out" in param.tags and "in" not in param.tags
    target = param.type.removesuffix("*")
    points_to_pointer = param.pointer and (target == "void*" or api.handle(target) is not None)
    if is_result and points_to_pointer and param.length is None:
        return f"received(result, {param.name})"
    return f"as_word({param.name})"
