"""`anyzero run`: start a program that then uses anyzero."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from anyzero.tools.environment import compose
from anyzero.tools.onnxruntime import INSTALL, missing_openvino_of_program

__all__ = [
    "NOT_EXECUTABLE",
    "NOT_FOUND",
    "OWN_FAILURE",
    "NotStartedError",
    "folder_of_results",
    "run",
    "run_beside",
    "run_to_end",
    "show",
    "unwritable",
]

OWN_FAILURE = 125
"""The exit status of env, timeout and similar programs for a failure of their own, not of the program they start."""
NOT_EXECUTABLE = 126
NOT_FOUND = 127


def run(command: list[str], *, devices: str | None, profile: str | None, loader: str | None, verbose: bool) -> int:
    """Become the program; return an exit code only where that is not possible."""
    variables = compose(os.environ, devices=devices, profile=profile, loader=loader)
    if verbose:
        print(f"anyzero: loader {variables.reason}", file=sys.stderr)
        for name, value in sorted(variables.changes.items()):
            print(f"anyzero: {name}{' is unset' if value is None else f'={value}'}", file=sys.stderr)
    environ = variables.applied_to(os.environ)
    if found := missing_openvino_of_program(command[0], environ):
        print(
            f"anyzero: onnxruntime-openvino {found} finds no openvino and uses its CPU provider: {INSTALL}",
            file=sys.stderr,
        )
    if _python_set_the_locale():
        environ.pop("LC_CTYPE", None)
    _restore_signals()
    sys.stdout.flush()
    sys.stderr.flush()
    program = command[0]
    try:
        os.execvpe(program, command, environ)
    except OSError as error:
        return _refused(program, error)
    except ValueError:  # no name at all
        print(f"anyzero: {program!r}: no such program", file=sys.stderr)
        return NOT_FOUND


class NotStartedError(Exception):
    """A program cannot be started; the reason has been printed."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code
        """The exit code that says so."""


def run_to_end(command: list[str], environ: Mapping[str, str]) -> int:
    """Run a program beside this one; return its exit code, or 128 and the number of the signal that ended it.

    Signals of the terminal are for the program, and a request to end is passed on to it. Raises NotStartedError.
    """
    try:
        # It gets what it would without a program in between: descriptors that a shell opens for it, as with <(…).
        program = subprocess.Popen(command, env=environ, close_fds=False)
    except OSError as error:
        raise NotStartedError(_refused(command[0], error)) from error

    def pass_on(number: int, frame: FrameType | None) -> None:
        program.send_signal(number)

    chosen: dict[int, Any] = dict.fromkeys((signal.SIGINT, signal.SIGQUIT), signal.SIG_IGN)
    chosen |= dict.fromkeys((signal.SIGTERM, signal.SIGHUP), pass_on)
    before = {number: signal.signal(number, handler) for number, handler in chosen.items()}
    try:
        code = program.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 128 - code if code < 0 else code


def unwritable(path: Path | None) -> str:
    """Why a program's result cannot be written there, said before the program runs; empty if it may be possible."""
    if path is None:
        return ""
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    if path.is_dir():
        return f"{path} is a folder"
    return "" if os.access(path if path.exists() else path.parent, os.W_OK) else f"{path} cannot be written"


@contextmanager
def folder_of_results(command: str) -> Iterator[Path]:
    """A temporary folder that the processes of the program write into. Raises NotStartedError."""
    try:
        # A process that outlives the program may write while the folder is removed.
        made = tempfile.TemporaryDirectory(prefix=f"anyzero-{command}-", ignore_cleanup_errors=True)
    except OSError as error:
        print(f"anyzero {command}: error: no temporary folder, set TMPDIR to one: {error.strerror}", file=sys.stderr)
        raise NotStartedError(OWN_FAILURE) from error
    with made as folder:
        yield Path(folder)


def show(command: str, text: str) -> int:
    """Write a result to standard output; return 0, or OWN_FAILURE after a message where that is not possible."""
    why = "it is closed"
    try:
        if sys.stdout is not None:
            if isinstance(sys.stdout, io.TextIOWrapper):
                sys.stdout.reconfigure(errors="backslashreplace")  # the report may have any characters
            sys.stdout.write(text)
            sys.stdout.flush()
            return 0
    except BrokenPipeError:  # the reader has seen enough
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        why = error.strerror or str(error)
    print(f"anyzero {command}: error: standard output cannot be written: {why}", file=sys.stderr)
    return OWN_FAILURE


def _drop_output() -> None:
    # The interpreter tries to write the rest when it ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run_beside(
    command: list[str],
    added: Mapping[str, str],
    *,
    devices: str | None,
    profile: str | None,
    loader: str | None,
) -> int:
    """`run_to_end` with the driver of this package and these variables. Raises NotStartedError."""
    variables = compose(os.environ, devices=devices, profile=profile, loader=loader)
    environ = variables.applied_to(os.environ)
    if _python_set_the_locale():
        environ.pop("LC_CTYPE", None)
    return run_to_end(command, {**environ, **added})


def _python_set_the_locale() -> bool:
    """Whether LC_CTYPE is there only because Python prefers UTF-8 to the C locale; the program may not."""
    try:
        given = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return not any(each.startswith(b"LC_CTYPE=") for each in given)


def _restore_signals() -> None:
    # Python ignores these, and a program would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def _refused(program: str, error: OSError) -> int:
    # A file whose interpreter is missing counts as not found too, but needs a different message.
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        there = os.sep in program and Path(program).exists()
        print(f"anyzero: {program}: {'its interpreter is missing' if there else 'no such program'}", file=sys.stderr)
        return NOT_FOUND
    unknown = error.errno == errno.ENOEXEC
    why = "not a program for this machine, or a script without #!" if unknown else error.strerror
    print(f"anyzero: {program}: cannot be started: {why}", file=sys.stderr)
    return NOT_EXECUTABLE
