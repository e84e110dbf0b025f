"""Level Zero for any machine: explicit, low-latency control of compute devices.

    import numpy as np, anyzero as az

    with az.device().context() as ctx:
        x = ctx.to_device(np.arange(1024, dtype=np.float32))
        y = ctx.zeros(x.shape, x.dtype, kind="shared")
        saxpy = ctx.module("saxpy.spv")["saxpy"]
        with ctx.immediate() as lst:
            saxpy[x.size](y, x, 2.0, on=lst).wait(timeout=5)
        print(np.asarray(y)[:4])

`anyzero.devices()` lists what there is; docs/api.md tells the whole story.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anyzero.api.public import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Loads the API when it is first asked for: the driver imports this package at start-up and needs none of it."""
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        value: Any
        try:
            value = version("anyzero")
        except PackageNotFoundError:  # a checkout on the path, which nobody installed
            value = "unknown"
    elif name == "__all__":
        value = _public()
    elif not _is_module(name) and name in _public():
        value = getattr(import_module("anyzero.api.public"), name)
    else:
        raise AttributeError(f"module 'anyzero' has no attribute {name!r}")
    globals()[name] = value
    return value


def _is_module(name: str) -> bool:
    """`from anyzero import config` asks for an attribute first, which must load nothing else."""
    return any((Path(__file__).parent / file).exists() for file in (f"{name}.py", name))


def __dir__() -> list[str]:
    return _public()


def _public() -> list[str]:
    names = vars(import_module("anyzero.api.public"))
    return sorted({"__version__", *(name for name in names if not name.startswith("_"))})
