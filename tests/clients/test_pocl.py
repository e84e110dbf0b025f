"""An unmodified third-party client: PoCL, whose Level Zero backend runs OpenCL programs on our driver."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.clients.building import PROGRAMS, ROOT, program
from tests.clients.debian import NEWEST, OLDEST, NotAvailableError, fetched, packages
from tests.clients.ways import Way, debian, environment
from tests.patience import PATIENCE
from tests.thorough import THOROUGH

LLVM = 21
NEEDED = (
    *(
        "libpocl2t64",
        "libpocl2-common",
        "libpocl-devices-level0",
        "ocl-icd-libopencl1",
        "opencl-c-headers",
        "libhwloc15",
    ),
    *(
        f"libllvm{LLVM}",
        f"libclang-cpp{LLVM}",
        f"llvm-spirv-{LLVM}",
        f"libllvmspirvlib{LLVM}.1",
        "libz3-4",
        "libxml2-16",
    ),
    *("libtinfo6", "zlib1g", "liblzma5", "libzstd1", "libudev1", "libbsd0", "libedit2", "libmd0", "libcap2", "libffi8"),
)
"""About 120 MB, most of it LLVM. Older ones start their tools only where a whole Debian is around them."""
WHERE = Path("usr", "lib", "x86_64-linux-gnu")


def start(tool: Path, folders: list[Path]) -> list[str]:
    """A program of that release on its own C library."""
    linker, option, libraries = debian(NEWEST).loader().start or pytest.skip(
        "the machine's C library is newer than PoCL's"
    )
    return [linker, option, ":".join([*map(str, folders), libraries]), str(tool)]


# The first time with THOROUGH=1 it fetches what it needs.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", [Way(), Way(NEWEST)], ids=str)
def test_an_opencl_program_runs_on_our_driver(way: Way, tmp_path: Path) -> None:
    if not THOROUGH and not fetched(NEWEST, *NEEDED):
        pytest.skip(
            "NOT TESTED: PoCL on our driver; make pytest THOROUGH=1 fetches it, 120 MB that take long to unpack"
        )
    try:
        root = packages(NEWEST, *NEEDED)
    except NotAvailableError as error:
        pytest.skip(f"PoCL of Debian's {NEWEST} cannot be had: {error}")
    own = root / WHERE
    linking = ("-I", str(root / "usr" / "include"), "-Wl,--no-as-needed", str(own / "libOpenCL.so.1"), "-lm")
    executable = program(PROGRAMS / "opencl.c", debian(OLDEST), *linking)

    translator = tmp_path / "llvm-spirv"
    command = " ".join(f"'{part}'" for part in start(root / "usr" / "bin" / f"llvm-spirv-{LLVM}", [own]))
    translator.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    translator.chmod(0o755)
    variables = {
        "OCL_ICD_VENDORS": str(next(own.glob("libpocl.so.*.*.*"))),
        "POCL_DEVICES": "level0",
        "POCL_CACHE_DIR": str(tmp_path / "cache"),
        "POCL_PATH_LLVM_SPIRV": str(translator),
        "POCL_DEBUG": "error",
    }
    done = subprocess.run(
        start(executable, [way.loader().folder, own]),
        cwd=ROOT,
        env=environment(way.variables() | variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED" not in done.stdout
    facts = [line for line in done.stdout.splitlines() if line.startswith("ok: ")]
    assert len(facts) == 5, done.stdout
    assert facts[0].startswith("ok: OpenCL has the device anyzero"), facts[0]
