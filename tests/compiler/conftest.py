"""`ANYZERO_TARGET` holds tests of the compiler to another processor, as it does programs that go through the driver."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from anyzero.compiler.targets import cpu


@pytest.fixture(autouse=True, scope="session")
def _target() -> Iterator[None]:
    name = os.environ.get("ANYZERO_TARGET", "")
    if not name:
        yield
        return
    other = cpu.target(name, "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "host", lambda: other)
        cpu.target.cache_clear()
        yield
    cpu.target.cache_clear()
