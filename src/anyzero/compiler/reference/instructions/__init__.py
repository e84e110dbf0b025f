"""SPIR-V's instructions by chapter, one function per instruction or kind."""

from anyzero.compiler.reference.instructions import (
    access,
    arithmetic,
    atomics,
    collectives,
    comparisons,
    composites,
    control,
    conversions,
    images,
    lanes,
)

CHAPTERS = (
    access,
    arithmetic,
    atomics,
    collectives,
    comparisons,
    composites,
    control,
    conversions,
    images,
    lanes,
)
"""Importing these modules fills the tables of handlers."""
