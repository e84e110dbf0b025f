"""The table of operations: complete, and true of what the lowering and the passes do."""

from __future__ import annotations

import re

import pytest

from anyzero.compiler import ir
from anyzero.compiler.lower.regions import HANDLERS
from anyzero.compiler.operations import ADDRESSED, DIVISIONS, OPERATIONS, PURE, TRAITS, Operation

WITHOUT_CODE = {"const", "phi"}
"""Operations that the lowering of CPU lanes writes no instruction for: operands, and values in slots."""


def vocabulary() -> set[str]:
    """The words of ir's table that may be names of operations."""
    assert ir.__doc__ is not None
    return set(re.findall(r"[a-z_]+", ir.__doc__.partition("The vocabulary")[2]))


def test_every_operation_has_a_handler() -> None:
    assert set(HANDLERS) | WITHOUT_CODE == set(OPERATIONS)


def test_every_operation_is_described() -> None:
    assert set(OPERATIONS) <= vocabulary()


@pytest.mark.parametrize("row", OPERATIONS.values(), ids=lambda row: row.name)
def test_rows_do_not_contradict_themselves(row: Operation) -> None:
    traits = row.traits
    assert traits <= set(TRAITS)
    assert "pure" not in traits or not traits & {"effect", "traps", "orders", "collective"}
    assert "pure" not in traits or not (row.reads or row.writes)
    assert "effect" in traits or not row.writes, "a write is an effect"
    assert not traits & {"orders", "collective"} or "effect" in traits
    assert not traits & {"integer", "float", "division"} or row.operands == 2
    assert row.operands is None or row.pointers <= row.operands
    assert row.cost >= 0
    # Whatever is neither pure nor does anything else must say why it may not be speculated.
    assert traits & {"pure", "effect", "traps", "placed", "mask", "long"} or row.reads


def test_divisions_may_not_be_speculated() -> None:
    assert {"udiv", "sdiv", "urem", "srem"} == DIVISIONS
    assert not DIVISIONS & PURE


def test_accesses_by_address() -> None:
    assert {"load", "store", "copy", "group_copy", "atomic"} == ADDRESSED


@pytest.mark.parametrize(
    ("kind", "writes"),
    [("block_write", True), ("image_block_write", True), ("block_read", False), ("shuffle", False), ("reduce", False)],
)
def test_only_block_writes_of_collectives_write_memory(kind: str, writes: bool) -> None:
    assert ir.Op("group", "", [], ir.Collective("sub_group", kind)).may_write is writes


def test_slots_are_no_memory() -> None:
    assert not ir.Op("write", "", [], ir.Slot("i32")).may_write
    assert ir.Op("image_write", "", [], ir.ImageAccess(0, 2)).may_write


def test_unknown_operation_has_no_row() -> None:
    with pytest.raises(KeyError):
        OPERATIONS["frobnicate"]
