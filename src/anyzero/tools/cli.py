"""The `anyzero` command: one subcommand a module, errors as one line and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any

import anyzero as az

__all__ = ["main"]

_DESCRIPTION = "Level Zero for any machine: see the devices that there are, try them, and let programs use them."
_EXAMPLES = """\
examples:
  anyzero info                     the devices, as a table
  anyzero info --json              the same for programs: anyzero info --json | jq '.drivers[].devices[].name'
  anyzero demo                     copy, fill, event and fence round trips, timed and checked
  anyzero run -- ./vector_add      any program that speaks Level Zero, on this package's driver
  eval "$(anyzero env)"            the same for everything that this shell starts from now on
  anyzero doctor                   is everything in place? and what to do if not
  anyzero npu latency model.xml    how long until a model's first inference, with and without caches
  ANYZERO_DEVICES=cpu:tiles=2 anyzero info       a device with two tiles, on this machine
  ANYZERO_DEVICE=0.1 anyzero demo                the same tour on the second tile of the first device

`anyzero COMMAND --help` tells more about each.
exit codes: 0 all is well, 1 something failed (one line on stderr says what), 2 the command line is wrong.
docs/environment.md lists the variables that shape the devices.
"""
_INFO = """\
examples:
  anyzero info                     one line for each device and tile
  anyzero info -v                  everything each of them says about itself
  anyzero info --json | jq '.drivers[].devices[] | {name, memory_total}'
  ANYZERO_DEVICES=cpu:tiles=2,cpu anyzero info           two devices, the first with two tiles
  ANYZERO_LOADER=system anyzero info                     whatever the system's own loader finds
"""
_DEMO = """\
examples:
  anyzero demo                     the whole tour, on the default device
  anyzero demo --device 0.1        on the second tile of the first device
"""
_RUN = """\
examples:
  anyzero run -- ./vector_add 1024                       a C program, linked with -lze_loader
  anyzero run --devices cpu:tiles=2 -- ./multi_tile      with a device that has two tiles
  anyzero run --profile intel-gpu -- ./application       with a device that looks like another one
  anyzero run -- python -m pytest tests                  Python with dpctl, OpenVINO, … or anyzero itself
  anyzero run -v -- true                                 say which loader is used and why, and what is set

The program takes this one's place: its exit code, signals and terminal are its own. It gets this package's loader where
the system has none or an old one, else the system's with this package's driver behind it.

exit codes: the program's own; 127 there is no such program, 126 it cannot be started, 125 anyzero itself failed.
"""
_ENV = """\
examples:
  eval "$(anyzero env)"                                  bash, zsh, dash, …
  eval "$(anyzero env --devices cpu:tiles=2)"
  anyzero env --shell fish | source                      fish
  anyzero env --shell github >> "$GITHUB_ENV"            for the next steps of a GitHub workflow
  anyzero env --shell json | jq -r .LD_LIBRARY_PATH      anything else
"""
_DOCTOR = """\
examples:
  anyzero doctor                   every part, what was found, and how to mend what is wrong
  anyzero doctor --json            for programs: anyzero doctor --json | jq '.checks[] | select(.state == "bad")'
  anyzero doctor && make test      goes on only when everything needed is there

  ✓ good   – for your information   ! works, but look at it   ✗ has to be mended
exit codes: 0 everything that is needed works, 1 something has to be mended.
"""

_NPU = """\
examples:
  anyzero npu latency model.xml              first inferences, with empty and with warm caches
  anyzero npu bench model.onnx --compare     inferences a second, beside OpenVINO's own CPU device

`anyzero npu latency --help` and `anyzero npu bench --help` tell more. Models run on the NPU, which is there when
OpenVINO is installed: pip install anyzero[npu].
"""
_NPU_LATENCY = """\
examples:
  anyzero npu latency model.xml                          the median of three rounds
  anyzero npu latency model.onnx --repeat 9
  anyzero npu latency model.xml --config PERFORMANCE_HINT=THROUGHPUT
  anyzero npu latency model.xml --json | jq '.cache_dir.latency / .first_ever.latency'

Each round starts four fresh processes:
  first ever inference latency (FEIL)   nothing is cached: the model is compiled, loaded, and run once
  first inference latency (FIL)         the driver has the compiled model in its cache
  first inference latency (FIL)         the plugin has it in its own, CACHE_DIR, which one process fills for the next
The time is that from compile_model() to the first result; starting Python and the driver is not in it, and in --json
stands beside it (import, start).
"""
_NPU_BENCH = """\
examples:
  anyzero npu bench model.xml                            five seconds one by one, five seconds many at a time
  anyzero npu bench model.xml --requests 8 --seconds 20
  anyzero npu bench model.xml --compare                  and the same on OpenVINO's own CPU device
  anyzero npu bench model.xml --config NPU_PIPELINE=DISCRETE

Inputs are random numbers, and zero where a model takes whole numbers.
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
        return int(chosen.failure)
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
    parser.set_defaults(command=None, failure=1)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    def add(name: str, summary: str, examples: str, command: Callable[[Any], int]) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.set_defaults(command=command)
        return made

    show = add("info", "print drivers, devices, tiles, memory and queue groups", _INFO, _info)
    form = show.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as JSON, with everything")
    form.add_argument("-v", "--verbose", action="store_true", help="with every limit and extension")

    tour = add("demo", "try the default device: copy, fill, events, fences, timed and checked", _DEMO, _demo)
    tour.add_argument("--device", metavar="SELECTOR", help="which device, as in ANYZERO_DEVICE: 0, cpu:0, 0.1")

    start = add("run", "start a program that then uses anyzero", _RUN, _run)
    start.usage = "anyzero run [-h] [-v] [--devices D] [--profile P] [--loader L] [--] PROGRAM [ARGUMENT …]"
    start.set_defaults(failure=125)
    start.add_argument("-v", "--verbose", action="store_true", help="say on stderr which loader is used, and why")
    _add_choices(start)
    start.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM", help="the program and its arguments")

    tell = add("env", "print the variables that make programs use anyzero", _ENV, _env)
    tell.add_argument(
        "--shell", default="sh", choices=["sh", "fish", "github", "json"], help="who reads it; default sh"
    )
    _add_choices(tell)

    look = add("doctor", "check everything that anyzero needs, and say how to mend what is wrong", _DOCTOR, _doctor)
    look.add_argument("--json", action="store_true", help="as JSON")

    models = add("npu", "measure models on the NPU", _NPU, _npu)
    models.set_defaults(parser=models)
    kinds = models.add_subparsers(title="commands", metavar="COMMAND")
    first = _add_model(
        kinds, "latency", "first inferences, with empty and with warm caches", _NPU_LATENCY, _npu_latency
    )
    first.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="rounds, of which the median counts; default 3"
    )
    many = _add_model(kinds, "bench", "inferences a second, one by one and many at a time", _NPU_BENCH, _npu_bench)
    many.add_argument("--seconds", type=float, default=5.0, metavar="S", help="for each of the two; default 5")
    many.add_argument("--requests", type=int, default=0, metavar="N", help="how many at a time; default: the optimum")
    many.add_argument("--compare", action="store_true", help="measure OpenVINO's CPU device as well")
    return parser


def _add_model(
    kinds: Any, name: str, summary: str, examples: str, command: Callable[[Any], int]
) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = kinds.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(command=command)
    made.add_argument("model", metavar="MODEL", help="the file of a model: OpenVINO IR (.xml), ONNX, …")
    made.add_argument(
        "--config", action="append", default=[], metavar="KEY=VALUE", help="compile the model with it; repeatable"
    )
    made.add_argument("--json", action="store_true", help="as JSON")
    return made


def _add_choices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--devices", metavar="D", help="the devices that there are, as in ANYZERO_DEVICES: cpu:tiles=2")
    parser.add_argument("--profile", metavar="P", help="the identity that they show, as in ANYZERO_PROFILE")
    parser.add_argument(
        "--loader",
        metavar="L",
        choices=["ours", "system"],
        help="whose libze_loader.so.1: ours, or the system's; else the system's if that is new enough",
    )


# Each command imports what it needs and no more: numpy alone takes longer than all that `run` does.


def _info(chosen: argparse.Namespace) -> int:
    from anyzero.tools import info

    return info.run(as_json=chosen.json, verbose=chosen.verbose)


def _demo(chosen: argparse.Namespace) -> int:
    from anyzero.tools import demo

    return demo.run(chosen.device)


def _run(chosen: argparse.Namespace) -> int:
    from anyzero.tools import run

    program = chosen.program[1:] if chosen.program[:1] == ["--"] else chosen.program
    if not program:
        print("anyzero run: error: which program? (anyzero run --help has examples)", file=sys.stderr)
        return 2
    return run.run(
        program, devices=chosen.devices, profile=chosen.profile, loader=chosen.loader, verbose=chosen.verbose
    )


def _env(chosen: argparse.Namespace) -> int:
    from anyzero.tools import env

    return env.run(chosen.shell, devices=chosen.devices, profile=chosen.profile, loader=chosen.loader)


def _doctor(chosen: argparse.Namespace) -> int:
    from anyzero.tools import doctor

    return doctor.run(as_json=chosen.json)


def _npu(chosen: argparse.Namespace) -> int:
    chosen.parser.print_help()
    return 0


def _npu_latency(chosen: argparse.Namespace) -> int:
    from anyzero.tools import npu

    return npu.latency(chosen.model, config=chosen.config, repeat=max(chosen.repeat, 1), as_json=chosen.json)


def _npu_bench(chosen: argparse.Namespace) -> int:
    from anyzero.tools import npu

    return npu.bench(
        chosen.model,
        config=chosen.config,
        seconds=chosen.seconds,
        requests=chosen.requests,
        compare=chosen.compare,
        as_json=chosen.json,
    )
