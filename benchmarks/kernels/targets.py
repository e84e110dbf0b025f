"""The instruction sets that a comparison may be held to, and how each contestant is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """One instruction set, for all contestants alike."""

    name: str
    about: str
    variables: Mapping[str, str]
    """For the environment of every contestant; each reads its own."""


def _held(name: str, about: str, march: str, intel: str, llvm: str, blas: str, numpy: str) -> Target:
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
    return Target(name, about, variables)


AVX512: Final = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"

TARGETS: Final = {
    each.name: each
    for each in (
        Target("native", "all that the processor has", {}),
        _held("avx2", "AVX2 and FMA, 16 registers", "haswell", "core-avx2", "haswell", "Haswell", AVX512),
        _held("sse4.2", "SSE4.2", "x86-64-v2", "corei7", "nehalem", "Nehalem", f"AVX FMA3 AVX2 {AVX512}"),
    )
}
