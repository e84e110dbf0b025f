"""Runs the suite on an OpenCL implementation: whether the kernels, and what is expected of them, are right.

    python -m tests.kernels.through_opencl [--source] [name …]

Needs pyopencl and one platform, chosen by OCL_ICD_VENDORS; `benchmarks/kernels/peers.py` knows where to get some.
What the platform does not take as SPIR-V is built from the source.
"""

from __future__ import annotations

import sys

from benchmarks.kernels.case import Case
from benchmarks.kernels.opencl import OpenCL
from tests.kernels.suite import CASES

DIFFERENT = {
    "integer_builtins_builtins_": "Intel's mad_sat of 32 and 64 bits overflows in between",
    "conversions_from_float": "Intel converts nan to the largest uint",
    "pointers_spaces": "on a CPU all memory is one",
}
"""Known to be right here and different elsewhere."""


def verdict(opencl: OpenCL, case: Case) -> str | None:
    """What is wrong; None when nothing is."""
    try:
        prepared = opencl.prepare(case)
        prepared.run()
        return case.mismatch(prepared.results())
    except Exception as error:
        return f"{case.name}: {type(error).__name__}: {str(error)[:300]}"


def main(arguments: list[str]) -> int:
    names = [name for name in arguments if name != "--source"]
    spirv, source = OpenCL(), OpenCL(from_source=True)
    print(spirv.name)
    chosen = [case for case in CASES if not names or any(name in case.name for name in names)]
    wrong = different = 0
    for case in chosen:
        report = None if "--source" in arguments else verdict(spirv, case)
        if "--source" in arguments or (report and "BUILD_PROGRAM_FAILURE" in report):
            report = verdict(source, case)
        if report is None:
            continue
        reason = next((text for name, text in DIFFERENT.items() if case.name.startswith(name)), None)
        different += reason is not None
        wrong += reason is None
        print(f"{report} [{reason}]" if reason else report)
    print(f"{len(chosen) - wrong - different} of {len(chosen)} are right, {different} known to differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
