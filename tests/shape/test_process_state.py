"""The package leaves the environment of its process alone: other threads read it."""

from __future__ import annotations

import re

from tests.shape.tree import ROOT, hand_written

CHANGE = re.compile(
    r"\bos\.(?:environ\[[^\]]*\]\s*=[^=]|environ\.(?:update|pop|setdefault|clear)\(|(?:un|put)\w*env\()|del os\.environ"
)
# SYCL's runtime takes its settings from there and from nowhere else; the service changes its own process before it
# answers the first request; the plugin for pytest sets what holds for all tests before any is collected.
ALLOWED = {"src/anyzero/api/sycl.py", "src/anyzero/driver/service.py", "src/anyzero/testing/settings.py"}


def changes(source: str) -> bool:
    return CHANGE.search(source) is not None


def test_nothing_changes_the_environment() -> None:
    found = {name for name in hand_written(".py") if name.startswith("src/") and changes((ROOT / name).read_text())}
    assert found == ALLOWED


def test_changes_are_noticed() -> None:
    bad = ('os.environ["A"] = x', "os.environ.update(a)", "os.environ.pop(a)", 'del os.environ["A"]', "os.putenv(a, b)")
    assert all(changes(text) for text in bad)
    assert not any(changes(text) for text in ('os.environ["A"] == x', "x = os.environ[name]", "os.environ.get(name)"))
