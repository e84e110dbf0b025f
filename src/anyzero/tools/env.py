"""`anyzero env`: the variables that make programs use anyzero, as shells and CI systems take them."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import sys
from collections.abc import Callable, Mapping
from typing import Final

from anyzero.tools.environment import compose

__all__ = ["SHELLS", "run"]

Changes = Mapping[str, str | None]


def run(shell: str, *, devices: str | None, profile: str | None, loader: str | None) -> int:
    variables = compose(os.environ, devices=devices, profile=profile, loader=loader)
    text = SHELLS[shell](dict(sorted(variables.changes.items())))
    sys.stdout.flush()
    # A path is bytes, and may be none of the ones that the locale can print.
    sys.stdout.buffer.write(os.fsencode(text))
    sys.stdout.buffer.flush()
    return 0


def _sh(changes: Changes) -> str:
    return "".join(
        f"unset {name}\n" if value is None else f"export {name}={shlex.quote(value)}\n"
        for name, value in changes.items()
    )


def _fish(changes: Changes) -> str:
    def quote(value: str) -> str:
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"

    return "".join(
        f"set -e {name}\n" if value is None else f"set -gx {name} {quote(value)}\n" for name, value in changes.items()
    )


def _github(changes: Changes) -> str:
    """Lines for the file that $GITHUB_ENV names. It knows no way to unset; an empty value means the same here."""

    def line(name: str, value: str) -> str:
        if "\n" not in value:
            return f"{name}={value}\n"
        end = f"end_{secrets.token_hex(8)}"
        return f"{name}<<{end}\n{value}\n{end}\n"

    return "".join(line(name, value or "") for name, value in changes.items())


def _json(changes: Changes) -> str:
    return json.dumps(changes, indent=2) + "\n"


SHELLS: Final[dict[str, Callable[[Changes], str]]] = {"sh": _sh, "fish": _fish, "github": _github, "json": _json}
