"""Modules as AdaptiveCpp's compiler makes them, whose results are compared with numpy's.

AdaptiveCpp itself is in no registry that `make clients` fetches from, so the modules lie among those of the tests.
`python -m clients.adaptivecpp` runs them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from clients.client import Client, Command, Side
from clients.place import ROOT

__all__ = ["ADAPTIVECPP"]

PREFIX = "sscp_"


def _command(python: Path, count: int) -> Command:
    folders = f"{ROOT}:{ROOT / 'clients' / 'inside'}"
    return [str(python), "-m", "clients.adaptivecpp"], {"SAMPLE": str(count), "PYTHONPATH": folders}


ADAPTIVECPP = Client(
    name="adaptivecpp",
    title="modules as AdaptiveCpp's compiler makes them, beside numpy",
    environment="",
    packages=(),
    version_of=(),
    ours=Side("anyzero", _command),
    peer=None,
    sample=0,
    slice=2,
)


def check(name: str) -> None:
    """Run a kernel of the tests and compare what it wrote."""
    import numpy as np

    import anyzero as az
    from tests.kernels.suite import case

    each = case(name)
    with az.device("cpu").context() as ctx:
        kernel = ctx.module(each.spv.read_bytes())[each.kernel]
        buffers = [ctx.to_device(array) for array in each.arguments()]
        with ctx.immediate() as lst:
            kernel[each.global_size, each.group_size](*buffers, on=lst)
        for place, expected in each.expected(each.arguments()).items():
            assert np.array_equal(buffers[place].copy_to(), expected)


def main() -> None:
    import cases

    from tests.kernels.suite import CASES

    cases.run({each.name: partial(check, each.name) for each in CASES if each.name.startswith(PREFIX)})


if __name__ == "__main__":
    main()
