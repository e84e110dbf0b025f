"""SPIR-V of Python kernels on disk, so that a process that finds it runs no front end.

The key of an entry covers everything that the SPIR-V is made from: the types, the file of the kernel with the
place in it, the files of the functions it calls, the values of all names from outside, and the front end's own files.
A kernel that may depend on something that has no such text, a list for example, has no key and no entry.
"""

from __future__ import annotations

import hashlib
import keyword
import os
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import numpy as np

from anyzero import config, kernel_cache
from anyzero.fingerprint import fingerprint
from anyzero.language.annotations import _Maker
from anyzero.language.source import MISSING, Source
from anyzero.language.types import Const, SamplerValue, Type

if TYPE_CHECKING:
    from anyzero.kernel_cache import Cache
    from anyzero.language.function import Function
    from anyzero.language.specialization import Specialization

__all__ = ["key", "load", "store"]

_FORMAT: Final = "anyzero SPIR-V 1"
_STABLE: Final = frozenset({"anyzero", "math", "numpy", "builtins"})
"""Modules whose contents are determined by their version."""
_DEEPEST: Final = 4
"""The depth of attribute access that is followed."""

_WORDS: Final = {**dict.fromkeys(b"!\"#$%&'()*+,-/:;<=>?@[\\]^`{|}~", " "), ord("."): " . "}
"""Leaves the names and dots of a text. A regular expression takes most of a millisecond to compile in a new process."""


class _Unknown(Exception):  # noqa: N818 (an answer: there is no key)
    """A value that has no text to identify it."""


def load(key: bytes) -> bytes | None:
    """The SPIR-V of an earlier run."""
    found = _store()
    return found.load(key) if found else None


def store(key: bytes, spirv: bytes) -> None:
    """Keep SPIR-V for later runs."""
    found = _store()
    if found:
        found.store(key, spirv)


def _store() -> Cache | None:
    return kernel_cache.of(config.read(only=("cache", "cache_dir", "cache_size")))


def key(special: Specialization) -> bytes | None:
    """The cache key: everything that the SPIR-V depends on; None where a part of that has no text."""
    kernel = special.kernel
    described = _Description()
    try:
        described.add(_FORMAT, sys.version, np.__version__, _front_end(), repr((kernel.group, kernel.contract)))
        for name, t in special.types.items():
            described.add(name)
            described.value(t)
        described.function(kernel.source)
    except _Unknown:
        return None
    return described.digest()


@cache
def _front_end() -> str:
    folder = os.path.dirname(__file__)  # noqa: PTH120 (as objects, paths take ten times as long)
    return fingerprint(folder) + fingerprint(f"{folder}/../spirv")


class _Description:
    """A text that is equal for two kernels only if they are the same."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._functions: dict[int, int] = {}
        self._attributes: frozenset[str] = frozenset()

    def digest(self) -> bytes:
        return self._hash.digest()

    def add(self, *texts: str) -> None:
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            self._hash.update(b"%d:" % len(data) + data)

    def function(self, source: Source) -> None:
        """A function: its file, its place there, its defaults, and the values of the names that it takes from
        outside.
        """
        known = id(source) in self._functions
        self.add(f"function {self._functions.setdefault(id(source), len(self._functions))}")
        if known:
            return
        function = source.function
        self.add(source.file, "".join(source.lines), str(source.first), function.__qualname__)
        for value in (function.__defaults__, function.__kwdefaults__, function.__annotations__):
            self.value(value)
        names, attributes = _named(source)
        before, self._attributes = self._attributes, attributes
        for name in names:
            value = source.value(name)
            # A local variable of the function hides outer names, except for annotations, which only name types.
            if name in function.__code__.co_varnames and not isinstance(value, Type):
                continue
            if value is not MISSING and value is not function:
                self.add(name)
                self.value(value)
        self._attributes = before

    def value(self, value: Any, depth: int = 0) -> None:
        """A value from outside, as far as a kernel can see it."""
        if depth > _DEEPEST:
            raise _Unknown
        self.add(type(value).__qualname__)
        if value is None or isinstance(value, str | bool | int | float):
            self.add(repr(value))
        elif isinstance(value, np.generic):
            self.add(str(value.dtype), value.tobytes().hex())
        elif isinstance(value, Const):
            self.add(repr(value))
            self.value(value.value)
        elif isinstance(value, Type | _Maker | SamplerValue):
            self.add(repr(value))
        elif isinstance(value, tuple | list):
            self.add(str(len(value)))
            for each in value:
                self.value(each, depth + 1)
        elif isinstance(value, dict):
            self.value(list(value.items()), depth)
        elif _is_function(value):
            self.function(value.source)
        elif isinstance(value, ModuleType) and value.__name__.partition(".")[0] in _STABLE:
            self.add(value.__name__)
        elif _is_builtin(value):
            name = getattr(value, "__qualname__", None) or getattr(value, "name", None)
            if not isinstance(name, str):
                raise _Unknown
            self.add(str(getattr(value, "__module__", "")), name)
        elif isinstance(value, FunctionType) or hasattr(type(value), "__getitem__"):
            raise _Unknown
        else:
            self._members(value, depth)

    def _members(self, value: Any, depth: int) -> None:
        """A module, a class or another object: kernels see attributes that are written in them."""
        for name in sorted(self._attributes):
            found = getattr(value, name, MISSING)
            if found is not MISSING:
                self.add(name)
                self.value(found, depth + 1)


def _is_function(value: Any) -> TypeGuard[Function]:
    """Whether it is an `@az.function`. A program that has none has not imported their module."""
    home = sys.modules.get("anyzero.language.function")
    return home is not None and isinstance(value, home.Function)


def _is_builtin(value: Any) -> bool:
    """Something that Python or the language itself has, by a name that says it all."""
    if isinstance(value, BuiltinFunctionType) or (isinstance(value, type) and value.__module__ == "builtins"):
        return True
    homes = [type(value).__module__, value.__module__ if isinstance(value, FunctionType | type) else ""]
    return any(isinstance(home, str) and home.startswith("anyzero.language") for home in homes)


def _named(source: Source) -> tuple[list[str], frozenset[str]]:
    """The names in the text of a function that it may take from outside, and its attributes.

    Not from the byte code: it does not have the annotations of variables.
    """
    code = source.function.__code__
    last = max(end for each in _codes(code) for _, end, _, _ in each.co_positions() if end is not None)
    lines = (line.partition("#")[0] for line in source.lines[source.first - 1 : last])
    # Strings of several lines are left out: they may contain any words.
    text = "\n".join("".join(lines).split('"""')[::2])
    words = text.translate(_WORDS).split()
    attributes = frozenset(word for before, word in pairwise(words) if before == ".")
    names = {*words[:1], *(word for before, word in pairwise(words) if before != "."), *code.co_freevars}
    return sorted(names.difference(keyword.kwlist)), attributes


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)
