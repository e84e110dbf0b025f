"""Names say what a thing is, and no file knows the machine it was written on."""

from __future__ import annotations

import re
from pathlib import Path

from tests.shape.tree import ROOT, files, hand_written

BANNED = {"manager", "managers", "helper", "helpers", "util", "utils", "impl", "impls"}
TYPE = re.compile(r"^\s*(?:class|struct|union|namespace|enum(?:\s+class)?)\s+(\w+)", re.MULTILINE)
# Folders that every machine has, so that their names in a file say nothing about the writer's.
COMMON = {
    Path(name) for name in ("/", "/tmp", "/var/tmp", "/home", "/usr/src", "/opt", "/srv", "/mnt", "/src", "/build")
}


def words(name: str) -> set[str]:
    """The words of a snake_case or CamelCase name."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def banned_type_names(source: str) -> list[str]:
    return [type_name for type_name in TYPE.findall(source) if words(type_name) & BANNED]


def banned_path(name: str) -> bool:
    path = Path(name)
    return any(words(part) & BANNED for part in (*path.parent.parts, path.stem))


def machine_paths(root: Path, home: Path) -> re.Pattern[str]:
    """Matches an absolute path that only the writer's machine has."""
    own = {root, root.parent, home} - COMMON
    names = "|".join(sorted(re.escape(str(path)) for path in own))
    # Not in the middle of another path, and not the beginning of a longer name.
    return re.compile(rf"(?<![\w./-])(?:{names}|/(?:home|Users)/[\w.-]+)(?![\w.-])")


def test_no_module_is_named_by_a_word_that_says_nothing() -> None:
    assert [name for name in hand_written(".py", ".cpp", ".h") if banned_path(name)] == []


def test_no_type_is_named_by_a_word_that_says_nothing() -> None:
    sources = {name: (ROOT / name).read_text() for name in hand_written(".py", ".cpp", ".h")}
    assert {name: found for name, text in sources.items() if (found := banned_type_names(text))} == {}


def test_no_file_holds_a_path_of_this_machine() -> None:
    pattern = machine_paths(ROOT, Path.home())
    # The patterns' own examples, below, are the one place that may.
    names = [name for name in files() if Path(name).name != Path(__file__).name]
    assert [name for name in names if pattern.search((ROOT / name).read_text(errors="replace"))] == []


def test_banned_words_are_noticed() -> None:
    assert banned_path("src/anyzero/api/event_utils.py")
    assert banned_path("engine/impl/event.cpp")
    assert not banned_path("src/anyzero/compiler/simple.py")
    assert banned_type_names("class EventManager: ...\nclass Utility: ...") == ["EventManager"]
    assert banned_type_names("struct ListImpl {\n};\nclass Simplest;\n  namespace helpers {") == [
        "ListImpl",
        "helpers",
    ]
    assert banned_type_names("class IPCHelper;") == ["IPCHelper"]


def test_machine_paths_are_noticed() -> None:
    pattern = machine_paths(Path("/data/me/anyzero"), Path("/root"))
    for bad in ("see /data/me/anyzero/x", '"/data/me"', "cd /root", "open('/home/ann/x')", "(/Users/ann)"):
        assert pattern.search(bad), bad
    for fine in ("lib/data/me", "/data/mean", "the /roots of", "/sys/root", "~/x", "/home/", "/usr/lib"):
        assert not pattern.search(fine), fine
    assert not machine_paths(Path("/tmp/x"), Path("/")).search("/tmp/y or / or /home")
