"""`python -m benchmarks.compile.worker anyzero|spirv`: makes kernels on demand, in a process that stays.

Each line on stdin is the path of a SPIR-V file and the name of a kernel; the answer is how many nanoseconds it took to
make the kernel, from the file's bytes on.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns

__all__ = ["main"]

Make = Callable[[bytes, str], object]


def _anyzero() -> Make:
    import anyzero as az

    context = az.device().context()
    rounds = itertools.count()

    def make(data: bytes, kernel: str) -> object:
        # Another environment, so that the engine does not know the module: neither disk nor compiler would be measured.
        os.environ["ANYZERO_ROUND"] = str(next(rounds))
        module = context.module(data)
        return module, module[kernel]

    return make


def _opencl() -> Make:
    import warnings

    import pyopencl as cl

    # Compilers have much to say that is no concern of a benchmark.
    warnings.simplefilter("ignore")
    context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    return lambda data, kernel: cl.Kernel(cl.Program(context, data).build(), kernel)


def main(arguments: list[str]) -> int:
    # Runtimes print what they like; answers have a channel of their own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    make = _anyzero() if arguments == ["anyzero"] else _opencl()
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        path, kernel = json.loads(line)
        data = Path(path).read_bytes()
        try:
            begun = perf_counter_ns()
            made = make(data, kernel)
            record: dict[str, object] = {"ns": perf_counter_ns() - begun}
            del made
        except Exception as error:
            record = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
        print(json.dumps(record), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
