"""Classes of the API do not reach into each other: ruff's SLF001 holds, but for these."""

from __future__ import annotations

from tests.shape.tree import PACKAGE

ALLOWED = {
    # ctypes.byref() has no other name for the object that it refers to.
    "calls/substitutes.py": 1,
}


def test_few_files_of_the_api_are_friends() -> None:
    api = PACKAGE / "api"
    found = {path.relative_to(api).as_posix(): path.read_text().count("SLF001") for path in api.rglob("*.py")}
    assert len(found) > 50
    assert {name: count for name, count in found.items() if count} == ALLOWED


def test_no_file_of_the_api_is_private() -> None:
    """The files of `api` are nouns of its users, and its folders hold what these are made of."""
    private = [path.name for path in (PACKAGE / "api").rglob("_*.py") if path.name != "__init__.py"]
    assert private == []
