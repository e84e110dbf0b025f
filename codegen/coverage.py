"""docs/coverage.md: which functions do something, and which only say that they do not."""

from __future__ import annotations

from collections.abc import Iterator

from codegen import entries
from codegen.model import Api, Table
from codegen.names import noun_of_table
from codegen.outputs import NOTICE, Output
from codegen.scan import Class

Tables = dict[Table, list[entries.Entry]]


def outputs(api: Api, classes: dict[str, Class]) -> Iterator[Output]:
    core, runtime, sysman, tools = (
        entries.of_tables(api, classes, namespace) for namespace in ("ze", "zer", "zes", "zet")
    )
    lines = [*_core(core, runtime, sysman, tools), *_sysman(sysman)]
    yield Output("docs/coverage.md", "\n".join(lines) + "\n")


def _core(tables: Tables, runtime: Tables, sysman: Tables, tools: Tables) -> Iterator[str]:
    done = [f"`{each.function.name}`" for found in tools.values() for each in found if each.implemented]
    yield from (f"<!-- {NOTICE} -->", "# Coverage of the core API", "")
    yield f"**{_total(tables)}** functions are implemented. The others are exported too: they check nothing and"
    yield "return `ZE_RESULT_ERROR_UNSUPPORTED_FEATURE`, and so does all of the tools API (`zet`) but for"
    yield f"{', '.join(done)}. Of the runtime API (`zer`), {_total(runtime)} are implemented;"
    yield "of [system management](#system-management) (`zes`),"
    yield f"{_total(sysman)}, and {sum(map(_absent, sysman.values()))} more are about parts that no device has."
    yield ""
    yield "Ray tracing (`zeRTAS…`) stays out: the functions build acceleration structures in the format of ray tracing"
    yield "hardware, for kernels that traverse them with instructions of that hardware. No device here has it, so the"
    yield "extensions are not listed by `zeDriverGetExtensionProperties` either."
    yield from ("", "| table | implemented |", "|---|---|")
    yield from (f"| [{table.name}](#{_anchor(table)}) | {_count(found)} |" for table, found in tables.items())
    for table, found in tables.items():
        yield from ("", f"## {_anchor(table)}", "", "| function | since | |", "|---|---|---|")
        yield from map(_row, found)


def _sysman(tables: Tables) -> Iterator[str]:
    """Some of it is about hardware that no processor has."""
    yield from ("", "## System management", "")
    yield "What these answer is in [sysman.md](sysman.md). Functions of parts that no device has are exported and take"
    yield "nothing for a handle; the few others return `ZE_RESULT_ERROR_UNSUPPORTED_FEATURE`."
    yield from ("", "| table | implemented | of parts that no device has |", "|---|---|---|")
    yield from (f"| {table.name} | {_count(found)} | {_absent(found) or ''} |" for table, found in tables.items())
    yield from ("", "| function | since | |", "|---|---|---|")
    yield from (_row(entry) for found in tables.values() for entry in found)


def _total(tables: Tables) -> str:
    return _count([entry for found in tables.values() for entry in found])


def _count(found: list[entries.Entry]) -> str:
    return f"{sum(entry.implemented for entry in found)} of {len(found)}"


def _absent(found: list[entries.Entry]) -> int:
    return sum(entry.absent for entry in found)


def _anchor(table: Table) -> str:
    return noun_of_table(table) + ("_exp" if table.name.endswith("Exp") else "")


def _row(entry: entries.Entry) -> str:
    since = ".".join(map(str, entry.function.since))
    other = "INVALID_NULL_HANDLE" if entry.absent else "UNSUPPORTED_FEATURE"
    state = "implemented" if entry.implemented else other
    return f"| `{entry.function.name}` | {since} | {state} |"
