"""Settings for compiling and running a model: OpenVINO's keys and values, parsed, checked and typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Literal

from anyzero import errors

__all__ = ["Settings", "key_of", "text_of"]

PipelineKind = Literal["AUTO", "INTEGRATED", "DISCRETE"]
Synchronization = Literal["FENCE", "EVENT"]
WorkloadType = Literal["DEFAULT", "EFFICIENT"]
BatchMode = Literal["AUTO", "COMPILER", "PLUGIN"]
Priority = Literal["LOW", "MEDIUM", "HIGH"]

_YES: Final = {"YES", "TRUE", "1", "ON"}
_NO: Final = {"NO", "FALSE", "0", "OFF"}


_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "performance_hint": ("LATENCY", "THROUGHPUT", "CUMULATIVE_THROUGHPUT", "UNDEFINED"),
    "model_priority": ("MEDIUM", "LOW", "HIGH"),
    "npu_pipeline": ("AUTO", "INTEGRATED", "DISCRETE"),
    "npu_sync": ("FENCE", "EVENT"),
    "workload_type": ("DEFAULT", "EFFICIENT"),
    "npu_batch_mode": ("AUTO", "COMPILER", "PLUGIN"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The plugin's own keys, in lower case; `compiler` has those for the compiler."""

    cache_dir: str = ""
    perf_count: bool = False
    performance_hint: str = "LATENCY"
    performance_hint_num_requests: int = 0
    model_priority: Priority = "MEDIUM"
    npu_pipeline: PipelineKind = "AUTO"
    npu_sync: Synchronization = "FENCE"
    npu_batch_mode: BatchMode = "AUTO"
    npu_batch: int = 1
    run_inferences_sequentially: bool = False
    workload_type: WorkloadType = "DEFAULT"
    npu_bypass_umd_caching: bool = False
    weights_path: str = ""
    compiler: tuple[tuple[str, str], ...] = ()

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """The keys in OpenVINO's spelling."""
        return tuple(each.name.upper() for each in fields(cls) if each.name != "compiler")

    def updated(self, given: Mapping[Any, Any] | None, options: tuple[str, ...]) -> Settings:
        """A copy with other values; `options` are the compiler's keys."""
        own = {each.name: each for each in fields(self)}
        changes: dict[str, Any] = {}
        passed = dict(self.compiler)
        for raw, value in (given or {}).items():
            key = key_of(raw)
            known = own.get(key.lower())
            if known is not None and key != "COMPILER":
                changes[known.name] = _read(key, value, type(getattr(self, known.name)), _WORDS.get(known.name))
            elif key in options:
                passed[key] = text_of(value)
            else:
                raise errors.InvalidArgument(
                    f"{key} is not a property of the NPU",
                    remedy=f"The properties are {', '.join(sorted({*self.keys(), *options}))}.",
                )
        return replace(self, **changes, compiler=tuple(sorted(passed.items())))

    def value(self, key: str) -> Any:
        """The value of a key; raise KeyError for an unknown one."""
        if key in self.keys():
            return getattr(self, key.lower())
        return dict(self.compiler)[key]

    def for_compiler(self, options: tuple[str, ...]) -> dict[str, str]:
        """The options for the compiler: its own keys, and plugin keys that it also knows."""
        shared = {}
        if self.performance_hint != "UNDEFINED" and "PERFORMANCE_HINT" in options:
            shared["PERFORMANCE_HINT"] = self.performance_hint
        return shared | dict(self.compiler)

    @property
    def cache_path(self) -> Path | None:
        """The folder for compiled models, if set."""
        return Path(self.cache_dir).expanduser() if self.cache_dir else None


def key_of(key: Any) -> str:
    """A key as text; OpenVINO's own properties are functions that return it."""
    return str(key() if callable(key) else key).upper()


def text_of(value: Any) -> str:
    """A value as text; members of OpenVINO's enums say their class first."""
    if isinstance(value, bool):
        return "YES" if value else "NO"
    name = getattr(value, "name", None)
    return str(value) if name is None or isinstance(value, str | Path) else str(name)


def _read(key: str, value: Any, kind: type, words: tuple[str, ...] | None) -> Any:
    text = text_of(value)
    if kind is bool:
        if text.upper() in _YES | _NO:
            return text.upper() in _YES
        raise errors.InvalidArgument(f"{key}={text!r}: YES or NO")
    if kind is int:
        try:
            number = int(text)
        except ValueError:
            number = -1
        if number < 0:
            raise errors.InvalidArgument(f"{key}={text!r}: a non-negative integer")
        return number
    if words is not None:
        if text.upper() not in words:
            raise errors.InvalidArgument(f"{key}={text!r} is not one of {', '.join(words)}")
        return text.upper()
    return text
