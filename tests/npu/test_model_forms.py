"""Models and settings on their way to the driver, as bytes and words. No NPU is needed for this."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import anyzero as az
from anyzero.api.sources.graph_source import build_flags, serialize
from anyzero.npu.blob_cache import BlobCache
from anyzero.npu.exported_model import parts_of, read
from anyzero.npu.model_source import ModelSource, load
from anyzero.npu.settings import Settings

DIGEST = "0123456789abcdef" * 4


def test_a_model_and_its_weights_become_one_run_of_bytes() -> None:
    xml, weights = b"<net/>", bytes(range(200))
    made = serialize(xml, weights, None, (7, 30))
    raw = made.data.tobytes()
    assert struct.unpack_from("<HHIQ", raw) == (7, 30, 2, len(xml))
    assert raw[16 : 16 + len(xml)] == xml
    assert struct.unpack_from("<Q", raw, 16 + len(xml)) == (200,)
    assert raw[24 + len(xml) :] == weights
    assert not made.in_place


def test_a_configuration_becomes_build_flags() -> None:
    assert build_flags({"PERFORMANCE_HINT": "LATENCY", "NPU_TURBO": True}, profiling=False) == (
        b'--config PERFORMANCE_HINT="LATENCY" NPU_TURBO="YES" '
    )
    assert (
        build_flags('--inputs_layouts="0:NC"', profiling=True) == b'--inputs_layouts="0:NC" --config PERF_COUNT="YES" '
    )
    assert build_flags('--config A="1"', profiling=True) == b'--config A="1" PERF_COUNT="YES" '
    assert build_flags("", profiling=False) is None
    for wrong in ({"A": 'x" --config B="2'}, {'A="1" B': "x"}):
        with pytest.raises(az.InvalidArgument):
            build_flags(wrong, profiling=False)


def test_the_form_of_an_export() -> None:
    blob = bytes(range(256)) * 20
    whole = b"".join(parts_of(memoryview(blob), "ä name", 7))
    found = read(whole)
    assert (found.name, found.batch, found.blob.nbytes) == ("ä name", 7, 8192)
    assert found.blob[: len(blob)].tobytes() == blob
    openvino = blob.ljust(8192, b"\0") + b"metadata" + (8192).to_bytes(8, "little") + b"OVNPU"
    assert read(openvino).blob.nbytes == 8192
    assert read(blob).blob.nbytes == len(blob)


def test_settings_are_read_once_and_typed() -> None:
    options = ("NPU_TURBO", "PERFORMANCE_HINT")
    found = Settings().updated({"perf_count": "yes", "NPU_BATCH": "4", "NPU_TURBO": True}, options)
    assert (found.perf_count, found.npu_batch, found.compiler) == (True, 4, (("NPU_TURBO", "YES"),))
    assert found.for_compiler(options) == {"PERFORMANCE_HINT": "LATENCY", "NPU_TURBO": "YES"}
    assert found.value("NPU_TURBO") == "YES"
    assert Settings().updated(None, ()) == Settings()
    for wrong in ({"COMPILER": "x"}, {"NPU_TURBOT": 1}, {"NPU_BATCH": -1}, {"NPU_SYNC": "maybe"}, {"PERF_COUNT": 2}):
        with pytest.raises(az.InvalidArgument, match=next(iter(wrong))):
            found.updated(wrong, options)


def source(xml: str, weights: bytes = b"", *, numbered: bool = False) -> ModelSource:
    parts = (np.frombuffer(each, np.uint8) for each in (xml.encode(), weights))
    return ModelSource("model", *parts, numbered=numbered)


def test_a_digest_tells_models_apart() -> None:
    one = source("<net/>", b"12").digest("a")
    assert one == source("<net/>", b"12").digest("a")
    for other in (
        source("<net />", b"12").digest("a"),
        source("<net/>", b"13").digest("a"),
        source("<net/>1", b"2").digest("a"),
        source("<net/>", b"12").digest("b"),
        source("<net/>", b"12").digest("a", ""),
    ):
        assert other != one


def test_a_digest_does_not_mind_numbers_that_openvino_gave() -> None:
    def named(name: str, kind: str, *, numbered: bool = True) -> str:
        return source(f'<layer id="1" name="{name}" type="{kind}" version="opset1">', numbered=numbered).digest()

    assert named("Add_7", "Add") == named("Add_31", "Add")
    assert named("Constant_7", "Const") == named("Constant_31", "Const")
    assert named("Add_7", "Add", numbered=False) != named("Add_31", "Add", numbered=False)
    assert named("input_1", "Parameter") != named("input_2", "Parameter")
    assert named("Add_7", "Add") != named("Sub_7", "Sub")


def test_a_folder_of_blobs(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path / "cache")
    assert cache.find(DIGEST) is None
    cache.keep(DIGEST, [b"one", memoryview(b"two")])
    found = cache.find(DIGEST)
    assert found is not None
    assert bytes(found) == b"onetwo"
    cache.note("id", DIGEST)
    assert cache.recall("id") == DIGEST
    assert cache.recall("other") is None
    assert cache.recall(None) is None
    cache.forget(DIGEST)
    cache.forget(DIGEST)
    assert cache.find(DIGEST) is None
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["id.files"]


def test_models_that_are_none(tmp_path: Path) -> None:
    for wrong, kind in {"model.txt": az.InvalidArgument, "none.xml": FileNotFoundError}.items():
        with pytest.raises(kind):
            load(tmp_path / wrong, None, apart=False)
    with pytest.raises(TypeError):
        load(object(), None, apart=False)
    with pytest.raises(az.InvalidArgument, match="PLUGIN"):
        load(b"<net/>", None, apart=True)
