"""The environment as the planner sees it."""

from __future__ import annotations

from functools import cache

from anyzero import config
from anyzero.config import Config

__all__ = ["settings"]


@cache
def settings() -> Config:
    """The environment, read once. Raises ConfigError for a bad value."""
    return config.read()
