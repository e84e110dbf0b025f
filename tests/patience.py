"""How long tests wait for something that must happen: only a failure takes that long, on whatever machine."""

from __future__ import annotations

PATIENCE = 240
"""Seconds. Below the limit of a test (``pyproject.toml``), so that the test itself says what did not happen."""
