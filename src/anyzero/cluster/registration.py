"""Registration of buffers and kernels with Dask: their sizes and serialization."""

from __future__ import annotations

import copyreg
import threading
from typing import Any, Final

__all__ = ["register", "register_sizes"]

_lock: Final = threading.Lock()
_done: list[bool] = []


def register_sizes(sizeof: Any) -> None:
    """The entry point of Dask, which calls it whenever it starts; it loads nothing until Dask measures a buffer."""

    @sizeof.register_lazy("anyzero")
    def _lazily() -> None:
        _register_sizes(sizeof)
        register()


def _register_sizes(sizeof: Any) -> None:
    import anyzero as az
    from anyzero.cluster.buffers import bytes_of

    sizeof.register(az.Buffer)(bytes_of)


def register() -> None:
    """Teach Dask and pickle to send buffers, kernels and modules. Every other name of this package does it, too.

    >>> import pickle
    >>> az.cluster.register()
    >>> x = az.device().context().to_device([1, 2, 3])
    >>> pickle.loads(pickle.dumps(x)).copy_to()
    array([1, 2, 3])
    """
    with _lock:
        if _done:
            return
        _done.append(True)
    from dask.sizeof import sizeof
    from distributed.protocol.serialize import dask_deserialize, dask_serialize

    import anyzero as az
    from anyzero.cluster import buffers, kernels
    from anyzero.cluster.neighbours import delivery
    from anyzero.language.function import Function
    from anyzero.language.kernel import Kernel

    def serialize(buffer: az.Buffer, context: dict[str, Any] | None = None) -> Any:
        # A process that has not loaded this package could not read the header, while a pickle makes it load it. Only
        # neighbours are known to have it. Without a context the reader is this process: a value goes to disk.
        if context is not None and delivery() is None:
            raise NotImplementedError
        return buffers.packed(buffer)

    dask_serialize.register(az.Buffer)(serialize)
    dask_deserialize.register(az.Buffer)(buffers.unpacked)
    _register_sizes(sizeof)
    for kind in (az.Buffer, az.View):
        copyreg.pickle(kind, buffers.reduced)
    copyreg.pickle(Kernel, kernels.reduced_kernel)
    copyreg.pickle(Function, kernels.reduced_function)
    copyreg.pickle(az.Module, kernels.reduced_module)
    copyreg.pickle(az.Kernel, kernels.reduced_module_kernel)
