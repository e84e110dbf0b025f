"""What the planning process loads before a request needs it."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import os
import sys
import threading
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

__all__ = ["load_compiler", "load_modules", "rehearse"]

_RESOURCES: Final = "importlib.resources"
_WRITER: Final = "llvmlite.ir"
"""llvmlite's own way to write IR: nine modules, of which its other part names some classes."""
_UNUSED: Final = "platform"
"""A module that llvmlite imports for a function that nothing here calls."""

_KERNEL: Final = os.path.abspath(f"{__file__}/../../tools/saxpy.spv")  # noqa: PTH100


def load_modules() -> None:
    """Imports the modules that a program needs to build modules and to find their kernels in the cache."""
    with contextlib.suppress(Exception):  # reported when a request needs it
        from anyzero.driver.modules import answers, builds, provenance, requests  # noqa: F401

        builds.prepare()
        provenance.versions()
        provenance.compiler_digest()


def load_compiler() -> None:
    """Imports the compiler, and llvmlite amid it. LLVM's library is mapped before, and initializes itself behind, on
    other threads: neither takes the interpreter.
    """
    with contextlib.suppress(Exception):
        mapping = threading.Thread(target=_map_library, daemon=True)
        mapping.start()
        from anyzero.compiler import translate  # noqa: F401

        mapping.join()
        _load_llvm()
        from anyzero.compiler.targets import cpu  # noqa: F401

        threading.Thread(target=_warm_up, daemon=True).start()
        import anyzero.compiler.pipeline  # noqa: F401


def rehearse() -> None:
    """Compiles a small kernel for nobody. The first kernel of a process takes twice as long as the same kernel later:
    methods of classes are generated, patterns compiled, tables filled, and code comes into the caches.
    """
    with contextlib.suppress(Exception):
        from anyzero.compiler import pipeline, spirv
        from anyzero.compiler.compiled import Options
        from anyzero.driver.settings import settings

        if settings().dump:
            return
        with open(_KERNEL, "rb") as file:  # noqa: PTH123
            module = spirv.read(file.read())
        for name in module.kernels:
            spirv.verify_kernel(module, name)
            pipeline.compile_kernel(module, name, Options(quick=settings().stages != "final"))


def _map_library() -> None:
    """Maps LLVM's library with the C function itself: `ctypes.CDLL` keeps the interpreter's lock meanwhile."""
    with contextlib.suppress(Exception):
        found = PathFinder.find_spec("llvmlite")
        if found and found.origin:
            path = f"{os.path.dirname(found.origin)}/binding/libllvmlite.so"  # noqa: PTH120
            ctypes.CDLL(None).dlopen(os.fsencode(path), os.RTLD_NOW)


def _load_llvm() -> None:
    """Imports llvmlite in half of the time."""
    _defer(_UNUSED)
    with _in_place(_RESOURCES, _PlainResources), _in_place(_WRITER, _LaterClasses):
        try:
            import llvmlite.binding
        except Exception:  # it may need more of the resources
            for name in [each for each in sys.modules if each == _RESOURCES or each.startswith("llvmlite.")]:
                del sys.modules[name]
            import llvmlite.binding  # noqa: F401


def _defer(name: str) -> None:
    """Has a module executed at its first use."""
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        return
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


class _PlainResources(ModuleType):
    """As much of `importlib.resources` as it takes to find a file beside a module."""

    @staticmethod
    def files(package: str) -> Path:
        return Path(sys.modules[package].__path__[0])

    @staticmethod
    def as_file(path: Path) -> AbstractContextManager[Path]:
        return contextlib.nullcontext(path)


class _LaterClasses(ModuleType):
    """Has classes by any name, each imported at its first use."""

    def __getattr__(self, name: str) -> _LaterClass:
        if name.startswith("__"):
            raise AttributeError(name)
        return _LaterClass(self.__name__, name)


class _LaterClass:
    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def __getattr__(self, name: str) -> object:
        found: object = getattr(getattr(importlib.import_module(self._module), self._name), name)
        return found


@contextlib.contextmanager
def _in_place(name: str, plain: type[ModuleType]) -> Iterator[None]:
    """Meanwhile, the module of that name is a small part of itself, unless it is there: the whole
    `importlib.resources` imports twenty modules, for packages in archives.
    """
    if name in sys.modules:
        yield
        return
    made = sys.modules[name] = plain(name)
    try:
        yield
    finally:
        if sys.modules.get(name) is made:
            del sys.modules[name]


def _warm_up() -> None:
    """Initializes LLVM ahead of the first kernel, which saves half of that kernel's time."""
    with contextlib.suppress(Exception):
        from anyzero.driver.modules import kernels

        kernels.warm_up()
