"""`python -m benchmarks --kernels`: compiled kernels beside other implementations on the same machine."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks import machine, sources
from benchmarks.kernels import contest, held_out, report, spread
from benchmarks.kernels.peers import PEERS, Peer
from benchmarks.kernels.program import Program
from benchmarks.kernels.programs import PROGRAMS
from benchmarks.kernels.published import PUBLISHED
from benchmarks.kernels.targets import ALL, TARGETS, Target, instruction_set, present

__all__ = ["main", "results_of"]

QUIET: Final = 0.5
"""The load average that others may cause before a comparison means nothing."""
SUITES: Final = ("programs", "shapes", "published")
HELP: Final = """
Runs the same kernels through anyzero and other implementations on the same machine: Intel's OpenCL CPU runtime (from
the same SPIR-V), PoCL (from the source of that SPIR-V), numba, numpy, and plain C++ with OpenMP. They take turns, each
in a separate process; every result is checked before and after. The first table shows the best time of each, the second
one ours divided by theirs: below 1 we are faster. Goals are marked ✓ or ✗ and fail nothing; a question mark means that
other processes were busy meanwhile. "C++ fast" is the same C++ with -ffast-math, which its exp and log need.

Suites: the compiler is tuned for "programs". "shapes" has kernels in many group and global sizes, and compares the
slowest with the fastest. "published" has kernels of other benchmark suites, written from scratch, that the compiler is
not tuned for; of these only means are shown.

  python -m benchmarks --kernels                    the programs, within five minutes
  python -m benchmarks --kernels --suite all        every suite, at most a quarter of an hour
  python -m benchmarks --kernels --quick            smaller sizes, within two minutes
  python -m benchmarks --kernels --only matmul      the programs whose key or title contains a word
  python -m benchmarks --kernels --peers anyzero,Intel
  python -m benchmarks --kernels --target avx2      all restricted to AVX2; sse4.2 likewise; all: native and avx2
  python -m benchmarks --kernels --runs 3           three times; a note shows the spread of the runs' means
  python -m benchmarks --kernels --no-install       only with peers that are already installed

Peers are fetched the first time, into ANYZERO_PEERS (else ~/.cache/anyzero/peers). An unavailable one is skipped, with
a note that gives the reason.
"""


def results_of(target: str) -> Path:
    return sources.BUILD / f"kernels-{target}.json"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks --kernels", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shown = results_of("TARGET").name
    parser.add_argument("--json", type=Path, metavar="FILE", help=f"also write here, besides build/bench/{shown}")
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer rounds")
    parser.add_argument("--suite", choices=(*SUITES, ALL), default=SUITES[0], help="which kernels")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only programs whose key or title contains it")
    parser.add_argument("--peers", default="", metavar="NAME,…", help="only these columns")
    parser.add_argument(
        "--target", choices=(*TARGETS, ALL), default="native", help="restrict all to this instruction set"
    )
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="number of runs, with their spread")
    parser.add_argument("--no-install", action="store_true", help="fetch nothing")
    parser.add_argument("--list", action="store_true", help="print the programs and stop")
    options = parser.parse_args(arguments)
    names = [name for name in options.peers.split(",") if name]
    known = [peer.name for peer in PEERS]
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no peer is called {unknown[0]!r}; there are {', '.join(known)}")
    options.chosen = [peer for peer in PEERS if not names or peer.name in names]
    options.suites = SUITES if options.suite == ALL else (options.suite,)
    options.programs = _holding(PROGRAMS, options.only) if "programs" in options.suites else []
    options.shapes = spread.select(options.only, options.quick) if "shapes" in options.suites else []
    options.published = _holding(PUBLISHED, options.only) if "published" in options.suites else []
    if not (options.programs or options.shapes or options.published):
        parser.error(f"no program holds {options.only!r}; see --list")
    if options.json and len(present(options.target)) > 1:
        parser.error("--json names one file: choose one --target")
    return options


def _holding(programs: Sequence[Program], text: str) -> list[Program]:
    return [each for each in programs if text.lower() in f"{each.key} {each.title}".lower()]


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


def _failures(results: Sequence[tuple[Any, Mapping[str, contest.Found]]], title: str) -> list[tuple[str, str]]:
    """Who, and what went wrong."""
    return [
        (name, f"{title} {getattr(each, 'key', '') or each.program.key}: {name}: {one.trouble}")
        for each, found in results
        for name, one in found.items()
        if one.trouble
    ]


def _measure(options: argparse.Namespace, target: Target, peers: Sequence[Peer]) -> tuple[dict[str, Any], bool]:
    """One instruction set: the tables on stdout; all there is to keep, and whether we computed everything right."""
    size, rounds, seconds = ("quick", 5, 2.0) if options.quick else ("full", 15, 14.0)
    skipped: dict[str, str] = {}
    busy = machine.load()
    label = instruction_set(target.name)
    about = machine.describe() | {"target": target.name, "instruction set": label, "load before": round(busy, 2)}
    contestants, names = contest.enter(peers, not options.no_install, skipped, target)
    for name, reason in skipped.items():
        say(f"SKIPPED {name}: {reason}")
    if not contestants:
        say("error: nobody is left to be measured")
        return {}, False
    made: dict[str, Any] = {"machine": about, "size": size, "peers": dict(names), "skipped": skipped}
    texts, failures, runs = [], [], []
    try:
        for run in range(max(1, options.runs) if options.programs else 0):
            if options.runs > 1:
                say(f"run {run + 1} of {options.runs}")
            runs.append(_run(contestants, options.programs, size, rounds, seconds))
        if runs:
            results = contest.merged(runs)
            texts.append(report.as_text(results, list(names), report.apart(runs)))
            failures += _failures(results, "program")
            made |= report.as_json(results, {})
        if options.shapes:
            chosen = [each for each in contestants if each.peer.name in spread.PEERS]
            found = spread.measure(chosen, options.shapes, options.quick, say)
            texts.append(
                spread.as_text(found, ["sizes are smaller than named: it is a quick run"] if options.quick else [])
            )
            failures += _failures(found, "shape")
            made["shapes"] = spread.as_json(found)
        if options.published:
            chosen = [each for each in contestants if each.peer.name in held_out.PEERS]
            others = held_out.measure(chosen, options.published, options.quick, say)
            texts.append(held_out.as_text(others, []))
            failures += _failures(others, "published")
            made["published"] = held_out.as_json(others)
    finally:
        for contestant in contestants:
            contestant.close()
    about["load after"] = round(machine.load(), 2)
    notes = [", ".join(f"{name}: {value}" for name, value in about.items())]
    if busy > QUIET:
        notes.append(
            f"? the load was {busy:.1f} before this began: no basis for a verdict; run again on a quiet machine"
        )
    notes += [f"{name}: {text}" for name, text in names.items()]
    notes += [f"SKIPPED {name}: {reason}" for name, reason in skipped.items()]
    notes += [f"FAILED {text}" for _, text in failures]
    print("\n".join([f"{label}\n", *texts, *notes]))
    # A peer's mistake is worth knowing, but only ours is a failure.
    return made, not any(name == report.OURS for name, _ in failures)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.list:
        for program in (*options.programs, *(each.program for each in options.shapes), *options.published):
            print(f"{program.key:<28}{program.title}")
        return 0
    right = True
    for target in present(options.target):
        made, good = _measure(options, target, options.chosen)
        right &= good
        if not made:
            return 1
        text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
        sources.BUILD.mkdir(parents=True, exist_ok=True)
        for path in filter(None, (results_of(target.name), options.json)):
            path.write_text(text)
    return 0 if right else 1
