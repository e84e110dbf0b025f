"""`anyzero doctor`: checks the installation, and names the remedy for each problem."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Final

from anyzero.tools.checks import CHECKS, Check, State
from anyzero.tools.terminal import Colour, coloured, progress, width

__all__ = ["run"]

_MARKS: Final[dict[State, str]] = {"good": "✓", "note": "–", "warning": "!", "bad": "✗"}
_COLOURS: Final[dict[State, Colour]] = {"good": "green", "note": "dim", "warning": "yellow", "bad": "red"}
_WIDEST: Final = 120


def run(*, as_json: bool) -> int:
    """Run all checks, print their results, and return 1 if a problem has to be fixed."""
    # Most checks wait for a process that they started.
    with progress("running the checks"), ThreadPoolExecutor() as pool:
        found = [check for checks in pool.map(_done, CHECKS) for check in checks]
    bad = sum(check.state == "bad" for check in found)
    if as_json:
        print(json.dumps({"ok": not bad, "checks": [asdict(check) for check in found]}, indent=2))
    else:
        print(_table(found, min(width(), _WIDEST)))
        print(f"\n{_verdict(bad)}")
    return 1 if bad else 0


def _done(check: Callable[[], Iterator[Check]]) -> list[Check]:
    try:
        return list(check())
    except Exception as error:
        # The doctor runs on broken installations, and the results of the other checks may be just what is needed.
        said = f"this check raised an exception: {type(error).__name__}: {error}"
        return [Check(check.__name__.replace("_", " "), "bad", said, "That is a bug: please report it.")]


def _verdict(bad: int) -> str:
    if not bad:
        return "Everything that is needed works."
    return f"{bad} problem{'' if bad == 1 else 's'} to fix."


def _table(found: Sequence[Check], width: int) -> str:
    names = max(len(check.name) for check in found)
    margin = " " * (names + 4)
    lines: list[str] = []
    for check in found:
        mark = _MARKS[check.state]
        first, *others = textwrap.wrap(
            check.finding,
            width,
            initial_indent=f"{mark} {check.name.ljust(names)}  ",
            subsequent_indent=margin,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [f"{mark} {check.name}"]
        lines += [first.replace(mark, coloured(mark, _COLOURS[check.state]), 1), *others]
        if check.remedy:
            lines += textwrap.wrap(
                check.remedy,
                width,
                initial_indent=f"{margin}→ ",
                subsequent_indent=f"{margin}  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
    return "\n".join(lines)
