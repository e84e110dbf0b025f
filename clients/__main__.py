"""`python -m clients`: runs clients on this driver and on their peers, and writes docs/clients.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from clients import page, place, results
from clients.client import Client, Side
from clients.drive import BrokenError, drive
from clients.listed import CLIENTS
from clients.results import Results

HELP: Final = """
Runs third-party programs on this driver, each in its own environment under build/clients that is fetched from PyPI
the first time (several GB), and the same tests on a peer. It takes an hour or two. An interrupted run resumes. The
table in docs/clients.md is generated from the results. A slice also runs in this Python, if it has the client's
packages.

  python -m clients                    everything
  python -m clients --only dpnp        one of them
  python -m clients --slice            a few tests of each; on the peer if one fails
  python -m clients --fresh            discard earlier results
  python -m clients --table            no tests, only docs/clients.md from the results
"""


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m clients", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [client.name for client in CLIENTS]
    parser.add_argument("--only", metavar="NAME", choices=names, action="append", help=f"one of {', '.join(names)}")
    parser.add_argument("--slice", action="store_true", help="a few tests of each; on the peer if one fails")
    parser.add_argument("--sample", type=int, metavar="N", help="number of tests; 0 for all")
    parser.add_argument("--side", choices=("ours", "peer"), help="only one of the two")
    parser.add_argument("--fresh", action="store_true", help="discard earlier results")
    parser.add_argument("--table", action="store_true", help="write docs/clients.md and run nothing")
    return parser.parse_args(arguments)


def record_of(client: Client, side: Side, count: int) -> Path:
    whose = "ours" if side is client.ours else "peer"
    return place.BUILD / "results" / f"{client.name}-{count or 'all'}-{whose}.jsonl"


def run_side(client: Client, side: Side, count: int, chosen: argparse.Namespace) -> Results:
    record = record_of(client, side, count)
    if chosen.fresh:
        record.unlink(missing_ok=True)
    found = results.read(record)
    if found.complete:
        return found
    python = chosen.slice and place.at_hand(client.environment, client.packages, client.modules)
    python = python or place.environment(client.environment, client.packages)
    command, variables = side.command(python, count)
    return drive(command, record, f"{client.name} on {side.name}", variables)


def run(client: Client, chosen: argparse.Namespace) -> bool:
    """Return whether all differences have a known reason."""
    count = client.slice if chosen.slice else client.sample if chosen.sample is None else chosen.sample
    if chosen.side == "peer":
        if client.peer:
            run_side(client, client.peer, count, chosen)
        return True
    ours = run_side(client, client.ours, count, chosen)
    failed = [test for test, outcome in ours.outcomes.items() if outcome in ("failed", "crashed")]
    if chosen.side == "ours" or (chosen.slice and not failed):
        return True
    if client.peer:
        peer = run_side(client, client.peer, count, chosen)
        failed = [test for test, known in client.differences(ours, peer).items() if known is None]
    for test in failed:
        print(f"{client.name}: {test} fails:\n{ours.details[test]}\n")
    return not failed


def main(arguments: list[str] | None = None) -> int:
    chosen = parse(arguments)
    good = True
    wanted = [client for client in CLIENTS if not chosen.only or client.name in chosen.only]
    if not chosen.table:
        for client in wanted:
            try:
                good &= run(client, chosen)
            except (place.NotAvailableError, BrokenError) as error:
                print(f"error: {client.name}: {error}", file=sys.stderr)
                good = False
    if not chosen.slice:
        page.write(CLIENTS, lambda client, side: results.read(record_of(client, side, client.sample)))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
