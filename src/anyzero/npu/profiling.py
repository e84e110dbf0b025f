"""Layer times in OpenVINO's form."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Final

import anyzero as az

__all__ = ["ProfilingInfo", "Status", "info_of"]


class Status(Enum):
    """The execution status of a layer."""

    NOT_RUN = 0
    OPTIMIZED_OUT = 1
    EXECUTED = 2


_STATES: Final = {
    "not run": Status.NOT_RUN,
    "optimized out": Status.OPTIMIZED_OUT,
    "executed": Status.EXECUTED,
}


@dataclass(frozen=True, slots=True)
class ProfilingInfo:
    """One layer of one inference."""

    node_name: str
    node_type: str
    exec_type: str
    status: Status
    real_time: timedelta
    cpu_time: timedelta


def info_of(layers: list[az.LayerTime]) -> list[ProfilingInfo]:
    """Layer times with OpenVINO's names and units."""
    return [
        ProfilingInfo(
            node_name=each.name,
            node_type=each.type,
            exec_type=_executor(each),
            status=_STATES[each.status],
            real_time=timedelta(microseconds=each.duration_ns / 1000),
            cpu_time=timedelta(microseconds=each.software_ns / 1000),
        )
        for each in layers
    ]


def _executor(layer: az.LayerTime) -> str:
    """The unit that did most of the work."""
    shares = {"DPU": layer.dpu_ns, "SW": layer.software_ns, "DMA": layer.dma_ns}
    return max(shares, key=lambda name: shares[name]) if any(shares.values()) else ""
