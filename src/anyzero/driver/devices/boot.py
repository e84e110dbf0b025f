"""Start-up: the engine calls :func:`describe` once and never asks Python about devices again."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from anyzero import cache_folder, config, installed
from anyzero.config import LOG_LEVELS, Config
from anyzero.driver.devices import compute_driver, machine, npu_device, npu_driver, profiles, topology
from anyzero.driver.devices.description import Description, Device, Driver, encode
from anyzero.driver.devices.machine import Machine
from anyzero.driver.devices.properties import describe_device
from anyzero.driver.devices.topology import DeviceShape
from anyzero.installed import OpenVINO
from anyzero.layouts.description import DriverKind

__all__ = ["anywhere", "compose", "current", "describe"]

MACHINES_MEMORY: Final = 0x0005A5A5A5A5A000
MACHINES_THREADS: Final = 0x5A5A5A5A
"""The engine replaces these by the memory and the threads of the machine it runs on."""


def describe() -> bytes:
    """The description of this machine in this environment, as the bytes that the engine reads."""
    return encode(current())


def current() -> Description:
    """The description of this machine in this environment."""
    return compose(config.read(), machine.read(), installed.openvino())


def anywhere() -> bytes:
    """A description for programs that find no Python: it holds only facts that are true on any machine."""
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
    return encode(compose(Config(threads=MACHINES_THREADS), unknown))


def compose(settings: Config, host: Machine, openvino: OpenVINO | None = None) -> Description:
    """The description for these variables on this machine, with the OpenVINO that it has."""
    shapes = [topology.settle(shape, settings, host.memory) for shape in topology.chosen(settings, openvino)]
    # Paths only if the NPU needs them: a description for any machine must not hold paths of this one.
    infers = any(shape.backend == "npu" for shape in shapes)
    numbers, texts = _for_models(settings, openvino) if openvino and infers else ({}, {})
    return Description(
        settings={
            "threads": _threads(shapes, settings),
            "spin_ns": settings.spin_us * 1000,
            "inline_bytes": settings.inline_bytes,
            "kept_bytes": settings.kept_memory,
            "log_level": LOG_LEVELS.index(settings.log),
            "slow_wait_ms": math.ceil(settings.slow_wait * 1000),
            # Rounded up: a limit below a millisecond is still a limit.
            "kernel_timeout_ms": math.ceil(settings.kernel_timeout * 1000),
            "strict": int(settings.strict),
            **numbers,
        },
        texts=texts,
        drivers=tuple(_drivers(shapes, settings, host)),
    )


def _threads(shapes: Sequence[DeviceShape], settings: Config) -> int:
    """The threads of the one pool for all devices: those of the tile that ANYZERO_DEVICE names, or of the largest."""
    named = settings.device
    if named and named.tile is not None:
        known = [each for each in shapes if each.backend != "npu" and named.backend in (None, "gpu", each.backend)]
        if named.index < len(known) and named.tile < known[named.index].tiles:
            return known[named.index].threads_of(named.tile)
    return max(shape.threads or settings.threads for shape in shapes)


def _drivers(shapes: Sequence[DeviceShape], settings: Config, host: Machine) -> Iterator[Driver]:
    profile = profiles.find(settings.profile)
    computing: list[Device] = []
    inferring: list[Device] = []
    seen: Counter[str] = Counter()
    for position, shape in enumerate(shapes):
        if shape.backend == "npu":
            inferring.append(npu_device.describe(shape, host, position=position))
            continue
        index = seen[shape.backend]
        seen[shape.backend] += 1
        computing.append(describe_device(shape, host, profile, position=position, backend_index=index))
    if computing:
        yield Driver(DriverKind.GPU, compute_driver.blobs(profile), compute_driver.extensions(), tuple(computing))
    if inferring:
        yield Driver(DriverKind.NPU, npu_driver.blobs(), npu_driver.extensions(), tuple(inferring))


def _for_models(settings: Config, openvino: OpenVINO) -> tuple[dict[str, int], dict[str, str]]:
    """The settings of the NPU: OpenVINO's library and the cache of models."""
    folder = cache_folder.of(settings)
    numbers = {"npu_cache_bytes": settings.npu_cache_size if settings.cache and folder else 0}
    texts = {"openvino": openvino.library, "openvino_version": openvino.version}
    return numbers, texts | ({"npu_cache": str(folder / "npu")} if folder else {})
