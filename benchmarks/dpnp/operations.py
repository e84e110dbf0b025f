"""The program inside dpnp's environment: reads lines of JSON, runs operations, answers with times in nanoseconds,
elapsed (`ns`) and of the processor in all threads (`cpu_ns`).

It imports nothing of this repository, because the environment has dpnp and not anyzero.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

SIZE = 1_000_000
SIDE = 1_000


def operations() -> dict[str, Callable[[], Any]]:
    """Key → a call without arguments. The arrays are copies of numpy's, so making them runs no kernel."""
    import dpnp
    import numpy as np

    random = np.random.default_rng(0)
    x, y = (dpnp.asarray(random.random(SIZE, dtype=np.float32)) for _ in range(2))
    whole = dpnp.asarray(random.integers(0, 1000, SIZE).astype(np.int32))
    chosen = dpnp.asarray(random.random(SIZE) > 0.5)
    a, b = (dpnp.asarray(random.random((SIDE, SIDE), dtype=np.float32)) for _ in range(2))
    right = dpnp.asarray(random.random(SIDE, dtype=np.float32))
    return {
        "sort": lambda: dpnp.sort(x),
        "argsort": lambda: dpnp.argsort(x),
        "unique": lambda: dpnp.unique(whole),
        "argmax": lambda: dpnp.argmax(x),
        "sum": lambda: dpnp.sum(x),
        "sum_axis": lambda: dpnp.sum(a, axis=0),
        "std": lambda: dpnp.std(x),
        "cumsum": lambda: dpnp.cumsum(x),
        "where": lambda: dpnp.where(chosen, x, y),
        "mask": lambda: x[chosen],
        "take": lambda: x[whole],
        "searchsorted": lambda: dpnp.searchsorted(y, x),
        "add": lambda: x + y,
        "exp": lambda: dpnp.exp(x),
        "transpose": lambda: dpnp.ascontiguousarray(a.T),
        "matmul": lambda: a @ b,
        "solve": lambda: dpnp.linalg.solve(a, right),
    }


def main() -> None:
    import dpnp

    made = operations()
    marker = dpnp.asarray([0])

    def once(key: str) -> tuple[int, int]:
        before, worked = time.perf_counter_ns(), time.process_time_ns()
        result = made[key]()
        dpnp.synchronize_array_data(marker)
        taken = time.perf_counter_ns() - before, time.process_time_ns() - worked
        del result
        return taken

    print(json.dumps({"device": marker.sycl_device.name}), flush=True)
    for line in sys.stdin:
        key, times = json.loads(line)
        elapsed, worked = zip(*(once(key) for _ in range(times)), strict=True)
        print(json.dumps({"ns": elapsed, "cpu_ns": worked}), flush=True)


if __name__ == "__main__":
    main()
