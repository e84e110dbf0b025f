"""Programs with one mistake each, and how a test sees that it is found."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from contextlib import contextmanager

import anyzero
from anyzero.checking.finding import Finding

MARK = "# mistake"
"""At the end of the line that a report must name."""


class Found(list[Finding]):
    """The findings, complete once the block has ended."""

    def the_only(self) -> Finding:
        assert len(self) == 1, [str(each) for each in self]
        return self[0]


@contextmanager
def checked(*kinds: str) -> Iterator[Found]:
    found = Found()
    with anyzero.check(*kinds, raises=False) as session:
        yield found
    found.extend(session.findings)


def is_at_mark(finding: Finding) -> bool:
    place = finding.place
    return place is not None and linecache.getline(place.file, place.line).rstrip().endswith(MARK)


def expect(rule: str, found: Found) -> Finding:
    finding = found.the_only()
    assert finding.rule.name == rule, str(finding)
    assert is_at_mark(finding), str(finding)
    return finding
