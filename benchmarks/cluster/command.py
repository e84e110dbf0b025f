"""`python -m benchmarks --cluster`: what a cluster costs, and that nothing is lost."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from typing import Any, Final

from benchmarks import machine, sources
from benchmarks.table import laid_out, time_text

__all__ = ["main"]

RESULTS: Final = sources.BUILD / "cluster.json"
GOAL_NS: Final = 1_000_000
PARTS: Final = ("overhead", "speed-up", "killing", "streaming", "scheduler")
HELP: Final = """
Measures anyzero.cluster on this machine, with several worker processes:

  overhead   a small task on plain Dask, on our workers, and with a kernel instead of numpy, in turns: from the client
             and back, and among many
  speed-up   compute-bound kernels on one, two, … workers with one thread each: as tasks, by az.cluster.map over chunks
             that the workers hold, and as one launch by az.cluster.run; beside them as many processes without Dask
  killing    10,000 tasks while a worker is killed every second, and how many results are wrong
  streaming  one worker keeps ten times its memory limit: the most memory that its process had
  scheduler  Dask's scheduler with 1,000 nodes that only answer: its time for each task
"""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _overhead(quick: bool) -> tuple[dict[str, Any], list[str]]:
    from benchmarks.cluster import measures

    found = measures.overhead(300 if quick else 2000, say)
    plain = next(iter(found.values()))
    columns = {"best": "alone, best", "median": "alone, median", "wall": "among many", "cpu": "CPU among many"}
    lines = [["task"]]
    for text in columns.values():
        lines[0] += [text, "over plain Dask", f"≤ {time_text(GOAL_NS)}"]
    for name, trips in found.items():
        cells = [name]
        for column in columns:
            seconds = getattr(trips, column)
            more = (seconds - getattr(plain, column)) * 1e9
            cells += [time_text(seconds * 1e9), f"{'-' if more < 0 else ''}{time_text(abs(more))}"]
            cells.append("✓" if more <= GOAL_NS else "✗")
        lines.append(cells)
    return {name: trips._asdict() for name, trips in found.items()}, laid_out(lines)


def _speed_up(quick: bool) -> tuple[dict[str, Any], list[str]]:
    from benchmarks.cluster import measures

    cores = machine.cores()
    workers = [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= cores]
    found = measures.speed_up(2 if quick else 8, workers, 1 if quick else 2, say)
    lines = [["workers"]]
    for name in found:
        lines[0] += [name, "speed-up", "of linear"]
    for count in workers:
        cells = [str(count)]
        for seconds in found.values():
            gain = seconds[1] / seconds[count]
            cells += [time_text(seconds[count] * 1e9), f"{gain:.2f}", f"{gain / count:.0%}"]
        lines.append(cells)
    kept = {name: {str(count): each for count, each in seconds.items()} for name, seconds in found.items()}
    return kept, laid_out(lines)


def _killing(quick: bool) -> tuple[dict[str, Any], list[str]]:
    from benchmarks.cluster import measures

    found = measures.killing(2000 if quick else 10_000, say)
    text = [str(int(found[name])) for name in ("tasks", "killed", "repeated", "wrong")]
    return found, laid_out(
        [["tasks", "workers killed", "tasks repeated", "wrong results", "seconds"], [*text, f"{found['seconds']:.0f}"]]
    )


def _streaming(quick: bool) -> tuple[dict[str, Any], list[str]]:
    from benchmarks.cluster import measures

    found = measures.streaming(1 << 30 if not quick else 1 << 28, 10, say)
    cells = [f"{int(found[name]) >> 20} MiB" for name in ("limit", "streamed", "empty", "most")]
    head = [
        "memory limit",
        "values",
        "empty worker",
        "most memory",
        "wrong sums",
        "restarted",
        "seconds",
        "CPU seconds",
    ]
    cells += [str(int(found["wrong"])), "yes" if found["restarted"] else "no"]
    return found, laid_out([head, [*cells, f"{found['seconds']:.0f}", f"{found['cpu']:.0f}"]])


def _scheduler(quick: bool) -> tuple[dict[str, Any], list[str]]:
    from benchmarks.cluster import scheduler

    found = scheduler.simulated(1000, 3000 if quick else 20_000, say)
    cells = [str(int(found["nodes"])), str(int(found["tasks"])), time_text(found["cpu"] * 1e9)]
    head = ["nodes", "tasks", "scheduler's CPU time of a task", "wall time of a task", "its memory"]
    return found, laid_out([head, [*cells, time_text(found["wall"] * 1e9), f"{int(found['memory']) >> 20} MiB"]])


_MEASURES: Final = dict(zip(PARTS, (_overhead, _speed_up, _killing, _streaming, _scheduler), strict=True))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks --cluster", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=PARTS, metavar="PART", help=f"one of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="fewer tasks and rounds")
    options = parser.parse_args(arguments)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    results: dict[str, Any] = {"machine": machine.describe(), "quick": options.quick}
    before = machine.load()
    for name in [options.only] if options.only else PARTS:
        found, lines = _MEASURES[name](options.quick)
        results[name] = found
        print(f"\n{name}", *lines, sep="\n", flush=True)
    print(f"\nload before {before:.2f}, after {machine.load():.2f}")
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return 0
