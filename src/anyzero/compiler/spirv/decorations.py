"""Decorations of a module's ids."""

from __future__ import annotations

from collections.abc import Iterator

from anyzero.compiler.spirv import grammar
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.tables import Decoration as Kind
from anyzero.compiler.spirv.tables import LinkageType
from anyzero.lazy_namedtuple import NamedTuple

LIMIT = 1 << 20
"""Maximum number of decorations; groups multiply their decorations by their targets."""

LARGEST_ALIGNMENT = 1 << 20

LINKAGES = {
    LinkageType.Export: "export",
    LinkageType.Import: "import",
    LinkageType.LinkOnceODR: "link once",
    LinkageType.WeakAMD: "weak",
}


class Decoration(NamedTuple):
    kind: int
    operands: tuple[int, ...]


class Linkage(NamedTuple):
    """The linkage name of a function or variable."""

    name: str
    kind: str
    """`import`, `export`, `link once` or `weak`."""


class Decorations:
    """Decorations by id, and by id and member; groups are expanded."""

    def __init__(self) -> None:
        self.of: dict[int, list[Decoration]] = {}
        self.of_members: dict[tuple[int, int], list[Decoration]] = {}
        self._applied = 0
        self._groups: set[int] = set()
        self._uses: list[tuple[int, int, int | None, int]] = []

    def add(self, target: int, member: int | None, kind: int, operands: tuple[int, ...]) -> None:
        need = len(grammar.parameters("Decoration", kind))
        if len(operands) < need:
            raise SpirvError(f"ends before the {need} operands of {grammar.enumerant_name('Decoration', kind)}")
        self._add(target, member, Decoration(kind, operands))

    def group(self, id_: int) -> None:
        self._groups.add(id_)

    def use(self, group: int, target: int, member: int | None, offset: int) -> None:
        self._uses.append((group, target, member, offset))

    def dissolve(self) -> None:
        """Expands every group: copies its decorations to its targets."""
        for group, target, member, offset in self._uses:
            if group not in self._groups:
                raise SpirvError(f"%{group} is no group of decorations", offset, "OpGroupDecorate")
            for decoration in self.of.get(group, ()):
                self._add(target, member, decoration)
        self._uses = []

    def _add(self, target: int, member: int | None, decoration: Decoration) -> None:
        self._applied += 1
        if self._applied > LIMIT:
            raise SpirvError(f"the module has more than {LIMIT} decorations")
        if member is None:
            self.of.setdefault(target, []).append(decoration)
        else:
            self.of_members.setdefault((target, member), []).append(decoration)

    def all(self, id_: int, kind: int) -> Iterator[tuple[int, ...]]:
        """The operands of every decoration of this kind."""
        return (decoration.operands for decoration in self.of.get(id_, ()) if decoration.kind == kind)

    def one(self, id_: int, kind: int) -> tuple[int, ...] | None:
        return next(self.all(id_, kind), None)

    def has(self, id_: int, kind: int) -> bool:
        return self.one(id_, kind) is not None

    def number(self, id_: int, kind: int) -> int | None:
        """The single operand of a decoration."""
        found = self.one(id_, kind)
        return found[0] if found else None

    def alignment(self, id_: int) -> int | None:
        found = self.number(id_, Kind.Alignment)
        if found is not None and (found not in range(1, LARGEST_ALIGNMENT + 1) or found & (found - 1)):
            raise SpirvError(f"%{id_} is aligned to {found}; powers of two up to {LARGEST_ALIGNMENT} are possible")
        return found

    def linkage(self, id_: int) -> Linkage | None:
        words = self.one(id_, Kind.LinkageAttributes)
        if words is None:
            return None
        name, end = grammar.string(words, 0, len(words))
        if end >= len(words) or words[end] not in LINKAGES:
            raise SpirvError(f'the linkage of "{name}" is of no known type')
        return Linkage(name, LINKAGES[words[end]])
