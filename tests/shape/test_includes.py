"""Every C++ file reaches by its own includes the types that it names.

Our builds precompile headers and join files into units, so a missing include shows only where neither is done, or where
a unit is put together differently.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from tests.shape.tree import ROOT, files

HEADERS = {
    "algorithm": "all_of any_of clamp copy copy_n count_if equal fill fill_n find find_if lower_bound min_element "
    "minmax none_of reverse rotate sort transform unique",
    "array": "array",
    "atomic": "atomic atomic_ref atomic_signal_fence atomic_thread_fence memory_order_acq_rel memory_order_acquire "
    "memory_order_relaxed memory_order_release memory_order_seq_cst",
    "bit": "bit_cast countl_zero countr_zero popcount rotl",
    "charconv": "from_chars to_chars",
    "chrono": "chrono",
    "cmath": "ceil fma pow",
    "condition_variable": "condition_variable",
    "cstdio": "fclose fflush fgets fopen fprintf fputs fscanf fwrite snprintf sscanf vsnprintf",
    "cstdlib": "abort calloc free getenv malloc strtod strtoull",
    "cstring": "memchr memcmp memcpy memmove memset strchr strcmp strcspn strerror strlen strncmp strncpy strrchr",
    "deque": "deque",
    "functional": "function",
    "map": "map",
    "memory": "enable_shared_from_this make_shared make_unique shared_ptr unique_ptr",
    "mutex": "call_once lock_guard mutex once_flag recursive_timed_mutex unique_lock",
    "new": "align_val_t bad_alloc nothrow",
    "optional": "optional",
    "set": "set",
    "shared_mutex": "shared_lock shared_mutex",
    "span": "span",
    "string": "string to_string",
    "string_view": "string_view",
    "unordered_map": "unordered_map",
    "vector": "vector",
}
"""Names of the standard library that the engine uses, by the header that must be reached."""
ALSO = {"new": {"memory", "string", "vector"}, "string_view": {"string"}, "mutex": {"condition_variable"}}
"""Standard headers that bring others along, in every library."""

OF_NAME = {name: header for header, names in HEADERS.items() for name in names.split()}
FOLDERS = ("engine/", "loader/", "opencl/", "binding/")
INCLUDE = re.compile(r'^ *# *include ([<"])([^>"]+)[>"]', re.M)
DEFINED = re.compile(r"^(?:class|struct|union|enum class|enum)(?: alignas\(\w+\))? ([A-Z]\w+)[^;{]*\{", re.M)
NAMED = re.compile(
    r"\b(?:class|struct|union|enum|using)(?: \w+\([^)]*\))? ([A-Z]\w+)(?!\w|;)|[{,]\s*([A-Z]\w+)\s*(?=[,}=])"
)
"""Types, nested ones too, and enumerators."""
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
SOURCES = [name for name in files() if name.startswith(FOLDERS) and name.endswith((".cpp", ".h"))]


@cache
def text(name: str) -> str:
    return (ROOT / name).read_text()


@cache
def code(name: str) -> str:
    return NOT_CODE.sub(" ", text(name))


@cache
def included(name: str) -> tuple[frozenset[str], frozenset[str]]:
    """Standard headers and files of ours that it names itself."""
    standard, ours = set(), set()
    for kind, what in INCLUDE.findall(text(name)):
        places = [Path(name).parent / what, Path("engine") / what, Path("engine/abi/gen") / what]
        found = [os.path.normpath(place) for place in places if kind == '"' and (ROOT / place).is_file()]
        (ours if found else standard).add(found[0] if found else what)
    return frozenset(standard), frozenset(ours)


@cache
def reached(name: str) -> tuple[frozenset[str], frozenset[str]]:
    """The same with all that these include in turn, and the file itself."""
    standard: set[str] = set()
    ours, left = {name}, [name]
    while left:
        more, others = included(left.pop())
        standard |= more
        left += others - ours
        ours |= others
    return frozenset(standard), frozenset(ours)


@cache
def homes(folder: str) -> dict[str, set[str]]:
    """Headers of the folder that define a type, by its name."""
    found: dict[str, set[str]] = {}
    for name in SOURCES:
        if name.startswith(folder) and name.endswith(".h"):
            for each in DEFINED.findall(code(name)):
                found.setdefault(each, set()).add(name)
    return found


@cache
def defined(name: str) -> set[str]:
    return {each for pair in NAMED.findall(code(name)) for each in pair if each}


def missing(name: str) -> list[str]:
    standard, ours = reached(name)
    found = []
    for used in sorted(set(re.findall(r"\bstd::(\w+)", code(name)))):
        header = OF_NAME.get(used)
        if header and not standard & {header, *ALSO.get(header, ())}:
            found.append(f"{name} uses std::{used} without <{header}>")
    if name.endswith(".h"):  # a file includes its own header first, and is looked at with it
        return found
    types = homes(name.split("/")[0] + "/")
    for used in sorted(set(re.findall(r"(?<![\w:.])[A-Z]\w+", code(name))) & types.keys()):
        if not any(used in defined(place) for place in ours):
            found.append(f"{name} uses {used} without {' or '.join(sorted(types[used]))}")
    return found


def test_files_include_the_headers_of_the_types_that_they_use() -> None:
    assert [line for name in SOURCES for line in missing(name)] == []
