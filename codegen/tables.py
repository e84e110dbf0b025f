"""tables.h and tables.cpp: the tables of functions that a loader asks for, and those that every handle carries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from codegen import gaps
from codegen.model import NAMESPACES, Api, Slot, Table, Version
from codegen.names import snake
from codegen.outputs import Output, slashes

FOLDER = "engine/abi/gen"

_HEADER = """
#pragma once

#include "traced.h"
#include "ze_api.h"

namespace anyzero {

// What every object begins with, so that a loader can dispatch on the handle itself.
extern const ze_handle_t ddi_handle;

// The API function of that name, or nullptr.
void* find_function(const char* name);

// Puts one version of the functions into all tables, in place of the plain ones.
void replace_in_tables(void* TracedFunction::* version);

}  // namespace anyzero
"""

_GATE = """
// A caller of another major version, or of none, has tables of another shape.
bool speaks(ze_api_version_t version) { return ZE_MAJOR_VERSION(version) == 1; }

ze_result_t bad_version(const char* function, ze_api_version_t version) {
  const auto number = static_cast<unsigned>(version);
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_VERSION, "%s: version %#x is not 1.x", function, number);
}

ze_result_t no_table(const char* function) {
  return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "%s: pDdiTable must not be null", function);
}
"""

_FIND = """
void* find_function(const char* name) {
  const auto before = [](const Named& entry, const char* key) { return std::strcmp(entry.name, key) < 0; };
  const auto* found = std::lower_bound(std::begin(functions), std::end(functions), name, before);
  return found != std::end(functions) && std::strcmp(found->name, name) == 0 ? found->address : nullptr;
}
"""


_TRACE = """
void replace_in_tables(void* TracedFunction::* version) {
  for (const auto& [table, count] : tables) {
    for (size_t i = 0; i < count; ++i) {
      for (const TracedFunction& function : traced_functions)
        if (function.plain == table[i]) table[i] = function.*version;
    }
  }
}
"""


def outputs(api: Api) -> Iterator[Output]:
    yield Output(f"{FOLDER}/tables.h", slashes() + _HEADER)
    yield Output(f"{FOLDER}/tables.cpp", "\n".join(_source(api)) + "\n")


def _source(api: Api) -> Iterator[str]:
    yield from (
        slashes(),
        '#include "tables.h"',
        "",
        "#include <algorithm>",
        "#include <cstring>",
        "#include <iterator>",
        "#include <utility>",
        "",
    )
    yield from ('#include "../error.h"', '#include "traced.h"', "", "namespace anyzero {", "")
    yield from ("namespace {", "")
    for table in api.tables.values():
        yield from _instance(table)
    for namespace in NAMESPACES:
        yield from _driver_instance(api, namespace)
    yield from _functions(api)
    yield from _tables(api)
    yield _GATE.strip()
    yield from ("", "}  // namespace", "")
    handles = ", ".join(f"&{_driver_variable(namespace)}" for namespace in NAMESPACES)
    yield from (f"const ze_handle_t ddi_handle = {{{handles}}};", _FIND, _TRACE, 'extern "C" {', "")
    for table in api.tables.values():
        yield from getter(api, table, _variable(table))
    yield from ('}  // extern "C"', "}  // namespace anyzero")


def _variable(table: Table) -> str:
    return f"{table.namespace}_{snake(table.name)}"


def _driver_variable(namespace: str) -> str:
    return f"{namespace}_driver_tables"


def _instance(table: Table) -> Iterator[str]:
    yield f"{table.type} {_variable(table)} = {{"
    yield from (f"    {slot.function}," for slot in table.slots)
    yield from ("};", "")


def _driver_instance(api: Api, namespace: str) -> Iterator[str]:
    """The table of tables: a version, a flag, and a pointer to each table in the order the facts give."""
    type_ = f"{namespace}_dditable_driver_t"
    fixed = {"version": "ZE_API_VERSION_CURRENT", "isValidFlag": "1"}
    yield f"{type_} {_driver_variable(namespace)} = {{"
    for field in api.table_structs[type_]:
        name = str(field.name)
        yield f"    {fixed[name] if name in fixed else '&' + _variable(api.tables[field.type.rstrip('*')])},"
    yield from ("};", "")


def _functions(api: Api) -> Iterator[str]:
    yield from ("struct Named {", "  const char* name;", "  void* address;", "};", "")
    yield "// Sorted by name."
    yield "const Named functions[] = {"
    in_tables = (slot.function for table in api.tables.values() for slot in table.slots)
    for name in sorted(in_tables):
        yield f'    {{"{name}", reinterpret_cast<void*>({name})}},'
    yield from ("};", "")


def _tables(api: Api) -> Iterator[str]:
    yield "const std::pair<void**, size_t> tables[] = {"
    for table in api.tables.values():
        name = _variable(table)
        yield f"    {{reinterpret_cast<void**>(&{name}), sizeof {name} / sizeof(void*)}},"
    yield from ("};", "")


def order_since(table: Table) -> Version:
    """The version from which on the members of a table stand where the facts have them."""
    return gaps.REORDERED.get(table.type, (1, 0))


def getter(api: Api, table: Table, source: str) -> Iterator[str]:
    """The function that fills a caller's table with the members of the variable `source`."""
    name = f'"{table.getter}"'
    yield f"ZE_APIEXPORT ze_result_t ZE_APICALL {table.getter}(ze_api_version_t version, {table.type}* pDdiTable) {{"
    yield f"  if (!pDdiTable) return no_table({name});"
    yield f"  if (!speaks(version)) return bad_version({name}, version);"
    reordered = gaps.REORDERED.get(table.type)
    if reordered:
        yield "  // The members were reordered in this version: in an older table they would land in the wrong slots."
        yield f"  if (version < {_constant(reordered)}) return ZE_RESULT_SUCCESS;"
    for since, slots in groupby(table.slots, key=lambda slot: api.functions[slot.function].since):
        yield from _fill(source, list(slots), max(since, reordered or since), order_since(table))
    yield from ("  return ZE_RESULT_SUCCESS;", "}", "")


def _fill(source: str, slots: list[Slot], since: Version, certain: Version) -> Iterator[str]:
    """Members of a version newer than the caller's lie behind the end of the caller's table."""
    lines = [f"pDdiTable->{slot.name} = {source}.{slot.name};" for slot in slots]
    if since <= certain:
        yield from (f"  {line}" for line in lines)
        return
    yield f"  if (version >= {_constant(since)}) {{"
    yield from (f"    {line}" for line in lines)
    yield "  }"


def _constant(version: Version) -> str:
    return f"ZE_API_VERSION_{version[0]}_{version[1]}"
