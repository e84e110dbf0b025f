"""`anyzero worker`: this machine's devices for a Dask scheduler."""

from __future__ import annotations

import argparse

import anyzero as az

__all__ = ["run"]


def run(chosen: argparse.Namespace) -> int:
    """Run the workers of this machine until they end."""
    az.cluster.register()  # tells how to install Dask where there is none
    from anyzero.cluster import worker

    return worker.run(chosen)
