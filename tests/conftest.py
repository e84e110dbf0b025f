"""What every test runs under."""

from __future__ import annotations

from hypothesis import settings

# The same examples on every machine, and no verdict by the clock: a shared machine may stall in any of them.
settings.register_profile("anyzero", derandomize=True, deadline=None)
settings.load_profile("anyzero")
