"""The walks of docs/architecture.md name functions that exist, and its numbers are those of the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.shape.test_arrows import UPWARDS
from tests.shape.tree import ROOT, files, hand_written

PAGE = ROOT / "docs" / "architecture.md"
ROW = re.compile(r"^\| \[[^\]]+\]\(\.\./([^)]+)\) \| `([^`]+)` \| (.+) \|$", re.MULTILINE)
WALKS = ("### A module, from SPIR-V to code", "### A launch", "### An inference")


def walks(page: str) -> dict[str, list[tuple[str, str]]]:
    """The files and functions of each walk."""
    sections = re.split(r"^(?=##+ )", page, flags=re.MULTILINE)
    return {
        title: [(file, function) for file, function, _ in ROW.findall(section)]
        for section in sections
        for title in WALKS
        if section.startswith(title + "\n")
    }


def names(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from names(node.body, f"{prefix}{node.name}.")


def defines(source: str, function: str, ending: str) -> bool:
    """Does a file define the function? In C++ a definition is a line that has its name and does not end it."""
    if ending == ".py":
        return function in set(names(ast.parse(source).body))
    line = re.compile(rf"^(?!\s*(?://|return\b|if\b)).*\b{re.escape(function)}\((?!.*;\s*$).*$", re.MULTILINE)
    return any("=" not in found[0].split(function)[0] for found in line.finditer(source))


def test_the_functions_exist_where_the_page_says() -> None:
    found = walks(PAGE.read_text())
    assert tuple(found) == WALKS
    assert all(len(rows) >= 10 for rows in found.values())
    wrong = [
        f"{file} has no {function}"
        for rows in found.values()
        for file, function in rows
        if not (ROOT / file).is_file() or not defines((ROOT / file).read_text(), function, Path(file).suffix)
    ]
    assert wrong == []


def test_every_kind_of_packet_is_listed() -> None:
    enum = re.search(r"enum class Op[^{]*\{(.*?)\}", (ROOT / "engine/exec/packet.h").read_text(), re.DOTALL)
    assert enum is not None
    kinds = re.findall(r"^\s*(\w+),", enum[1], re.MULTILINE)
    listed = re.search(r"There are (\d+) kinds: ([^.]*)\.", PAGE.read_text())
    assert listed is not None
    assert int(listed[1]) == len(kinds) == len(listed[2].split(","))


def test_the_priorities_are_counted() -> None:
    number = re.search(r"kPriorities = (\d+);", (ROOT / "engine/exec/engine.h").read_text())
    assert number is not None
    words = {"3": "three", "4": "four", "5": "five"}
    assert f"on {words[number[1]]} lock-free stacks" in PAGE.read_text()


def test_the_engine_s_size_is_about_right() -> None:
    said = re.search(r"The engine has some (\d+),000 lines by hand and (\d+),000 generated", PAGE.read_text())
    assert said is not None
    engine = [name for name in files() if name.startswith("engine/") and name.endswith((".cpp", ".h"))]
    by_hand = [name for name in hand_written(".cpp", ".h") if name.startswith("engine/")]
    counted = by_hand, [name for name in engine if "/gen/" in name]
    for number, names in zip(said.groups(), counted, strict=True):
        lines = sum((ROOT / name).read_text().count("\n") for name in names)
        assert abs(lines - int(number) * 1000) <= 3000, f"docs/architecture.md: the engine has {lines} of these lines"


def test_the_includes_that_point_upwards_are_counted() -> None:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    count = sum("objects" in to for to in UPWARDS.values())
    assert f"{words[count].capitalize()} files of `exec` still include headers of `objects`" in PAGE.read_text()


def test_the_folders_are_listed_once_and_exist() -> None:
    table = re.search(r"^\| folder \| holds \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE.read_text(), re.MULTILINE)
    assert table is not None
    listed = [name for row in table[1].splitlines() for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert len(listed) > 30
    assert sorted(listed) == sorted(set(listed))
    assert [name for name in listed if not (ROOT / name).exists()] == []
    engine = {f"engine/{path.name}/" for path in (ROOT / "engine").iterdir() if path.is_dir()}
    assert engine - set(listed) == set()


def test_wrong_rows_are_noticed() -> None:
    page = "### A launch\n\n| file | function | does |\n|---|---|---|\n| [a](../b.cpp) | `f` | x |\n"
    page += "## Other\n| [a](../c) | `g` | y |"
    assert walks(page) == {"### A launch": [("b.cpp", "f")]}
    source = "int A::f(int x,\n         int y) {\n  return g(x);\n}\nvoid h();\n// k(x) {\nint z = m(1) + 2 ? 3 : 4,"
    assert defines(source, "A::f", ".cpp")
    assert not any(defines(source, name, ".cpp") for name in ("g", "h", "k", "m", "B::f"))
    assert defines("class A:\n    def f(self): ...", "A.f", ".py")
    assert not defines("class A:\n    def f(self): ...", "f", ".py")
