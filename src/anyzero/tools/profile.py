"""`anyzero profile`: run a program, and show the time that its kernels spend by source line."""

from __future__ import annotations

import json
import sys
from argparse import Namespace

import anyzero as az
from anyzero.profiling import report
from anyzero.profiling.samples import read_folder
from anyzero.tools.roofline import Roofline, measure
from anyzero.tools.run import OWN_FAILURE, NotStartedError, folder_of_results, run_beside, show

__all__ = ["run"]


def run(command: list[str], chosen: Namespace) -> int:
    """Run the program to its end and print the report; return the program's exit code."""
    if not 1 <= chosen.rate <= 20_000:
        print(f"anyzero profile: error: {chosen.rate} samples a second; it takes 1 to 20000", file=sys.stderr)
        return OWN_FAILURE
    choices = {"devices": chosen.devices, "profile": chosen.profile, "loader": chosen.loader}
    try:
        with folder_of_results("profile") as folder:
            wanted = f"{chosen.rate}:{chosen.clock}:{'lanes' if chosen.lanes else 'none'}:{folder}"
            code = run_beside(command, {"ANYZERO_SAMPLES": wanted}, **choices)
            profiles = read_folder(folder, lambda why: print(f"anyzero profile: left out: {why}", file=sys.stderr))
    except NotStartedError as error:
        return error.code
    if not any(each.total for each in profiles):
        print("anyzero profile: the program ran no kernel on the driver of this package", file=sys.stderr)
        return code
    machine = None if chosen.no_roofline else _roofline()
    only = chosen.kernel
    if chosen.json:
        made = report.as_json(profiles, only=only, machine=machine.as_json() if machine else None)
        text = json.dumps(made, indent=2)
    else:
        most = 12 if only is None else sys.maxsize
        text = "\n".join(report.tables(profiles, only=only, most=most, machine=str(machine or "")))
    failed = show("profile", f"{text}\n")
    return code or failed


def _roofline() -> Roofline | None:
    """The machine's, or none with a message: a device of little memory has no room for the copy."""
    try:
        return measure()
    except az.Error as error:
        print(f"anyzero profile: no roofline: {error}", file=sys.stderr)
        return None
