"""`python -m benchmarks`: runs every source, prints the table, writes the JSON."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from pathlib import Path
from typing import Any, Final

from benchmarks import machine, sources, table
from benchmarks.checks import command as checks
from benchmarks.compile import command as compiling
from benchmarks.items import ITEMS, Item, measured_keys, select
from benchmarks.kernels import pairs, scale
from benchmarks.kernels.targets import instruction_set
from benchmarks.launches import contest, report
from benchmarks.npu import command as npu

LAUNCHES: Final = "launches"
RESULTS: Final = sources.BUILD / "results.json"
HELP: Final = """
Measures the cost of submission and the bandwidth of copies: from a C program against the C API and through the Python
API. Each item runs in rounds of a few milliseconds; the table shows the best round and, in parentheses, the median.
The best is the cost of the code; a median far above it indicates other load.

Targets are marked ✓ or ✗ for the C column and fail nothing: the exit status is 0 unless a program could not run.
A ratio compares with a yardstick that took turns in the same run, round by round (above 1: faster than the yardstick).
A question mark means that other processes were busy meanwhile; such numbers are not reliable.

A second table has launches of an empty kernel from C beside the same loops through OpenCL, on PoCL and on Intel's
CPU runtime, each in a separate process and all taking turns; ÷ is our time divided by theirs (below 1 we are faster).
They are fetched the first time, into ANYZERO_PEERS (else ~/.cache/anyzero/peers).

A third table has OpenVINO on the NPU beside OpenVINO's own CPU device: inferences, in turns in one process, and first
inferences in separate processes. It is skipped if openvino cannot be imported.

A fourth table has the speed-up of compute-bound kernels with more threads, in turns. A fifth one has kernels in two
forms: with int and size_t indices, and with and without the optimiser of the front end. A sixth one has compile times:
every program of the kernel suite in a warm process, from the disk cache and by Intel's runtime, and the first kernel of
a fresh process. A seventh one has check mode: calls from C and kernels of the suite with and without checks.

  python -m benchmarks                       everything, about seven minutes
  python -m benchmarks --quick               a short run in seconds
  python -m benchmarks --only immediate      the items whose key, title or group contains a word
  python -m benchmarks --list                the keys, with their meaning
  python -m benchmarks --json before.json    save the numbers of every round, to compare later
  python -m benchmarks --source launches     the second table alone; npu, scale, variants, compile, checks: the others
  python -m benchmarks --kernels             compiled kernels beside other implementations; see --kernels --help
  python -m benchmarks --dpnp                dpnp's operations beside Intel's CPU runtime; see --dpnp --help
  python -m benchmarks --cluster             Dask workers on this machine; see --cluster --help
  python -m benchmarks --figures             write docs/performance.md and its figures, from build/bench or given files

The variables of docs/environment.md apply: ANYZERO_THREADS=1 python -m benchmarks --only copy
"""


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help=f"extra output, besides build/bench/{RESULTS.name}")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only items with it in key, title or group")
    names = [
        *(source.name for source in sources.SOURCES),
        *(LAUNCHES, npu.NAME, scale.NAME, pairs.NAME, compiling.NAME, checks.NAME),
    ]
    parser.add_argument("--source", choices=names, metavar="|".join(names), help="only this column, or this table")
    parser.add_argument(
        "--threads", type=int, default=machine.cores(), metavar="N", help="the most that the fourth table measures"
    )
    parser.add_argument("--no-install", action="store_true", help="fetch nothing")
    parser.add_argument("--list", action="store_true", help="print the items and stop")
    options = parser.parse_args(arguments)
    tables = {
        LAUNCHES: contest.select,
        npu.NAME: npu.select,
        scale.NAME: scale.select,
        pairs.NAME: pairs.select,
        compiling.NAME: compiling.select,
        checks.NAME: checks.select,
    }
    chosen = [tables.get(options.source, select)] if options.source else [select, *tables.values()]
    if not any(each(options.only) for each in chosen):
        parser.error(f"no item holds {options.only!r}; see --list")
    return options


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure(source: sources.Source, items: tuple[Item, ...], quick: bool, records: dict[str, dict[str, Any]]) -> None:
    """Fill `records` by key as they come, and report each on stderr; what came before a failure stays."""
    keys = measured_keys(items)
    titles = {item.key: f"{item.group}: {item.title}" for item in ITEMS}
    rounds, round_ms = (7, 1.0) if quick else (40, 3.0)
    say(f"{source.name}: preparing")
    for record in sources.run(source, keys, rounds, round_ms):
        key = record["item"]
        records[key] = record
        value = record.get("error") or table.time_text(record["best"])
        say(f"{source.name}: {len(records):2}/{len(keys)}  {titles[key]}: {value}")


def launches(options: argparse.Namespace, problems: list[str]) -> list[tuple[contest.Launch, dict[str, Any]]]:
    """Measure the second table and print it; what came before a failure stays."""
    chosen = contest.select(options.only)
    found = []
    say(f"{LAUNCHES}: preparing")
    with contest.Contest(not options.no_install) as running:
        about = {name: process.about for name, process in running.processes.items() if name in contest.OTHERS}
        for number, item in enumerate(chosen, 1):
            records = running.measure(item, contest.QUICK if options.quick else contest.FULL)
            found.append((item, records))
            shown = ", ".join(f"{name} {table.time_text(record['best'])}" for name, record in records.items())
            say(f"{LAUNCHES}: {number}/{len(chosen)}  {item.title}: {shown}")
        problems += [f"{name}: {reason}" for name, reason in running.problems.items()]
        skipped = [f"SKIPPED {name}: {reason}" for name, reason in running.skipped.items()]
    for line in skipped:
        say(line)
    notes = [f"{name}: {text}" for name, text in about.items()] + skipped
    if about:
        notes.insert(0, "OpenCL records no lists: beside them stand 1,000 launches that are queued and waited for")
    if any(report.disturbed(records) for _, records in found):
        notes.append(f"? others used more than {table.QUIET:g} cores meanwhile; run again on a quiet machine")
    print("\n" + report.as_text(found, notes), end="")
    return found


def main(arguments: list[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    if "--kernels" in given:
        from benchmarks.kernels import command

        return command.main([argument for argument in given if argument != "--kernels"])
    if "--dpnp" in given:
        from benchmarks.dpnp import command as dpnp

        return dpnp.main([argument for argument in given if argument != "--dpnp"])
    if "--cluster" in given:
        from benchmarks.cluster import command as cluster

        return cluster.main([argument for argument in given if argument != "--cluster"])
    if "--figures" in given:
        from benchmarks.performance import document

        return document.main([argument for argument in given if argument != "--figures"])
    options = parse(given)
    if options.list:
        for item in (*ITEMS, *contest.ITEMS, *npu.select(""), *compiling.select("")):
            print(f"{item.key:<28}{item.group}: {item.title}")
        for program in scale.select(""):
            print(f"{scale.NAME}_{program.key:<22}{scale.TITLE}: {program.title}")
        for variant in pairs.select(""):
            print(f"{pairs.NAME}_{variant.other.key:<19}{pairs.TITLE}: {variant.other.title}")
        for command in checks.COMMANDS:
            print(f"{checks.NAME}_{command.key:<21}{checks.TITLE}: {command.title}")
        return 0
    items = select(options.only)
    chosen = [source for source in sources.SOURCES if items and options.source in (None, source.name)]
    about = machine.describe() | {"instruction set": instruction_set("native"), "load before": round(machine.load(), 2)}
    records: dict[str, dict[str, dict[str, Any]]] = {}
    problems: list[str] = []
    for source in chosen:
        records[source.name] = {}
        try:
            measure(source, items, options.quick, records[source.name])
        except sources.Failed as error:
            problems.append(f"{source.name}: {error}")
        problems += [
            f"{source.name}: {key}: {record['error']}"
            for key, record in records[source.name].items()
            if "error" in record
        ]
    about["load after"] = round(machine.load(), 2)

    made = table.rows(items, records) if chosen else []
    notes = [", ".join(f"{name}: {value}" for name, value in about.items())]
    if any(row.disturbed for row in made):
        notes.append(
            f"? others used more than {table.QUIET:g} cores meanwhile: what several threads do cannot be judged then, "
            "so there is no verdict; run again on a quiet machine"
        )
    if made:
        print(table.as_text(made, [source.name for source in chosen], notes), end="", flush=True)
    results = table.as_json(made, about) | {"quick": options.quick}
    if options.source in (None, LAUNCHES) and contest.select(options.only):
        results["items"] += report.as_json(launches(options, problems))
    if options.source in (None, npu.NAME) and npu.select(options.only):
        results["items"] += npu.measure(options.only, options.quick, say, problems)
    if options.source in (None, scale.NAME) and scale.select(options.only):
        results["items"] += scale.measure(options.only, options.quick, options.threads, say, problems)
    if options.source in (None, pairs.NAME) and pairs.select(options.only):
        results["items"] += pairs.measure(options.only, options.quick, say, problems)
    if options.source in (None, compiling.NAME) and compiling.select(options.only):
        results["items"] += compiling.measure(options.only, options.quick, not options.no_install, say, problems)
    if options.source in (None, checks.NAME) and checks.select(options.only):
        results["items"] += checks.measure(options.only, options.quick, say, problems)
    text = json.dumps(results, indent=1, ensure_ascii=False) + "\n"
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    for path in filter(None, (RESULTS, options.json)):
        path.write_text(text)
    for problem in problems:
        say(f"error: {textwrap.indent(problem, '  ').strip()}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
