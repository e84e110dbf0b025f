"""loader/gen/: what the loader exports, the tables it hands out, and the list that its dispatch is made from."""

from __future__ import annotations

from collections.abc import Iterator

from codegen import c_types, loader_names, loader_tracing, tables
from codegen.model import NAMESPACES, Api, Function, Slot, Table
from codegen.outputs import Output, slashes

FOLDER = "loader/gen"

# Where the block at the start of every object holds the tables of a namespace.
BLOCK = {"ze": "pCore", "zet": "pTools", "zes": "pSysman", "zer": "pRuntime"}

# These bring the drivers about, so they cannot go through the table that they fill.
STARTING = frozenset({"zeInit", "zeInitDrivers", "zesInit"})


def outputs(api: Api) -> Iterator[Output]:
    yield _file("functions.inc", _functions(api))
    yield _file("driver_tables.inc", _driver_tables(api))
    yield _file("entries.cpp", _entries(api))
    yield _file("tables.cpp", _tables(api))
    yield _file("release.h", _release())
    yield from loader_tracing.outputs(api)


def _file(name: str, lines: Iterator[str]) -> Output:
    return Output(f"{FOLDER}/{name}", "\n".join([slashes(), *lines]) + "\n")


def _slots(api: Api) -> Iterator[tuple[Table, Slot, Function]]:
    for table in api.tables.values():
        for slot in table.slots:
            yield table, slot, api.functions[slot.function]


def kind_of(api: Api, function: Function) -> str:
    """By where the object that a call is about is found: its first parameter, an array in its n-th, or nowhere."""
    params = function.params
    if params and api.handle(params[0].type):
        return "FUNCTION"
    arrays = [n for n, param in enumerate(params) if param.input and param.pointer and api.handle(param.pointee)]
    if not arrays:
        return "FREE_FUNCTION"
    place = arrays[0]
    if params[place].length != params[place - 1].name:
        raise ValueError(f"{function.name}: the length of {params[place].name} is not the parameter before it")
    return f"ARRAY_{place}_FUNCTION"


def _functions(api: Api) -> Iterator[str]:
    yield "// FUNCTION(name, its place in a driver's tables, the way to it from a handle..., since)"
    yield "// The handle is the first parameter; ARRAY_n: the first element of the array that is parameter n, counted"
    yield "// from 0, and whose length is the parameter before; FREE: there is none."
    kinds = {kind_of(api, function) for _, _, function in _slots(api)} - {"FUNCTION"}
    for kind in sorted(kinds):
        yield from (f"#ifndef {kind}", f"#define {kind} FUNCTION", "#endif")
    for table, slot, function in _slots(api):
        place = f"{table.namespace}.{table.name}.{slot.name}"
        way = (
            f"&ze_handle_t::{BLOCK[table.namespace]}",
            f"&{table.namespace}_dditable_driver_t::{table.name}",
            f"&{table.type}::{slot.name}",
            f"ZE_MAKE_VERSION({function.since[0]}, {function.since[1]})",
        )
        yield f"{kind_of(api, function)}({function.name}, {place}, {', '.join(way)})"
    yield from (f"#undef {kind}" for kind in ("FUNCTION", *sorted(kinds)))


def _driver_tables(api: Api) -> Iterator[str]:
    yield "// DRIVER_TABLE(its place in a driver's tables, the function that fills it, since when its order holds)"
    for table in api.tables.values():
        major, minor = tables.order_since(table)
        order = f"ZE_MAKE_VERSION({major}, {minor})"
        yield f'DRIVER_TABLE({table.namespace}.{table.name}, "{table.getter}", {order})'
    yield "#undef DRIVER_TABLE"


def _entries(api: Api) -> Iterator[str]:
    yield from ('#include "../dispatch.h"', "", "namespace anyzero::loader {", 'extern "C" {', "")
    for _, _, function in _slots(api):
        if function.name not in STARTING:
            arguments = ", ".join(param.name for param in function.params)
            listed = c_types.parameters((param.name, param.type) for param in function.params)
            listed = listed if function.params else ""
            yield f"ZE_APIEXPORT {function.type} ZE_APICALL {function.name}({listed}) {{"
            yield f"  return functions().{function.name}({arguments});"
            yield from ("}", "")
    yield from ('}  // extern "C"', "}  // namespace anyzero::loader")


def _tables(api: Api) -> Iterator[str]:
    yield from ('#include "../tables.h"', "", "namespace anyzero::loader {", "")
    for namespace in NAMESPACES:
        type_ = f"{namespace}_dditable_t"
        yield f"{type_} {namespace}_entries = {{"
        for field in api.table_structs[type_]:
            yield f"    .{field.name} = {{"
            yield from (f"        {slot.function}," for slot in api.tables[field.type].slots)
            yield "    },"
        yield from ("};", "")
    yield from ('extern "C" {', "")
    for table in api.tables.values():
        yield from tables.getter(api, table, f"{table.namespace}_entries.{table.name}")
    yield from ('}  // extern "C"', "}  // namespace anyzero::loader")


def _release() -> Iterator[str]:
    major, minor, patch = loader_names.RELEASE
    yield from ("#pragma once", "", "namespace anyzero::loader {", "")
    yield "// The release of the upstream loader whose exports ours match."
    yield f"inline constexpr int kRelease[3] = {{{major}, {minor}, {patch}}};"
    yield from ("", "}  // namespace anyzero::loader")
