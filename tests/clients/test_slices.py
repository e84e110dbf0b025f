"""A few tests of each client in `clients/`, where its packages are there: `make clients` fetches them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from clients import place
from clients.client import Client
from clients.listed import CLIENTS


@pytest.mark.parametrize("client", [each for each in CLIENTS if each.slice], ids=lambda client: client.name)
def test_a_slice_of_a_client(client: Client) -> None:
    if client.packages and not place.is_there(client.environment, client.packages):
        pytest.skip(f"{', '.join(client.packages)}: not in build/clients; `make clients` fetches them")
    done = subprocess.run(
        [sys.executable, "-m", "clients", "--slice", "--fresh", "--only", client.name],
        cwd=place.ROOT,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
