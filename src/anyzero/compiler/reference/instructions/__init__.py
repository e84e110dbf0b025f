"""SPIR-V's instructions by chapter, one function for each or for each kind."""

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
"""Importing them fills the tables of handlers."""
