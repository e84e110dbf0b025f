"""`anyzero trace`: run a program, and show its calls of the driver and their times."""

from __future__ import annotations

import sys
from pathlib import Path

from anyzero.tools.run import OWN_FAILURE, NotStartedError, folder_of_results, run_beside, show, unwritable
from anyzero.tracing import summary
from anyzero.tracing.recording import read_folder
from anyzero.tracing.session import is_page, save

__all__ = ["run"]


def run(
    command: list[str],
    *,
    output: str | None,
    tables: bool,
    devices: str | None,
    profile: str | None,
    loader: str | None,
) -> int:
    """Run the program to its end and write the recording; return the program's exit code."""
    path = Path(output) if output else None if tables else Path("trace.json")
    if why := unwritable(path):
        print(f"anyzero trace: error: {why}", file=sys.stderr)
        return OWN_FAILURE
    try:
        with folder_of_results("trace") as folder:
            added = {"ANYZERO_TRACE": str(folder)}
            code = run_beside(command, added, devices=devices, profile=profile, loader=loader)
            recordings = read_folder(folder, lambda why: print(f"anyzero trace: left out: {why}", file=sys.stderr))
    except NotStartedError as error:
        return error.code
    if not recordings:
        why = "the program did not use the driver of this package, or has said what prevents a recording"
        print(f"anyzero trace: nothing recorded: {why}", file=sys.stderr)
        return code
    if any(each.dropped for each in recordings):
        print("anyzero trace: records are missing: the temporary folder was full (TMPDIR)", file=sys.stderr)
    if path is not None:
        try:
            save(recordings, path)
        except OSError as error:
            print(f"anyzero trace: error: {path} cannot be written: {error.strerror}", file=sys.stderr)
            code = code or OWN_FAILURE
        else:
            print(f"anyzero trace: {path} ({_hint(path)})", file=sys.stderr)
    if tables:
        failed = show("trace", "\n".join([*summary.tables(recordings), ""]))
        code = code or failed
    return code


def _hint(path: Path) -> str:
    return "open it in a browser" if is_page(path) else "open it in https://ui.perfetto.dev"
