"""The devices of several processes or machines, on Dask.

    import dask.array as da, numpy as np, anyzero as az
    from distributed import Client

    with az.cluster.LocalZeroCluster() as cluster, Client(cluster):
        x = az.cluster.to_device(da.arange(1_000_000, dtype=np.float32, chunks=250_000))
        print((x * 2).sum().compute().item())

It needs Dask: ``pip install 'anyzero[cluster]'``. `anyzero docs cluster` describes it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from anyzero import errors
from anyzero.installed import install

if TYPE_CHECKING:
    from anyzero.cluster.arrays import map as map  # noqa: A004 (Dask's and Python's own word for it)
    from anyzero.cluster.arrays import reduce as reduce
    from anyzero.cluster.arrays import to_device as to_device
    from anyzero.cluster.arrays import to_host as to_host
    from anyzero.cluster.inventory import ClusterDevice as ClusterDevice
    from anyzero.cluster.inventory import devices as devices
    from anyzero.cluster.launch import START as START
    from anyzero.cluster.launch import run as run
    from anyzero.cluster.local import LocalZeroCluster as LocalZeroCluster
    from anyzero.cluster.process_context import context as context
    from anyzero.cluster.registration import register as register
    from anyzero.cluster.serving import Overloaded as Overloaded
    from anyzero.cluster.serving import Service as Service
    from anyzero.cluster.serving import serve as serve
    from anyzero.cluster.spilling import SpillError as SpillError

_HOMES: Final = {
    "ClusterDevice": "inventory",
    "LocalZeroCluster": "local",
    "Overloaded": "serving",
    "START": "launch",
    "Service": "serving",
    "SpillError": "spilling",
    "context": "process_context",
    "devices": "inventory",
    "map": "arrays",
    "reduce": "arrays",
    "register": "registration",
    "run": "launch",
    "serve": "serving",
    "to_device": "arrays",
    "to_host": "arrays",
}


def __getattr__(name: str) -> Any:
    """Loads the requested name: Dask looks into this package whenever it starts, and most programs need none of it."""
    if name == "__all__":
        return sorted(_HOMES)
    if name not in _HOMES:
        raise AttributeError(f"module 'anyzero.cluster' has no attribute {name!r}")
    try:
        registration = import_module("anyzero.cluster.registration")
        registration.register()
        value = getattr(import_module(f"anyzero.cluster.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("dask", "distributed", "tornado", "zict", "cloudpickle"):
            raise
        raise errors.Unavailable(
            f"anyzero.cluster needs Dask, which is not installed ({error})", remedy=f"Install it: {install('cluster')}."
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOMES)
