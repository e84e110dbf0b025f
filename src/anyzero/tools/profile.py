"""`anyzero profile`: run a program, and show the time that its kernels spend by source line."""

from __future__ import annotations

import json
import sys
import tempfile
from argparse import Namespace
from pathlib import Path

from anyzero.profiling import report
from anyzero.profiling.samples import read_folder
from anyzero.tools.roofline import measure
from anyzero.tools.run import OWN_FAILURE, NotStartedError, run_beside

__all__ = ["run"]


def run(command: list[str], chosen: Namespace) -> int:
    """Run the program to its end and print the report; return the program's exit code."""
    if not 1 <= chosen.rate <= 20_000:
        print(f"anyzero profile: error: {chosen.rate} samples a second; it takes 1 to 20000", file=sys.stderr)
        return OWN_FAILURE
    with tempfile.TemporaryDirectory(prefix="anyzero-profile-") as folder:
        choices = {"devices": chosen.devices, "profile": chosen.profile, "loader": chosen.loader}
        wanted = f"{chosen.rate}:{chosen.clock}:{'lanes' if chosen.lanes else 'none'}:{folder}"
        try:
            code = run_beside(command, {"ANYZERO_SAMPLES": wanted}, **choices)
        except NotStartedError as error:
            return error.code
        profiles = read_folder(Path(folder), lambda why: print(f"anyzero profile: left out: {why}", file=sys.stderr))
    if not any(each.total for each in profiles):
        print("anyzero profile: the program ran no kernel on the driver of this package", file=sys.stderr)
        return code
    machine = None if chosen.no_roofline else measure()
    only = chosen.kernel
    if chosen.json:
        made = report.as_json(profiles, only=only, machine=machine.as_json() if machine else None)
        print(json.dumps(made, indent=2))
    else:
        most = 12 if only is None else sys.maxsize
        print("\n".join(report.tables(profiles, only=only, most=most, machine=str(machine or ""))))
    return code
