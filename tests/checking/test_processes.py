"""Programs that do odd things with their process: what they are given, their descriptors, their end, their children."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from anyzero.checking.finding import read_folder
from anyzero.tools.cli import main
from tests.abi.loaders import LOADER, build_program, compiler
from tests.checking.test_reports import PROGRAM
from tests.patience import PATIENCE

TOOLS = ["check", "trace", "profile"]

BEGIN = """
#include "ze_api.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;
static void* memory;
static void begin(void) {
  uint32_t one = 1;
  ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  ze_device_mem_alloc_desc_t device_desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  if (zeInit(0) || zeDriverGet(&one, &driver) || zeDeviceGet(driver, &one, &device) ||
      zeContextCreate(driver, &desc, &context) || zeMemAllocDevice(context, &device_desc, 400, 1, device, &memory))
    exit(9);
}
static void end(void) {
  zeMemFree(context, memory);
  zeContextDestroy(context);
}
static void copy_too_much(void) {
  static char from[500];
  ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
  desc.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  ze_command_list_handle_t list;
  if (zeCommandListCreateImmediate(context, device, &desc, &list)) exit(8);
  zeCommandListAppendMemoryCopy(list, memory, from, 404, NULL, 0, NULL);
  zeCommandListDestroy(list);
}
"""

CLOSES = """
int main(void) {
  begin();
  for (int i = 3; i < 1024; ++i) close(i);
  for (int i = 0; i < 40; ++i) {
    char name[32];
    sprintf(name, "own%d", i);
    if (open(name, O_CREAT | O_RDWR, 0600) < 0) return 7;
  }
  copy_too_much();
  end();
  return 0;
}
"""

PRINTS = """
int main(void) {
  for (int i = 0; i < 3; ++i) close(i);
  begin();
  void* shared = NULL;
  ze_device_mem_alloc_desc_t on_device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  ze_host_mem_alloc_desc_t on_host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  if (zeMemAllocShared(context, &on_device, &on_host, 4096, 1, device, &shared)) return 9;
  ze_ipc_mem_handle_t handle;
  if (zeMemGetIpcHandle(context, shared, &handle)) return 8;
  for (int i = 0; i < 3; ++i)
    if (write(i, "printed", 7) >= 0) return 10 + i;
  zeMemFree(context, shared);
  end();
  return 0;
}
"""

FREES_LATE = """
int main(void) {
  atexit(end);
  begin();
  return 0;
}
"""

LEAVES_CONTEXT = """
int main(void) {
  begin();
  end();
  ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  return zeContextCreate(driver, &desc, &context) ? 9 : 0;
}
"""

LEAVES = """
int main(void) {
  begin();
  return 0;
}
"""


def tool(name: str, *arguments: str, folder: Path, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "anyzero.tools", name, *arguments]
    options: dict[str, object] = {"cwd": folder, "text": True, "timeout": PATIENCE, "check": False} | more
    if "stdout" not in options:
        options |= {"capture_output": True}
    return subprocess.run(command, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("name", TOOLS)
def test_a_program_gets_the_descriptors_that_are_open_for_it(name: str, tmp_path: Path) -> None:
    """A shell opens some for `program <(other)`, make for its jobs, systemd for sockets."""
    reads, writes = os.pipe()
    with os.fdopen(writes, "w") as file:
        file.write("given\n")
    done = tool(name, "--", "cat", f"/dev/fd/{reads}", folder=tmp_path, pass_fds=[reads])
    os.close(reads)
    assert done.stdout == "given\n", done.stderr


def test_mistakes_are_counted_where_nobody_reads_them(tmp_path: Path) -> None:
    """The file of findings must not get the number of standard error, which the report is printed to."""
    (tmp_path / "program.py").write_text(PROGRAM)
    arguments = ["--format", "json", "-o", "found.json", "--", sys.executable, "program.py", "11"]
    command = ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-m", "anyzero.tools", "check", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert [each["rule"] for each in json.loads((tmp_path / "found.json").read_text())] == ["out-of-bounds-write"]


def test_a_program_that_closes_what_it_does_not_know_keeps_its_files(tmp_path: Path) -> None:
    program = build_program(tmp_path, "closes", BEGIN + CLOSES, LOADER)
    done = tool("check", "--", str(program), folder=tmp_path)
    assert done.returncode == 3, done.stderr
    assert done.stderr.endswith("anyzero check: 1 mistake: 1 command-out-of-bounds\n")
    own = list(tmp_path.glob("own*"))
    assert len(own) == 40
    assert [path for path in own if path.stat().st_size] == []


def test_no_file_of_the_driver_has_the_number_of_a_standard_stream(tmp_path: Path) -> None:
    """A program that has closed them, and prints, would write into memory that the driver shares."""
    program = build_program(tmp_path, "prints", BEGIN + PRINTS, LOADER)
    for each in (["check", "--"], ["trace", "-o", "trace.json", "--"]):
        done = tool(*each, str(program), folder=tmp_path)
        assert done.returncode == 0, done.stderr


def test_a_program_whose_name_is_no_text(tmp_path: Path) -> None:
    program = os.fsdecode(b"\xff.py")
    (tmp_path / program).write_text(PROGRAM)
    done = tool("check", "--format", "sarif", "-o", "found.sarif", "--", sys.executable, program, "11", folder=tmp_path)
    assert done.returncode == 3, done.stderr
    (result,) = json.loads((tmp_path / "found.sarif").read_text())["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 6


def test_what_exit_handlers_free_is_no_leak(tmp_path: Path) -> None:
    """Also those that are older than the driver, which a loader loads late."""
    program = build_program(tmp_path, "late", BEGIN + FREES_LATE, LOADER)
    done = tool("check", "--", str(program), folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "anyzero check: no mistakes found\n")


@pytest.mark.parametrize("destructor", [True, False])
def test_what_static_objects_free_is_no_leak(destructor: bool, tmp_path: Path) -> None:
    source = tmp_path / "late.cpp"
    frees = "struct Owner { ~Owner() { end(); } } owner;\n" if destructor else ""
    source.write_text(
        BEGIN.replace("static void copy_too_much", "[[maybe_unused]] static void copy_too_much").replace(
            "static void end", "[[maybe_unused]] static void end"
        )
        + frees
        + LEAVES
    )
    headers = LOADER.parents[3] / "engine" / "abi" / "gen"
    where = [f"-L{LOADER.parent}", f"-l:{LOADER.name}", f"-Wl,-rpath,{LOADER.parent}"]
    flags = ["-x", "c++", "-std=c++20", f"-I{headers}", str(source), "-o", str(tmp_path / "late")]
    subprocess.run([compiler(), *flags, "-lstdc++", *where], check=True)
    done = tool("check", "--", str(tmp_path / "late"), folder=tmp_path)
    assert done.returncode == (0 if destructor else 3), done.stderr


def test_a_context_that_is_never_destroyed_is_a_leak(tmp_path: Path) -> None:
    program = build_program(tmp_path, "leaves", BEGIN + LEAVES_CONTEXT, LOADER)
    done = tool("check", "--", str(program), folder=tmp_path)
    assert done.returncode == 3
    assert "a context still exists when the process ends\n  other: made by zeContextCreate" in done.stderr
    assert done.stderr.endswith("anyzero check: 1 mistake: 1 leak\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT])
def test_a_program_that_is_ended_from_its_terminal_is_reported(number: signal.Signals, tmp_path: Path) -> None:
    """A terminal sends the signal to both."""
    begin = "import resource, signal\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))"
    begin += f"\nsignal.signal({number:d}, signal.SIG_DFL)"
    (tmp_path / "program.py").write_text(f"{begin}\n{PROGRAM}print('there', flush=True)\ninput()\n")
    command = [sys.executable, "-m", "anyzero.tools", "check", "--format", "json", "-o", "out.json", "--"]
    process = subprocess.Popen(
        [*command, sys.executable, "program.py", "11"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        os.killpg(process.pid, number)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number, said
    assert [each["rule"] for each in json.loads((tmp_path / "out.json").read_text())] == ["out-of-bounds-write"]


IN_WORKERS = """\
import subprocess, sys

for size in ("11", "11", "12"):
    subprocess.run([sys.executable, "program.py", size], check=True)
"""


def test_a_mistake_of_several_processes_is_one(tmp_path: Path) -> None:
    """As of the workers of a test run: the addresses differ, and may the work-items."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "workers.py").write_text(IN_WORKERS)
    done = tool("check", "--format", "json", "--", sys.executable, "workers.py", folder=tmp_path)
    (found,) = json.loads(done.stdout)
    assert (found["rule"], found["count"]) == ("out-of-bounds-write", 4)
    assert done.stderr.endswith("anyzero check: 1 mistake: 1 out-of-bounds-write\n")


def test_a_check_in_a_check_reports_to_both(tmp_path: Path) -> None:
    """As in a build whose tests are checked already."""
    (tmp_path / "program.py").write_text(PROGRAM)
    inner = [sys.executable, "-m", "anyzero.tools", "check", "--", sys.executable, "program.py", "11"]
    done = tool("check", "--format", "json", "--", *inner, folder=tmp_path)
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("anyzero check: 1 mistake: 1 out-of-bounds-write\n") == 2
    assert [each["rule"] for each in json.loads(done.stdout)] == ["out-of-bounds-write"]


def test_two_mistakes_of_a_process_stay_two(tmp_path: Path) -> None:
    """The driver tells them apart by their memory, whose addresses are no names across processes."""
    line = json.dumps({"rule": "leak", "message": "64 bytes at 0x7f00 are left", "caller": "main+0x10", "count": 1})
    other = line.replace("0x7f00", "0x7f40")
    (tmp_path / "1.jsonl").write_text(f"{line}\n{other}\n")
    (tmp_path / "2.jsonl").write_text(f"{other}\n")
    assert [each.count for each in read_folder(tmp_path)] == [2, 1]


NO_ROOM = """\
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
"""


def test_mistakes_that_there_is_no_room_for_are_missed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(NO_ROOM + PROGRAM)
    done = tool("check", "--", sys.executable, "program.py", "11", folder=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "anyzero check: mistakes are missing here" in done.stderr
    assert "no mistakes found" not in done.stderr
    in_block = PROGRAM.replace("with az.device", "with az.check(), az.device")
    (tmp_path / "program.py").write_text(NO_ROOM + in_block)
    command = [sys.executable, "program.py", "11"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert "az.check: there was no room for some of the mistakes" in done.stderr


@pytest.mark.parametrize("size", ["64k", "512k", "64m"])
@pytest.mark.parametrize("name", ["trace", "profile"])
def test_a_full_temporary_folder_does_no_harm_to_the_program(name: str, size: str, tmp_path: Path) -> None:
    """Files of a recording and a profile are mapped: a write to a page that there is no room for raises SIGBUS."""
    (tmp_path / "program.py").write_text(WORK + "print('ended')\n")
    (tmp_path / "small").mkdir()
    inside = ["unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c"]
    mounts = f"mount -t tmpfs -o size={size} tmpfs small"
    if subprocess.run([*inside, mounts], cwd=tmp_path, capture_output=True, check=False).returncode:
        pytest.skip("NOT TESTED: a full file system, which this system does not let the test make")
    command = [sys.executable, "-m", "anyzero.tools", name, *RESULTS[name], "--", sys.executable, "program.py", "10"]
    done = subprocess.run(
        [*inside, f'{mounts} && TMPDIR="$PWD/small" exec "$@"', "sh", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout[:5]) == (0, "ended"), done.stderr
    if name == "trace":
        assert ("records are missing" in done.stderr) == (size != "64m")
        assert size != "64m" or "write" in done.stdout


IN_BLOCK = """\
import os, sys
import anyzero as az

with getattr(az, sys.argv[1])() as block:
    buffer = az.device().context().zeros(4, "i4")
    child = os.fork()
    if child == 0:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    buffer.copy_to()
print("ended")
"""


@pytest.mark.parametrize("name", TOOLS)
def test_a_forked_child_leaves_its_parent_s_block_alone(name: str, tmp_path: Path) -> None:
    """Its exit leaves the block, and it removes what its parent has."""
    (tmp_path / "block.py").write_text(IN_BLOCK)
    command = [sys.executable, "block.py", name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr


RESULTS = {"check": ["--format", "json"], "trace": ["--summary"], "profile": ["--no-roofline", "--json"]}
WORK = PROGRAM.replace("] = 1", "] = 1\n    for _ in range(4_000_000):\n        y[az.global_id(0)] += 1")


@pytest.mark.parametrize("name", TOOLS)
def test_a_result_that_cannot_be_printed_is_a_failure(name: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WORK)
    with Path("/dev/full").open("w") as full:
        arguments = [*RESULTS[name], "--", sys.executable, "program.py", "10"]
        done = tool(name, *arguments, folder=tmp_path, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 125, done.stderr
    assert f"anyzero {name}: error: standard output cannot be written: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", TOOLS)
def test_the_exit_code_survives_a_reader_that_has_seen_enough(name: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WORK + "raise SystemExit(7)\n")
    reads, writes = os.pipe()
    os.close(reads)
    arguments = [*RESULTS[name], "--", sys.executable, "program.py", "10"]
    done = tool(name, *arguments, folder=tmp_path, stdout=writes, stderr=subprocess.PIPE)
    os.close(writes)
    assert done.returncode == 7, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", TOOLS)
def test_a_machine_without_a_temporary_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tempfile.mkdtemp", lambda *_, **__: (_ for _ in ()).throw(FileNotFoundError(2, "No such file"))
    )

    monkeypatch.chdir(tmp_path)
    assert main([name, "--", "true"]) == 125
