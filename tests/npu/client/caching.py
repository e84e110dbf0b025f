"""Blobs: exported, imported, damaged; and OpenVINO's own cache of them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openvino as ov
import pytest

from tests.npu import models
from tests.npu.client.conftest import DEVICE, infer

Compiled = Callable[[str], ov.CompiledModel]
MAGIC = b"OVNPU"
SIZE = 8
"""The trailer of OpenVINO's blobs: the size in this many bytes, and a magic word."""


def exported(made: ov.CompiledModel) -> bytes:
    stream = made.export_model()
    return bytes(stream) if isinstance(stream, bytes) else stream.getvalue()


@pytest.mark.parametrize("name", [case.name for case in models.CASES])
def test_import_of_a_stream(core: ov.Core, compiled: Compiled, name: str) -> None:
    case = models.case(name)
    made = core.import_model(exported(compiled(name)), DEVICE)
    inputs = case.inputs()
    case.check(infer(made.create_infer_request(), inputs), inputs)
    model = case.build()
    for ours, theirs in zip([*made.inputs, *made.outputs], [*model.inputs, *model.outputs], strict=True):
        assert ours.get_partial_shape() == theirs.get_partial_shape()
        assert ours.get_element_type() == theirs.get_element_type()
        assert ours.get_names() == theirs.get_names()


def test_import_of_a_file(core: ov.Core, compiled: Compiled, tmp_path: Path) -> None:
    case = models.case("residual")
    path = tmp_path / "residual.blob"
    path.write_bytes(exported(compiled("residual")))
    inputs = case.inputs()
    with path.open("rb") as file:
        made = core.import_model(io.BytesIO(file.read()), DEVICE)
    case.check(infer(made.create_infer_request(), inputs), inputs)


def test_import_of_pages(core: ov.Core, compiled: Compiled) -> None:
    """A tensor that begins with a page is used where it is."""
    case = models.case("residual")
    memory = models.aligned(np.frombuffer(exported(compiled("residual")), np.uint8))
    made = core.import_model(ov.Tensor(memory, shared_memory=True), DEVICE)
    inputs = case.inputs()
    case.check(infer(made.create_infer_request(), inputs), inputs)


def test_export_again(core: ov.Core, compiled: Compiled) -> None:
    case = models.case("transformer")
    first = exported(compiled("transformer"))
    second = exported(core.import_model(first, DEVICE))
    third = core.import_model(second, DEVICE)
    inputs = case.inputs()
    case.check(infer(third.create_infer_request(), inputs), inputs)


def test_the_stream_may_go(core: ov.Core, compiled: Compiled) -> None:
    case = models.case("mlp")
    blob = bytearray(exported(compiled("mlp")))
    made = core.import_model(bytes(blob), DEVICE)
    blob[:] = bytes(len(blob))
    del blob
    inputs = case.inputs()
    case.check(infer(made.create_infer_request(), inputs), inputs)


def parts(blob: bytes) -> tuple[bytes, bytes]:
    """The driver's blob, and the data that OpenVINO has appended."""
    size = int.from_bytes(blob[-SIZE - len(MAGIC) : -len(MAGIC)], "little")
    return blob[:size], blob[size : -SIZE - len(MAGIC)]


def joined(ours: bytes, theirs: bytes) -> bytes:
    return ours + theirs + len(ours).to_bytes(SIZE, "little") + MAGIC


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.3, 0.6, 0.9])
def test_an_altered_blob_is_refused(core: ov.Core, compiled: Compiled, share: float) -> None:
    ours, theirs = parts(exported(compiled("residual")))
    assert joined(ours, theirs) == exported(compiled("residual"))
    altered = bytearray(ours.rstrip(b"\0"))
    altered[int(share * len(altered))] ^= 0xFF
    with pytest.raises(RuntimeError) as raised:
        core.import_model(joined(bytes(altered).ljust(len(ours), b"\0"), theirs), DEVICE)
    said = str(raised.value)
    assert "checksum does not match" in said or "not a native blob of anyzero" in said or "damaged" in said


@pytest.mark.parametrize("pages", [0, 1, 3])
def test_a_truncated_blob_is_refused(core: ov.Core, compiled: Compiled, pages: int) -> None:
    """With OpenVINO's own end behind it, so that it is for the driver to notice."""
    blob = exported(compiled("residual"))
    ours, theirs = parts(blob)
    assert len(ours) > 3 * 4096
    with pytest.raises(RuntimeError, match="native blob cannot be loaded"):
        core.import_model(joined(ours[: pages * 4096] or bytes(4096), theirs), DEVICE)
    with pytest.raises(RuntimeError):
        core.import_model(blob[: pages * 4096 + 16], DEVICE)


def test_rubbish_is_refused(core: ov.Core) -> None:
    for rubbish in (b"x", bytes(4096), bytes(range(256)) * 64):
        with pytest.raises(RuntimeError):
            core.import_model(rubbish, DEVICE)


def test_the_next_one_works_after_a_refusal(core: ov.Core, compiled: Compiled) -> None:
    case = models.case("mlp")
    blob = exported(compiled("mlp"))
    with pytest.raises(RuntimeError):
        core.import_model(blob[:2000], DEVICE)
    inputs = case.inputs()
    case.check(infer(core.import_model(blob, DEVICE).create_infer_request(), inputs), inputs)


def test_cache_folder(tmp_path: Path) -> None:
    """OpenVINO's own: the second time comes from it."""
    case = models.case("residual")
    inputs = case.inputs()
    for loaded in (False, True, True):
        core = ov.Core()
        made = core.compile_model(case.build(), DEVICE, {"CACHE_DIR": str(tmp_path)})
        assert made.get_property("LOADED_FROM_CACHE") is loaded
        case.check(infer(made.create_infer_request(), inputs), inputs)
    assert len(list(tmp_path.glob("*.blob"))) == 1
