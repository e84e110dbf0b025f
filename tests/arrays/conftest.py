"""spirv-val accepts every module that a test of arrays makes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from anyzero.language.specialization import Specialization
from tests.language.running import validate


@pytest.fixture(autouse=True)
def modules_are_valid(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made: list[bytes] = []
    plain = Specialization.__dict__["spirv"].func

    def spirv(self: Specialization) -> bytes:
        made.append(plain(self))
        return made[-1]

    monkeypatch.setattr(Specialization, "spirv", property(spirv))
    yield
    for each in made:
        validate(each)
