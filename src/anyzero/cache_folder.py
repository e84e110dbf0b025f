"""The folder of all data kept between runs: compiled kernels and models."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from anyzero.config import Config
from anyzero.trust import process

__all__ = ["of"]


def of(settings: Config, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The path of the folder; None where the environment names none."""
    if process.is_secure():
        return None  # the caller, who has fewer rights, may have chosen the variables and the home folder
    if settings.cache_dir:
        return Path(settings.cache_dir).absolute()
    base = Path(environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():
        try:
            base = Path.home() / ".cache"
        except RuntimeError:  # a user without a home
            return None
    return base / "anyzero"
