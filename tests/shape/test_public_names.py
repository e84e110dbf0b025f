"""What a user can name has a docstring and a place in docs/api.md."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from tests.shape.tree import PACKAGE, ROOT

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

# A setter or an overload is another face of a name that has its docstring already.
FACES = {"overload", "setter", "deleter"}


def is_face(node: Definition) -> bool:
    names = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    return bool(names & FACES)


def public(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Definition]]:
    """Every public class, method and function of a module, with its qualified name."""
    for node in body:
        if not isinstance(node, Definition) or node.name.startswith("_") or is_face(node):
            continue
        yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from public(node.body, f"{prefix}{node.name}.")


def undocumented(source: str) -> list[str]:
    return [name for name, node in public(ast.parse(source).body) if not ast.get_docstring(node)]


def unmentioned(source: str, page: str) -> list[str]:
    """Names that the page never writes as code; many of them are ordinary words too, which prove nothing."""
    code = " ".join(re.findall(r"```.*?```|`[^`]+`", page, flags=re.DOTALL))
    words = set(re.findall(r"\w+", code))
    return [name for name, node in public(ast.parse(source).body) if node.name not in words]


def api_modules() -> list[Path]:
    """The files of `api` have the public nouns; its folders hold what these are made of."""
    return sorted((PACKAGE / "api").glob("*.py"))


def test_the_public_names_exist_and_have_docstrings() -> None:
    import anyzero

    assert anyzero.__all__
    missing = [name for name in anyzero.__all__ if not hasattr(anyzero, name)]
    assert missing == []
    values = {name: getattr(anyzero, name) for name in anyzero.__all__}
    # A plain value, such as the version, has only its type's docstring, which says nothing of it.
    speaking = {
        name: value
        for name, value in values.items()
        if inspect.isclass(value) or callable(value) or inspect.ismodule(value)
    }
    assert [name for name, value in speaking.items() if not vars(value).get("__doc__", value.__doc__)] == []


def test_everything_public_in_the_api_has_a_docstring() -> None:
    assert api_modules()
    found = [f"{path.stem}: {name}" for path in api_modules() for name in undocumented(path.read_text())]
    assert found == []


def test_everything_public_in_the_api_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    found = [f"{path.stem}: {name}" for path in api_modules() for name in unmentioned(path.read_text(), page)]
    assert found == []


SAMPLE = '''
class Event:
    """A flag."""

    @property
    def ready(self): ...

    @ready.setter
    def ready(self, value): ...

    def wait(self):
        """Waits."""

    def _poll(self): ...

def device(): ...
'''


def test_a_missing_docstring_is_noticed() -> None:
    assert undocumented(SAMPLE) == ["Event.ready", "device"]


def test_a_missing_mention_is_noticed() -> None:
    assert unmentioned(SAMPLE, "`Event.ready` becomes true after waiting; see `device`.") == ["Event.wait"]
