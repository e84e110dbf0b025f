"""`python -m benchmarks.compile.first KEY SPV`: the first kernel of this fresh process, as one JSON record.

The clock runs from before the first import of a runtime to the result of the kernel. Python itself is up by then.
For kernels written in Python it runs from their definition: the program has a context and its buffers.
"""

from __future__ import annotations

import sys
from time import perf_counter_ns

N = 1000


def _anyzero(path: str) -> float:
    import anyzero as az

    with az.device().context() as context:
        kernel = context.module(path)["saxpy"]
        y, x = (context.full(N, 1, "f4", kind="shared") for _ in range(2))
        with context.immediate() as commands:
            kernel[N](y, x, 2.0, N, on=commands).wait()
        return float(y.copy_to()[0])


def _in_python(others: int) -> tuple[float, int]:
    """The result of a Python kernel and when its definition began, after some others were compiled."""
    import anyzero as az

    context = az.device().context()
    y, x = (context.full(N, 1, "f4", kind="shared") for _ in range(2))
    for number in range(others + 1):
        y.fill(1)
        # Another constant makes another kernel.
        scale = 2 + others - number
        begun = perf_counter_ns()

        @az.kernel
        def saxpy(y: az.ptr[az.f32], x: az.ptr[az.f32]):
            i = az.global_id(0)
            y[i] += scale * x[i]  # noqa: B023 (launched in this round)

        saxpy[N](y, x)
    return float(y.copy_to()[0]), begun


def _import() -> float:
    import anyzero

    return 3.0 if anyzero else 0.0


def _opencl(path: str) -> float:
    import numpy as np
    import pyopencl as cl

    context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    queue = cl.CommandQueue(context)
    with open(path, "rb") as file:  # noqa: PTH123 (an import that is not measured for the others)
        kernel = cl.Kernel(cl.Program(context, file.read()).build(), "saxpy")
    ones = np.ones(N, np.float32)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    y, x = (cl.Buffer(context, flags, hostbuf=ones) for _ in range(2))
    kernel.set_args(y, x, np.float32(2), np.uint64(N))
    cl.enqueue_nd_range_kernel(queue, kernel, (N,), None)
    cl.enqueue_copy(queue, ones, y)
    return float(ones[0])


def main(arguments: list[str]) -> int:
    key, path = arguments
    begun = perf_counter_ns()
    if key == "first_import":
        found = _import()
    elif key.startswith("python_"):
        found, begun = _in_python(others=key == "python_warm")
    else:
        found = _opencl(path) if key == "first_Intel" else _anyzero(path)
    ended = perf_counter_ns()
    if found != 3.0:
        print(f"{found} instead of 3.0", file=sys.stderr)
        return 1
    print(f'{{"item": "{key}", "ns": {ended - begun}}}', flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
