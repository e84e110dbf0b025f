"""`python -m benchmarks --dpnp`: warm and first calls of dpnp's operations, as ratios to Intel's CPU runtime."""

from __future__ import annotations

import argparse
import json
import sys
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from benchmarks import sources
from benchmarks.dpnp.contest import INSTRUCTIONS, INTEL, KEYS, OURS, Contest, Times
from benchmarks.table import grouped, time_text
from clients.place import NotAvailableError

__all__ = ["main"]

RESULTS: Final = sources.BUILD / "dpnp.json"
HELP: Final = """
Runs dpnp's operations on arrays of 1,000,000 elements, or matrices of 1000 x 1000, on this driver and on Intel's CPU
runtime (an OpenCL device of the same SYCL runtime), in processes that take turns. ÷ is our best time divided by
Intel's: below 1 we are faster. "first" is the first call in a fresh process with an empty cache, compilation included.

dpnp chooses algorithms by device type, and oneMKL uses GPU kernels on ours and its own BLAS on Intel's. So the two
sides of sort, matmul and solve run different programs.
"""


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks --dpnp", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="WORDS", help=f"of {', '.join(KEYS)}; separated by commas")
    parser.add_argument("--quick", action="store_true", help="two rounds instead of seven")
    parser.add_argument("--part", choices=("warm", "first"), help="only warm or only first calls")
    parser.add_argument("--target", choices=tuple(INSTRUCTIONS), default="native", help="the instruction set")
    parser.add_argument("--cpu", action="store_true", help="processor time of all threads, on a machine that is busy")
    parser.add_argument("--json", type=Path, metavar="FILE", help=f"extra output, besides build/bench/{RESULTS.name}")
    parser.add_argument("--no-install", action="store_true", help="fetch nothing")
    options = parser.parse_args(arguments)
    wanted = [word for word in options.only.split(",") if word]
    if unknown := [word for word in wanted if word not in KEYS]:
        parser.error(f"there is no operation {unknown[0]!r}; there are {', '.join(KEYS)}")
    options.keys = tuple(wanted) or KEYS
    return options


def ratio(times: Times) -> float:
    """Our best time divided by Intel's.

    >>> ratio({"anyzero": [3.0, 2.0], "Intel": [4.0, 5.0]})
    0.5
    """
    return min(times[OURS]) / min(times[INTEL])


def _table(title: str, found: dict[str, Times]) -> str:
    lines = [[title, OURS, INTEL, "÷"]]
    lines += [
        [f"  {key}", *(time_text(min(times[side])) for side in (OURS, INTEL)), f"{ratio(times):.2f}"]
        for key, times in found.items()
    ]
    mean = exp(fmean(log(ratio(times)) for times in found.values()))
    return grouped([*lines, ["  geometric mean", "", "", f"{mean:.2f}"]], [])


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    contest = Contest(not options.no_install, options.target, "cpu_ns" if options.cpu else "ns")
    parts = {"warm": contest.warm, "first": contest.first}
    results: dict[str, Any] = {"target": options.target, "cpu": options.cpu}
    clock = ", processor time" if options.cpu else ""
    for part, measured in parts.items():
        if options.part not in (None, part):
            continue
        found: dict[str, Times] = {}
        try:
            for key, times in measured(options.keys, (2 if options.quick else 7) if part == "warm" else 2):
                found[key] = times
                print(f"dpnp, {part}: {key}: {ratio(times):.2f}", file=sys.stderr, flush=True)
        except NotAvailableError as error:
            print(f"SKIPPED dpnp: {error}", file=sys.stderr)
            return 0
        finally:
            if found:
                print(_table(f"dpnp, {part} calls, {options.target}{clock}", found), flush=True)
        results[part] = found
    text = json.dumps(results, indent=1) + "\n"
    for path in filter(None, (RESULTS, options.json)):
        path.write_text(text)
    return 0
