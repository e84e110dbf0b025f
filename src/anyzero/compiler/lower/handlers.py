"""Functions that write the code of operations, by the operations' names.

Each chapter of a lowering has such a table of its own, and the lowering puts its chapters together: another lowering
takes the chapters that it shares and brings its own for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from anyzero.compiler.ir import Op

if TYPE_CHECKING:
    from anyzero.compiler.lower.emitter import Emitter

Handler = Callable[["Emitter", Op], None]


class Chapter(dict[str, Handler]):
    """A table of handlers. Called with names of operations, it decorates the function that writes them."""

    def __call__(self, *names: str) -> Callable[[Handler], Handler]:
        def register(handler: Handler) -> Handler:
            self.update(dict.fromkeys(names, handler))
            return handler

        return register


def together(*chapters: Mapping[str, Handler]) -> dict[str, Handler]:
    """Merges the tables of several chapters; no two may handle the same operation."""
    found: dict[str, Handler] = {}
    for chapter in chapters:
        twice = found.keys() & chapter.keys()
        assert not twice, f"two chapters write {sorted(twice)}"
        found.update(chapter)
    return found
