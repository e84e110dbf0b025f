"""Imports inside the compiler and the driver, and includes between the engine's folders, point one way too.

`test_imports.py` has the arrows between the parts of the package.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.shape.test_imports import ALLOWED, imported, module_of
from tests.shape.tree import PACKAGE, ROOT

# What each folder or file of these two packages may import of its own package, besides itself: what it does import.
ARROWS: dict[str, dict[str, set[str]]] = {
    "compiler": {
        # The form of a kernel between translation and lowering, and what reads and writes it
        "operations": set(),
        "ir": {"operations"},
        "dominators": set(),
        "spirv": {"dominators"},
        "errors": {"spirv"},
        "folding": {"ir", "spirv"},
        "builder": {"errors", "folding", "ir", "operations", "spirv"},
        "source_place": {"spirv"},
        # What goes in and comes out
        "line_table": set(),
        "compiled": {"line_table"},
        "globals": {"compiled", "errors", "spirv"},
        "elf": set(),
        "dump": set(),
        # Passes
        "analysis": {"dominators", "folding", "ir", "operations", "spirv"},
        "transform": {"analysis", "builder", "builtins", "dominators", "errors", "folding", "ir", "operations"},
        "translate": {
            *("analysis", "builder", "compiled", "errors", "folding", "globals", "ir", "source_place", "spirv"),
            "transform",
        },
        # LLVM's text
        "llvm": set(),
        "builtins": {"llvm"},
        "targets": {"elf", "errors"},
        "lower": {
            *("analysis", "builtins", "compiled", "dominators", "errors", "ir", "line_table", "llvm", "operations"),
            *("source_place", "spirv", "targets", "transform"),
        },
        # Lists of passes, one for each execution model: another model does not appear here
        "passes": {"compiled", "errors", "spirv"},
        "lanes": {
            *("analysis", "compiled", "dump", "errors", "ir", "line_table", "lower", "passes", "spirv", "targets"),
            *("transform", "translate"),
        },
        "pipeline": {"compiled", "errors", "lanes", "passes", "spirv", "translate"},
        "__main__": {"lanes", "passes"},
        # The oracle shares nothing with the compiler but the reader.
        "reference": {"spirv"},
    },
    "driver": {
        "answering": set(),
        "devices": set(),
        "settings": set(),
        "modules": {"answering", "devices", "settings"},
        "graphs.ir": {"answering"},
        "graphs": {"answering", "graphs.ir"},
        "docs": {"devices"},
        "checkup": set(),
        "own_modules": set(),
        "ahead": {"modules", "settings"},
        "service": {"ahead", "devices", "graphs", "modules", "own_modules"},
        "__main__": {"devices", "docs"},
    },
}

# The engine's folders, from the top down. `abi/gen` is two things: the doors, above everything, and the specification's
# headers, below everything.
FOLDERS: dict[str, set[str]] = {
    "abi/gen": {"abi", "metrics", "objects", "sysman", "trace", "validation"},
    # What check mode looks at before and after calls
    "validation": {"abi", "abi/gen", "check", "exec", "objects", "system"},
    "metrics": {"abi", "abi/gen", "exec", "objects", "system"},
    "sysman": {"abi", "abi/gen", "objects", "system"},
    "npu": {"abi", "abi/gen", "exec", "layouts/gen", "objects", "planning", "system", "trace"},
    # One part, in a folder for each group of nouns: the specification's objects hold one another.
    "objects": {
        *("abi", "abi/gen", "backends", "check", "exec", "layouts", "layouts/gen", "planning", "profile", "system")
    },
    # The planner's bridge to Python
    "planning": {"abi/gen", "layouts", "layouts/gen", "system", "trace"},
    "backends/cpu": {"backends", "exec", "system"},
    "exec": {"abi", "abi/gen", "backends", "check", "layouts", "layouts/gen", "profile", "system", "trace"},
    "backends": {"abi/gen"},
    # What check mode found
    "check": {"check/gen", "system"},
    "check/gen": set(),
    # Recordings of what the others do
    "trace": {"abi/gen", "layouts/gen", "system"},
    # Samples of where kernels spend their time
    "profile": {"abi/gen", "layouts/gen", "system"},
    "abi": {"abi/gen", "system"},
    # Bytes that are shared with the planner, with compiled code and with other processes
    "layouts/gen": {"layouts"},
    "layouts": set(),
    # Clock, locks, threads, futexes, settings
    "system": set(),
}
# Files that include a header of a folder above theirs. None is added: what a file below needs of objects, an interface
# in its own folder says (`InferenceRun`, `reach.h`, `interpreter_lock.h`), and a backend will bring its own launches.
UPWARDS = {
    # Packets hold objects, and the walk of a ring acts on them.
    "exec/packet.cpp": {"objects"},
    "exec/program.cpp": {"objects"},
    "exec/ring.cpp": {"objects"},
    "exec/processor.cpp": {"objects"},
    "exec/command_record.cpp": {"objects"},
    "exec/dispatch.cpp": {"objects"},
    "exec/overlap.cpp": {"objects"},
    "exec/descriptor_waits.cpp": {"objects"},
    # A report of a fault names the allocation beside the address.
    "exec/explain.cpp": {"objects"},
    # Compiled kernels call the CPU's image functions by name.
    "exec/offered.cpp": {"backends/cpu"},
}

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def part(name: str, arrows: Mapping[str, set[str]], package: str) -> str | None:
    """The part of a package that a dotted name belongs to; None where it is of another package, or the package."""
    prefix = f"anyzero.{package}."
    if not name.startswith(prefix):
        return None
    inner = name.removeprefix(prefix)
    longest = [each for each in arrows if inner == each or inner.startswith(f"{each}.")]
    return max(longest, key=len, default=inner.split(".")[0])


def edges(package: str) -> Iterator[tuple[str, str, str]]:
    """Importing part, imported part and the import itself."""
    arrows = ARROWS[package]
    for path in sorted((PACKAGE / package).rglob("*.py")):
        module = module_of(path)
        own = part(module, arrows, package)
        for name in imported(path.read_text(), module, path.name == "__init__.py"):
            to = part(name, arrows, package)
            if own and to and own != to:
                yield own, to, f"{module} imports {name}"


def cycle(arrows: Mapping[str, set[str]]) -> list[str]:
    """Parts that cannot be put into an order; none where every arrow points down."""
    left = {name: set(to) for name, to in arrows.items()}
    while done := {name for name, to in left.items() if not to & left.keys()}:
        left = {name: to for name, to in left.items() if name not in done}
    return sorted(left)


def folder(path: Path) -> str:
    """The folder that has the arrows of a file of the engine."""
    return "objects" if path.parts[0] == "objects" else str(path.parent)


def includes() -> Iterator[tuple[str, str, str]]:
    """Including folder, included folder and the include itself."""
    engine = ROOT / "engine"
    for path in sorted(engine.rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        for name in INCLUDE.findall(path.read_text()):
            target = Path(os.path.normpath(path.parent / name))
            if target.is_relative_to(engine):
                own, to = (folder(each.relative_to(engine)) for each in (path, target))
                if own != to:
                    yield own, to, f"{path.relative_to(engine)} includes {target.relative_to(engine)}"


def test_imports_inside_the_packages_point_one_way() -> None:
    for package, arrows in ARROWS.items():
        found = list(edges(package))
        assert found
        assert [text for own, to, text in found if to not in arrows.get(own, set())] == []


def test_no_arrow_is_left_that_nothing_uses() -> None:
    for package, arrows in ARROWS.items():
        used = {(own, to) for own, to, _ in edges(package)}
        assert {(own, to) for own, listed in arrows.items() for to in listed} - used == set()


def test_the_arrows_have_no_cycle() -> None:
    for arrows in (ALLOWED, *ARROWS.values()):
        assert cycle(arrows) == []


def test_cycles_are_noticed() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["a", "b", "c"]


def test_includes_between_the_engine_s_folders_point_one_way() -> None:
    found = [each for each in includes() if each[1] not in FOLDERS.get(each[0], set())]
    assert [text for _, to, text in found if to not in UPWARDS.get(text.split()[0], set())] == []


def test_no_exception_of_the_engine_is_left_that_nothing_uses() -> None:
    found = {(text.split()[0], to) for own, to, text in includes() if to not in FOLDERS.get(own, set())}
    assert {(name, to) for name, listed in UPWARDS.items() for to in listed} - found == set()
    used = {(own, to) for own, to, _ in includes()}
    assert {(own, to) for own, listed in FOLDERS.items() for to in listed} - used == set()


def test_the_engine_s_folders_have_no_cycle() -> None:
    below = {"abi/gen": set[str]()}  # its headers; its doors are above
    assert cycle({**FOLDERS, **below}) == []
