"""The options of `anyzero worker`: those of `dask worker` that job systems pass, and some for devices."""

from __future__ import annotations

import argparse
from typing import Final

__all__ = ["EXAMPLES", "add_options"]

EXAMPLES: Final = """\
examples:
  anyzero worker tcp://node:8786                         one worker for each device or tile of this machine
  anyzero worker tcp://node:8786 --devices cpu:tiles=4   four workers, each on a quarter of the processors
  anyzero worker tcp://node:8786 --device 0.1 --device npu
  anyzero worker tls://node:8786 --tls-ca-file CA --tls-cert CERT --tls-key KEY

The scheduler is Dask's: `dask scheduler` starts one. It needs Dask: pip install 'anyzero[cluster]'. `anyzero docs
cluster` shows SLURM and Kubernetes.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add them to the parser of the command."""
    add = parser.add_argument
    add(
        "scheduler", nargs="?", metavar="SCHEDULER", help="its address, tcp://host:8786; default DASK_SCHEDULER_ADDRESS"
    )
    add("--scheduler-file", metavar="FILE", help="the file that the scheduler wrote its address to")
    add(
        "--device", action="append", dest="chosen", metavar="SELECTOR", help="a device or tile: 0, 0.1, npu; repeatable"
    )
    add("--devices", metavar="D", help="the devices of this machine, as in ANYZERO_DEVICES: cpu:tiles=4")
    add("--name", metavar="NAME", help="the worker's name; several get NAME-0, NAME-1, …")
    add("--nthreads", type=int, default=1, metavar="N", help="tasks at a time on a worker; default 1")
    add(
        "--memory-limit",
        default="auto",
        metavar="SIZE",
        help="host memory of a worker: 4GiB; default: by device",
    )
    add("--device-memory-limit", metavar="SIZE", help="values beyond it move to the host; default: by the device")
    add("--resources", default="", metavar="R", help="Dask resources besides device and backend: NAME=2,OTHER=1")
    add("--local-directory", metavar="FOLDER", help="the folder for values that are spilled to disk")
    add("--host", metavar="HOST", help="the address to listen on; default by --interface")
    add("--interface", metavar="NAME", help="the network interface: eth0, ib0")
    add("--protocol", metavar="NAME", help="tcp, tls, …; default that of the scheduler")
    add("--tls-ca-file", metavar="FILE", help="certificates of authorities, PEM")
    add("--tls-cert", metavar="FILE", help="this worker's certificate, PEM")
    add("--tls-key", metavar="FILE", help="its private key, PEM")
    add("--death-timeout", metavar="SECONDS", help="end after so long without a scheduler")
    add(
        "--dashboard-address",
        default=":0",
        metavar="ADDRESS",
        help="address of metrics and dashboard; default :0",
    )
    add("--dashboard", action=argparse.BooleanOptionalAction, default=True, help="serve the dashboard")
    add("--nanny", action=argparse.BooleanOptionalAction, default=True, help="restart a worker that ends early")
    add("--nworkers", metavar="N", help="ignored: there is one worker for each device; job systems pass it")
