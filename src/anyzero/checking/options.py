"""The command line of `anyzero check`."""

from __future__ import annotations

import argparse

__all__ = ["EXAMPLES", "add_options"]

EXAMPLES = """\
examples:
  anyzero check -- ./vector_add 1024                     report mistakes on stderr while the program runs
  anyzero check --only memory,sync -- python program.py
  anyzero check --format sarif -o out.sarif -- ./tests   for GitHub's code scanning
  anyzero check --only races,init -- ./program           data races and uninitialized reads; kernels run much slower
  anyzero check --stop -- ./program                      kernels end at their first mistake

Checks: memory (accesses out of bounds, freed memory, leaks), sync (waits that never end, objects still in use, barriers
that work-items miss), strict (what hardware or the specification does not allow); and by name only: races (work-items
and commands that share memory without order), init (reads of device and local memory that nothing has written).
exit codes: the program's own; 3 it ended well, but with mistakes; 127 no such program, 126 it cannot be started,
125 anyzero itself failed.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of its own; those that choose devices are added by the caller."""
    parser.usage = "anyzero check [options] [--] PROGRAM [ARGUMENT …]"
    parser.set_defaults(failure=125)
    parser.add_argument(
        "--only", metavar="CHECKS", help="some of memory,sync,strict,races,init, or all; default the first three"
    )
    parser.add_argument("--stop", action="store_true", help="end a kernel at its first mistake")
    parser.add_argument(
        "--format", choices=["text", "json", "sarif"], default="text", help="format of the report; default text"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the report to a file; default standard output")
