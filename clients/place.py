"""Environments of clients: one for each group of packages, under build/clients."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

__all__ = ["BUILD", "ROOT", "NotAvailableError", "at_hand", "environment", "through_anyzero", "version"]

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "clients"

_PATIENCE_S = 1800


class NotAvailableError(Exception):
    """A client cannot be had here, and why."""


def _mark(name: str, packages: Sequence[str]) -> Path:
    digest = hashlib.sha256("\n".join(packages).encode()).hexdigest()[:12]
    return BUILD / name / f"complete-{digest}"


def at_hand(name: str, packages: Sequence[str], modules: Sequence[str]) -> Path | None:
    """A Python with these packages that needs no fetching: the environment, or this one if it has the modules."""
    if name and _mark(name, packages).exists():
        return BUILD / name / "bin" / "python"
    return Path(sys.executable) if all(map(importlib.util.find_spec, modules)) else None


def environment(name: str, packages: Sequence[str]) -> Path:
    """The Python of an environment with these packages, fetched with pip where it is not there yet."""
    folder = BUILD / name
    python = folder / "bin" / "python"
    if not name:
        return Path(sys.executable)
    if _mark(name, packages).exists():
        return python
    print(f"fetching {', '.join(packages)} into {folder.relative_to(ROOT)}", flush=True)
    if not python.exists():
        venv.create(folder, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotAvailableError(f"pip cannot fetch {', '.join(packages)}: {error}") from None
    if done.returncode:
        reason = done.stderr.strip().splitlines()
        raise NotAvailableError(
            f"pip cannot fetch {', '.join(packages)}: {reason[-1] if reason else 'no reason given'}"
        )
    _mark(name, packages).touch()
    return python


def version(python: Path, package: str) -> str:
    """The version of a package in that environment."""
    told = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
    done = subprocess.run([str(python), "-c", told, package], capture_output=True, text=True, timeout=60)
    return done.stdout.strip() or "?"


def through_anyzero() -> list[str]:
    """The command that starts a program which then uses this driver."""
    return [sys.executable, "-m", "anyzero.tools", "run", "--loader", "ours", "--"]
