"""Modules from the wild: those that real programs carry, in the folder that ANYZERO_SPIRV_CORPUS names."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from anyzero.compiler.spirv import SpirvError, disassemble, read, verify
from tests.compiler.assembler import assemble

FOLDER = os.environ.get("ANYZERO_SPIRV_CORPUS", "")
ROUND_TRIPS = 50

pytestmark = pytest.mark.skipif(not FOLDER, reason="ANYZERO_SPIRV_CORPUS names no folder of .spv files")


def modules() -> list[Path]:
    found = sorted(Path(FOLDER).rglob("*.spv"))
    assert found, f"there is no .spv file in {FOLDER}"
    return found


@pytest.mark.timeout(1800)
def test_every_module_is_read_and_verified(capsys: pytest.CaptureFixture[str]) -> None:
    refused: list[str] = []
    size, reading, verifying = 0, 0.0, 0.0
    paths = modules()
    for path in paths:
        data = path.read_bytes()
        size += len(data)
        start = time.process_time()
        try:
            module = read(data)
            middle = time.process_time()
            verify(module)
            reading += middle - start
            verifying += time.process_time() - middle
        except SpirvError as error:
            refused.append(f"{path.name}: {error}")
    with capsys.disabled():
        rates = (
            f"read at {size / 1e6 / reading:.1f} MB/s, and verified at {size / 1e6 / (reading + verifying):.1f} MB/s"
        )
        print(f"\n{len(paths)} modules, {size / 1e6:.1f} MB: {rates} in all")
    assert refused == []


@pytest.mark.timeout(1800)
def test_text_and_words_say_the_same() -> None:
    paths = modules()
    for path in paths[:: max(1, len(paths) // ROUND_TRIPS)]:
        data = path.read_bytes()
        assert assemble(disassemble(read(data).words)) == data, path.name
