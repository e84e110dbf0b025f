"""The command line of `anyzero trace`."""

from __future__ import annotations

import argparse

__all__ = ["EXAMPLES", "add_options"]

EXAMPLES = """\
examples:
  anyzero trace -- ./vector_add 1024                     writes trace.json, for https://ui.perfetto.dev
  anyzero trace -o trace.html -- python program.py       a self-contained page for any browser
  anyzero trace --summary -- python -m pytest tests      where the time went, as tables; no file
  anyzero trace --summary -o trace.json -- ./program     both

A recording has the calls of the program with their arguments and results, the commands that each queue ran, requests to
the compiler, waits, and memory over time. The last 131,072 records of each thread are kept.
exit codes: the program's own; 127 no such program, 126 it cannot be started, 125 anyzero itself failed.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of its own; those that choose devices are added by the caller."""
    parser.usage = "anyzero trace [options] [--] PROGRAM [ARGUMENT …]"
    parser.set_defaults(failure=125)
    parser.add_argument("-o", "--output", metavar="FILE", help="default trace.json; FILE.html is a page for browsers")
    parser.add_argument("--summary", action="store_true", help="print where the time went")
