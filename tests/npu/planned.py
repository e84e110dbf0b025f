"""Asks the graph planner, and reads what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anyzero import ze
from anyzero.driver.graphs import requests
from anyzero.layouts.graph import (
    DYNAMIC_DIMENSION,
    ArgumentRecord,
    GraphPurpose,
    GraphReply,
    GraphRequest,
    GraphRole,
    ManifestRecord,
    WeightsPiece,
)
from anyzero.layouts.planner import ReplyHead, ReplyOrigin, RequestHead
from anyzero.wire import Reader, Writer

DYNAMIC = DYNAMIC_DIMENSION
DATA, STATE, SHAPE, WEIGHTS = GraphRole


@dataclass(frozen=True)
class Planned:
    log: str
    pieces: list[WeightsPiece]
    version: int
    weights_size: int
    name: str
    xml: bytes
    profiling: bool
    properties: dict[str, str]
    arguments: list[ArgumentRecord]

    def of(self, direction: int, role: int = DATA) -> list[ArgumentRecord]:
        return [argument for argument in self.arguments if (argument.type, argument.role) == (direction, role)]


@dataclass(frozen=True)
class Refused:
    status: int
    log: str


def request(xml: bytes, flags: str = "", serializer: int = 1, weights_size: int = 0) -> bytes:
    asked = GraphRequest(flags, serializer, GraphPurpose.EXECUTION, weights_size, xml)
    return asked.write(RequestHead([]).write(Writer())).done()


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
    status, origin, log = ReplyHead.read(reader)
    assert origin == ReplyOrigin.UNSAID
    if status != ze.ZE_RESULT_SUCCESS:
        reader.end()
        return Refused(status, log)
    pieces = list(GraphReply.read(reader).pieces)
    found = ManifestRecord.read(reader)
    reader.end()
    properties = {each.key: each.value for each in found.properties}
    profiling, arguments = bool(found.flags), list(found.arguments)
    head = (found.version, found.weights_size, found.model_name, found.xml)
    return Planned(log, pieces, *head, profiling, properties, arguments)
