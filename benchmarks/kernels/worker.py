"""One peer's process: takes orders as lines of JSON on stdin, answers each with a line on stdout.

    {"do": "prepare", "program": KEY, "size": SIZE, "folder": PATH}   arguments from the folder, onto the device
    {"do": "check"}                                                  one run from the first contents, then compare
    {"do": "time", "warm": 1}                                        one sample, after so many runs that do not count
    {"do": "drop"}                                                   forget the program

All but the last take a "slot", so that several programs can be ready; "like" names a slot whose buffers to share.

Runtimes do not share a process, so that neither their threads nor their copies of LLVM disturb one another.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from benchmarks.kernels.host import FAST, FLAGS, Host, Missing, native_functions
from benchmarks.kernels.program import Program
from benchmarks.kernels.suites import program

__all__ = ["main"]


def runner(kind: str, folder: Path) -> Any:
    """What runs cases: an object with a name and `prepare`."""
    if kind == "anyzero":
        from benchmarks.kernels.ours import Anyzero

        return Anyzero()
    if kind in {"spirv", "source"}:
        from benchmarks.kernels.opencl import OpenCL

        return OpenCL(from_source=kind == "source")
    if kind == "numba":
        import numba

        from benchmarks.kernels import through_numba

        return Host(f"numba {numba.__version__}", through_numba.functions())
    if kind == "numpy":
        import numpy

        from benchmarks.kernels import through_numpy

        return Host(f"numpy {numpy.__version__}", through_numpy.functions())
    fast = kind == "native fast"
    return Host(" ".join(["C++", *FLAGS, *([FAST] if fast else [])]), native_functions(folder, fast))


class Bench:
    """The program that is being measured, or several, each by the name of its slot."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner
        self._slots: dict[str, tuple[Program, Any, Any]] = {}

    def prepare(self, order: dict[str, Any]) -> dict[str, Any]:
        slot, like = order.get("slot", ""), order.get("like")
        if not slot:
            self.drop({})
        chosen = program(order["program"])
        case = chosen.case(order["size"])
        if like is not None:
            _, prepared, expected = self._slots[like]
            self._slots[slot] = chosen, prepared.reshaped(case), expected
            return {"ns": 0}
        folder = Path(order["folder"])
        arguments = pickle.loads((folder / "arguments").read_bytes())
        expected = pickle.loads((folder / "expected").read_bytes())
        start = perf_counter_ns()
        self._slots[slot] = chosen, self._runner.prepare(case, arguments), expected
        return {"ns": perf_counter_ns() - start}

    def check(self, order: dict[str, Any]) -> dict[str, Any]:
        _, prepared, expected = self._slots[order.get("slot", "")]
        prepared.restore()
        took = prepared.run()
        return {"wrong": prepared.case.mismatch(prepared.results(), expected), "ns": took}

    def time(self, order: dict[str, Any]) -> dict[str, Any]:
        chosen, prepared, _ = self._slots[order.get("slot", "")]
        if chosen.restored:
            prepared.restore(chosen.restored)
        if warm := order.get("warm", 0):
            prepared.run(warm)
        return {"ns": prepared.run(chosen.repeats) / chosen.repeats / chosen.parts}

    def drop(self, _: dict[str, Any]) -> dict[str, Any]:
        self._slots.clear()
        return {}


def main(arguments: list[str]) -> int:
    kind, folder = arguments
    # Runtimes print what they like; answers have a channel of their own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(record: dict[str, Any]) -> None:
        print(json.dumps(record), file=answers, flush=True)

    try:
        bench = Bench(made := runner(kind, Path(folder)))
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}"})
        return 1
    answer({"name": made.name})
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer(getattr(bench, order["do"])(order))
        except Missing as error:
            answer({"missing": str(error)})
        except Exception as error:
            answer({"error": f"{type(error).__name__}: {str(error)[:500]}"})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
