"""The command line of `anyzero profile`."""

from __future__ import annotations

import argparse

__all__ = ["EXAMPLES", "add_options"]

EXAMPLES = """\
examples:
  anyzero profile -- python program.py                   kernels, and the lines that take their time
  anyzero profile --kernel saxpy -- ./vector_add         one kernel, with all of its lines
  anyzero profile --json -- ./program | jq '.kernels[0].lines[0]'
  anyzero profile --lanes -- python program.py           with active lanes by line, and gathers as often as they run
  anyzero profile --rate 5000 -- ./program               more samples, for kernels that run only briefly

A clock interrupts each thread that runs kernels, 1000 times for each second that it works, and notes where in the code
it is. Lines are known of kernels written in Python, and of modules that were compiled with -g; else the report shows
ranges of the machine code (`anyzero spirv asm` prints it).

"limited by" says what the samples show, and no more: memory (it waits for loads and stores), gathers (work-items that
follow each other use memory that does not), divisions, compute, calls of functions of the driver, or not known.
With --lanes also divergence: work-items of a vector take different ways, and most of its lanes are switched off.
The last line has the machine's own limits. Without --lanes, a gather is counted once for each instruction, not for each
time it runs.

exit codes: the program's own; 127 no such program, 126 it cannot be started, 125 anyzero itself failed.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of its own; those that choose devices are added by the caller."""
    parser.usage = "anyzero profile [options] [--] PROGRAM [ARGUMENT …]"
    parser.set_defaults(failure=125)
    parser.add_argument("--kernel", metavar="NAME", help="only this kernel")
    parser.add_argument("--rate", type=int, default=1000, metavar="N", help="samples a second; default 1000")
    parser.add_argument(
        "--clock", choices=["any", "timer"], default="any", help="timer: never perf_event_open; default any"
    )
    parser.add_argument("--lanes", action="store_true", help="count active lanes, gathers and scatters in kernels")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--no-roofline", action="store_true", help="do not measure the machine, which takes a second")
