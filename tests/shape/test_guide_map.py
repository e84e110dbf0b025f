"""The map of the guide is whole, and what it names is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.shape.tree import ROOT, files

PAGE = ROOT / "docs" / "guide-map.md"

CHAPTERS = {
    "Drivers and devices": ("Drivers", "Devices", "Initialization and discovery"),
    "Memory and images": (
        *("Memory", "Allocation types", "Memory access capabilities", "Cache hints, prefetch and advice"),
        *("Images", "Device caches"),
    ),
    "Command queues and command lists": (
        *(
            "Queues apart from lists",
            "Command queues: creation",
            "Command queues: execution",
            "Command queues: destruction",
        ),
        *("Command lists: creation", "Command lists: appending", "Command lists: submission"),
        *("Command lists: recycling", "Immediate lists"),
    ),
    "Synchronization primitives": ("Fences and events", "Fences", "Events", "Event pools"),
    "Barriers": ("Execution and memory barriers", "Execution barriers", "Memory barriers", "Range-based barriers"),
    "Modules and kernels": (
        *("Modules", "Build options", "Specialization constants", "Build log", "Native binaries", "Built-in kernels"),
        *("Kernels", "Kernel attributes", "Group size", "Kernel arguments", "Launches", "Cooperative kernels"),
        "Samplers",
    ),
    "Advanced": (
        *("Sub-devices", "Residency", "OpenCL", "Inter-process communication: memory"),
        *("Inter-process communication: events", "Peer-to-peer"),
    ),
    "Immediate lists in depth": (*("Introduction", "Usage", "Availability", "Optimizations and debug keys"),),
    "Graphs and the NPU": (
        *("From a model to an inference", "Memory", "Command lists and fences", "Graph compilation", "OpenVINO plugin"),
        *("Model caching", "Compiler adapter", "Model execution", "Inference requests", "Plugin internals"),
        "DirectML",
    ),
    "Commands for the NPU": ("Lists and queues", "Commands"),
    "Beyond the guide": ("Examples of later parts of the API",),
}
"""The chapters and sections of the documents that the map is about, in our words."""

LINK = re.compile(r"\[([^\]]*)\]\(([^)]+)\)")
FUNCTION = re.compile(r"^ *def test_(\w+)", re.MULTILINE)
NAME = re.compile(r"`((?:zes?[A-Z]|ZES?_[A-Z]|zes?_|pfn)\w+)[`.]")
SOURCES = ("engine", "src/anyzero", "loader", "opencl", "binding", "benchmarks")


@dataclass(frozen=True)
class Row:
    chapter: str
    section: str
    cells: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.section}: {self.cells[0]}"

    @property
    def out(self) -> bool:
        return self.cells[1].startswith("**out**: ")

    def links(self, *cells: int) -> list[tuple[str, str]]:
        """Text and target of the links in these cells."""
        return [found for cell in cells for found in LINK.findall(self.cells[cell])]


def rows(page: str) -> Iterator[Row]:
    chapter = section = ""
    for line in page.splitlines():
        if line.startswith("## "):
            chapter, section = line[3:], ""
        elif line.startswith("### "):
            section = line[4:]
        elif section and line.startswith("| ") and not line.startswith("| the guide |"):
            yield Row(chapter, section, tuple(cell.strip() for cell in line.strip("|").split("|")))


def mistakes(row: Row, root: Path) -> Iterator[str]:
    """What is wrong with a row."""
    if len(row.cells) != 5 or not all(row.cells[:2]):
        yield f"{row}: it takes five cells, and words in the first two"
        return
    if not row.out and not (row.cells[2] and row.cells[4]):
        yield f"{row}: neither out, nor with a place and a test"
    for text, target in row.links(1, 2, 3, 4):
        path = (root / "docs" / target).resolve()
        if not path.exists():
            yield f"{row}: there is no {target}"
        elif target.startswith("../tests/") and path.suffix == ".py" and text not in FUNCTION.findall(path.read_text()):
            yield f"{row}: there is no test_{text} in {target}"
        elif target.startswith("../tests/engine/") and text != path.stem:
            yield f"{row}: {target} is called {path.stem}, not {text}"
    for column, places in ((2, SOURCES), (3, ("examples",)), (4, ("tests",))):
        for _, target in row.links(column):
            if not target.startswith(tuple(f"../{place}" for place in places)):
                yield f"{row}: {target} is no place for column {column}"


def test_no_chapter_is_missing() -> None:
    found: dict[str, list[str]] = {}
    for row in rows(PAGE.read_text()):
        sections = found.setdefault(row.chapter, [])
        if row.section not in sections:
            sections.append(row.section)
    assert {chapter: tuple(sections) for chapter, sections in found.items()} == CHAPTERS


def test_what_rows_name_is_there() -> None:
    assert [wrong for row in rows(PAGE.read_text()) for wrong in mistakes(row, ROOT)] == []


def test_every_example_is_named() -> None:
    named = {target.removeprefix("../") for row in rows(PAGE.read_text()) for _, target in row.links(3)}
    present = {name for name in files() if re.fullmatch(r"examples/(?:\w+\.py|c/\w+\.c(?:pp)?)", name)}
    assert present - named == set()


def test_names_of_the_api_are_those_of_today() -> None:
    headers = (ROOT / "engine" / "abi" / "gen" / name for name in ("ze_api.h", "ze_npu_ext.h"))
    known = {word for header in headers for word in re.findall(r"\w+", header.read_text())}
    named = {word for row in rows(PAGE.read_text()) for word in NAME.findall(row.cells[1])}
    assert len(named) > 100
    assert named - known == set()


def test_the_page_says_how_many_there_are() -> None:
    found = list(rows(PAGE.read_text()))
    assert len(set(found)) == len(found)
    assert f"**{len(found)} rows, of which {sum(row.out for row in found)} are out.**" in PAGE.read_text()


def test_wrong_rows_are_noticed() -> None:
    fine = "| x | `zeX` | [a](../engine/exec/pool.cpp) | | [no_chapter_is_missing](../tests/shape/test_guide_map.py) |"

    def wrong(line: str) -> list[str]:
        return [said for row in rows(f"## A\n### B\n{line}\n") for said in mistakes(row, ROOT)]

    assert wrong(fine) == []
    assert wrong("| x | **out**: no such thing | | | |") == []
    assert "five cells" in wrong("| x | `zeX` | |")[0]
    assert "neither" in wrong("| x | `zeX` | [a](../engine/exec/pool.cpp) | | |")[0]
    assert "there is no ../engine/exec/none.cpp" in wrong(fine.replace("pool.cpp", "none.cpp"))[0]
    assert "no test_any" in wrong(fine.replace("no_chapter_is_missing", "any"))[0]
    assert "no place" in wrong(fine.replace("../engine/exec/pool.cpp", "../README.md"))[0]
