"""TLS: who has no certificate of the cluster's authority gets no byte to a worker."""

from __future__ import annotations

import asyncio
import pickle
import re
import ssl
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, Scheduler, Security, Worker

import anyzero as az
from anyzero.cluster.worker_setup import WorkerSetup
from tests.cluster import tasks

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "src" / "anyzero" / "cluster"


class Bomb:
    """What an attacker sends: unpickled, it writes a file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return open, (self.path, "w")


async def answer(address: str, message: bytes, context: ssl.SSLContext | None) -> bytes:
    """What the other side says to a message, until it hangs up."""
    host, port = re.fullmatch(r"\w+://(.+):(\d+)", address).groups()  # type: ignore[union-attr]
    try:
        reader, writer = await asyncio.open_connection(host, int(port), ssl=context)
        writer.write(len(message).to_bytes(8, "little") + message)
        await writer.drain()
        return await reader.read()
    except (ssl.SSLError, ConnectionError):
        return b""


def test_only_holders_of_a_certificate_are_heard(tmp_path: Path) -> None:
    async def run() -> None:
        security = Security.temporary()
        stranger = Security.temporary()  # of another authority
        options = {"security": security, "host": "127.0.0.1", "dashboard": False, "dashboard_address": "127.0.0.1:0"}
        async with (
            Scheduler(port=0, protocol="tls://", **options) as scheduler,
            Worker(scheduler.address, nthreads=1, plugins=[WorkerSetup()], **options) as worker,
            Client(scheduler.address, security=security, asynchronous=True) as client,
        ):
            assert worker.address.startswith("tls://")
            x = await client.submit(tasks.counted, 10)
            np.testing.assert_array_equal(x.copy_to(), np.arange(10, dtype=np.float32))

            marker = tmp_path / "exploded"
            bomb = pickle.dumps(Bomb(str(marker)))
            without = ssl.create_default_context()
            without.check_hostname, without.verify_mode = False, ssl.CERT_NONE
            with_another = stranger.get_connection_args("client")["ssl_context"]
            with_another.check_hostname, with_another.verify_mode = False, ssl.CERT_NONE
            for address in (scheduler.address, worker.address):
                for context in (None, without, with_another):
                    # Dask greets those that it trusts; these get nothing but perhaps an alert of TLS.
                    assert b"compression" not in await answer(address, bomb, context)
            assert not marker.exists()
            assert (await client.submit(tasks.total, x)) == 45.0

    asyncio.run(run())


def test_a_cluster_with_tls_is_one_argument() -> None:
    security = Security.temporary()
    made: dict[str, Any] = {}

    def remember(self: Any, **options: Any) -> None:
        made.update(options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("distributed.SpecCluster.__init__", remember)
        az.cluster.LocalZeroCluster(security=security, topology="cpu")
    assert made["scheduler"]["options"]["protocol"] == "tls://"
    assert made["scheduler"]["options"]["security"] is security
    assert made["workers"][0]["options"]["security"] is security
    assert made["workers"][0]["options"]["protocol"] == "tls://"


def test_nothing_is_unpickled_but_what_dask_delivers() -> None:
    # Both are reached from a pickle that Dask's own comms delivered; files between workers are JSON.
    allowed = {"kernels.py": 1, "replica.py": 1}
    calls = re.compile(r"\b(?:cloud)?pickle\.loads?\(")
    found = {path.name: len(calls.findall(path.read_text())) for path in PACKAGE.glob("*.py")}
    # Examples in docstrings are the reader's own.
    assert {name: count for name, count in found.items() if count and name not in ("registration.py",)} == {
        "kernels.py": allowed["kernels.py"] + 2,
        "replica.py": allowed["replica.py"],
    }
