"""What is measured of the NPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["BEGINNINGS", "INFERENCES", "MODELS", "Beginning", "Inference", "select"]

INFERRING: Final = "inference through OpenVINO, NPU and CPU device in turns"
BEGINNING: Final = "first inference, 50 MB of weights, a process each"


@dataclass(frozen=True, slots=True)
class Inference:
    """One model, used in one way, on both devices."""

    key: str
    title: str
    model: str
    throughput: bool = False
    """Many requests at a time instead of one after the other."""
    at_least: float | None = 0.95
    """How fast the NPU must be, relative to the CPU device."""
    overhead: float | None = None
    """Nanoseconds that an inference may cost more than on the CPU device."""
    group: str = INFERRING


@dataclass(frozen=True, slots=True)
class Beginning:
    """One way to a first inference."""

    key: str
    title: str
    at_least: float | None = None
    """How many times faster than the very first it must be."""
    weightless: bool = False
    """No weights may be copied on this way."""
    group: str = BEGINNING


INFERENCES: Final = (
    Inference("npu_tiny", "tiny model: infer", "tiny", at_least=None, overhead=30_000),
    Inference("npu_latency_residual", "convolutions: infer", "residual"),
    Inference("npu_latency_transformer", "attention: infer", "transformer"),
    Inference("npu_latency_mlp", "160 MB of weights: infer", "deep_mlp"),
    Inference("npu_throughput_residual", "convolutions: queue", "residual", throughput=True),
    Inference("npu_throughput_transformer", "attention: queue", "transformer", throughput=True),
    Inference("npu_throughput_mlp", "160 MB of weights: queue", "deep_mlp", throughput=True),
)

BEGINNINGS: Final = (
    Beginning("npu_feil", "first ever: compile, infer"),
    Beginning("npu_fil_driver", "the driver's cache has it", at_least=3),
    Beginning("npu_fil_folder", "OpenVINO's CACHE_DIR has it", at_least=3),
    Beginning("npu_fil_import", "import of an exported blob", at_least=3, weightless=True),
    Beginning("npu_first_cpu", "CPU device: compile, infer"),
)

_SIZES: Final[Mapping[str, tuple[str, Mapping[str, int]]]] = {
    "tiny": ("tiny", {}),
    "residual": ("residual", {"channels": 64, "size": 48, "blocks": 4}),
    "transformer": ("transformer", {"length": 128, "width": 384, "heads": 6}),
    "deep_mlp": ("mlp", {"width": 1024, "layers": 40}),
    "mlp": ("mlp", {"width": 1024, "layers": 12}),
}


def _maker(name: str, sizes: Mapping[str, int]) -> Callable[[], Any]:
    def make() -> Any:
        # Only the processes that measure need OpenVINO.
        from benchmarks.npu import networks

        return getattr(networks, name)(**sizes)

    return make


MODELS: Final = {key: _maker(name, sizes) for key, (name, sizes) in _SIZES.items()}
"""The second, third and fourth take a millisecond or more."""

LARGE: Final = "mlp"
"""The one whose beginning is measured."""


def select(text: str) -> tuple[Inference | Beginning, ...]:
    """The items whose key, title or group holds `text`."""
    everything: tuple[Inference | Beginning, ...] = (*INFERENCES, *BEGINNINGS)
    return tuple(item for item in everything if text.lower() in f"{item.key} {item.title} {item.group}".lower())
