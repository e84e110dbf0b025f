"""`python -m benchmarks --kernels`: compiled kernels beside other implementations on the same machine."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks import machine, sources
from benchmarks.kernels import contest, report
from benchmarks.kernels.peers import PEERS
from benchmarks.kernels.programs import PROGRAMS, Program
from benchmarks.kernels.targets import TARGETS

__all__ = ["main"]

QUIET: Final = 0.5
"""The load average that others may cause before a comparison means nothing."""
RESULTS: Final = sources.BUILD / "kernels.json"
HELP: Final = """
Runs the same kernels through anyzero and through others on the same machine: Intel's OpenCL for CPUs (from the same
SPIR-V), PoCL (from the source of that SPIR-V), numba, numpy, and plain C++ with OpenMP. They take turns, each in a
process of its own; every result is checked before and after. The first table shows the best time of each, the second
one ours divided by theirs: below 1 we are faster. Goals are marked ✓ or ✗ and gate nothing; a question mark says that
other processes were busy meanwhile. "C++ fast" is the same C++ with -ffast-math, which its exp and log need.

  python -m benchmarks --kernels                    everything, at most a quarter of an hour
  python -m benchmarks --kernels --quick            smaller sizes, within two minutes
  python -m benchmarks --kernels --only matmul      the programs whose key or title holds a word
  python -m benchmarks --kernels --peers anyzero,Intel
  python -m benchmarks --kernels --target avx2      everybody with AVX2 only; sse4.2 likewise
  python -m benchmarks --kernels --runs 3           three times; a note says how far the runs' means are apart
  python -m benchmarks --kernels --no-install       only with the peers that are there already

Peers are fetched the first time, into ANYZERO_PEERS (else ~/.cache/anyzero/peers). One that cannot be had is left out,
with a note that says why.
"""


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks --kernels", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help=f"write here too, besides build/bench/{RESULTS.name}")
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer rounds")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only programs whose key or title holds it")
    parser.add_argument("--peers", default="", metavar="NAME,…", help="only these columns")
    parser.add_argument("--target", choices=TARGETS, default="native", help="hold everybody to this instruction set")
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="everything so often, and how far runs differ")
    parser.add_argument("--no-install", action="store_true", help="fetch nothing")
    parser.add_argument("--list", action="store_true", help="print the programs and stop")
    options = parser.parse_args(arguments)
    names = [name for name in options.peers.split(",") if name]
    known = [peer.name for peer in PEERS]
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no peer is called {unknown[0]!r}; there are {', '.join(known)}")
    options.chosen = [peer for peer in PEERS if not names or peer.name in names]
    options.programs = [each for each in PROGRAMS if options.only.lower() in f"{each.key} {each.title}".lower()]
    if not options.programs:
        parser.error(f"no program holds {options.only!r}; see --list")
    return options


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _run(
    contestants: Sequence[contest.Contestant], programs: Sequence[Program], size: str, rounds: int, seconds: float
) -> contest.Results:
    """Every program once, told on the way."""
    results = []
    for number, program in enumerate(programs, 1):
        found = contest.compete(contestants, program, size, rounds, seconds)
        results.append((program, found))
        shown = [
            f"{name} {report.duration(each.best)}" if each.best is not None else f"{name} FAILED: {each.trouble}"
            for name, each in found.items()
            if not each.missing
        ]
        say(f"{number:2}/{len(programs)}  {program.title}: {', '.join(shown)}")
    return results


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.list:
        print("\n".join(f"{each.key:<20}{each.title}" for each in options.programs))
        return 0
    size, rounds, seconds = ("quick", 5, 2.0) if options.quick else ("full", 15, 14.0)
    skipped: dict[str, str] = {}
    busy = machine.load()
    about = machine.describe() | {"target": options.target, "load before": round(busy, 2)}
    contestants, names = contest.enter(options.chosen, not options.no_install, skipped, TARGETS[options.target])
    for name, reason in skipped.items():
        say(f"SKIPPED {name}: {reason}")
    if not contestants:
        say("error: nobody is left to be measured")
        return 1
    runs = []
    try:
        for run in range(max(1, options.runs)):
            if options.runs > 1:
                say(f"run {run + 1} of {options.runs}")
            runs.append(_run(contestants, options.programs, size, rounds, seconds))
    finally:
        for contestant in contestants:
            contestant.close()
    results = contest.merged(runs)
    about["load after"] = round(machine.load(), 2)
    notes = [", ".join(f"{name}: {value}" for name, value in about.items())]
    if busy > QUIET:
        notes.append(
            f"? the load was {busy:.1f} before this began: no basis for a verdict; run again on a quiet machine"
        )
    notes += report.apart(runs)
    notes += [f"{name}: {text}" for name, text in names.items()]
    notes += [f"SKIPPED {name}: {reason}" for name, reason in skipped.items()]
    failures = [f"{p.title}: {name}: {each.trouble}" for p, f in results for name, each in f.items() if each.trouble]
    notes += [f"FAILED {text}" for text in failures]
    print(report.as_text(results, list(names), notes), end="")
    everything = {"machine": about, "size": size, "peers": dict(names), "skipped": skipped}
    text = json.dumps(report.as_json(results, everything), indent=1, ensure_ascii=False) + "\n"
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    for path in filter(None, (RESULTS, options.json)):
        path.write_text(text)
    # A peer's mistake is worth knowing, but only ours is a failure.
    ours = any(f[report.OURS].trouble for _, f in results if report.OURS in f)
    return 1 if ours else 0
