"""The reference names every builtin and every public name, in the words of the tables themselves."""

from __future__ import annotations

import re
from pathlib import Path

from anyzero.language.builtins.table import ALL
from anyzero.language.reference import written

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "language.md"
PUBLIC = ROOT / "src" / "anyzero" / "language" / "public.py"


def test_the_tables_are_fresh() -> None:
    text = PAGE.read_text()
    assert text == written(text), "python -m anyzero.language.reference < docs/language.md prints the page anew"


def test_every_builtin_is_there() -> None:
    text = PAGE.read_text()
    assert [name for name in ALL if f"`{name}(" not in text] == []


def test_every_public_name_is_there() -> None:
    names = re.findall(r" as (\w+)$", PUBLIC.read_text(), re.MULTILINE)
    text = PAGE.read_text()
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []
