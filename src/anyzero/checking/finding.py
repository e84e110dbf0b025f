"""A mistake that check mode found, as the driver writes it."""

from __future__ import annotations

import json
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from anyzero.checking.rules import RULES, Rule

__all__ = ["Finding", "Frame", "is_complete", "read", "read_folder"]

_FRAME = re.compile(r'File "(?P<file>[^\n]*?)", line (?P<line>\d+), in (?P<function>[^\n]*)(?:\n {4}(?P<text>[^\n]*))?')
_ADDRESS = re.compile(r"0x[0-9a-f]+")


@dataclass(frozen=True)
class Frame:
    """A source line, of a kernel or of the program."""

    file: str
    line: int
    function: str
    text: str = ""


@dataclass(frozen=True)
class Finding:
    """A mistake: its kind, its place, and its count."""

    rule: Rule
    message: str
    count: int
    kernel: str
    work_item: str
    stack: tuple[Frame, ...]
    """The lines of the kernel, the outermost first."""
    memory: str
    other: str
    """The other party: a command, an object, a second place."""
    call: str
    """The function of the API, for mistakes of the program."""
    caller: str
    """The line of the program that called it."""

    @property
    def place(self) -> Frame | None:
        """The line to look at first."""
        if self.stack:
            return self.stack[-1]
        found = _FRAME.search(self.caller) or _FRAME.search(self.other)
        return _frame(found) if found else None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        times = f" ({self.count} times)" if self.count > 1 else ""
        yield f"{self.rule.name}: {self.message}{times}"
        if self.work_item:
            yield f"  work-item: {self.work_item}"
        for frame in self.stack:
            yield f'  File "{frame.file}", line {frame.line}, in {frame.function}'
            if frame.text:
                yield f"    {frame.text}"
        for name in ("memory", "other", "call"):
            if value := getattr(self, name):
                yield f"  {name}: {value}"
        if self.caller:
            yield f"  from: {self.caller}"
        yield f"  rule: {self.rule.says}"
        yield f"  fix: {self.rule.fix}"


def _frame(found: re.Match[str]) -> Frame:
    return Frame(found["file"], int(found["line"]), found["function"].strip(), (found["text"] or "").strip())


def read(path: Path) -> Iterator[Finding]:
    """The findings in a file. A last line that the program did not finish is left out."""
    # Texts may have other characters that Python takes for the end of a line.
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            found = json.loads(line)
            rule, message, count = RULES[found["rule"]], str(found["message"]), int(found["count"])
        except (ValueError, KeyError, TypeError):
            continue
        texts = {
            name: str(found.get(name, "")) for name in ("kernel", "work_item", "memory", "other", "call", "caller")
        }
        stack = tuple(_frame(each) for each in _FRAME.finditer(str(found.get("stack", ""))))
        yield Finding(rule=rule, message=message, count=count, stack=stack, **texts)


def is_complete(path: Path) -> bool:
    """Whether the driver could write all findings to the file. If not, it makes the file executable."""
    return not path.stat().st_mode & stat.S_IXUSR


def read_folder(folder: Path) -> list[Finding]:
    """The findings of all processes that wrote to a folder. One that several of them have is one, with all its counts:
    a test run in parallel makes the same mistake in each of its workers.
    """
    found: dict[tuple[tuple[str, ...], int], Finding] = {}
    for path in sorted(folder.glob("*.jsonl")):
        # The driver has told a process's own findings apart: those that are alike here stay apart.
        alike: Counter[tuple[str, ...]] = Counter()
        for each in read(path):
            about = _about(each)
            key = about, alike[about]
            alike[about] += 1
            before = found.get(key)
            found[key] = replace(before, count=before.count + each.count) if before else each
    return list(found.values())


def _about(finding: Finding) -> tuple[str, ...]:
    """What tells a finding from others in any process: not its addresses, and not which work-item was the first."""
    texts = (finding.message, finding.memory, finding.other, finding.caller, *map(str, finding.stack))
    return (finding.rule.name, finding.kernel, finding.call, *(_ADDRESS.sub("0x", text) for text in texts))
