"""Everything of the core API that needs neither compiler nor fabric is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

LATER = re.compile(r"Module|Kernel|Graph|Fabric|RTAS|ExternalSemaphore|DynamicLink|InspectLinkage")
"""What is allowed to be missing. A name with one of these words may still be implemented."""


def missing(report: str) -> list[str]:
    rows = re.findall(r"^\| `?(ze[A-Z]\w+)`? \|(.*)$", report, flags=re.MULTILINE)
    assert len(rows) > 200, "the report does not look as this test expects"
    return [name for name, rest in rows if "UNSUPPORTED" in rest and not LATER.search(name)]


def test_only_what_waits_for_the_compiler_is_missing() -> None:
    assert missing((ROOT / "docs" / "coverage.md").read_text()) == []


def test_the_check_notices_a_gap() -> None:
    rows = [f"| `zeFill{n}` | 1.0 | implemented |" for n in range(201)]
    assert missing("\n".join([*rows, "| `zeMemFree` | 1.0 | UNSUPPORTED_FEATURE |"])) == ["zeMemFree"]
