"""Chooses the sample: few and small modules that together have most of what the whole corpus has.

python -m tests.corpus.choose folder
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator
from pathlib import Path

from anyzero.compiler.spirv.tables import Op
from tests.corpus.collect import SAMPLE, everything

COUNT = 300
LARGEST = 40_000
"""Bytes; larger modules take too long for a test that everybody runs."""

Feature = tuple[object, ...]

_TYPES = range(Op.TypeVoid, Op.TypeForwardPointer + 1)


def features(data: bytes) -> set[Feature]:
    """Capabilities, instructions with the kind of their result, functions of the library."""
    words = array("I", data)
    kinds: dict[int, Feature] = {}
    found: set[Feature] = set()
    for opcode, operands in _instructions(words):
        if opcode in _TYPES:
            kinds[operands[0]] = (opcode, *(kinds.get(each, (each,)) for each in operands[1:3]))
        elif opcode == Op.Capability:
            found.add((opcode, operands[0]))
        elif opcode == Op.ExtInst:
            found.add((opcode, operands[3], kinds.get(operands[0])))
        elif opcode in (Op.Decorate, Op.ExecutionMode):
            found.add((opcode, operands[1]))
        else:
            found.add((opcode, kinds.get(operands[0]) if operands else None))
    return found


def _instructions(words: array[int]) -> Iterator[tuple[int, array[int]]]:
    at = 5
    while at < len(words):
        count, opcode = words[at] >> 16, words[at] & 0xFFFF
        yield opcode, words[at + 1 : at + count]
        at += count


def choose(paths: list[Path]) -> list[str]:
    """What adds most for its size, again and again; then the smallest of those that are unlike each other."""
    small = [path for path in paths if path.stat().st_size <= LARGEST]
    have = {path: features(path.read_bytes()) for path in small}
    size = {path: path.stat().st_size for path in small}
    chosen: list[Path] = []
    covered: set[Feature] = set()
    rest = sorted(small, key=lambda path: (size[path], path.name))
    while len(chosen) < COUNT:
        best = max(rest, key=lambda path: (len(have[path] - covered) / (2000 + size[path]), path.name))
        if not have[best] - covered:
            break
        chosen.append(best)
        covered |= have[best]
        rest.remove(best)
    seen = {frozenset(have[path]) for path in chosen}
    for path in rest:
        if len(chosen) == COUNT:
            break
        if frozenset(have[path]) not in seen:
            seen.add(frozenset(have[path]))
            chosen.append(path)
    return sorted(path.stem for path in chosen)


def main(arguments: list[str]) -> int:
    names = choose(everything(Path(arguments[0])))
    SAMPLE.write_text("\n".join(names) + "\n")
    print(f"{len(names)} modules")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
