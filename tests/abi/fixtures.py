"""Fixtures of the tests of the C ABI."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import c_void_p

import pytest

from tests.abi.calls import Calls


@pytest.fixture(scope="session")
def az() -> Calls:
    """The default driver and device."""
    return Calls()


@pytest.fixture
def context(az: Calls) -> Iterator[c_void_p]:
    """A context that nothing else has lost or filled."""
    made = az.context()
    yield made
    az.ok("zeContextDestroy", made)
