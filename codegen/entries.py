"""entries_*.cpp: the exported C functions. Each checks its parameters and makes one call into an object."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, groupby

from codegen import c_types, entry_header, gaps, names, rules, values
from codegen.model import Api, Function, Param, Slot, Table
from codegen.outputs import Output, slashes
from codegen.scan import Class

FOLDER = "engine/abi/gen"

# The namespaces beside the core, each in one file.
OTHERS = {"zet": "tools", "zes": "sysman", "zer": "runtime"}

# Using one of these wrongly has an error of its own in functions that list it.
SYNCHRONIZATION = {"Event", "Fence"}

# These stay alive while a function is inside of them, also where another thread destroys them meanwhile. Events are
# made and destroyed too often for that.
USED = {"CommandList", "CommandQueue", "Kernel"}
INVALID_SYNCHRONIZATION_OBJECT = "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT"


def of_tables(api: Api, classes: dict[str, Class], namespace: str) -> dict[Table, list[Entry]]:
    tables = sorted((t for t in api.tables.values() if t.namespace == namespace), key=names.noun_of_table)
    return {table: [Entry(api, classes, table, slot) for slot in table.slots] for table in tables}


def outputs(api: Api, classes: dict[str, Class]) -> Iterator[Output]:
    yield entry_header.output()
    core = of_tables(api, classes, "ze")
    for noun, tables in groupby(core, names.noun_of_table):
        yield _file(noun, [entry for table in tables for entry in core[table]])
    for namespace, title in OTHERS.items():
        yield _file(title, [entry for entries in of_tables(api, classes, namespace).values() for entry in entries])


def _file(noun: str, entries: list[Entry]) -> Output:
    headers = sorted({header for entry in entries for header in entry.headers()})
    lines = [slashes(), '#include "entry.h"']
    lines += [f'#include "../../{header}"' for header in headers]
    lines += ["", "namespace anyzero {", 'extern "C" {', ""]
    for entry in entries:
        lines += [*entry.lines(), ""]
    lines += ['}  // extern "C"', "}  // namespace anyzero"]
    return Output(f"{FOLDER}/entries_{noun}.cpp", "\n".join(lines) + "\n")


class Entry:
    """One exported function, its checks, and the method it ends in."""

    def __init__(self, api: Api, classes: dict[str, Class], table: Table, slot: Slot) -> None:
        self.api = api
        self.classes = classes
        self.function: Function = api.functions[slot.function]
        self.class_name = names.class_of_table(table)
        self.method = names.method_of_slot(slot)

    @property
    def declared(self) -> bool:
        owner = self.classes.get(self.class_name)
        return owner is not None and owner.declares(self.function.type, self.method)

    @property
    def missing(self) -> list[str]:
        """Classes the call would name that no header defines; until one does, the entry stays a stub."""
        return sorted(self._classes_named() - self.classes.keys()) if self.declared else []

    @property
    def implemented(self) -> bool:
        return self.declared and not self.missing

    @property
    def absent(self) -> bool:
        """Is it about a part that no device has? Then nothing is a handle of it."""
        params = self.function.params
        named = bool(params) and self._is_handle(params[0])
        return self.function.name.startswith("zes") and named and self._class_of(params[0]) not in self.classes

    def headers(self) -> set[str]:
        return {self.classes[name].header for name in self._classes_named()} if self.implemented else set()

    def lines(self) -> Iterator[str]:
        if self.implemented:
            yield f"{self._signature(named=True)} try {{"
            yield from (f"  {line}" for line in self._body())
            yield "} catch (...) {"
            yield f"  {self._fail('caught')}"
        elif self.absent:
            first, *rest = self.function.params
            listed = c_types.parameters([(first.name, first.type), *((None, param.type) for param in rest)])
            yield f"ZE_APIEXPORT {self.function.type} ZE_APICALL {self.function.name}({listed}) {{"
            yield f"  {self._bad_handle(first, first.name)}"
        else:
            yield f"{self._signature(named=False)} {{"
            yield f"  {self._fail('unsupported')}"
        yield "}"

    def inlined_lines(self) -> Iterator[str]:
        """The same checks and call as a function to be inlined, `run_NAME`."""
        own = f"{self.function.type} run_{self.function.name}({self._listed(named=True)})"
        yield from self._inlined(own, self._body())

    def tested_lines(self, quick: str) -> Iterator[str]:
        """The same checks and call as a function of its own, with a test of check mode in front of the call.

        If the test fails, `examine` is set and nothing is called.
        """
        own = f"{self.function.type} enter_{self.function.name}({self._listed(named=True)}, bool& examine)"
        yield from self._inlined(own, self._body(quick))

    def _inlined(self, signature: str, body: Iterator[str]) -> Iterator[str]:
        yield f"[[gnu::always_inline]] inline {signature} try {{"
        yield from (f"  {line}" for line in body)
        yield from ("} catch (...) {", f"  {self._fail('caught')}", "}")

    def _listed(self, named: bool) -> str:
        params = ((param.name if named else None, param.type) for param in self.function.params)
        return c_types.parameters(params) if self.function.params else ""

    def _signature(self, named: bool) -> str:
        return f"ZE_APIEXPORT {self.function.type} ZE_APICALL {self.function.name}({self._listed(named)})"

    # Which parameter is what

    def _is_handle(self, param: Param) -> bool:
        return self.api.handle(param.type) is not None

    def _is_handle_array(self, param: Param) -> bool:
        is_handle = self.api.handle(param.pointee) is not None
        return param.input and param.pointer and is_handle and param.length is not None

    def _is_self(self, param: Param) -> bool:
        return self._is_first(param) and self._is_handle(param) and self._class_of(param) == self.class_name

    def _is_first(self, param: Param) -> bool:
        return param is self.function.params[0]

    def _class_of(self, param: Param) -> str:
        return names.class_of_handle(self.api, param.pointee)

    def _classes_named(self) -> set[str]:
        objects = (p for p in self.function.params if self._is_handle(p) or self._is_handle_array(p))
        return {self.class_name, *map(self._class_of, objects)}

    # The checks, in the order in which their errors take precedence

    def _body(self, quick: str | None = None) -> Iterator[str]:
        yield from self._handle_checks()
        yield from self._pointer_checks()
        yield from self._value_checks()
        yield from self._rule_checks()
        yield from self._element_checks()
        yield from self._quick_test(quick) if quick else (f"return {self._call()};",)

    def _quick_test(self, quick: str) -> Iterator[str]:
        first, *rest = self.function.params
        given = ", ".join([f"*{names.object_of_param(first)}", *map(self._argument, rest)])
        yield f"if (!{quick}({given})) [[unlikely]] return examine = true, ZE_RESULT_SUCCESS;"
        if "briefly" not in quick:
            yield f"return {self._call()};"
            return
        yield f"const {self.function.type} result = {self._call().replace('timeout', 'brief(timeout)')};"
        yield "examine = result == ZE_RESULT_NOT_READY && timeout == UINT64_MAX;"
        yield "return result;"

    def _handle_checks(self) -> Iterator[str]:
        places = count()
        for param in filter(self._is_handle, self.function.params):
            local = names.object_of_param(param)
            if self._class_of(param) in USED:
                yield f"Using<{self._class_of(param)}, {next(places)}> {local}({param.name});"
            else:
                yield f"auto* {local} = checked<{self._class_of(param)}>({param.name});"
            bad = f"{param.name} && !{local}" if param.optional else f"!{local}"
            yield f"if ({bad}) {self._bad_handle(param, param.name)}"

    def _pointer_checks(self) -> Iterator[str]:
        for param in self.function.params:
            if not param.optional and (param.pointer or self.api.is_function_pointer(param.type)):
                yield f"if (!{param.name}) {self._fail('null_pointer', quoted(param.name))}"

    def _value_checks(self) -> Iterator[str]:
        optional = {param.name for param in self.function.params if param.optional}
        for value in values.inputs(self.api, self.function):
            bad = values.unknown(self.api, value)
            if value.owner in optional:
                bad = f"{value.owner} && ({bad})"
            yield f"if ({bad}) {self._fail('unknown_value', quoted(value.expression), value.expression)}"

    def _rule_checks(self) -> Iterator[str]:
        for rule in self.function.rules:
            bad = rules.condition(self.function, rule)
            if bad is not None:
                yield f"if ({bad}) {self._fail('broken_rule', quoted(bad), result=rule.result)}"

    def _element_checks(self) -> Iterator[str]:
        for param in filter(self._is_handle_array, self.function.params):
            element = f"{param.name}[i]"
            bad = f"!checked<{self._class_of(param)}>({element})"
            if (self.function.name, param.name) in gaps.NULL_ELEMENTS:
                bad = f"{element} && {bad}"
            present = f"{param.name} && " if param.optional else ""
            yield f"for (uint32_t i = 0; {present}i < {param.length}; ++i) {{"
            yield f"  if ({bad}) {self._bad_handle(param, element)}"
            yield "}"

    def _bad_handle(self, param: Param, value: str) -> str:
        """Null where a handle is required is one error; for an event or a fence, a wrong value may be another."""
        result = "ZE_RESULT_ERROR_INVALID_NULL_HANDLE"
        listed = INVALID_SYNCHRONIZATION_OBJECT in self.function.results
        if listed and self._class_of(param) in SYNCHRONIZATION and not self._is_first(param):
            may_be_null = not (param.optional and self._is_handle(param))
            choice = f"{value} ? {INVALID_SYNCHRONIZATION_OBJECT} : {result}"
            result = choice if may_be_null else INVALID_SYNCHRONIZATION_OBJECT
        return self._fail("bad_handle", quoted(value), value, result=result)

    def _call(self) -> str:
        """Of the method."""
        params = list(self.function.params)
        target = f"{self.class_name}::"
        if params and self._is_self(params[0]):
            target = f"{names.object_of_param(params.pop(0))}->"
        return f"{target}{self.method}({', '.join(map(self._argument, params))})"

    def _argument(self, param: Param) -> str:
        if self._is_handle(param):
            local = names.object_of_param(param)
            if not param.optional:
                return f"*{local}"
            return f"{local}.get()" if self._class_of(param) in USED else local
        if self._is_handle_array(param):
            return f"objects<{self._class_of(param)}>({param.name})"
        return param.name

    def _fail(self, reporter: str, *details: str, result: str | None = None) -> str:
        """A return statement through one of the reporters of entry.h or error.h."""
        arguments = [*([result] if result else []), quoted(self.function.name), *details]
        instead = f", {self.function.failure}" if self.function.failure else ""
        return f"return {reporter}({', '.join(arguments)}){instead};"


def quoted(text: str) -> str:
    return f'"{text}"'
