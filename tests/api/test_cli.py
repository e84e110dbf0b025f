"""The `anyzero` command, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import anyzero as az
from anyzero.tools import demo
from anyzero.tools.cli import main
from tests.api.conftest import child_environment


def command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "anyzero.tools", *arguments],
        env=child_environment(**variables),
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    bare = capsys.readouterr().out
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == bare
    for expected in ("info --json", "anyzero demo", "ANYZERO_DEVICES=cpu:tiles=2", "exit codes"):
        assert expected in bare


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"anyzero {az.__version__}\n"


def test_info_is_a_table() -> None:
    result = command("info", ANYZERO_DEVICES="cpu:tiles=2,memory=1G,cpu")
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("driver 0: Level Zero 1.17")
    header, *rows = lines[2:]
    assert header.split()[:2] == ["device", "name"]
    assert [row.split()[0] for row in rows] == ["0", "0.0", "0.1", "1"]
    assert "512.0 MiB" in rows[1]
    assert "compute ×1, copy ×1" in rows[0]
    # The columns stand under their names.
    assert {row[header.index("type") :][:3] for row in rows} == {"gpu"}


def test_info_verbose_says_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "-v"]) == 0
    out = capsys.readouterr().out
    device = az.device()
    for expected in (str(device.uuid), device.pci_address, "sub-groups", "extensions of driver 0", "group 1"):
        assert expected in out
    assert all(name in out for name in az.drivers()[0].extensions)


def test_info_json_is_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (driver,) = found["drivers"]
    (device,) = driver["devices"]
    assert found["anyzero"] == az.__version__
    assert driver["api_version"] == "1.17"
    assert device["name"] == az.device().name
    assert device["memory_total"] == az.device().memory_total
    assert [group["kind"] for group in device["queue_groups"]] == ["compute", "copy"]
    assert device["tiles"] == []


def test_info_json_lists_tiles() -> None:
    result = command("info", "--json", ANYZERO_DEVICES="cpu:tiles=3")
    (driver,) = json.loads(result.stdout)["drivers"]
    assert len(driver["devices"][0]["tiles"]) == 3


def test_demo_checks_what_it_shows() -> None:
    result = command("demo", ANYZERO_DEVICES="cpu:tiles=2", ANYZERO_DEVICE="0.1")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.count("✓") == 9
    assert "All 9 steps were checked" in result.stdout
    for expected in ("GB/s", "round trips", "from submit to fence", "device's own clock"):
        assert expected in result.stdout


def test_demo_fails_on_a_wrong_result(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(demo, "require", lambda holds, what: (_ for _ in ()).throw(demo.Wrong(f"demo: {what}")))
    assert main(["demo"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("anyzero: error: demo: a fill left other values")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "variables", "expected"),
    [
        (["info"], {"ANYZERO_THREADS": "x"}, "ANYZERO_THREADS='x'"),
        (["demo"], {"ANYZERO_DEVICE": "cpu:9"}, "no device is called 'cpu:9', which ANYZERO_DEVICE asks for"),
        (["demo", "--device", "7"], {}, "no device is called '7'"),
        (["info"], {"ANYZERO_DEVICES": "toaster"}, "'toaster' is no device"),
    ],
)
def test_errors_are_one_line_and_an_exit_code(arguments: list[str], variables: dict[str, str], expected: str) -> None:
    result = command(*arguments, **variables)
    assert result.returncode == 1
    assert expected in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_wrong_command_line_exits_with_2() -> None:
    result = command("dance")
    assert result.returncode == 2
    assert "dance" in result.stderr
    assert command("info", "--json", "-v").returncode == 2


def test_a_reader_that_leaves_early_is_no_error() -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "anyzero.tools", "info", "--json"],
        env=child_environment(ANYZERO_DEVICES=",".join(["cpu:tiles=8"] * 7)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    assert child.stdout.readline() == "{\n"
    child.stdout.close()
    assert child.wait(timeout=60) == 0
    assert child.stderr.read() == ""
    child.stderr.close()
