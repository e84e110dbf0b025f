"""The tables of the reference, from the tables that the language is made of: `python -m anyzero.language.reference`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Final

from anyzero.language.builtins import atomics, collectives, mathematics, work_items
from anyzero.language.builtins.table import ALL, Builtin
from anyzero.language.types import common

__all__ = ["SECTIONS", "written"]

_LETTERS: Final = {"T": "x", "k": "k", "n": "n"}
_TAKES: Final = {"f": "floats", "i": "integers", "n": "numbers", "b": "bools", "v": "vectors of floats"}


def _called(builtin: Builtin) -> str:
    """The builtin as a kernel writes it."""
    signature = builtin.signature
    if isinstance(builtin, atomics.Atomic):
        values = ["x", "y"][: len(signature.parameters)]
        return f"{builtin.name}({', '.join(['p', 'i', *values])})"
    if signature.parameters == "n" and signature.optional:
        return f"{builtin.name}(axis)"
    names = iter("xyz")
    given = [next(names) if letter == "T" else _LETTERS[letter] for letter in signature.parameters]
    return f"{builtin.name}({', '.join(given)}{', …' if signature.repeated else ''})"


def _rows(module: object) -> Iterator[Builtin]:
    if module is mathematics:
        return iter(mathematics.MATH.values())
    own = {id(value) for value in vars(module).values() if isinstance(value, Builtin)}
    return (each for each in ALL.values() if id(each) in own)


def _table(module: object, takes: bool) -> Callable[[], str]:
    def made() -> str:
        head = ["| function | of | meaning |", "|---|---|---|"] if takes else ["| function | meaning |", "|---|---|"]
        for each in _rows(module):
            kind = f" {_TAKES[each.signature.takes]} |" if takes else ""
            head.append(f"| `{_called(each)}` |{kind} {each.__doc__} |")
        return "\n".join(head)

    return made


def _conversions() -> str:
    lines = inspect.getdoc(common) or ""
    return "\n".join(line for line in lines.splitlines() if line.startswith("|"))


SECTIONS: Final[dict[str, Callable[[], str]]] = {
    "conversions": _conversions,
    "work-items": _table(work_items, takes=False),
    "mathematics": _table(mathematics, takes=True),
    "atomics": _table(atomics, takes=False),
    "collectives": _table(collectives, takes=False),
}
"""The parts of the page that stand between `<!-- name -->` and `<!-- end -->`."""


def written(page: str) -> str:
    """The page with its tables as they are now."""
    for name, make in SECTIONS.items():
        before, _, rest = page.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        page = f"{before}<!-- {name} -->\n{make()}\n{end}{after}"
    return page


if __name__ == "__main__":
    sys.stdout.write(written(sys.stdin.read()))
