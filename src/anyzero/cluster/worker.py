"""`anyzero worker SCHEDULER`: the workers of this machine, one for each device or tile.

Job systems start it as a module: ``python -m anyzero.cluster.worker SCHEDULER``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from typing import Any

import dask
from distributed import Nanny, Security, Worker

import anyzero as az
from anyzero.cluster.placement import nanny_options, seats
from anyzero.cluster.worker_options import add_options

__all__ = ["main", "run"]


def run(chosen: argparse.Namespace) -> int:
    """Run the workers until they end, or a signal ends them."""
    if not chosen.scheduler and not chosen.scheduler_file and not dask.config.get("scheduler-address", None):
        raise az.InvalidArgument(
            "no scheduler is named", remedy="Write anyzero worker tcp://HOST:8786; `dask scheduler` starts one."
        )
    try:
        return asyncio.run(_run(chosen))
    except (TimeoutError, OSError) as error:
        raise az.Unavailable(
            f"the scheduler is not reached: {error}", remedy="Does `dask scheduler` run there, and is its port open?"
        ) from error


def _plan(chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """The options of each worker."""
    variables = {"ANYZERO_DEVICES": chosen.devices} if chosen.devices else {}
    places = seats(variables, chosen.chosen)
    given = {name: value for name, value in _tls(chosen).items() if value}
    common = {
        "scheduler_ip": chosen.scheduler,
        "scheduler_file": chosen.scheduler_file,
        "local_directory": chosen.local_directory,
        "host": chosen.host,
        "interface": chosen.interface,
        "protocol": chosen.protocol,
        "death_timeout": chosen.death_timeout,
        "dashboard": chosen.dashboard,
        "dashboard_address": chosen.dashboard_address,
        "security": Security(**given) if given else Security(),
    }
    made = []
    for at, seat in enumerate(places):
        options = nanny_options(
            seat,
            len(places),
            environment=variables,
            memory_limit=chosen.memory_limit,
            device_memory_limit=chosen.device_memory_limit,
            resources=_resources(chosen.resources),
            nthreads=chosen.nthreads,
        )
        name = chosen.name if len(places) == 1 or chosen.name is None else f"{chosen.name}-{at}"
        made.append({**common, **options, "name": name})
    return made


def _tls(chosen: argparse.Namespace) -> dict[str, str | None]:
    return {"tls_ca_file": chosen.tls_ca_file, "tls_worker_cert": chosen.tls_cert, "tls_worker_key": chosen.tls_key}


def _resources(text: str) -> dict[str, float]:
    try:
        parts = [part.partition("=") for part in text.replace(",", " ").split()]
        return {name: float(amount) for name, _, amount in parts}
    except ValueError:
        raise az.InvalidArgument(f"--resources={text}: write NAME=2,OTHER=1") from None


async def _run(chosen: argparse.Namespace) -> int:
    plans = _plan(chosen)
    if not chosen.nanny:
        if len(plans) > 1:
            raise az.InvalidArgument(
                f"--no-nanny is one worker in this process, and there are {len(plans)} devices",
                remedy="Choose one with --device.",
            )
        # The variables would have to be set before this process began.
        if plans[0].pop("env").get("ANYZERO_DEVICES"):
            raise az.InvalidArgument("--no-nanny takes no --devices", remedy="Set ANYZERO_DEVICES.")
    kind = Nanny if chosen.nanny else Worker
    workers = [kind(**plan) for plan in plans]
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)

    async def serve(worker: Any) -> None:
        await worker
        await worker.finished()

    serving: asyncio.Future[Any] = asyncio.gather(*map(serve, workers))
    stopped: asyncio.Future[Any] = loop.create_task(ended.wait())
    try:
        await asyncio.wait([serving, stopped], return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
    finally:
        stopped.cancel()
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError, asyncio.TimeoutError):
            await serving
        await asyncio.gather(*(worker.close() for worker in workers), return_exceptions=True)
    return 0


def main(arguments: list[str] | None = None) -> int:
    """The command as a module."""
    parser = argparse.ArgumentParser(prog="python -m anyzero.cluster.worker", description=__doc__)
    add_options(parser)
    try:
        return run(parser.parse_args(arguments))
    except (az.Error, az.ConfigError) as error:
        print(f"anyzero worker: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
