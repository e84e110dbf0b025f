"""Classes of the API do not reach into each other: ruff's SLF001 holds, but for these."""

from __future__ import annotations

from tests.shape.tree import PACKAGE

ALLOWED = {
    # A recorded list runs a graph with the graph's own lock held, and changes the arguments of that command later.
    "recorder.py": 1,
    "command_list.py": 1,
    "graph_command.py": 1,
    # What ctypes.byref() refers to has no other name.
    "_substitutes.py": 1,
}


def test_few_files_of_the_api_are_friends() -> None:
    found = {path.name: path.read_text().count("SLF001") for path in (PACKAGE / "api").glob("*.py")}
    assert {name: count for name, count in found.items() if count} == ALLOWED
