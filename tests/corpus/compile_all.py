"""Compiles every kernel of every module of the corpus.

    python -m tests.corpus.compile_all [--folder FOLDER] [--jobs N] [--level N] [--lanes N]

Each module is compiled in a process of its own. What was done stays done: a run that was broken off goes on where it
was, as long as neither the compiler nor the options have changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path

import anyzero.compiler
from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import read, verify
from tests.compiler.agreement.isolation import isolated
from tests.corpus.collect import NoCorpusError, cache, everything

TIMEOUT = 300.0
SLOWEST = 10
EVERY = 500
"""So often a log gets a line, where a terminal has a bar."""


@dataclass(frozen=True, slots=True)
class Record:
    """What became of a module."""

    name: str
    kernels: int = 0
    seconds: float = 0.0
    """Of the slowest kernel, on the processor."""
    slowest: str = ""
    trouble: str = ""


def compile_module(name: str, data: bytes, options: Options) -> Record:
    """All its kernels."""
    module = read(data)
    verify(module)
    times = {}
    for kernel in module.kernels:
        start = time.process_time()
        compile_kernel(module, kernel, options)
        times[kernel] = time.process_time() - start
    slowest = max(times, key=lambda kernel: times[kernel], default="")
    return Record(name, len(times), times.get(slowest, 0.0), slowest)


def one(name: str, load: Callable[[], bytes], options: Options, timeout: float = TIMEOUT) -> Record:
    found = isolated(lambda: compile_module(name, load(), options), timeout)
    if found.trouble:
        return Record(name, trouble=found.trouble.splitlines()[-1])
    assert isinstance(found.value, Record)
    return found.value


def compiled(modules: dict[str, Callable[[], bytes]], options: Options, jobs: int) -> Iterator[Record]:
    """Records in the order in which modules are done, so many at a time."""
    waiting = iter(modules.items())
    running: set[Future[Record]] = set()
    with ThreadPoolExecutor(jobs) as pool:
        while True:
            while len(running) < 2 * jobs and (item := next(waiting, None)) is not None:
                running.add(pool.submit(one, *item, options))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                yield each.result()


def fingerprint(options: Options) -> str:
    """Of the compiler's sources and the options."""
    digest = hashlib.sha256(repr(options).encode())
    folder = Path(next(iter(anyzero.compiler.__path__)))
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def before(path: Path) -> dict[str, Record]:
    """What an earlier run has written down."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        try:
            record = Record(**json.loads(line))
        except (ValueError, TypeError):
            continue  # the last line of a run that was broken off
        found[record.name] = record
    return found


def progress(done: int, total: int, failed: int, started: float) -> None:
    rate = done / max(time.monotonic() - started, 1e-9)
    state = f"{done}/{total}, {failed} failed, {rate:.1f}/s"
    if sys.stderr.isatty():
        bar = "█" * int(30 * done / total)
        print(f"\r{bar:<30} {state} ", end="", file=sys.stderr, flush=True)
    elif done % EVERY == 0:
        print(state, file=sys.stderr, flush=True)


def report(records: list[Record]) -> int:
    failed = [record for record in records if record.trouble]
    kernels = sum(record.kernels for record in records)
    print(f"{len(records)} modules, {kernels} kernels, {len(failed)} modules failed")
    reasons: dict[str, list[Record]] = {}
    for record in failed:
        reasons.setdefault(_reason(record.trouble), []).append(record)
    for reason, those in sorted(reasons.items(), key=lambda pair: -len(pair[1])):
        print(f"  {len(those):5} × {reason}, such as {those[0].name}: {those[0].trouble}")
    print("slowest:")
    for record in sorted(records, key=lambda each: -each.seconds)[:SLOWEST]:
        print(f"  {record.seconds:6.1f} s  {record.name}  {record.slowest[:100]}")
    return 1 if failed else 0


def _reason(trouble: str) -> str:
    """Without the numbers, which differ from module to module."""
    return "".join("#" if each.isdigit() else each for each in trouble)[:60]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus.compile_all")
    parser.add_argument("--folder", type=Path, default=cache() / "modules")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("--lanes", type=int)
    given = parser.parse_args(arguments)
    options = Options(level=given.level, lanes=given.lanes)
    try:
        paths = everything(given.folder)
    except NoCorpusError as error:
        print(error, file=sys.stderr)
        return 1
    kept = given.folder / f"compiled.{fingerprint(options)}.jsonl"
    records = before(kept)
    todo = {path.stem: path.read_bytes for path in paths if path.stem not in records}
    started, failed = time.monotonic(), sum(bool(record.trouble) for record in records.values())
    with kept.open("a") as log:
        for number, record in enumerate(compiled(todo, options, given.jobs), start=1):
            records[record.name] = record
            failed += bool(record.trouble)
            log.write(json.dumps(asdict(record)) + "\n")
            log.flush()
            progress(number, len(todo), failed, started)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return report(list(records.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
