"""The specification's own facts, for tests that go through all of it."""

from __future__ import annotations

from functools import cache

from codegen import model
from tests.abi.calls import ROOT


@cache
def api() -> model.Api:
    return model.load(ROOT / "spec" / "level_zero_api.json")


@cache
def implemented() -> frozenset[str]:
    """Functions that the coverage report calls implemented; everything else must say UNSUPPORTED_FEATURE."""
    rows = (line.split("|") for line in (ROOT / "docs" / "coverage.md").read_text().splitlines())
    return frozenset(
        row[1].strip(" `") for row in rows if len(row) > 3 and any(cell.strip() == "implemented" for cell in row)
    )


@cache
def core() -> dict[str, model.Function]:
    """The functions of the core tables; the getters of the tables themselves are not among them."""
    slots = (slot for table in api().tables.values() if table.namespace == "ze" for slot in table.slots)
    return {slot.function: api().functions[slot.function] for slot in slots}
