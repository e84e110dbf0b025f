"""Terminal output of commands: widths, colours and progress lines, where there is a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Final, Literal

__all__ = ["HELP_WIDTH", "coloured", "laid_out", "progress", "width", "wrapped"]

HELP_WIDTH: Final = 80
"""Columns of help, and of output that is not to a terminal."""
_NARROWEST: Final = 60
_PATIENCE_S: Final = 2.0
"""Seconds before a progress line appears."""

Colour = Literal["red", "green", "yellow", "dim"]
_CODES: Final[dict[Colour, str]] = {"red": "31", "green": "32", "yellow": "33", "dim": "2"}


def width() -> int:
    """The number of columns for output: the terminal's, or 80."""
    if not sys.stdout.isatty():
        return HELP_WIDTH
    return max(shutil.get_terminal_size((HELP_WIDTH, 24)).columns, _NARROWEST)


def coloured(text: str, colour: Colour, stream: IO[str] | None = None) -> str:
    """The text in a colour where a terminal shows it and NO_COLOR does not forbid it."""
    to = sys.stdout if stream is None else stream
    if not to.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\033[{_CODES[colour]}m{text}\033[0m"


def wrapped(text: str, indent: str = "", columns: int | None = None) -> str:
    """A paragraph in lines that fit; those after the first begin with `indent`."""
    return textwrap.fill(
        text, columns or width(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def laid_out(text: str) -> str:
    """Examples and paragraphs of help in 80 columns. An explanation that does not fit goes below its command."""
    lines: list[str] = []
    paragraph: list[str] = []

    def finish() -> None:
        if paragraph:
            lines.append(wrapped(" ".join(paragraph), columns=HELP_WIDTH))
            paragraph.clear()

    for line in text.splitlines():
        if line.startswith("  ") or not line or line.endswith(":"):
            finish()
            command, _, meaning = line.strip().partition("  ")
            if len(line) > HELP_WIDTH and meaning:
                lines += [f"  {command}", wrapped(f"      {meaning.strip()}", " " * 6, HELP_WIDTH)]
            else:
                lines.append(line)
        else:
            if line.startswith("exit codes:"):
                finish()
            paragraph.append(line)
    finish()
    return "\n".join(lines)


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Show a line on the terminal with the name and the duration of work that takes more than two seconds."""
    if not sys.stderr.isatty():
        yield
        return
    over = threading.Event()
    shown = threading.Thread(target=_show, args=(what, over), daemon=True)
    shown.start()
    try:
        yield
    finally:
        over.set()
        shown.join()


def _show(what: str, over: threading.Event, patience: float = _PATIENCE_S) -> None:
    began = time.monotonic()
    if over.wait(patience):
        return
    while True:
        line = f"{what} … {time.monotonic() - began:.0f} s"
        sys.stderr.write(f"\r\033[K{coloured(line, 'dim', sys.stderr)}")
        sys.stderr.flush()
        if over.wait(1):
            break
    sys.stderr.write("\r\033[K")
    sys.stderr.flush()
