"""One cluster of two worker processes for all tests of this folder."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import distributed
import pytest

import anyzero as az


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """Two workers, each on a tile; without the dashboard, which takes long to load."""
    with (
        az.cluster.LocalZeroCluster(topology="cpu:tiles=2", dashboard_address=None, memory_limit="1GiB") as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found
        # Dask's own sockets, which are closed later.
        warnings.simplefilter("ignore", ResourceWarning)


@pytest.fixture
def workers(client: Any) -> list[str]:
    """The addresses of both, also after one was killed."""
    client.wait_for_workers(2)
    return sorted(client.scheduler_info()["workers"])
