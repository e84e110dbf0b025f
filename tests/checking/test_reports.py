"""Findings on their way to people and programs: exceptions, text, JSON, SARIF, exit codes, tests that fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from ctypes import c_void_p
from pathlib import Path

import pytest

import anyzero
from anyzero.checking import formats
from anyzero.checking.finding import Finding, Frame, read
from anyzero.checking.rules import RULES
from tests.abi.calls import Calls
from tests.patience import PATIENCE

PROGRAM = """\
import anyzero as az, sys
import numpy as np

@az.kernel
def write(y: az.ptr[az.i32]):
    y[az.global_id(0)] = 1

with az.device().context() as ctx, ctx.immediate() as lst:
    y = ctx.zeros(10, np.int32)
    write[int(sys.argv[1])](y, on=lst).wait()
"""


WORK = """\
    value = az.f32(y[0])
    for _ in range(40_000_000):
        value = value * 0.5 + 1
    y[0] = az.i32(value)
"""
"""Enough for a sample."""


def check(folder: Path, *options: str, size: int = 11) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "anyzero.tools", "check", *options, "--", sys.executable, "program.py", str(size)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_a_program_with_a_mistake_is_reported_with_its_line(tmp_path: Path) -> None:
    done = check(tmp_path)
    assert done.returncode == 3, done.stderr
    assert "out-of-bounds-write" in done.stderr
    assert 'program.py", line 6, in write' in done.stderr
    assert "y[az.global_id(0)] = 1" in done.stderr
    assert "work-item: (10, 0, 0)" in done.stderr
    assert "rule: " in done.stderr
    assert "fix: " in done.stderr
    assert done.stderr.rstrip().endswith("anyzero check: 1 mistake: 1 out-of-bounds-write")


def test_a_line_with_separators_is_reported(tmp_path: Path) -> None:
    """Those of Unicode, and the form feed, end no line of a report."""
    program = PROGRAM.replace(" = 1\n", " = 1  # \u2028 \u0085 \f \N{LATIN SMALL LETTER E WITH ACUTE}\n")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "anyzero.tools", "check", "--format", "json", "--", sys.executable, "program.py"]
    done = subprocess.run([*command, "11"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 3, done.stderr
    (found,) = json.loads(done.stdout)
    assert found["stack"][-1]["line"] == 6


AGAIN = """\
import os, sys
import anyzero as az

az.device().context().zeros(4, "i4")
os.execv(sys.executable, [sys.executable, "program.py", "11"])
"""


@pytest.mark.parametrize("tool", ["check", "trace", "profile"])
def test_a_program_that_becomes_another_one_is_seen_to_its_end(tmp_path: Path, tool: str) -> None:
    """Both have the number of one process."""
    (tmp_path / "program.py").write_text(PROGRAM.replace(" = 1\n", " = 1\n" + WORK))
    (tmp_path / "again.py").write_text(AGAIN)
    options = {"check": [], "trace": ["--summary"], "profile": ["--no-roofline"]}[tool]
    command = [sys.executable, "-m", "anyzero.tools", tool, *options, "--", sys.executable, "again.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    last = done.stderr.splitlines()[-1:]
    assert ("1 out-of-bounds-write" if tool == "check" else "write") in "".join([done.stdout, *last])


@pytest.mark.parametrize("tool", ["check", "trace"])
def test_a_result_that_cannot_be_written_is_refused_first(tmp_path: Path, tool: str) -> None:
    (tmp_path / "program.py").write_text("print('it ran')")
    command = [sys.executable, "-m", "anyzero.tools", tool, "-o", str(tmp_path), "--", sys.executable, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr == f"anyzero {tool}: error: {tmp_path} is a folder\n"


def test_a_program_without_mistakes_ends_as_always(tmp_path: Path) -> None:
    done = check(tmp_path, size=10)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "anyzero check: no mistakes found\n"


def test_json_and_sarif_have_rule_and_place(tmp_path: Path) -> None:
    done = check(tmp_path, "--format", "json")
    (found,) = json.loads(done.stdout)
    assert (found["rule"], found["kernel"], found["count"]) == ("out-of-bounds-write", "write", 1)
    assert found["stack"][-1]["line"] == 6
    check(tmp_path, "--format", "sarif", "-o", "out.sarif")
    document = json.loads((tmp_path / "out.sarif").read_text())
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    (result,) = run["results"]
    assert result["ruleId"] in {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("program.py")
    assert place["region"]["startLine"] == 6


def test_the_program_s_own_exit_code_comes_first(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("raise SystemExit(7)")
    command = [sys.executable, "-m", "anyzero.tools", "check", "--", sys.executable, "fails.py"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=PATIENCE, check=False).returncode == 7


@pytest.mark.parametrize(
    ("options", "text"),
    [(["--only", "memry"], "there is no check 'memry'"), (["-o", "nowhere/x"], "there is no folder nowhere")],
)
def test_wrong_options_are_refused(tmp_path: Path, options: list[str], text: str) -> None:
    done = check(tmp_path, *options)
    assert done.returncode in (2, 125)
    assert text in done.stderr


def test_a_program_that_is_not_checked_is_told_from_a_right_one(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "anyzero.tools", "check", "--", "true"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, "did not use the driver" in done.stderr) == (0, True), done.stderr


def test_a_full_disk_is_reported_behind_the_mistakes(tmp_path: Path) -> None:
    done = check(tmp_path, "--format", "json", "-o", "/dev/full")
    assert done.returncode == 125, done.stderr
    assert "/dev/full cannot be written" in done.stderr
    assert "1 mistake: 1 out-of-bounds-write" in done.stderr


def test_a_program_that_is_asked_to_end_is_reported(tmp_path: Path) -> None:
    """`timeout` and CI systems ask the process that they have started."""
    (tmp_path / "program.py").write_text(PROGRAM + "print('there', flush=True)\ninput()\n")
    command = [sys.executable, "-m", "anyzero.tools", "check", "--format", "json", "-o", "out.json", "--"]
    process = subprocess.Popen(
        [*command, sys.executable, "program.py", "11"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM, said
    assert [each["rule"] for each in json.loads((tmp_path / "out.json").read_text())] == ["out-of-bounds-write"]


def leave_memory(az: Calls, context: c_void_p) -> None:
    memory = az.memory(context, 64)
    lst = az.immediate(context)
    az.call("zeCommandListAppendMemoryCopy", lst, memory, memory + 1, 64, None, 0, None)


def test_a_block_with_a_mistake_raises(az: Calls, context: c_void_p) -> None:
    with pytest.raises(anyzero.CheckError, match="command-out-of-bounds") as raised, anyzero.check("memory"):
        leave_memory(az, context)
    assert [each.rule.name for each in raised.value.findings] == ["command-out-of-bounds"]


def test_an_error_of_the_block_keeps_its_findings_as_a_note(az: Calls, context: c_void_p) -> None:
    def fail() -> None:
        leave_memory(az, context)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised, anyzero.check("memory"):
        fail()
    assert "command-out-of-bounds" in raised.value.__notes__[0]


def test_checks_are_not_nested_and_known() -> None:
    with anyzero.check("sync"), pytest.raises(anyzero.Unavailable, match="on already"), anyzero.check():
        pass
    with pytest.raises(ValueError, match="no check 'rules'"):
        anyzero.check("rules")


def test_all_checks_have_a_word(tmp_path: Path) -> None:
    racing = PROGRAM.replace("y[az.global_id(0)] = 1", "y[0] = az.i32(az.global_id(0))")
    in_block = racing.replace("az.device", "az.check('all'), az.device")
    tool = ["-m", "anyzero.tools", "check", "--only", "all", "--", sys.executable]
    for program, command in ((in_block, []), (racing, tool)):
        (tmp_path / "program.py").write_text(program)
        whole = [sys.executable, *command, "program.py", "64"]
        done = subprocess.run(whole, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert "global-race" in done.stderr, done.stderr


def test_a_kind_that_is_off_finds_nothing(az: Calls, context: c_void_p) -> None:
    with anyzero.check("sync"):
        leave_memory(az, context)


def test_a_test_with_mistakes_fails(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import anyzero as az, numpy as np, pytest\n\n"
        "@az.kernel\ndef write(y: az.ptr[az.i32]):\n    y[az.global_id(0)] = 1\n\n"
        "@pytest.mark.az_check('memory')\n@pytest.mark.parametrize('n', [10, 11])\ndef test_write(n, az_context):\n"
        "    with az_context.immediate() as lst:\n"
        "        write[n](az_context.zeros(10, np.int32), on=lst).wait()\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    usual = {name: value for name, value in os.environ.items() if name != "ANYZERO_CHECK"}
    done = subprocess.run(
        command, cwd=tmp_path, env=usual, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "out-of-bounds-write" in done.stdout


def test_a_marked_test_in_a_program_that_is_checked_leaves_the_report_to_it(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import anyzero as az, numpy as np, pytest\n\n"
        "@az.kernel\ndef write(y: az.ptr[az.i32]):\n    y[az.global_id(0)] = 1\n\n"
        "@pytest.mark.az_check\ndef test_write(az_context):\n"
        "    write[11](az_context.zeros(10, np.int32))\n"
    )
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "anyzero.tools", "check", "--", *pytest_]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 3, done.stdout
    assert "1 passed" in done.stdout
    assert done.stderr.endswith("anyzero check: 1 mistake: 1 out-of-bounds-write\n")


def test_a_kernel_ends_at_its_first_mistake_where_that_is_asked_for(tmp_path: Path) -> None:
    done = check(tmp_path, "--stop")
    assert done.returncode == 1
    assert "DeviceLost" in done.stderr
    assert done.stderr.rstrip().endswith("1 mistake: 1 out-of-bounds-write")


def test_every_rule_is_one_that_the_engine_reports() -> None:
    engine = Path(__file__).parents[2] / "engine"
    code = "".join(path.read_text() for path in engine.rglob("*.cpp"))
    unused = [name for name in RULES if f"Rule::{''.join(map(str.capitalize, name.split('-')))}" not in code]
    assert unused == []


def test_a_damaged_file_gives_the_findings_that_are_whole(tmp_path: Path) -> None:
    whole = '{"rule": "leak", "message": "m", "count":            2}'
    lines = [whole, "{", "[]", '{"rule": "unknown", "message": "m", "count": 1}', '{"rule": "leak", "message": "m"', ""]
    path = tmp_path / "1.jsonl"
    path.write_text("\n".join(lines))
    (found,) = read(path)
    assert (found.rule.name, found.count) == ("leak", 2)


def test_files_are_uris_in_sarif(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Relative to the root of the repository, as code scanning takes them, wherever the program ran."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    files = {
        "a b.cl": "sub/a%20b.cl",
        str(tmp_path / "ü.cl"): "%C3%BC.cl",
        "../50%#?.cl": "50%25%23%3F.cl",
        str(tmp_path / "sub" / ".." / "k.cl"): "k.cl",
        "/x y/k.cl": "file:///x%20y/k.cl",
        "../../k.cl": (tmp_path.parent / "k.cl").as_uri(),
    }
    for file, uri in files.items():
        frame = Frame(file, 0, "k")
        finding = Finding(RULES["leak"], "m", 1, "k", "", (frame,), "", "", "", "")
        (result,) = json.loads(formats.as_sarif([finding]))["runs"][0]["results"]
        place = result["locations"][0]["physicalLocation"]
        assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == (uri, 1)


def test_texts_of_findings() -> None:
    frame = Frame("k.cl", 3, "scale", "y[i] = 1;")
    finding = Finding(
        RULES["out-of-bounds-write"], "two work-items met", 4, "scale", "(1, 0, 0)", (frame,), "m", "o", "", ""
    )
    text = formats.as_text([finding])
    for part in ("out-of-bounds-write", "(4 times)", 'File "k.cl", line 3, in scale', "y[i] = 1;", "1 mistake"):
        assert part in text
    assert formats.summary([]) == "no mistakes found"
    assert finding.place == frame
