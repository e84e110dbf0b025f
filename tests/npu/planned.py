"""Asks the graph planner, and reads what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anyzero import ze
from anyzero.driver.graphs import requests
from anyzero.driver.wire import Reader, Writer

DYNAMIC = (1 << 64) - 1
DATA, STATE, SHAPE, WEIGHTS = 0, 1, 2, 3


@dataclass(frozen=True)
class Argument:
    direction: int
    role: int
    port: int
    element_type: int
    precision: int
    metadata_type: int
    layout: int
    name: str
    friendly_name: str
    tensor_names: tuple[str, ...]
    dims: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Planned:
    log: str
    pieces: list[tuple[int, int, int]]
    version: int
    weights_size: int
    name: str
    xml: bytes
    profiling: bool
    properties: dict[str, str]
    arguments: list[Argument]

    def of(self, direction: int, role: int = DATA) -> list[Argument]:
        return [argument for argument in self.arguments if (argument.direction, argument.role) == (direction, role)]


@dataclass(frozen=True)
class Refused:
    status: int
    log: str


def request(xml: bytes, flags: str = "", serializer: int = 1, weights_size: int = 0) -> bytes:
    return Writer().u32(0).text(flags).u32(serializer, requests.FOR_EXECUTION).u64(weights_size).blob(xml).done()


def ask(xml: bytes, flags: str = "", serializer: int = 1, weights_size: int = 0) -> Planned | Refused:
    return read(requests.manifest(request(xml, flags, serializer, weights_size)))


def plan(xml: bytes, flags: str = "", **options: Any) -> Planned:
    answer = ask(xml, flags, **options)
    assert isinstance(answer, Planned), answer.log
    return answer


def refused(xml: bytes, flags: str = "", **options: Any) -> Refused:
    answer = ask(xml, flags, **options)
    assert isinstance(answer, Refused), "planned what it should refuse"
    return answer


def read(answer: bytes) -> Planned | Refused:
    """Every byte of an answer is accounted for."""
    reader = Reader(answer)
    status, zero, log = reader.u32(), reader.u32(), reader.text()
    assert zero == 0
    if status != ze.ZE_RESULT_SUCCESS:
        reader.end()
        return Refused(status, log)
    pieces = [(reader.u64(), reader.u64(), reader.u64()) for _ in range(reader.count(24))]
    version, weights_size, name, xml = reader.u32(), reader.u64(), reader.text(), reader.blob()
    profiling = bool(reader.u32())
    properties = {reader.text(): reader.text() for _ in range(reader.count(16))}
    arguments = [_argument(reader) for _ in range(reader.count(28))]
    reader.end()
    return Planned(log, pieces, version, weights_size, name, xml, profiling, properties, arguments)


def _argument(reader: Reader) -> Argument:
    direction, role, port, type_, precision, metadata, layout = (reader.u32() for _ in range(7))
    name, friendly = reader.text(), reader.text()
    tensors = tuple(reader.text() for _ in range(reader.count(8)))
    dims = tuple(reader.u32() for _ in range(reader.count(4)))
    shape = tuple(reader.u64() for _ in range(reader.count(8)))
    return Argument(direction, role, port, type_, precision, metadata, layout, name, friendly, tensors, dims, shape)
