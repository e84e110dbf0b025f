"""Headers for C and C++ programs: Level Zero, and its extensions for NPUs."""

from __future__ import annotations

from pathlib import Path

__all__ = ["get_include"]


def get_include() -> str:
    """The folder to name with ``-I``; it has `level_zero/ze_api.h` and `level_zero/ze_npu_ext.h`.

    ::

        g++ -I$(python -c 'import anyzero; print(anyzero.get_include())') program.cpp -lze_loader
    """
    return str(Path(__file__).parents[1] / "include")
