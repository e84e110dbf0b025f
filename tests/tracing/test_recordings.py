"""What the engine records: calls, commands, requests, who submitted what, and where it ends."""

from __future__ import annotations

import ctypes
import io
import json
import os
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.api.library import LIBRARY_PATH
from anyzero.tracing import chrome, page, summary
from anyzero.tracing.counters import usage
from anyzero.tracing.recording import Command, Recording, read, read_folder
from tests.abi.loaders import LOADER, build_program
from tests.abi.test_loader_programs import WORK
from tests.patience import PATIENCE


@az.kernel
def double(x: az.ptr[az.f32]) -> None:
    i = az.global_id(0)
    x[i] = x[i] + x[i]


def launches(recording: Recording) -> list[Command]:
    return [each for each in recording.commands if each.kind == "launch"]


@pytest.fixture
def ctx() -> Any:
    with az.device().context() as made:
        yield made


def test_a_launch_is_recorded_with_its_kernel_size_and_submission(ctx: Any) -> None:
    x = ctx.to_device(np.ones(96, np.float32))
    with az.trace() as recorded, ctx.immediate() as lst:
        double[96](x, on=lst)
    command = launches(recorded.recording)[-1]
    assert command.name == "double"
    assert command.work_items == 96
    assert command.start <= command.end
    calls = [
        call for call in recorded.recording.calls if (call.queue, call.position) == (command.queue, command.position)
    ]
    assert [call.name.startswith("zeCommandListAppendLaunchKernel") for call in calls] == [True]
    assert calls[0].start <= command.start


def test_copies_have_bytes_and_memory_is_counted(ctx: Any) -> None:
    with az.trace() as recorded:
        x = ctx.to_device(np.zeros(1000, np.float32))
        x.close()
    copies = [each for each in recorded.recording.commands if each.kind == "copy"]
    assert [each.nbytes for each in copies] == [4000]
    amounts = [each["device"] for _, each in usage(recorded.recording)]
    assert amounts == [4000, 0]


def test_commands_of_recorded_lists_and_the_fence_behind_them(ctx: Any) -> None:
    x = ctx.to_device(np.ones(64, np.float32))
    with ctx.command_list() as cl:
        for _ in range(3):
            double[64](x, on=cl)
    with az.trace() as recorded, ctx.queue() as queue:
        queue.submit(cl).wait()
    found = launches(recorded.recording)
    assert [each.name for each in found] == ["double"] * 3
    assert [each.position for each in found] == [found[0].position + i for i in range(3)]
    submitting = [call for call in recorded.recording.calls if call.queue == found[0].queue and call.position]
    assert submitting[0].name == "zeCommandQueueExecuteCommandLists"
    assert submitting[0].position == found[0].position


def test_a_queue_that_waits_says_since_when_and_for_what(ctx: Any) -> None:
    event = ctx.event()
    with az.trace() as recorded, ctx.immediate() as lst:
        done = lst.barrier(wait=event)  # which the calling thread tries to run at once
        event.signal()
        done.wait()
    waited = [each.waited_since for each in recorded.recording.commands if each.waited_since is not None]
    assert len(waited) == 1
    text = recorded.summary()
    assert "commands that an event kept waiting" in text


def test_each_thread_has_records_of_its_own(ctx: Any) -> None:
    x = ctx.to_device(np.ones(64, np.float32))

    def work() -> None:
        with ctx.immediate() as lst:
            for _ in range(50):
                double[64](x, on=lst)

    with az.trace() as recorded:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    appends = [call for call in recorded.recording.calls if call.name.startswith("zeCommandListAppendLaunchKernel")]
    assert len(appends) == 200
    assert len({call.thread for call in appends}) == 4
    assert len(launches(recorded.recording)) == 200


def test_compilations_are_requests_to_the_planner(ctx: Any) -> None:
    @az.kernel
    def fresh(x: az.ptr[az.f32]) -> None:
        x[az.global_id(0)] = 3.0

    x = ctx.to_device(np.ones(8, np.float32))
    with az.trace() as recorded:
        fresh[8](x)
    assert {"build", "compile"} <= {each.name for each in recorded.recording.requests}


def test_the_newest_records_replace_the_oldest(tmp_path: Path) -> None:
    library = ctypes.CDLL(str(LIBRARY_PATH))
    path = tmp_path / "recording"
    start = library.zexTraceStart
    start.argtypes = ctypes.c_char_p, ctypes.c_uint64
    event = az.device().context().event()
    assert start(os.fsencode(path), 16) == 0
    try:
        assert start(os.fsencode(tmp_path / "second"), 16) != 0  # one at a time
        for _ in range(100):
            assert not event.done
    finally:
        library.zexTraceStop()
    recording = read(path)
    own = [call for call in recording.calls if call.thread == threading.get_native_id()]
    assert len(own) <= 16
    assert recording.lost >= 84
    assert start(os.fsencode(path), 16) != 0  # the file is there
    assert start(os.fsencode(tmp_path / "third"), 15) != 0  # no power of two


def test_memory_of_a_ring_is_there_before_it_is_written(tmp_path: Path) -> None:
    """More than one record takes: the pages of 8,192 are provided by another thread. Old systems cannot do that."""
    if tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) < (5, 14):
        pytest.skip("MADV_POPULATE_WRITE came with Linux 5.14")
    library = ctypes.CDLL(str(LIBRARY_PATH))
    start = library.zexTraceStart
    start.argtypes = ctypes.c_char_p, ctypes.c_uint64
    event = az.device().context().event()
    path = tmp_path / "recording"
    assert start(os.fsencode(path), 1 << 17) == 0
    try:
        before = path.stat().st_blocks
        assert not event.done
        deadline = time.monotonic() + PATIENCE
        while (path.stat().st_blocks - before) * 512 < 8192 * 64 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (path.stat().st_blocks - before) * 512 >= 8192 * 64
    finally:
        library.zexTraceStop()


def test_commands_of_a_list_follow_each_other(ctx: Any) -> None:
    x = ctx.to_device(np.ones(8, np.float32))
    with ctx.command_list() as commands:
        for _ in range(5):
            commands.fill(x, 0)
    with az.trace() as recorded, ctx.queue() as queue:
        queue.submit(commands).wait()
    fills = [each for each in recorded.recording.commands if each.kind == "fill"]
    assert len(fills) == 5
    for before, after in pairwise(sorted(fills, key=lambda each: each.position)):
        assert before.start <= before.end <= after.start


def test_only_one_recording_is_made_at_a_time() -> None:
    with az.trace(), pytest.raises(az.Unavailable, match="already"), az.trace():
        pass


def test_a_block_that_fails_leaves_its_recording(ctx: Any, tmp_path: Path) -> None:
    path = tmp_path / "out.json"

    def fail() -> None:
        with az.trace(path):
            ctx.to_device(np.zeros(4))
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()
    assert json.loads(path.read_text())["traceEvents"]


def test_a_missing_folder_is_noticed_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no folder"):
        az.trace(tmp_path / "nowhere" / "out.json")


def test_timelines_have_arrows_from_calls_to_commands_and_from_signals_to_waits(ctx: Any) -> None:
    x = ctx.to_device(np.ones(64, np.float32))
    event = ctx.event()
    with az.trace() as recorded, ctx.immediate() as lst:
        double[64](x, on=lst)
        lst.signal(event)
        event.wait()
    events = list(chrome.events([recorded.recording]))
    json.dumps(events)
    begins = {each["id"]: each for each in events if each["ph"] == "s"}
    ends = {each["id"]: each for each in events if each["ph"] == "f"}
    assert begins.keys() == ends.keys()
    assert "submit" in {each["name"] for each in begins.values()}
    slices = {(each["pid"], each["tid"], each["ts"]) for each in events if each["ph"] == "X"}
    for each in (*begins.values(), *ends.values()):
        assert (each["pid"], each["tid"], each["ts"]) in slices


def test_an_arrow_leads_from_the_append_of_a_graph_to_its_first_command(ctx: Any) -> None:
    x, y = (ctx.zeros(64, np.float32) for _ in range(2))
    with ctx.immediate() as lst:
        with lst.capture() as graph:
            lst.copy(x, y)
            lst.copy(y, x)
        again = graph.instantiate()
        with az.trace() as recorded:
            lst.replay(again)
            lst.synchronize()
    (append,) = (call for call in recorded.recording.calls if call.name == "zeCommandListAppendGraphExt")
    first, second = recorded.recording.commands
    assert (append.queue, append.position) == (first.queue, first.position)
    assert second.position == first.position + 1
    assert "submit" in {each["name"] for each in chrome.events([recorded.recording]) if each["ph"] == "s"}


def test_tables_name_kernels_and_calls(ctx: Any) -> None:
    x = ctx.to_device(np.ones(64, np.float32))
    with az.trace() as recorded:
        double[64](x)
    text = recorded.summary()
    assert "double" in text
    assert "zeCommandListAppendLaunchKernel" in text
    rows = summary.command_rows([recorded.recording])
    assert [row.count for row in rows if row.name == "double"] == [1]


def test_a_folder_is_noticed_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder"):
        az.trace(tmp_path)


@pytest.mark.parametrize("name", ["a.html", "a.HTM"])
def test_the_name_of_a_page_may_have_capitals(name: str, tmp_path: Path) -> None:
    with az.trace(tmp_path / name):
        pass
    assert (tmp_path / name).read_text().startswith("<!DOCTYPE html>")


def test_reports_say_that_records_are_missing() -> None:
    recordings = [Recording(1, 0, dropped=3), Recording(2, 0, dropped=4)]
    assert any("At least 7 records are missing" in line for line in summary.tables(recordings))
    page.write(recordings, text := io.StringIO())
    assert '"dropped":7' in text.getvalue()


def test_a_name_stays_in_its_row_of_a_table() -> None:
    """Kernels of SPIR-V modules may have any name."""
    command = Command("launch", "a\nb\x1b\u202eü", 0, 9, 1, 1, 1, 0, (1, 1, 1), (1, 1, 1), None, 0, 0, (0, 0), 0)
    lines = list(summary.tables([Recording(1, 0, commands=[command])]))
    assert lines[-1].endswith("  a\\nb\\x1b\\u202eü")


def test_the_page_is_one_file_and_text_cannot_end_its_script(ctx: Any, tmp_path: Path) -> None:
    x = ctx.to_device(np.ones(64, np.float32))
    path = tmp_path / "out.html"
    with az.trace(path) as recorded:
        double[64](x)
    text = path.read_text()
    assert text.count("</script>") == 1
    assert "src=" not in text
    assert "double" in text
    evil = Recording(1, 0, {1: "</script><script>alert(1)"}, recorded.recording.calls)
    with path.open("w") as file:
        page.write([evil], file)
    assert path.read_text().count("</script>") == 1


def test_a_forked_child_leaves_its_parent_s_recording_alone(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, anyzero as az, numpy as np\n"
        "ctx = az.device().context()\n"
        "ctx.to_device(np.ones(8))\n"
        "child = os.fork()\n"
        "ctx.to_device(np.ones(16))\n"
        "if child: os.waitpid(child, 0)\n"
        "os._exit(0)\n"
    )
    subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "ANYZERO_TRACE": str(tmp_path)},
        timeout=PATIENCE,
        check=True,
    )
    parent, child = read_folder(tmp_path, pytest.fail)
    assert [each.nbytes for each in parent.commands if each.kind == "copy"] == [64, 128]
    # What the child did first told it that the recording is not its own.
    assert {call.thread for call in child.calls} == {child.process}
    assert 64 not in [each.nbytes for each in child.commands]


def test_c_programs_are_recorded_through_the_loader(tmp_path: Path) -> None:
    main = WORK + "int main(void) { find_driver(); work(); return 3; }\n"
    program = build_program(tmp_path, "traced", main, LOADER)
    output = tmp_path / "trace.json"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "anyzero.tools",
            "trace",
            "--summary",
            "-o",
            str(output),
            "--loader",
            "ours",
            "--",
            program,
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert "zeCommandListAppendMemoryFill" in done.stdout
    events = json.loads(output.read_text())["traceEvents"]
    fills = [each for each in events if each.get("cat") == "command" and each["name"] == "fill"]
    assert [each["args"]["bytes"] for each in fills] == [1 << 20]
    calls = {each["name"]: each["args"] for each in events if each.get("cat") == "call"}
    assert calls["zeMemAllocHost"]["size"] in (1 << 20, hex(1 << 20))
    assert calls["zeMemAllocHost"]["result"] == "SUCCESS"


def test_a_program_that_crashes_leaves_its_recording(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, anyzero as az, numpy as np\n"
        "ctx = az.device().context()\n"
        "ctx.to_device(np.ones(8))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "anyzero.tools", "trace", "--summary", "--", sys.executable, str(program)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 128 + 9
    assert "zeCommandListAppendMemoryCopy" in done.stdout


def test_a_program_without_the_driver_and_none_at_all(tmp_path: Path) -> None:
    def traced(*program: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "anyzero.tools", "trace", "--", *program],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            cwd=tmp_path,
            check=False,
        )

    assert "nothing recorded" in traced("true").stderr
    assert traced("false").returncode == 1
    assert traced("no-such-program").returncode == 127
    assert traced().returncode == 2
    assert not list(tmp_path.iterdir())
