"""Modules as AdaptiveCpp's compiler makes them, whose results are compared with numpy's.

AdaptiveCpp itself is in no registry that `make clients` fetches from, so the modules are among those of the tests.
"""

from __future__ import annotations

from pathlib import Path

from clients.client import Client, Command, Side
from clients.place import ROOT

__all__ = ["ADAPTIVECPP"]


def _command(python: Path, count: int) -> Command:
    options = ["-q", "-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider", "-p", "recorder"]
    return [str(python), "-m", "pytest", *options, str(ROOT / "tests" / "api" / "test_sscp.py")], {"SAMPLE": str(count)}


ADAPTIVECPP = Client(
    name="adaptivecpp",
    title="modules as AdaptiveCpp's compiler makes them, beside numpy",
    environment="",
    packages=(),
    modules=(),
    version_of=(),
    ours=Side("anyzero", _command),
    peer=None,
    sample=0,
    slice=2,
)
