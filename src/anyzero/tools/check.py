"""`anyzero check`: run a program, and report its errors."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from anyzero.checking import formats
from anyzero.checking.finding import is_complete, read_folder
from anyzero.checking.session import USUAL
from anyzero.tools.run import OWN_FAILURE, NotStartedError, folder_of_results, run_beside, show, unwritable

__all__ = ["run"]

MISTAKES = 3
"""The exit code for a program that ended well, and in which mistakes were found."""


def run(
    command: list[str],
    *,
    kinds: str | None,
    stop: bool,
    form: str,
    output: str | None,
    devices: str | None,
    profile: str | None,
    loader: str | None,
) -> int:
    """Run the program to its end and report; return its exit code, or MISTAKES."""
    path = Path(output) if output else None
    if why := unwritable(path):
        print(f"anyzero check: error: {why}", file=sys.stderr)
        return OWN_FAILURE
    wanted = ",".join([*(kinds.split(",") if kinds else USUAL), *(["stop"] if stop else [])])
    try:
        with folder_of_results("check") as folder:
            added = {"ANYZERO_CHECK": wanted, "ANYZERO_CHECK_REPORT": str(folder)}
            code = run_beside(command, added, devices=devices, profile=profile, loader=loader)
            findings = read_folder(folder)
            files = list(folder.iterdir())
            complete = all(map(is_complete, files))
            _hand_on(files)
    except NotStartedError as error:
        return error.code
    if path is not None:
        try:
            path.write_text(formats.FORMATS[form](findings), encoding="utf-8")
        except OSError as error:
            print(f"anyzero check: error: {path} cannot be written: {error.strerror}", file=sys.stderr)
            code = code or OWN_FAILURE
    elif form != "text":
        failed = show("check", formats.FORMATS[form](findings))
        code = code or failed
    if not complete:
        print("anyzero check: mistakes are missing here: the temporary folder was full (TMPDIR)", file=sys.stderr)
        code = code or MISTAKES
        if not findings:
            return code
    said = formats.summary(findings) if files else "the program did not use the driver of this package: not checked"
    print(f"anyzero check: {said}", file=sys.stderr)
    return code or (MISTAKES if findings else 0)


def _hand_on(files: list[Path]) -> None:
    """Give the findings to an `anyzero check` that this one runs in: it has replaced its variables for the program."""
    outer = os.environ.get("ANYZERO_CHECK_REPORT")
    if not outer or not Path(outer).is_dir():
        return
    for file in files:
        with suppress(OSError):  # a full temporary folder: this report has them
            shutil.copy(file, Path(outer) / f"{os.getpid()}-{file.name}")
