"""Configuration of a graph: options for an NPU's compiler, as properties of the CPU plugin.

Nothing is refused: a key asks for speed or for a report, never for other results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ["call_number", "properties", "wants_profiling", "weightless"]

_YES: Final = ("YES", "TRUE", "1")
_NO: Final = ("NO", "FALSE", "0")
_NOTHING: Final = ("", "UNDEFINED")
"""Values that leave the choice to the plugin."""


def _one_of(*values: str) -> Callable[[str], bool]:
    return lambda value: value in values


# Properties that the CPU plugin has under the same name, with the values it accepts; it refuses a model for others.
_PASSED: Final[dict[str, Callable[[str], bool]]] = {
    "PERFORMANCE_HINT": _one_of("LATENCY", "THROUGHPUT", "CUMULATIVE_THROUGHPUT"),
    "PERFORMANCE_HINT_NUM_REQUESTS": lambda value: value.isascii() and value.isdigit() and len(value) < 10,
    "EXECUTION_MODE_HINT": _one_of("PERFORMANCE", "ACCURACY"),
}

# Options that concern an NPU or its compiler, and no processor. The inference precision is among them: NPUs have f16
# and i8, and the CPU plugin chooses what suits this machine. The planner itself reads the options of weightless models.
_WITHOUT_MEANING: Final = frozenset(
    {
        "CACHE_MODE",
        "COMPILATION_NUM_THREADS",
        "DEVICE_ID",
        "ENABLE_WEIGHTLESS",
        "INFERENCE_PRECISION_HINT",
        "LOG_LEVEL",
        "MODEL_PRIORITY",
        "NUM_STREAMS",
        "RUN_INFERENCES_SEQUENTIALLY",
        "WORKLOAD_TYPE",
        "WS_COMPILE_CALL_NUMBER",
        "BATCH_COMPILER_MODE_SETTINGS",
    }
)


def wants_profiling(config: dict[str, str]) -> bool:
    return config.get("PERF_COUNT", "").upper() in _YES


def weightless(config: dict[str, str]) -> bool:
    return config.get("ENABLE_WEIGHTLESS", "").upper() in _YES


def call_number(config: dict[str, str]) -> int | None:
    """The number of the graph of a weightless model; None if the client gives none."""
    given = config.get("WS_COMPILE_CALL_NUMBER", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else None


def properties(config: dict[str, str], remarks: list[str]) -> dict[str, str]:
    """Properties for the CPU plugin's compile_model; unknown keys are left out, with a remark."""
    found = {"PERF_COUNT": "YES"} if wants_profiling(config) else {}
    if config.get("NPU_COMPILER_DYNAMIC_QUANTIZATION", "").upper() in _NO:
        found["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = "0"
    for key, value in config.items():
        if key in _PASSED:
            if _PASSED[key](value):
                found[key] = value
            elif value not in _NOTHING:
                remarks.append(f'warning: {key}="{value[:40]}" is not understood and ignored')
        elif key != "PERF_COUNT" and key not in _WITHOUT_MEANING and not key.startswith("NPU_"):
            remarks.append(f"warning: the configuration key {key[:80]} is not known and ignored")
    return found
