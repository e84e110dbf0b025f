"""docs/coverage.md: which functions of the core API do something, and which only say that they do not."""

from __future__ import annotations

from collections.abc import Iterator

from codegen import entries
from codegen.model import Api, Table
from codegen.names import noun_of_table
from codegen.outputs import NOTICE, Output
from codegen.scan import Class


def outputs(api: Api, classes: dict[str, Class]) -> Iterator[Output]:
    core, runtime = (entries.of_tables(api, classes, namespace) for namespace in ("ze", "zer"))
    yield Output("docs/coverage.md", "\n".join(_lines(core, runtime)) + "\n")


def _lines(tables: dict[Table, list[entries.Entry]], runtime: dict[Table, list[entries.Entry]]) -> Iterator[str]:
    everything = [entry for found in tables.values() for entry in found]
    of_runtime = _count([entry for found in runtime.values() for entry in found])
    yield from (f"<!-- {NOTICE} -->", "# Coverage of the core API", "")
    yield f"**{_count(everything)}** functions are implemented. The others are exported too: they check nothing and"
    yield "return `ZE_RESULT_ERROR_UNSUPPORTED_FEATURE`, and so does all of the tools (`zet`) and system management"
    yield f"(`zes`) APIs. Of the runtime API (`zer`), {of_runtime} are implemented."
    yield from ("", "| table | implemented |", "|---|---|")
    yield from (f"| [{table.name}](#{_anchor(table)}) | {_count(found)} |" for table, found in tables.items())
    for table, found in tables.items():
        yield from ("", f"## {_anchor(table)}", "", "| function | since | |", "|---|---|---|")
        yield from map(_row, found)


def _count(found: list[entries.Entry]) -> str:
    return f"{sum(entry.implemented for entry in found)} of {len(found)}"


def _anchor(table: Table) -> str:
    return noun_of_table(table) + ("_exp" if table.name.endswith("Exp") else "")


def _row(entry: entries.Entry) -> str:
    since = ".".join(map(str, entry.function.since))
    state = "implemented" if entry.implemented else "UNSUPPORTED_FEATURE"
    return f"| `{entry.function.name}` | {since} | {state} |"
