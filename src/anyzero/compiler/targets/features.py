"""Features of processors by name, which LLVM's API does not provide."""

from __future__ import annotations

__all__ = ["implied"]

_WITH_AVX512 = frozenset({
    "x86-64-v4", "skylake-avx512", "cascadelake", "cooperlake", "cannonlake", "icelake-client", "icelake-server",
    "tigerlake", "rocketlake", "sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d", "diamondrapids",
    "znver4", "znver5",
})  # fmt: skip
_WITH_AVX2 = frozenset({
    "x86-64-v3", "haswell", "broadwell", "skylake", "alderlake", "raptorlake", "meteorlake", "arrowlake", "arrowlake-s",
    "lunarlake", "pantherlake", "gracemont", "sierraforest", "grandridge", "clearwaterforest", "bdver4", "znver1",
    "znver2", "znver3",
})  # fmt: skip


def implied(cpu: str) -> str:
    """The features that the choice of lanes and accesses depends on, as LLVM writes them.

    >>> implied("haswell")
    '+avx2,+fma'
    """
    if cpu in _WITH_AVX512:
        return "+avx2,+fma,+avx512bw,+avx512dq,+avx512vl"
    return "+avx2,+fma" if cpu in _WITH_AVX2 else ""
