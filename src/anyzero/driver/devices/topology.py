"""The set of devices: the grammar of ``ANYZERO_DEVICES``.

    devices = device { "," device }
    device  = backend [ ":" option { "," option } ]
    option  = name "=" value

A comma separates both devices and options. There is no ambiguity, because an option always holds ``=`` before any ``:``
and a device never does: ``cpu:tiles=2,memory=4G,cpu`` is a device with two options and a device with none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from anyzero.config import Config, ConfigError, parse_size
from anyzero.installed import INSTALL_OPENVINO, OLDEST_OPENVINO, OpenVINO, install
from anyzero.lazy_dataclass import dataclass, replace

__all__ = ["BACKENDS", "OPTIONS", "Backend", "DeviceShape", "Option", "chosen", "markdown", "parse", "settle"]

VARIABLE: Final = "ANYZERO_DEVICES"
MAX_DEVICES: Final = 64
"""Devices and tiles together: the engine keeps one bit for each in a word."""
MAX_TILES: Final = 32
MAX_QUEUES: Final = 64
MAX_THREADS: Final = 1024
MIN_TILE_MEMORY: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Backend:
    """A kind of device that the grammar knows."""

    name: str
    meaning: str
    options: tuple[str, ...]
    available: bool = True
    most: int | None = None


_EVERY_OPTION: Final = ("tiles", "memory", "paging", "queues", "copy", "threads")

BACKENDS: Final = (
    Backend("cpu", "the processor of this machine", _EVERY_OPTION),
    Backend("cuda", "an NVIDIA GPU", _EVERY_OPTION, available=False),
    Backend(
        "npu",
        "the processor as an inference device, for OpenVINO's NPU plugin and the graph extension; at most one. "
        f"It needs OpenVINO (`{INSTALL_OPENVINO}`)",
        ("memory", "copy", "threads"),
        most=1,
    ),
)
"""A new device is one line here, and a folder in the engine's ``backends/``."""


@dataclass(frozen=True, slots=True)
class DeviceShape:
    """One device as the user described it; ``None`` leaves the choice to the machine."""

    backend: str
    tiles: int = 1
    memory: int | None = None
    paging: bool = True
    queues: int = 1
    copy: int = 1
    threads: int | None = None

    def threads_of(self, tile: int) -> int:
        """The threads of a tile. With fewer threads than tiles each has one: a device without any could run nothing.

        >>> [DeviceShape("cpu", tiles=3, threads=8).threads_of(tile) for tile in range(3)]
        [3, 3, 2]
        """
        threads = self.threads or 1
        return max(1, threads // self.tiles + (tile < threads % self.tiles))


@dataclass(frozen=True, slots=True)
class Option:
    """One ``name=value`` of a device; `name` is also the field of :class:`DeviceShape`."""

    name: str
    accepts: str
    default: str
    meaning: str
    parse: Callable[[str], Any]


def _count(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit()) or len(text) > 9 or not low <= int(text) <= high:
            raise ValueError(f"takes a whole number from {low} to {high}")
        return int(text)

    return parse


def _memory(text: str) -> int:
    try:
        size = parse_size(text)
    except ValueError as error:
        raise ValueError(f"takes a size such as 4G or 512M ({error})") from None
    if size < MIN_TILE_MEMORY:
        raise ValueError(f"takes at least {MIN_TILE_MEMORY >> 10}K")
    return size


def _switch(text: str) -> bool:
    if text not in ("on", "off"):
        raise ValueError("takes on or off")
    return text == "on"


OPTIONS: Final = (
    Option(
        "tiles",
        f"1 to {MAX_TILES}",
        "1",
        "Sub-devices. They split the device's threads and memory; 1 means none.",
        _count(1, MAX_TILES),
    ),
    Option(
        "memory",
        "a size: `4G`, `512M`",
        "`ANYZERO_MEMORY`",
        "Memory of the whole device, split evenly over its tiles.",
        _memory,
    ),
    Option(
        "paging",
        "`on`, `off`",
        "on",
        "`off` makes it a device without on-demand paging: memory must be made resident before indirect use, and memory"
        " from the system's allocator is not accessible to its kernels.",
        _switch,
    ),
    Option(
        "queues", f"1 to {MAX_QUEUES}", "1", "Physical queues of the compute and copy group.", _count(1, MAX_QUEUES)
    ),
    Option(
        "copy",
        f"0 to {MAX_QUEUES}",
        "1",
        "Physical queues of the copy-only group; 0 omits the group.",
        _count(0, MAX_QUEUES),
    ),
    Option(
        "threads", f"1 to {MAX_THREADS}", "`ANYZERO_THREADS`", "Threads of the whole device.", _count(1, MAX_THREADS)
    ),
)

_ACCEPTS: Final = "backend[:option=value,…][,backend…], for example cpu:tiles=2,memory=4G,cpu"


def parse(text: str) -> tuple[DeviceShape, ...]:
    """Read the value of ``ANYZERO_DEVICES``; raise :class:`~anyzero.config.ConfigError` naming the known words.

    >>> [shape.tiles for shape in parse("cpu:tiles=2,memory=4G,cpu")]
    [2, 1]
    """
    backends = {backend.name: backend for backend in BACKENDS}
    options = {option.name: option for option in OPTIONS}

    def refuse(reason: str) -> ConfigError:
        return ConfigError(VARIABLE, text, reason, _ACCEPTS)

    described: list[tuple[str, dict[str, Any]]] = []
    for item in text.split(","):
        head, colon, rest = item.partition(":")
        if "=" in head:
            option_text = item
            if not described:
                raise refuse(f"the option {item.strip()!r} comes before any device")
        else:
            name, option_text = head.strip(), rest
            backend = backends.get(name)
            if not name:
                raise refuse("a device has no name")
            if backend is None:
                raise refuse(f"{name!r} is not a device; known devices are {', '.join(backends)}")
            if not backend.available:
                ready = ", ".join(other.name for other in BACKENDS if other.available)
                raise refuse(f"{name!r} ({backend.meaning}) is not available in this version; available: {ready}")
            described.append((name, {}))
            if not colon:
                continue
        key, equals, value = (part.strip() for part in option_text.partition("="))
        name, given = described[-1]
        known = backends[name].options
        option = options.get(key)
        if not equals or option is None or key not in known:
            raise refuse(f"{option_text.strip()!r} is not an option of {name}; known options are {', '.join(known)}")
        if key in given:
            raise refuse(f"{key!r} is given twice for one device")
        try:
            given[key] = option.parse(value)
        except ValueError as error:
            raise refuse(f"{key!r} {error}, not {value!r}") from None

    for backend in BACKENDS:
        if backend.most and sum(name == backend.name for name, _ in described) > backend.most:
            raise refuse(f"there can be no more than {backend.most} {backend.name}")
    shapes = tuple(DeviceShape(name, **given) for name, given in described)
    total = sum(1 + (shape.tiles if shape.tiles > 1 else 0) for shape in shapes)
    if total > MAX_DEVICES:
        raise refuse(f"{total} devices and tiles are more than {MAX_DEVICES}")
    return shapes


def chosen(config: Config, openvino: OpenVINO | None) -> tuple[DeviceShape, ...]:
    """The devices that the variable describes; without it the processor, and the NPU where OpenVINO can be used."""
    usable = openvino is not None and openvino.is_enough
    if config.devices is None:
        return parse("cpu,npu" if usable else "cpu")
    shapes = parse(config.devices)
    if not usable and any(shape.backend == "npu" for shape in shapes):
        needed = ".".join(map(str, OLDEST_OPENVINO))
        lacking = openvino.shortcoming if openvino else "it is not installed"
        reason = f"'npu' needs OpenVINO {needed} or newer, and {lacking}: {install('npu')}"
        raise ConfigError(VARIABLE, config.devices, reason, "devices without npu")
    return shapes


def settle(shape: DeviceShape, config: Config, machine_memory: int) -> DeviceShape:
    """Fill the values that the user left open from the other variables and the machine."""
    memory = shape.memory or config.memory or machine_memory
    if memory < shape.tiles * MIN_TILE_MEMORY:
        by_memory = not shape.memory and config.memory
        raise ConfigError(
            "ANYZERO_MEMORY" if by_memory else VARIABLE,
            str(memory) if by_memory else config.devices or shape.backend,
            f"{memory} bytes over {shape.tiles} tiles is less than {MIN_TILE_MEMORY >> 10}K a tile",
            "a larger size or fewer tiles",
        )
    return replace(shape, memory=memory, threads=shape.threads or config.threads)


def markdown() -> str:
    """The grammar with its devices and options, for ``docs/environment.md``."""
    lines = [
        "```text",
        'devices = device { "," device }',
        'device  = backend [ ":" option { "," option } ]',
        'option  = name "=" value',
        "```",
        "",
        "A comma separates both devices and options: the text after it is an option if it has `=` before any `:`,",
        "and a device otherwise. `cpu:tiles=2,memory=4G,cpu` is a device with two options and a device with none.",
        "",
        "| device | meaning |",
        "|---|---|",
    ]
    for backend in BACKENDS:
        later = "" if backend.available else "; not available in this version"
        lines.append(f"| `{backend.name}` | {backend.meaning}{later} |")
    lines += [
        "",
        "Compute devices (`cpu`) belong to one driver and `npu` to another, which comes second wherever it is named.",
        "",
        "| option | of | accepts | default | meaning |",
        "|---|---|---|---|---|",
    ]
    for row in OPTIONS:
        owners = ", ".join(f"`{each.name}`" for each in BACKENDS if each.available and row.name in each.options)
        lines.append(f"| `{row.name}` | {owners} | {row.accepts} | {row.default} | {row.meaning} |")
    return "\n".join(lines) + "\n"
