"""All chapters of the instruction set; importing them fills the table of translations."""

from anyzero.compiler.translate import (
    arithmetic,
    atomics,
    composites,
    control,
    conversions,
    groups,
    images,
    memory,
    opencl,
)

COMPLETE = (arithmetic, atomics, composites, control, conversions, groups, images, memory, opencl)
