"""What commands print: in 80 columns, in colour and with lines of progress only where a terminal shows them."""

from __future__ import annotations

import io
import threading
from typing import Any

import pytest

from anyzero.tools import cli, terminal


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def parsers(parser: Any, name: str = "anyzero") -> Any:
    yield name, parser
    for action in parser._actions:
        if hasattr(action, "choices") and isinstance(action.choices, dict):
            for word, each in action.choices.items():
                yield from parsers(each, f"{name} {word}")


def test_help_fits_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    found = {name: parser.format_help() for name, parser in parsers(cli._parser())}
    assert len(found) > 10
    assert [line for text in found.values() for line in text.splitlines() if len(line) > 80] == []


def test_colour_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert terminal.coloured("✓", "green", io.StringIO()) == "✓"
    assert terminal.coloured("✓", "green", Terminal()) == "\033[32m✓\033[0m"
    monkeypatch.setenv("TERM", "dumb")
    assert terminal.coloured("✓", "green", Terminal()) == "✓"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal.coloured("✓", "green", Terminal()) == "✓"


def test_progress_is_for_terminals_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(terminal.sys, "stderr", screen)
    over = threading.Event()
    shown = threading.Thread(target=terminal._show, args=("working", over, 0.0))
    shown.start()
    while "working" not in screen.getvalue():
        pass
    over.set()
    shown.join()
    assert "working … 0 s" in screen.getvalue()
    assert screen.getvalue().endswith("\r\033[K")
    quick = Terminal()
    monkeypatch.setattr(terminal.sys, "stderr", quick)
    with terminal.progress("working"):
        pass
    assert quick.getvalue() == ""
    nowhere = io.StringIO()
    monkeypatch.setattr(terminal.sys, "stderr", nowhere)
    with terminal.progress("working"):
        pass
    assert nowhere.getvalue() == ""


def test_width_is_the_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal.sys, "stdout", io.StringIO())
    assert terminal.width() == 80
    monkeypatch.setattr(terminal.sys, "stdout", Terminal())
    for columns, expected in (("100", 100), ("40", 60)):
        monkeypatch.setenv("COLUMNS", columns)
        assert terminal.width() == expected
