"""The `anyzero` command, as a user runs it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import anyzero as az
from anyzero.tools import demo
from anyzero.tools.cli import main
from tests.api.conftest import child_environment
from tests.patience import PATIENCE

ANYZERO = (sys.executable, "-m", "anyzero.tools")


def command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ANYZERO, *arguments],
        env=child_environment(**variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
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


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("info", "anyzero info --json |"),
        ("demo", "anyzero demo --device 0.1"),
        ("run", "anyzero run -- ./vector_add"),
        ("env", 'eval "$(anyzero env)"'),
        ("doctor", "anyzero doctor && make test"),
    ],
)
def test_every_command_has_examples(name: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([name, "--help"])
    out = capsys.readouterr().out
    assert caught.value.code == 0
    assert shown in out
    assert "examples:" in out
    assert max(map(len, out.splitlines())) <= 120


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"anyzero {az.__version__}\n"


def test_info_is_a_table() -> None:
    result = command("info", ANYZERO_DEVICES="cpu:tiles=2,memory=1G,cpu")
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("driver 0: Level Zero 1.17")
    header, *rows = lines[2 : lines.index("", 2)]
    assert header.split()[:2] == ["device", "name"]
    assert [row.split()[0] for row in rows] == ["0", "0.0", "0.1", "1"]
    assert "512.0 MiB" in rows[1]
    assert "compute ×1, copy ×1" in rows[0]
    # Columns are aligned with their names.
    assert {row[header.index("type") :][:3] for row in rows} == {"gpu"}


def test_info_tells_what_the_variables_of_the_specification_hide() -> None:
    result = command("info", ANYZERO_DEVICES="cpu:tiles=2,cpu", ZE_AFFINITY_MASK="0.1")
    assert (result.returncode, result.stderr) == (0, "")
    _, _, _, row, _, *rest = result.stdout.splitlines()
    assert row.startswith("0 ")
    assert rest[0] == "ZE_AFFINITY_MASK=0.1"
    assert [line.split(" of ")[0] for line in rest[1 : rest.index("")]] == ["hidden: 0", "hidden: 0.0", "hidden: 1"]


def test_info_says_that_it_is_a_processor_and_what_programs_see() -> None:
    def said(profile: str) -> str:
        result = command("info", ANYZERO_DEVICES="cpu:threads=2", ANYZERO_PROFILE=profile)
        assert (result.returncode, result.stderr) == (0, "")
        return " ".join(result.stdout.split())

    assert "is the processor of this machine: its units are threads" in said("default")
    told = "It reports the type GPU, because SYCL lists no other type"
    assert f"{told}, and IP version 12.0.0 with 16 EUs" in said("default")
    assert "ANYZERO_PROFILE (default)" in said("default")
    assert f"{told}. ANYZERO_PROFILE" in said("plain")


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
    driver = found["drivers"][0]
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


def test_demo_checks_what_it_shows(tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    result = command("demo", "--output", str(pictures), ANYZERO_DEVICES="cpu:tiles=2", ANYZERO_DEVICE="0.1")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.count("✓") == 12
    assert "All 12 steps were checked" in result.stdout
    assert f"Pictures in {pictures}: mandelbrot.png, blur.png, timeline.svg" in result.stdout
    assert sorted(path.name for path in pictures.iterdir()) == ["blur.png", "mandelbrot.png", "timeline.svg"]
    assert "\033" not in result.stdout
    assert max(map(len, result.stdout.partition("Using")[2].rpartition("Pictures")[0].splitlines())) <= 80
    assert re.search(r"^compute engine  .*K+", result.stdout, re.MULTILINE)
    for expected in ("GB/s", "round trips", "from submit to fence", "device's own clock"):
        assert expected in " ".join(result.stdout.split())


def test_pictures_of_the_demo_are_temporary_unless_a_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second = demo._folder(None), demo._folder(None)
    assert first != second
    assert {first.parent, second.parent} == {tmp_path}
    assert demo._folder(tmp_path / "a" / "b").is_dir()
    with pytest.raises(az.InvalidArgument, match="Name another folder with --output"):
        demo._folder("/proc/nothing")


def test_demo_fails_on_a_wrong_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(demo, "require", lambda holds, what: (_ for _ in ()).throw(demo.Wrong(f"demo: {what}")))
    assert main(["demo", "--output", str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert err.startswith("anyzero: error: demo: a fill left other values")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "variables", "expected"),
    [
        (["info"], {"ANYZERO_THREADS": "x"}, "ANYZERO_THREADS='x'"),
        (["demo"], {"ANYZERO_DEVICE": "cpu:9"}, "no device is called 'cpu:9', which ANYZERO_DEVICE asks for"),
        (["demo", "--device", "7"], {}, "no device is called '7'"),
        (["info"], {"ANYZERO_DEVICES": "toaster"}, "'toaster' is not a device"),
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
        [*ANYZERO, "info", "--json"],
        env=child_environment(ANYZERO_DEVICES=",".join(["cpu:tiles=8"] * 7)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    assert child.stdout.readline() == "{\n"
    child.stdout.close()
    assert child.wait(timeout=PATIENCE) == 0
    assert child.stderr.read() == ""
    child.stderr.close()


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return command("run", "--loader", "ours", *arguments, **variables)


HOST = """
import ctypes
loader = ctypes.CDLL("libze_loader.so.1")
count = ctypes.c_uint32()
driver = ctypes.c_void_p()
print(loader.zeInit(0), loader.zeDriverGet(ctypes.byref(ctypes.c_uint32(1)), ctypes.byref(driver)))
loader.zeDeviceGet(driver, ctypes.byref(count), None)
print(count.value)
"""


def test_run_lets_a_program_find_the_loader_and_the_devices() -> None:
    result = run("--devices", "cpu,cpu", "--", sys.executable, "-c", HOST)
    assert (result.stdout, result.stderr, result.returncode) == ("0 0\n2\n", "", 0)


def test_run_lets_a_python_program_use_this_package() -> None:
    result = run("--devices", "cpu:tiles=3", sys.executable, "-c", "import anyzero; print(len(anyzero.device().tiles))")
    assert (result.stdout, result.returncode) == ("3\n", 0)


def test_run_passes_arguments_on_as_they_are() -> None:
    show = "import sys; print(sys.argv[1:])"
    result = run("--", sys.executable, "-c", show, "--devices", "x", "--", "-v", "a b", "")
    assert result.stdout == "['--devices', 'x', '--', '-v', 'a b', '']\n"


@pytest.mark.parametrize(
    ("program", "code"),
    [("exit 7", 7), ("kill -TERM $$", -15), ("kill -SEGV $$", -11), ("exit 0", 0)],
)
def test_run_leaves_with_what_the_program_left_with(program: str, code: int) -> None:
    assert run("sh", "-c", program).returncode == code


def test_run_becomes_the_program() -> None:
    """The same process, with its input, and with the signals that Python had changed as they were."""
    child = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "anyzero.tools",
            "run",
            "--loader",
            "ours",
            "sh",
            "-c",
            "echo $$; cat; cat /proc/$$/status",
        ],
        env=child_environment(LC_ALL="C", LANG=""),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    out, _ = child.communicate("hello\n", timeout=PATIENCE)
    lines = out.splitlines()
    assert lines[:2] == [str(child.pid), "hello"]
    (ignored,) = [int(line.split()[1], 16) for line in lines if line.startswith("SigIgn")]
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)


def test_run_adds_no_variable_that_is_not_its_own() -> None:
    plain = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C"}
    result = subprocess.run(
        [*ANYZERO, "run", "--loader", "ours", "env"],
        env=plain,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    names = {line.partition("=")[0] for line in result.stdout.splitlines()}
    assert names == {*plain, "ANYZERO_PYTHON", "LD_LIBRARY_PATH", "OCL_ICD_FILENAMES"}


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("no-such-program", 127, "no such program"),
        ("./no/such/program", 127, "no such program"),
        ("/", 126, "Permission denied"),
        ("{folder}/plain", 126, "Permission denied"),
        ("{folder}/text", 126, "a script without #!"),
        ("{folder}/lost", 127, "its interpreter is missing"),
        ("", 127, "no such program"),
    ],
)
def test_run_says_what_shells_say(tmp_path: Path, program: str, code: int, said: str) -> None:
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    for name, text in (("text", "exit 0\n"), ("lost", "#!/no/such/sh\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    result = run("--", program.format(folder=tmp_path))
    assert (result.returncode, result.stdout) == (code, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "variables", "code", "said"),
    [
        (["--devices", "toaster", "true"], {}, 125, "'toaster' is not a device"),
        (["--profile", "toaster", "true"], {}, 125, "no such profile"),
        (["true"], {"ANYZERO_LOG": "loud"}, 125, "ANYZERO_LOG='loud'"),
        ([], {}, 2, "no program is given"),
        (["--"], {}, 2, "no program is given"),
        (["--loader", "theirs", "true"], {}, 2, "theirs"),
        (["--wrong", "true"], {}, 2, "--wrong"),
    ],
)
def test_run_refuses_before_it_starts_anything(
    arguments: list[str], variables: dict[str, str], code: int, said: str
) -> None:
    result = run(*arguments, **variables)
    assert (result.returncode, result.stdout) == (code, "")
    assert said in result.stderr


def test_run_says_what_it_does_when_asked() -> None:
    result = run("-v", "true")
    assert result.stderr.startswith("anyzero: loader ")
    assert f"anyzero: ANYZERO_PYTHON={sys.executable}\n" in result.stderr


def test_env_is_what_run_sets() -> None:
    told = json.loads(command("env", "--loader", "ours", "--devices", "cpu:tiles=2", "--shell", "json").stdout)
    assert (told["ANYZERO_PYTHON"], told["ANYZERO_DEVICES"]) == (sys.executable, "cpu:tiles=2")
    show = "import json, os; print(json.dumps(dict(os.environ)))"
    seen = json.loads(run("--devices", "cpu:tiles=2", sys.executable, "-c", show).stdout)
    assert {name: seen[name] for name in told} == told
    lines = command("env", "--loader", "ours").stdout
    shell = subprocess.run(
        ["sh", "-c", 'eval "$1"; exec "$2" -c "$3"', "sh", lines, sys.executable, HOST],
        env=child_environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert shell.stdout == "0 0\n1\n"


def test_env_fails_as_other_commands_do() -> None:
    result = command("env", "--devices", "toaster")
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert command("env", "--shell", "csh").returncode == 2


def test_doctor_finds_this_checkout_healthy() -> None:
    result = command("doctor", "--json", ANYZERO_PYTHON=sys.executable)
    found = json.loads(result.stdout)
    states = {check["name"]: check["state"] for check in found["checks"]}
    assert {states[name] for name in ("driver", "our loader", "compiler", "Python for C programs")} == {"good"}
    assert (found["ok"], result.returncode, result.stderr) == (True, 0, "")


def test_doctor_fails_where_something_has_to_be_mended() -> None:
    result = command("doctor", ANYZERO_LOG="loud", ANYZERO_PYTHON="/nowhere/python")
    assert result.returncode == 1
    assert "✗ Python for C programs  ANYZERO_PYTHON=/nowhere/python is not a program" in result.stdout
    assert "2 problems to fix." in result.stdout
