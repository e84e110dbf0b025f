"""What every test runs under."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

HERE = Path(__file__).parent
ONE_BY_ONE = HERE / "compiler" / "agreement"
"""Many short tests that share nothing."""
TOGETHER = HERE / "clients"
"""They fetch and build the same things."""

# The same examples on every machine, and no verdict by the clock: a shared machine may stall in any of them.
settings.register_profile("anyzero", derandomize=True, deadline=None)
settings.load_profile("anyzero")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where several processes share the tests, a file stays with one of them."""
    for item in items:
        if ONE_BY_ONE not in item.path.parents:
            group = TOGETHER if TOGETHER in item.path.parents else item.path
            item.add_marker(pytest.mark.xdist_group(str(group)))
