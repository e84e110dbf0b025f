"""The checks of `anyzero doctor` that concern the planner, in a process of its own.

It compiles a kernel, in the Python that the planner would run in, which may be another one than the doctor's.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["report"]


def report(spirv: str) -> None:
    """Print the results as JSON; `spirv` is the path of a module to try the compiler with."""
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "python": _python,
        "compiler": lambda: _compiler(Path(spirv)),
        "cache": _cache,
    }
    print(json.dumps({name: _tried(part) for name, part in parts.items()}), flush=True)


def _tried(part: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return part()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _python() -> dict[str, Any]:
    return {
        "executable": sys.executable,
        "version": platform.python_version(),
        "package": str(Path(__file__).parents[1]),
    }


def _compiler(spirv: Path) -> dict[str, Any]:
    import llvmlite
    import llvmlite.binding as llvm

    from anyzero.compiler.compiled import Options
    from anyzero.compiler.pipeline import compile_kernel
    from anyzero.compiler.spirv.reader import read

    module = read(spirv.read_bytes())
    began = time.perf_counter()
    made = compile_kernel(module, spirv.stem, Options())
    return {
        "llvmlite": llvmlite.__version__,
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "processor": llvm.get_host_cpu_name(),
        "lanes": made.lanes,
        "milliseconds": round((time.perf_counter() - began) * 1000),
    }


def _cache() -> dict[str, Any]:
    from anyzero import config
    from anyzero import kernel_cache as cache

    settings = config.read(only=("cache", "cache_dir", "cache_size"))
    place = cache.folder(settings)
    found: dict[str, Any] = {
        "on": settings.cache,
        "folder": str(place) if place else None,
        "limit": settings.cache_size,
    }
    if not settings.cache or place is None:
        return found
    kept = cache.Cache(place, settings.cache_size)
    found["trouble"] = kept.trouble
    found["writable"] = not kept.trouble and os.access(place, os.W_OK)
    found["entries"], found["bytes"] = kept.measure()
    return found
