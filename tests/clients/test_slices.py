"""A few tests of each client in `clients/`: in its own environment, or in this one where it has the modules."""

from __future__ import annotations

import subprocess
import sys

import pytest

from clients import place
from clients.client import Client
from clients.listed import CLIENTS


@pytest.mark.parametrize("client", [each for each in CLIENTS if each.slice], ids=lambda client: client.name)
def test_a_slice_of_a_client(client: Client) -> None:
    if place.at_hand(client.environment, client.packages, client.modules) is None:
        pytest.skip(
            f"NOT TESTED: {client.name} is neither installed nor in build/clients; "
            f"python -m clients --slice --only {client.name} fetches {', '.join(client.packages)} and runs it"
        )
    done = subprocess.run(
        [sys.executable, "-m", "clients", "--slice", "--fresh", "--only", client.name],
        cwd=place.ROOT,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
