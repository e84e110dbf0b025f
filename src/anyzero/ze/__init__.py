# ruff: noqa: F403 -- the names of this package are those of its modules
"""The C API of Level Zero as ctypes.

Constants are here as plain values (`ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE`). Types keep their C names
(`ze.ze_event_desc_t`, `ze.ze_result_t`) and are loaded when first asked for, because creating a few hundred classes
takes longer than most programs spend in this module.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from anyzero.ze.constants import *
from anyzero.ze.index import HOME

if TYPE_CHECKING:
    from anyzero.ze.enums import *
    from anyzero.ze.functions import FUNCTIONS as FUNCTIONS
    from anyzero.ze.library import Library as Library
    from anyzero.ze.results import *
    from anyzero.ze.structs import *

_OTHERS = {"FUNCTIONS": "functions", "Library": "library"}


def __getattr__(name: str) -> Any:
    module = HOME.get(name) or _OTHERS.get(name)
    if module is None:
        raise AttributeError(f"Level Zero has no {name}")
    value = getattr(import_module(f"anyzero.ze.{module}"), name)
    globals()[name] = value
    return value
