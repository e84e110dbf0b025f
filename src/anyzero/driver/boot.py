"""Start-up: the engine calls :func:`describe` once and never asks Python about devices again."""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

from anyzero import config
from anyzero.config import LOG_LEVELS, Config
from anyzero.driver import compute_driver, machine, profiles, topology
from anyzero.driver.description import Description, Driver, DriverKind, encode
from anyzero.driver.machine import Machine
from anyzero.driver.properties import describe_device

__all__ = ["anywhere", "describe", "plan"]

MACHINES_MEMORY: Final = 0x0005A5A5A5A5A000
MACHINES_THREADS: Final = 0x5A5A5A5A
"""What the engine takes for the memory and the threads of the machine that it is on."""


def describe() -> bytes:
    """Everything that the engine needs to know of the environment and the machine, in the form it reads."""
    return encode(plan(config.read(), machine.read()))


def anywhere() -> bytes:
    """What the engine shows where no Python can call :func:`describe`: nothing that is not so on any machine."""
    unknown = Machine(
        model="without Python",
        clock_mhz=machine.FALLBACK_CLOCK_MHZ,
        vector_bits=128,
        fused_multiply_add=False,
        native_half=False,
        caches=machine.FALLBACK_CACHES,
        cache_line=machine.FALLBACK_LINE,
        memory=MACHINES_MEMORY,
        identity="",
    )
    return encode(plan(Config(threads=MACHINES_THREADS), unknown))


def plan(settings: Config, host: Machine) -> Description:
    """Decide what to show for these variables on this machine."""
    profile = profiles.find(settings.profile)
    shapes = [topology.settle(shape, settings, host.memory) for shape in topology.parse(settings.devices)]
    seen: Counter[str] = Counter()
    devices = []
    for position, shape in enumerate(shapes):
        index = seen[shape.backend]
        seen[shape.backend] += 1
        devices.append(describe_device(shape, host, profile, position=position, backend_index=index))
    return Description(
        settings={
            # One pool serves all devices, so it is as large as the largest of them.
            "threads": max(shape.threads or settings.threads for shape in shapes),
            "spin_ns": settings.spin_us * 1000,
            "inline_bytes": settings.inline_bytes,
            "log_level": LOG_LEVELS.index(settings.log),
            # A limit too short to count as a millisecond is still a limit.
            "kernel_timeout_ms": math.ceil(settings.kernel_timeout * 1000),
        },
        drivers=(Driver(DriverKind.GPU, compute_driver.blobs(profile), compute_driver.extensions(), tuple(devices)),),
    )
