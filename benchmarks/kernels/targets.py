"""The instruction sets that a comparison may be held to, and how each contestant is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["ALL", "MEASURED", "TARGETS", "Target", "instruction_set", "present"]

ALL: Final = "all"
"""Stands for every one of `MEASURED` that the processor has."""
LABELS: Final = {"avx2": "AVX2", "sse4.2": "SSE4.2"}
_MARKS: Final = (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("sse4_2", "SSE4.2"))
"""Flags of /proc/cpuinfo, the best first."""


@dataclass(frozen=True, slots=True)
class Target:
    """One instruction set, for all contestants alike."""

    name: str
    about: str
    variables: Mapping[str, str] = field(default_factory=dict)
    """For the environment of every contestant; each reads its own."""
    hidden: str = ""
    """Beginnings of LLVM's names for features that the processor must not seem to have."""
    beyond: tuple[str, ...] = ()
    """Words in the name of an implementation that say that it uses more."""


def _held(
    *names: str, march: str, intel: str, llvm: str, blas: str, numpy: str, hidden: str, beyond: tuple[str, ...]
) -> Target:
    variables = {
        "ANYZERO_TARGET": march,
        "CL_CONFIG_CPU_TARGET_ARCH": intel,
        "POCL_LLVM_CPU_NAME": llvm,
        "NUMBA_CPU_NAME": llvm,
        "NUMBA_CPU_FEATURES": "",
        "OPENBLAS_CORETYPE": blas,
        "NPY_DISABLE_CPU_FEATURES": numpy,
        "BENCHMARKS_MARCH": march,
    }
    name, about = names
    return Target(name, about, variables, hidden, beyond)


# numpy 2.4 names levels of x86-64; older ones single features, and each ignores the names of the other.
_AVX512: Final = "X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL"
_AVX: Final = f"X86_V3 AVX FMA3 AVX2 {_AVX512}"

TARGETS: Final = {
    each.name: each
    for each in (
        Target("native", "all that the processor has"),
        _held(
            *("avx2", "AVX2 and FMA, 16 registers"),
            march="haswell",
            intel="core-avx2",
            llvm="haswell",
            blas="Haswell",
            numpy=_AVX512,
            hidden="avx512",
            beyond=("avx512",),
        ),
        _held(
            *("sse4.2", "SSE4.2"),
            march="x86-64-v2",
            intel="corei7",
            llvm="nehalem",
            blas="Nehalem",
            numpy=_AVX,
            hidden="avx fma f16c xop bmi",
            beyond=("avx512", "haswell", "bridge", "bdver"),
        ),
    )
}
MEASURED: Final = ("native", "avx2")


def instruction_set(name: str, flags: str | None = None) -> str:
    """What a target's figures hold for, as documents call it.

    >>> instruction_set("native", "sse4_2 avx avx2 avx512f"), instruction_set("native", "sse4_2 avx2")
    ('AVX-512', 'AVX2')
    >>> instruction_set("avx2")
    'AVX2'
    """
    if name in LABELS:
        return LABELS[name]
    if flags is None:
        flags = _flags()
    return next((label for mark, label in _MARKS if mark in flags.split()), "SSE2")


def _flags() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2] for line in lines if line.startswith("flags")), "")


def present(name: str, flags: str | None = None) -> tuple[Target, ...]:
    """The target of that name; for `all`, those of `MEASURED` that differ on this processor.

    >>> [each.name for each in present("all", "avx2 avx512f")], [each.name for each in present("all", "avx2")]
    (['native', 'avx2'], ['native'])
    """
    if name != ALL:
        return (TARGETS[name],)
    return tuple({instruction_set(each, flags): TARGETS[each] for each in reversed(MEASURED)}.values())[::-1]
