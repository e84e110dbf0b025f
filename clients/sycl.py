"""dpctl and dpnp: SYCL's runtime, Unified Runtime's adapters for Level Zero, oneMKL. The peer: Intel's CPU runtime."""

from __future__ import annotations

from pathlib import Path

from clients.client import Client, Command, Side
from clients.place import ROOT, through_anyzero

__all__ = ["DPCTL", "DPNP", "ENVIRONMENT", "PACKAGES", "on_intel"]

ENVIRONMENT = "sycl"
PACKAGES = ("dpctl==0.22.1", "dpnp==0.20.0", "intel-opencl-rt", "pytest", "scipy", "cython", "setuptools")


QUICK = 30
QUICK_PARTS = [f"dpnp.tests.third_party.cupy.linalg_tests.{name}" for name in ("test_solve", "test_decomposition")]
"""Collecting all of dpnp's tests takes longer than a slice may; these need oneMKL's solvers, also those for batches."""


def _pytest(python: Path, package: str, count: int) -> tuple[list[str], dict[str, str]]:
    parts = QUICK_PARTS if package == "dpnp.tests" and count == QUICK else [package]
    alone = ["-c", str(ROOT / "clients" / "inside" / "pytest.ini"), "-p", "no:cacheprovider"]
    options = ["-q", *alone, "-p", "recorder", "--pyargs", *parts]
    return [str(python), "-m", "pytest", *options], {"SAMPLE": str(count)}


def _ours(package: str) -> Side:
    def command(python: Path, count: int) -> Command:
        started, variables = _pytest(python, package, count)
        return [*through_anyzero(), *started], {**variables, "ONEAPI_DEVICE_SELECTOR": "level_zero:*"}

    return Side("anyzero", command)


def on_intel(python: Path) -> dict[str, str]:
    """The variables with which SYCL's runtime in that environment uses Intel's CPU runtime."""
    library = python.parents[1] / "lib" / "libintelocl.so"
    return {"OCL_ICD_FILENAMES": str(library), "ONEAPI_DEVICE_SELECTOR": "*:cpu"}


def _intel(package: str) -> Side:
    def command(python: Path, count: int) -> Command:
        started, variables = _pytest(python, package, count)
        return started, variables | on_intel(python)

    return Side("Intel's CPU runtime", command)


DPCTL = Client(
    name="dpctl",
    title="dpctl's own tests, all of them",
    environment=ENVIRONMENT,
    packages=PACKAGES,
    modules=("dpctl",),
    version_of=("dpctl", "intel-sycl-rt"),
    ours=_ours("dpctl"),
    peer=_intel("dpctl"),
    sample=0,
    slice=40,
)

DPNP = Client(
    name="dpnp",
    title="a sample of dpnp's own tests",
    environment=ENVIRONMENT,
    packages=PACKAGES,
    modules=("dpnp",),
    version_of=("dpnp", "mkl"),
    ours=_ours("dpnp.tests"),
    peer=_intel("dpnp.tests"),
    sample=2400,
    slice=QUICK,
)
