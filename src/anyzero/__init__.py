"""Level Zero for any machine: explicit, low-latency control of compute devices.

    import numpy as np, anyzero as az

    with az.device().context() as ctx:
        x = ctx.to_device(np.arange(1024, dtype=np.float32))
        y = ctx.zeros(x.shape, x.dtype, kind="shared")
        saxpy = ctx.module("saxpy.spv")["saxpy"]
        with ctx.immediate() as lst:
            saxpy[x.size](y, x, 2.0, on=lst).wait(timeout=5)
        print(np.asarray(y)[:4])

`anyzero.devices()` lists the devices; `anyzero docs api` describes every name.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anyzero.api.public import *  # noqa: F403
    from anyzero.arrays.public import *  # noqa: F403
    from anyzero.checking.public import *  # noqa: F403
    from anyzero.language.public import *  # noqa: F403
    from anyzero.profiling.public import *  # noqa: F403
    from anyzero.tracing.public import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Loads the requested name and no more: the driver imports this package at start-up and needs none of the API."""
    value: Any
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            value = version("anyzero")
        except PackageNotFoundError:  # a checkout on the path that is not installed
            value = "unknown"
    elif name == "__all__":
        value = __dir__()
    elif name == "cluster":  # stands above this module, and needs packages that most installations do not have
        value = import_module("anyzero.cluster")
    elif name in _homes():
        value = getattr(import_module(_homes()[name]), name)
    else:
        raise AttributeError(f"module 'anyzero' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(["__version__", *_homes()])


@cache
def _homes() -> dict[str, str]:
    """The public names and the modules that have them, read from the lists that type checkers read too."""
    folder = Path(__file__).parent
    parts = ("api", "language", "arrays", "tracing", "checking", "profiling")
    text = "".join((folder / part / "public.py").read_text() for part in parts)
    return {name: home for home, name in re.findall(r"^from (\S+) import (\w+) as", text, re.MULTILINE)}
