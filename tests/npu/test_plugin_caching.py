"""Saved compiled models: exported, in CACHE_DIR, and the command line's report of both."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("openvino", reason="NOT TESTED: the inference plugin needs OpenVINO; pip install openvino")

import openvino as ov

import anyzero as az
from anyzero.npu import Core, model_source
from anyzero.npu.model_source import ModelSource
from anyzero.tools.cli import main
from tests.npu import models

CASE = models.case("mlp")


@pytest.fixture(scope="module")
def core() -> Core:
    return Core()


def test_exported_models_are_imported_again(core: Core, tmp_path: Path) -> None:
    compiled = core.compile_model(CASE.build(), {"NPU_BYPASS_UMD_CACHING": True})
    exported = compiled.export_model()
    assert isinstance(exported, bytes)
    stream = io.BytesIO()
    assert compiled.export_model(stream) is None
    assert stream.getvalue() == exported
    stream.seek(0)
    path = tmp_path / "mlp.blob"
    path.write_bytes(exported)
    inputs = CASE.inputs()
    for source in (exported, stream, path, str(path), bytes(compiled.graph.native)):
        again = core.import_model(source)
        assert again.graph.properties.precompiled
        # Bytes are used where they are only if they happen to begin at a page.
        assert again.graph.properties.in_place or source not in (path, str(path))
        CASE.check(list(again(inputs).to_tuple()), inputs)
        # An imported model can be exported.
        assert bytes(again.graph.native) == bytes(compiled.graph.native)
    assert again.inputs[0].names == {"x"}


def test_damaged_exports_are_refused(core: Core, tmp_path: Path) -> None:
    whole = core.compile_model(CASE.build(), {"NPU_BYPASS_UMD_CACHING": True}).export_model()
    assert isinstance(whole, bytes)
    for damaged in (b"", b"x", whole[:-1], whole[: len(whole) // 2], whole[1:], b"\0" * len(whole)):
        with pytest.raises(az.Error):
            core.import_model(damaged)
    altered = bytearray(whole)
    altered[len(whole) // 2] ^= 1
    with pytest.raises(az.BuildError):
        core.import_model(bytes(altered))
    (tmp_path / "empty.blob").write_bytes(b"")
    with pytest.raises(az.BuildError, match="empty"):
        core.import_model(tmp_path / "empty.blob")


def test_a_folder_of_compiled_models(core: Core, tmp_path: Path) -> None:
    folder = tmp_path / "some" / "folder"
    config = {"CACHE_DIR": str(folder)}
    inputs = CASE.inputs()
    first = core.compile_model(CASE.build(), config)
    assert not first.get_property("LOADED_FROM_CACHE")
    [kept] = folder.iterdir()
    second = core.compile_model(CASE.build(), config)
    assert second.get_property("LOADED_FROM_CACHE")
    assert second.graph.properties.in_place
    for compiled in (first, second):
        CASE.check(list(compiled(inputs).to_tuple()), inputs)
    assert list(folder.iterdir()) == [kept]
    # Another model, or another configuration of the compiler, is another entry; a pipeline is none of its business.
    core.compile_model(models.tiny(), config)
    core.compile_model(CASE.build(), {**config, "PERF_COUNT": True})
    assert core.compile_model(CASE.build(), {**config, "NPU_PIPELINE": "DISCRETE"}).get_property("LOADED_FROM_CACHE")
    assert len(list(folder.iterdir())) == 3


def test_files_that_are_known_are_not_read_again(core: Core, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, folder = tmp_path / "mlp.xml", tmp_path / "cache"
    ov.serialize(CASE.build(), str(path))
    read_: list[str] = []
    digest = ModelSource.digest
    monkeypatch.setattr(ModelSource, "digest", lambda self, *others: read_.append(self.name) or digest(self, *others))

    def compiled() -> bool:
        return bool(core.compile_model(path, {"CACHE_DIR": str(folder)}).get_property("LOADED_FROM_CACHE"))

    assert not compiled()
    # As long as the files are this fresh, their times tell too little.
    assert compiled()
    assert len(read_) == 2
    for each in (path, path.with_suffix(".bin")):
        os.utime(each, (1e9, 1e9))
    monkeypatch.setattr(model_source, "_FRESH_NS", 0)
    assert compiled()
    assert len(read_) == 3
    assert compiled()
    assert len(read_) == 3
    weights = bytearray(path.with_suffix(".bin").read_bytes())
    weights[0] ^= 1
    path.with_suffix(".bin").write_bytes(weights)
    os.utime(path.with_suffix(".bin"), (1e9, 1e9))
    assert not compiled()
    assert len(read_) == 4
    for note in folder.glob("*.files"):
        note.write_bytes(b"\xff nonsense")
    assert compiled()


def test_damaged_entries_are_built_anew(core: Core, tmp_path: Path) -> None:
    config = {"CACHE_DIR": str(tmp_path)}
    model, inputs = CASE.build(), CASE.inputs()
    core.compile_model(model, config)
    [kept] = tmp_path.iterdir()
    whole = kept.read_bytes()
    for damaged in (b"", whole[:1000], whole[:5000] + b"x" + whole[5001:]):
        # Not in place: a graph may have the file mapped.
        kept.unlink()
        kept.write_bytes(damaged)
        compiled = core.compile_model(model, config)
        assert not compiled.get_property("LOADED_FROM_CACHE")
        CASE.check(list(compiled(inputs).to_tuple()), inputs)
        assert core.compile_model(model, config).get_property("LOADED_FROM_CACHE")
    assert list(tmp_path.iterdir()) == [kept]


def test_a_folder_that_cannot_be_written_to_costs_nothing_but_time(core: Core, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    compiled = core.compile_model(CASE.build(), {"CACHE_DIR": str(tmp_path / "file" / "folder")})
    compiled(np.zeros((1, 64), np.float32))


def test_the_command_line_measures_first_inferences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "large.xml"
    ov.serialize(models.large(8), str(path))
    assert main(["npu", "latency", str(path), "--repeat", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [found[name]["from_cache"] for name in ("first_ever", "driver_cache", "cache_dir")] == [False, True, True]
    for name in ("driver_cache", "cache_dir"):
        each = found[name]
        assert each["latency"] == pytest.approx(each["load"] + each["first"])
        assert each["of_first_ever"] == pytest.approx(each["latency"] / found["first_ever"]["latency"])


def test_the_command_line_measures_throughput(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tiny.xml"
    ov.serialize(models.tiny(), str(path))
    assert main(["npu", "bench", str(path), "--seconds", "0.2", "--requests", "2", "--compare"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["device", "NPU", "CPU"]


def test_the_command_line_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.xml"
    bad.write_text("<net>")
    for arguments, said in {
        ("latency", str(tmp_path / "none.xml")): "does not exist",
        ("latency", str(bad)): "INVALID_NATIVE_BINARY",
        ("bench", str(bad)): "INVALID_NATIVE_BINARY",
        ("bench", str(bad), "--config", "NONSENSE"): "KEY=VALUE",
        ("bench", str(bad), "--config", "NONSENSE=1"): "NONSENSE is not a property",
    }.items():
        assert main(["npu", *arguments]) == 1
        error = capsys.readouterr().err
        assert said in error
        assert len(error.splitlines()) == 1
    assert main(["npu"]) == 0
    assert "anyzero npu latency model.xml" in capsys.readouterr().out
