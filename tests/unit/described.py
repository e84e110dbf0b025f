"""The description given to the engine, read back by a reader that knows nothing of the code that wrote it."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass, field
from typing import Any

from anyzero import ze
from anyzero.config import Config
from anyzero.driver.devices import boot, description
from anyzero.driver.devices.machine import Cache, Machine
from anyzero.installed import OpenVINO

HOST = Machine(
    model="Test Processor 9",
    clock_mhz=2500,
    vector_bits=256,
    fused_multiply_add=True,
    native_half=False,
    caches=(Cache(1, 32 << 10), Cache(2, 1 << 20), Cache(3, 32 << 20)),
    cache_line=64,
    memory=16 << 30,
    identity="0123456789abcdef",
)


@dataclass
class ReadBlob:
    count: int
    size: int
    extends: int
    data: bytes

    def structures(self, kind: type[Any]) -> list[Any]:
        assert self.size == ctypes.sizeof(kind)
        return [kind.from_buffer_copy(self.data, index * self.size) for index in range(self.count)]


@dataclass
class ReadDevice:
    backend: str
    blobs: dict[int, ReadBlob]
    tiles: list[ReadDevice] = field(default_factory=list)

    def get(self, stype: int, kind: type[Any]) -> Any:
        (only,) = self.all(stype, kind)
        return only

    def all(self, stype: int, kind: type[Any]) -> list[Any]:
        return self.blobs[stype].structures(kind)

    @property
    def properties(self) -> Any:
        return self.get(ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, ze.ze_device_properties_t)


@dataclass
class ReadDriver:
    kind: int
    blobs: dict[int, ReadBlob]
    extensions: list[tuple[Any, ...]]
    devices: list[ReadDevice] = field(default_factory=list)


class Reader:
    """Walks the bytes as the engine does, knowing nothing of the code that wrote them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0
        magic, settings, texts, drivers, zero = self.take("<8sIIII")
        assert (magic, zero) == (b"AZDESC03", 0)
        self.settings = {self.string(name): value for name, value in (self.take("<24sQ") for _ in range(settings))}
        self.texts = dict(self.text() for _ in range(texts))
        self.drivers = [self.driver() for _ in range(drivers)]
        assert self.place == len(data)
        first = self.drivers[0]
        self.kind, self.driver_blobs = first.kind, first.blobs
        self.extensions, self.devices = first.extensions, first.devices

    def take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(layout, self.data, self.place)
        self.place += struct.calcsize(layout)
        return values

    def text(self) -> tuple[str, bytes]:
        assert self.place % 8 == 0
        name, size = self.take("<24sQ")
        value = self.data[self.place : self.place + size]
        self.place += (size + 7) // 8 * 8
        return self.string(name), value

    def driver(self) -> ReadDriver:
        kind, blobs, extensions, devices = self.take("<IIII")
        driver = ReadDriver(kind, self.blobs(blobs), [self.take("<256sI") for _ in range(extensions)])
        self.place += -self.place % 8
        driver.devices = [self.device() for _ in range(devices)]
        return driver

    def blobs(self, number: int) -> dict[int, ReadBlob]:
        found = {}
        for _ in range(number):
            assert self.place % 8 == 0
            stype, count, size, extends = self.take("<IIII")
            assert stype not in found
            found[stype] = ReadBlob(count, size, extends, self.data[self.place : self.place + count * size])
            self.place += (count * size + 7) // 8 * 8
        return found

    def device(self) -> ReadDevice:
        assert self.place % 8 == 0
        backend, blobs, tiles = self.take("<8sII")
        device = ReadDevice(self.string(backend), self.blobs(blobs))
        device.tiles = [self.device() for _ in range(tiles)]
        return device

    @staticmethod
    def string(raw: bytes) -> str:
        assert raw.endswith(b"\0")
        return raw.rstrip(b"\0").decode()


def read(host: Machine = HOST, openvino: OpenVINO | None = None, **config: Any) -> Reader:
    return Reader(description.encode(boot.compose(Config(threads=config.pop("threads", 8), **config), host, openvino)))
