"""The `anyzero` command: one subcommand a module, errors as one line and an exit code."""

from __future__ import annotations

import argparse
import os
import sys

import anyzero as az
from anyzero.tools import demo, info

__all__ = ["main"]

_DESCRIPTION = "Level Zero for any machine: see the devices that there are, and try them."
_EXAMPLES = """\
examples:
  anyzero info                     the devices, as a table
  anyzero info -v                  everything each of them says about itself
  anyzero info --json              the same for programs: anyzero info --json | jq '.drivers[].devices[].name'
  anyzero demo                     copy, fill, event and fence round trips, timed and checked
  ANYZERO_DEVICES=cpu:tiles=2 anyzero info       a device with two tiles, on this machine
  ANYZERO_DEVICE=0.1 anyzero demo                the same tour on the second tile of the first device

exit codes: 0 all is well, 1 something failed (one line on stderr says what), 2 the command line is wrong.
docs/environment.md lists the variables that shape the devices.
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if chosen.command is None:
        parser.print_help()
        return 0
    try:
        return int(chosen.command(chosen))
    except (az.Error, az.ConfigError) as error:
        lines = (line.strip().rstrip(".") for line in str(error).splitlines())
        print(f"anyzero: error: {'. '.join(lines)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("anyzero: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader has seen enough; the interpreter must not try to flush what it does not want.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="anyzero",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"anyzero {az.__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    show = commands.add_parser("info", help="print drivers, devices, tiles, memory and queue groups")
    form = show.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as JSON, with everything")
    form.add_argument("-v", "--verbose", action="store_true", help="with every limit and extension")
    show.set_defaults(command=lambda chosen: info.run(as_json=chosen.json, verbose=chosen.verbose))

    tour = commands.add_parser("demo", help="try the default device: copy, fill, events, fences, timed and checked")
    tour.add_argument("--device", metavar="SELECTOR", help="which device, as in ANYZERO_DEVICE: 0, cpu:0, 0.1")
    tour.set_defaults(command=lambda chosen: demo.run(chosen.device))
    return parser
