"""onnxruntime-openvino whose OpenVINO is missing is noticed before it silently does without."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from anyzero.tools import checks, run
from anyzero.tools.onnxruntime import missing_openvino, missing_openvino_of_program


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment of Python with onnxruntime-openvino alone."""
    packages = tmp_path / "lib" / "python3.12" / "site-packages"
    (packages / "onnxruntime_openvino-1.24.1.dist-info").mkdir(parents=True)
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\necho started\n")
    python.chmod(0o755)
    return tmp_path


def packages_of(environment: Path) -> Path:
    return environment / "lib" / "python3.12" / "site-packages"


def test_it_is_missing_where_no_folder_has_it(environment: Path) -> None:
    packages = packages_of(environment)
    assert missing_openvino([packages]) == "1.24.1"
    assert missing_openvino([environment / "nowhere"]) == ""
    (packages / "openvino_telemetry-2025.1.dist-info").mkdir()
    assert missing_openvino([packages]) == "1.24.1"
    (packages / "openvino-2026.4.1.dist-info").mkdir()
    assert missing_openvino([packages]) == ""


def test_a_python_is_known_by_its_name(environment: Path) -> None:
    there = {"PATH": str(environment / "bin")}
    assert missing_openvino_of_program("python3", there) == "1.24.1"
    assert missing_openvino_of_program(str(environment / "bin" / "python3"), {}) == "1.24.1"
    assert missing_openvino_of_program("python4", there) == ""
    (environment / "bin" / "python3").rename(environment / "bin" / "program")
    assert missing_openvino_of_program("program", there) == ""


def test_run_warns_and_starts_it_all_the_same(
    environment: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[str] = []
    monkeypatch.setattr(run.os, "execvpe", lambda program, *_: started.append(program))
    monkeypatch.setattr(run, "_restore_signals", lambda: None)
    run.run([str(environment / "bin" / "python3")], devices=None, profile=None, loader=None, verbose=False)
    assert started == [str(environment / "bin" / "python3")]
    said = capsys.readouterr().err
    assert "onnxruntime-openvino 1.24.1 finds no openvino" in said
    assert "pip install openvino" in said


def test_the_doctor_tells(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(packages_of(environment))])
    (found,) = checks.onnxruntime()
    assert (found.name, found.state) == ("onnxruntime", "warning")
    assert "pip install openvino" in found.remedy
