"""ENABLE_WEIGHTLESS: OpenVINO's plugin compiles a model without its weights, and brings them when it runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest

from tests.npu import models
from tests.npu.client.caching import exported
from tests.npu.client.conftest import DEVICE, infer

WEIGHTLESS = {"ENABLE_WEIGHTLESS": True}
MEGABYTES = 4


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("weightless") / "large.xml"
    ov.save_model(models.large(MEGABYTES), found, compress_to_fp16=False)
    return found


@pytest.fixture(scope="module")
def blob(core: ov.Core, path: Path) -> bytes:
    return exported(core.compile_model(path, DEVICE, WEIGHTLESS))


def computed(made: ov.CompiledModel) -> models.Array:
    x = np.random.default_rng(0).standard_normal(tuple(made.input(0).shape)).astype(np.float32)
    return infer(made.create_infer_request(), [x])[0]


def close(found: models.Array, wanted: models.Array) -> bool:
    return np.allclose(found, wanted, atol=models.tolerance() * np.abs(wanted).max())


def test_the_blob_is_without_weights(core: ov.Core, path: Path, blob: bytes) -> None:
    weights = path.with_suffix(".bin").read_bytes()
    assert len(blob) < len(weights) / 50
    whole = exported(core.compile_model(path, DEVICE))
    for begin in range(0, len(weights) - 4096, len(weights) // 7):
        assert weights[begin : begin + 256] in whole
        assert weights[begin : begin + 256] not in blob


def test_results_are_those_of_the_cpu(core: ov.Core, path: Path, blob: bytes) -> None:
    wanted = computed(core.compile_model(path, "CPU"))
    assert close(computed(core.compile_model(path, DEVICE, WEIGHTLESS)), wanted)
    assert close(computed(core.import_model(blob, DEVICE, {"WEIGHTS_PATH": path.with_suffix(".bin")})), wanted)


def test_weights_come_from_the_file_that_is_named(core: ov.Core, path: Path, blob: bytes, tmp_path: Path) -> None:
    others = np.fromfile(path.with_suffix(".bin"), np.uint8)
    others[: MEGABYTES << 19].view(np.float32)[...] *= -1
    for name, contents in (("other.xml", path.read_bytes()), ("other.bin", others.tobytes())):
        (tmp_path / name).write_bytes(contents)
    wanted = computed(core.compile_model(tmp_path / "other.xml", "CPU"))
    assert not close(computed(core.compile_model(path, "CPU")), wanted)
    assert close(computed(core.import_model(blob, DEVICE, {"WEIGHTS_PATH": tmp_path / "other.bin"})), wanted)


@pytest.mark.parametrize("name", ["residual", "transformer", "quantized", "dynamic"])
def test_models(core: ov.Core, name: str, tmp_path: Path) -> None:
    """To the bit as with weights: it is the same that is compiled in the end."""
    case, path = models.case(name), tmp_path / "model.xml"
    ov.save_model(case.build(), path, compress_to_fp16=False)
    inputs = case.inputs()
    made = core.compile_model(path, DEVICE, WEIGHTLESS)
    again = core.import_model(exported(made), DEVICE, {"WEIGHTS_PATH": path.with_suffix(".bin")})
    wanted = infer(core.compile_model(path, DEVICE).create_infer_request(), inputs)
    for each in (made, again):
        for ours, theirs in zip(infer(each.create_infer_request(), inputs), wanted, strict=True):
            assert np.array_equal(ours, theirs)


def test_openvinos_cache_is_without_weights(core: ov.Core, path: Path, tmp_path: Path) -> None:
    config = {"CACHE_DIR": str(tmp_path), "CACHE_MODE": "OPTIMIZE_SIZE"}
    wanted = computed(core.compile_model(path, "CPU"))
    for cached in (False, True):
        made = core.compile_model(path, DEVICE, config)
        assert made.get_property("LOADED_FROM_CACHE") == cached
        assert close(computed(made), wanted)
    kept = sum(each.stat().st_size for each in tmp_path.rglob("*") if each.is_file())
    assert 0 < kept < path.with_suffix(".bin").stat().st_size / 50


def test_queries_see_the_whole_model(core: ov.Core, path: Path) -> None:
    model = core.read_model(path)
    assert set(core.query_model(model, DEVICE, WEIGHTLESS)) == set(core.query_model(model, DEVICE))
