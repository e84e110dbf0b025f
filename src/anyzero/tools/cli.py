"""The `anyzero` command: one subcommand a module, errors as one line and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any

import anyzero as az
from anyzero.checking import options as check_options
from anyzero.cluster import worker_options
from anyzero.config import LANES
from anyzero.profiling import options as profile_options
from anyzero.tools.config import OPTIONS
from anyzero.tools.terminal import HELP_WIDTH, laid_out, wrapped
from anyzero.tracing import options as trace_options

__all__ = ["main"]

_DESCRIPTION = "Level Zero for any machine: list the devices, try them, and run programs on them."
_EXAMPLES = """\
examples:
  anyzero info                     the devices, as a table
  anyzero info --json              the same for programs: anyzero info --json | jq '.drivers[].devices[].name'
  anyzero demo                     a tour of commands and kernels, with pictures
  anyzero run -- ./vector_add      run any Level Zero program on this package's driver
  anyzero trace -- ./vector_add    run it, and write a timeline of what it did
  anyzero profile -- ./vector_add  run it, and show which lines of its kernels take the time
  eval "$(anyzero env)"            the same for every program that this shell starts
  anyzero doctor                   check the installation; print how to fix problems
  anyzero npu latency model.xml    time to a model's first inference, with cold and warm caches
  anyzero compile kernels.cl       OpenCL C to SPIR-V
  anyzero config --cflags --libs   flags for a C compiler
  anyzero worker tcp://node:8786   lend this machine's devices to a Dask scheduler
  anyzero spirv asm kernels.spv    the assembly of a compiled kernel
  ANYZERO_DEVICES=cpu:tiles=2 anyzero info       a device with two tiles, on this machine
  ANYZERO_DEVICE=0.1 anyzero demo                the same tour on the second tile of the first device

`anyzero COMMAND --help` describes a command.
exit codes: 0 success, 1 failure (with one line on stderr), 2 wrong command line.
`anyzero docs environment` lists the environment variables.
"""
_INFO = """\
examples:
  anyzero info                     one line for each device and tile
  anyzero info -v                  all properties
  anyzero info --json | jq '.drivers[].devices[] | {name, memory_total}'
  ANYZERO_DEVICES=cpu:tiles=2,cpu anyzero info           two devices, the first with two tiles
  ANYZERO_LOADER=system anyzero info                     the devices that the system's loader finds
"""
_DEMO = """\
examples:
  anyzero demo                     the whole tour, on the default device
  anyzero demo --device 0.1        on the second tile of the first device
  anyzero demo --output pictures   write the pictures to ./pictures
"""
_RUN = """\
examples:
  anyzero run -- ./vector_add 1024                       a C program, linked with -lze_loader
  anyzero run --devices cpu:tiles=2 -- ./multi_tile      on a device with two tiles
  anyzero run --profile intel-gpu -- ./application       on a device that reports Intel's vendor id
  anyzero run -- python -m pytest tests                  Python with dpctl, OpenVINO, … or anyzero itself
  anyzero run -v -- true                                 print the chosen loader, the reason and the variables

The program replaces this process, so its exit code, signals and terminal are its own. It gets the system's loader with
this package's driver, or this package's loader if the system has none or an old one.

exit codes: the program's own; 127 no such program, 126 it cannot be started, 125 anyzero itself failed.
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
  anyzero doctor                   each check with its result, and how to fix errors
  anyzero doctor --json            for programs: anyzero doctor --json | jq '.checks[] | select(.state == "bad")'
  anyzero doctor && make test      continue only without errors

  ✓ OK   – information   ! warning   ✗ error
exit codes: 0 no errors, 1 errors to fix.
"""

_NPU = """\
examples:
  anyzero npu latency model.xml              first inferences, with empty and with warm caches
  anyzero npu bench model.onnx --compare     inferences per second, compared with OpenVINO's CPU device

`anyzero npu latency --help` and `anyzero npu bench --help` have the options. Models run on the NPU device, which needs
OpenVINO: pip install 'anyzero[npu]', in a checkout '.[npu]'.
"""
_NPU_LATENCY = """\
examples:
  anyzero npu latency model.xml                          the median of three rounds
  anyzero npu latency model.onnx --repeat 9
  anyzero npu latency model.xml --config PERFORMANCE_HINT=THROUGHPUT
  anyzero npu latency model.onnx --shape '[1,3,224,224]'  for a model with dynamic input shapes
  anyzero npu latency model.xml --json | jq .cache_dir.of_first_ever

Each round starts four fresh processes:
  first ever inference latency (FEIL)   nothing is cached: the model is compiled, loaded, and run once
  first inference latency (FIL)         the driver has the compiled model in its cache
  first inference latency (FIL)         the plugin has it in its own cache, CACHE_DIR, filled by one more process
The time is measured from compile_model() to the first result. It does not include the start of Python and of the
driver; --json has those as import and start.
"""
_NPU_BENCH = """\
examples:
  anyzero npu bench model.xml                            five seconds of latency, five seconds of throughput
  anyzero npu bench model.xml --requests 8 --seconds 20
  anyzero npu bench model.xml --compare                  the same on OpenVINO's CPU device, too
  anyzero npu bench model.xml --config NPU_PIPELINE=DISCRETE
  anyzero npu bench bert.onnx --shape 'ids[1,128],mask[1,128]'

Float inputs are random numbers, integer inputs are zero.
"""
_COMPILE = """\
examples:
  anyzero compile kernels.cl                 writes kernels.spv
  anyzero compile kernels.cl -o build/k.spv -DN=4 -I include
  anyzero compile kernels.cl --options "-cl-fast-relaxed-math -Werror"
  anyzero compile - -o kernels.spv < kernels.cl

It uses the clang on PATH, with llvm-spirv if needed, or that of the package ziglang: pip install 'anyzero[clang]'.
The diagnostics are clang's. Results are cached.
"""
_CONFIG = """\
examples:
  cc program.c $(anyzero config --cflags --libs --rpath) -o program && ./program
  cc program.c $(anyzero config --cflags --libs) && anyzero run -- ./a.out
  cmake -B build -DLevelZero_DIR="$(anyzero config --cmake-dir)"       find_package(LevelZero)
  pkg-config --with-path="$(anyzero config --pkg-config-dir)" --libs level-zero
  anyzero config                   all settings

In C or C++: #include <level_zero/ze_api.h>. In CMake: target_link_libraries(program LevelZero::LevelZero).
A project with a FindLevelZero.cmake of its own: CMAKE_INCLUDE_PATH="$(anyzero config --include-dir)"
CMAKE_LIBRARY_PATH="$(anyzero config --link-dir)" cmake -B build. `anyzero docs c-programs` has the details.
"""
_DOCS = """\
examples:
  anyzero docs                     the pages and their titles
  anyzero docs environment         one page; in a pager, if this is a terminal
  anyzero docs api | grep -A9 Launching
"""
_SPIRV = """\
examples:
  anyzero spirv info kernels.spv             kernels: arguments, lanes and the reason, sizes
  anyzero spirv asm kernels.spv saxpy        the assembly of one kernel
  anyzero spirv dis kernels.spv              the module, one instruction per line
  anyzero spirv passes                       the compiler's passes, in their order

`anyzero spirv COMMAND --help` has the options. FILE is SPIR-V as clang, llvm-spirv or spirv-as write it; - is
standard input. `anyzero docs compiler` explains what you see.
"""
_SPIRV_ASM = """\
examples:
  anyzero spirv asm kernels.spv                          the only kernel, or the names of all
  anyzero spirv asm kernels.spv saxpy | less             the code for this processor
  anyzero spirv asm kernels.spv saxpy --llvm             the optimised LLVM IR
  anyzero spirv asm kernels.spv saxpy --ir               the LLVM IR before LLVM's optimisations
  anyzero spirv asm kernels.spv saxpy --body             the compiler's own form: one work-item, before lanes
  anyzero spirv asm kernels.spv saxpy --after linearise  its form after a pass (anyzero spirv passes lists them)
  anyzero spirv asm kernels.spv saxpy --lanes 1 --cpu haswell
  anyzero spirv asm kernels.spv saxpy --options "-ze-opt-level=1 -g"
  anyzero spirv asm kernels.spv saxpy --output saxpy.s && llvm-mca saxpy.s

The variables of `anyzero docs environment` apply (ANYZERO_LANES, ANYZERO_GATHERS, …); options outrank them.
exit codes: 1 the file or the kernel is invalid (one line says why), 2 several kernels: name one.
"""
_SPIRV_DIS = """\
examples:
  anyzero spirv dis kernels.spv | grep OpEntryPoint
  anyzero spirv dis - < kernels.spv                      from standard input
  diff <(anyzero spirv dis a.spv) <(anyzero spirv dis b.spv)
"""
_SPIRV_PASSES = """\
examples:
  anyzero spirv passes | grep loop
  anyzero spirv asm kernels.spv saxpy --after cse        the kernel as a pass leaves it

`anyzero docs compiler` has the reason for the place of each.
"""
_SPIRV_INFO = """\
examples:
  anyzero spirv info kernels.spv
  anyzero spirv info kernels.spv saxpy --cpu haswell     one kernel, for another processor
  anyzero spirv info kernels.spv --json | jq -r '.kernels[].lanes'

Kernels are compiled, but not run. The exit code is 1 if one of them cannot be compiled.
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = _parser()
    chosen = parser.parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
    if chosen.command is None:
        parser.print_help()
        return 0
    if sys.stderr is None:  # closed: messages would go to standard output, among results
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
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
        # The reader has closed the pipe; the interpreter must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _joined(arguments: list[str]) -> list[str]:
    """Build flags begin with a dash, which the parser takes for options of ours unless they are one word with it."""
    if arguments[:1] not in (["spirv"], ["compile"]) or "--options" not in arguments[:-1]:
        return arguments
    at = arguments.index("--options")
    return [*arguments[:at], f"--options={arguments[at + 1]}", *arguments[at + 2 :]]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="anyzero",
        description=wrapped(_DESCRIPTION, columns=HELP_WIDTH),
        epilog=laid_out(_EXAMPLES),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"anyzero {az.__version__}")
    parser.set_defaults(command=None, failure=1)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    def add(name: str, summary: str, examples: str, command: Callable[[Any], int]) -> argparse.ArgumentParser:
        return _add_kind(commands, name, summary, examples, command)

    show = add("info", "print drivers, devices, tiles, memory and queue groups", _INFO, _info)
    form = show.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as JSON, with all properties")
    form.add_argument("-v", "--verbose", action="store_true", help="all limits and extensions")

    tour = add("demo", "try the default device: commands and kernels, checked and timed, with pictures", _DEMO, _demo)
    tour.add_argument("--device", metavar="SELECTOR", help="which device, as in ANYZERO_DEVICE: 0, cpu:0, 0.1")
    tour.add_argument("--output", metavar="FOLDER", help="the folder for the pictures; default: a new temporary folder")

    start = add("run", "run a program on anyzero's driver", _RUN, _run)
    start.usage = "anyzero run [options] [--] PROGRAM [ARGUMENT …]"
    start.set_defaults(failure=125)
    start.add_argument("-v", "--verbose", action="store_true", help="print on stderr which loader is used, and why")
    _add_choices(start)
    start.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM", help="the program and its arguments")

    record = add(
        "trace", "run a program and record a timeline of its calls and commands", trace_options.EXAMPLES, _trace
    )
    trace_options.add_options(record)
    _add_choices(record)
    record.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM", help="the program and its arguments")

    sample = add(
        "profile", "run a program and show which lines of its kernels take the time", profile_options.EXAMPLES, _profile
    )
    profile_options.add_options(sample)
    _add_choices(sample)
    sample.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM", help="the program and its arguments")

    judge = add("check", "run a program and report its mistakes", check_options.EXAMPLES, _check)
    check_options.add_options(judge)
    _add_choices(judge)
    judge.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM", help="the program and its arguments")

    tell = add("env", "print the variables that make programs use anyzero", _ENV, _env)
    tell.add_argument(
        "--shell", default="sh", choices=["sh", "fish", "github", "json"], help="syntax of the output; default sh"
    )
    _add_choices(tell)

    look = add("doctor", "check the installation, and say how to fix problems", _DOCTOR, _doctor)
    look.add_argument("--json", action="store_true", help="as JSON")

    models = add("npu", "measure models on the NPU", _NPU, _help)
    models.set_defaults(parser=models)
    kinds = models.add_subparsers(title="commands", metavar="COMMAND")
    first = _add_model(
        kinds, "latency", "time to the first inference, with cold and warm caches", _NPU_LATENCY, _npu_latency
    )
    first.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="number of rounds; the median is reported; default 3"
    )
    many = _add_model(kinds, "bench", "latency and throughput", _NPU_BENCH, _npu_bench)
    many.add_argument("--seconds", type=float, default=5.0, metavar="S", help="duration of each measurement; default 5")
    many.add_argument("--requests", type=int, default=0, metavar="N", help="parallel requests; default: the optimum")
    many.add_argument("--compare", action="store_true", help="measure OpenVINO's CPU device as well")
    make = add("compile", "compile OpenCL C to SPIR-V", _COMPILE, _compile)
    make.add_argument("source", metavar="FILE", help="OpenCL C; - is standard input")
    make.add_argument("-o", "--output", metavar="FILE", help="default: FILE with .spv instead of .cl")
    make.add_argument("-D", action="append", default=[], metavar="NAME[=VALUE]", dest="defined", help="define a macro")
    make.add_argument("-I", action="append", default=[], metavar="FOLDER", dest="folders", help="a folder with headers")
    make.add_argument("--options", default="", metavar="FLAGS", help="more options for clang, in quotes")
    tell = add("config", "print what C and C++ compilers and build systems need to know", _CONFIG, _config)
    for name, meaning in OPTIONS.items():
        tell.add_argument(f"--{name}", dest="wanted", action="append_const", const=name, help=meaning)
    member = add("worker", "start a Dask worker for each device", worker_options.EXAMPLES, _worker)
    worker_options.add_options(member)
    read = add("docs", "print a page of the documentation", _DOCS, _docs)
    read.add_argument("topic", nargs="?", metavar="TOPIC", help="the page; without it, a list of pages")
    code = add("spirv", "inspect SPIR-V and the code that it is compiled to", _SPIRV, _help)
    code.set_defaults(parser=code)
    _add_spirv(code.add_subparsers(title="commands", metavar="COMMAND"))
    return parser


def _add_spirv(kinds: Any) -> None:
    def add(name: str, summary: str, examples: str, command: Callable[[Any], int]) -> argparse.ArgumentParser:
        made = _add_kind(kinds, name, summary, examples, command)
        made.add_argument("file", metavar="FILE", help="a SPIR-V module; - is standard input")
        return made

    def add_choices(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("kernel", metavar="KERNEL", nargs="?", help="the kernel")
        parser.add_argument("--lanes", choices=LANES, help="work-items in a vector, as in ANYZERO_LANES")
        parser.add_argument("--cpu", metavar="NAME", help="a processor, by LLVM's name: haswell, znver4, x86-64-v3")
        parser.add_argument("--options", default="", metavar="FLAGS", help="build flags, in quotes: --options=-O0")

    code = add("asm", "print a kernel's assembly", _SPIRV_ASM, _spirv_asm)
    add_choices(code)
    form = code.add_mutually_exclusive_group()
    for name, meaning in (
        ("llvm", "optimised LLVM IR"),
        ("ir", "LLVM IR before optimisation"),
        ("body", "the compiler's own IR"),
    ):
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name, default="asm", help=meaning)
    form.add_argument("--after", metavar="PASS", help="the form after a pass, of each version of the kernel")
    text = add("dis", "print a module, one instruction per line", _SPIRV_DIS, _spirv_dis)
    for each in (code, text):
        each.add_argument("--output", metavar="FILE", help="write here instead of standard output")
    facts = add("info", "print a module's declarations and its compiled kernels", _SPIRV_INFO, _spirv_info)
    add_choices(facts)
    facts.add_argument("--json", action="store_true", help="as JSON")
    _add_kind(kinds, "passes", "print the compiler's passes, in their order", _SPIRV_PASSES, _spirv_passes)


def _add_model(
    kinds: Any, name: str, summary: str, examples: str, command: Callable[[Any], int]
) -> argparse.ArgumentParser:
    made = _add_kind(kinds, name, summary, examples, command)
    made.add_argument("model", metavar="MODEL", help="the file of a model: OpenVINO IR (.xml), ONNX, …")
    made.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a property of the compiled model; repeatable",
    )
    made.add_argument(
        "--shape", default="", metavar="SHAPES", help="shapes of the inputs, where the model leaves them open"
    )
    made.add_argument("--json", action="store_true", help="as JSON")
    return made


def _add_kind(
    kinds: Any, name: str, summary: str, examples: str, command: Callable[[Any], int]
) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = kinds.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=laid_out(examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(command=command)
    return made


def _add_choices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--devices", metavar="D", help="the devices, as in ANYZERO_DEVICES: cpu:tiles=2")
    parser.add_argument("--profile", metavar="P", help="the identity that they report, as in ANYZERO_PROFILE")
    parser.add_argument(
        "--loader",
        metavar="L",
        choices=["ours", "system"],
        help="which libze_loader.so.1 to use; default: the system's if it is new enough, else ours",
    )


# Each command imports only the modules that it needs: numpy alone takes longer than all that `run` does.


def _info(chosen: argparse.Namespace) -> int:
    from anyzero.tools import info

    return info.run(as_json=chosen.json, verbose=chosen.verbose)


def _demo(chosen: argparse.Namespace) -> int:
    from anyzero.tools import demo

    return demo.run(chosen.device, chosen.output)


def _program(command: str, chosen: argparse.Namespace) -> list[str]:
    """The program that a command is to run; nothing, after a message, where none is given."""
    program: list[str] = chosen.program[1:] if chosen.program[:1] == ["--"] else chosen.program
    if not program:
        reason = f"no program is given (anyzero {command} --help has examples)"
        print(f"anyzero {command}: error: {reason}", file=sys.stderr)
    return program


def _run(chosen: argparse.Namespace) -> int:
    from anyzero.tools import run

    program = _program("run", chosen)
    if not program:
        return 2
    return run.run(
        program, devices=chosen.devices, profile=chosen.profile, loader=chosen.loader, verbose=chosen.verbose
    )


def _trace(chosen: argparse.Namespace) -> int:
    from anyzero.tools import trace

    program = _program("trace", chosen)
    if not program:
        return 2
    return trace.run(
        program,
        output=chosen.output,
        tables=chosen.summary,
        devices=chosen.devices,
        profile=chosen.profile,
        loader=chosen.loader,
    )


def _profile(chosen: argparse.Namespace) -> int:
    from anyzero.tools import profile

    program = _program("profile", chosen)
    return profile.run(program, chosen) if program else 2


def _check(chosen: argparse.Namespace) -> int:
    from anyzero.checking.rules import KINDS
    from anyzero.tools import check

    unknown = [] if chosen.only is None else [kind for kind in chosen.only.split(",") if kind not in (*KINDS, "all")]
    if unknown:
        reason = f"there is no check {unknown[0]!r}; there are {', '.join(KINDS)}, and all"
        print(f"anyzero check: error: {reason} (anyzero check --help has examples)", file=sys.stderr)
        return 2
    program = _program("check", chosen)
    if not program:
        return 2
    return check.run(
        program,
        kinds=chosen.only,
        stop=chosen.stop,
        form=chosen.format,
        output=chosen.output,
        devices=chosen.devices,
        profile=chosen.profile,
        loader=chosen.loader,
    )


def _env(chosen: argparse.Namespace) -> int:
    from anyzero.tools import env

    return env.run(chosen.shell, devices=chosen.devices, profile=chosen.profile, loader=chosen.loader)


def _doctor(chosen: argparse.Namespace) -> int:
    from anyzero.tools import doctor

    return doctor.run(as_json=chosen.json)


def _help(chosen: argparse.Namespace) -> int:
    chosen.parser.print_help()
    return 0


def _npu_latency(chosen: argparse.Namespace) -> int:
    from anyzero.tools import npu

    return npu.latency(
        chosen.model, config=chosen.config, shape=chosen.shape, repeat=max(chosen.repeat, 1), as_json=chosen.json
    )


def _npu_bench(chosen: argparse.Namespace) -> int:
    from anyzero.tools import npu

    return npu.bench(
        chosen.model,
        config=chosen.config,
        shape=chosen.shape,
        seconds=chosen.seconds,
        requests=chosen.requests,
        compare=chosen.compare,
        as_json=chosen.json,
    )


def _config(chosen: argparse.Namespace) -> int:
    from anyzero.tools import config

    return config.run(chosen.wanted or [])


def _worker(chosen: argparse.Namespace) -> int:
    from anyzero.tools import worker

    return worker.run(chosen)


def _docs(chosen: argparse.Namespace) -> int:
    from anyzero.tools import pages

    return pages.run(chosen.topic)


def _compile(chosen: argparse.Namespace) -> int:
    import shlex

    from anyzero.tools import opencl_c

    defined = [f"-D{each}" for each in chosen.defined]
    folders = [part for each in chosen.folders for part in ("-I", each)]
    return opencl_c.run(chosen.source, chosen.output, [*defined, *folders, *shlex.split(chosen.options)])


def _spirv_asm(chosen: argparse.Namespace) -> int:
    from anyzero.tools import spirv

    return spirv.asm(
        chosen.file,
        chosen.kernel,
        form=chosen.form,
        after=chosen.after,
        lanes=_lanes(chosen),
        cpu=chosen.cpu,
        flags=chosen.options,
        output=chosen.output,
    )


def _spirv_passes(_: argparse.Namespace) -> int:
    from anyzero.tools import spirv

    return spirv.passes()


def _lanes(chosen: argparse.Namespace) -> int | None:
    return None if chosen.lanes in (None, "auto") else int(chosen.lanes)


def _spirv_dis(chosen: argparse.Namespace) -> int:
    from anyzero.tools import spirv

    return spirv.dis(chosen.file, output=chosen.output)


def _spirv_info(chosen: argparse.Namespace) -> int:
    from anyzero.tools import spirv

    return spirv.info(
        chosen.file, chosen.kernel, lanes=_lanes(chosen), cpu=chosen.cpu, flags=chosen.options, as_json=chosen.json
    )
