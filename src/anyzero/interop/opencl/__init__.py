"""OpenCL and Level Zero in one program, on the same memory, from the same kernels, in one order.

    import numpy as np, pyopencl as cl, anyzero as az
    from anyzero.interop import opencl

    shared = opencl.queue(ctx, cl_queue)
    x = opencl.buffer(ctx, cl_buffer, dtype=np.float32)     # the same memory
    module = opencl.module(ctx, cl_program)                 # the same kernels
    program.first(cl_queue, (n,), None, cl_buffer)
    with shared.turn() as lst:                              # after `first`
        module["second"][n](x, on=lst)
    program.third(cl_queue, (n,), None, cl_buffer)          # after `second`

Objects are shared from OpenCL to Level Zero, as in the programming guide. It needs pyopencl: ``anyzero[opencl]``.
docs/interop.md has the details.
"""

from __future__ import annotations

from anyzero.installed import install

try:
    import pyopencl as _pyopencl  # noqa: F401
except ImportError as _error:
    raise ImportError(
        f"anyzero.interop.opencl needs pyopencl, which cannot be imported ({_error}): {install('opencl')}",
        name=_error.name,
        path=_error.path,
    ) from None

from anyzero.interop.opencl._buffer import buffer
from anyzero.interop.opencl._compiler import Compiler
from anyzero.interop.opencl._event import ClEvent, event, user_event
from anyzero.interop.opencl._module import module
from anyzero.interop.opencl._queue import SharedQueue, queue

__all__ = ["ClEvent", "Compiler", "SharedQueue", "buffer", "event", "module", "queue", "user_event"]
