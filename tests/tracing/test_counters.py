"""Amounts over time, where answers of the planner come from, and the calls that commands of graphs came from."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.tracing import chrome, page, summary
from anyzero.tracing.counters import bandwidth, in_flight, queued, usage
from anyzero.tracing.recording import Call, Command, Recording, read_folder
from tests.patience import PATIENCE


@az.kernel
def double(x: az.ptr[az.f32]) -> None:
    i = az.global_id(0)
    x[i] = x[i] + x[i]


@pytest.fixture
def ctx() -> Any:
    with az.device().context() as made:
        yield made


def command(start: int, end: int, position: int, *, nbytes: int = 0, queue: int = 1) -> Command:
    none = (0, 0, 0)
    return Command("copy", "copy", start, end, 1, queue, position, nbytes, none, none, None, 0, 0, (0, 0), 1)


def call(start: int, position: int, *, queue: int = 1) -> Call:
    return Call("zeCommandQueueExecuteCommandLists", start, start + 1, 1, 0, {}, queue, position)


def test_commands_are_in_flight_from_their_call_to_their_end() -> None:
    """The second call submits two commands at once; the first command was submitted before the recording."""
    recording = Recording(1, 0)
    recording.calls = [call(10, 2), call(20, 3)]
    recording.commands = [command(5, 8, 1), command(12, 30, 2), command(30, 40, 3), command(40, 50, 4)]
    assert [(each.position, start) for each, start in queued(recording)] == [(2, 10), (3, 20), (4, 20)]
    assert list(in_flight(recording)) == [(10, 1), (20, 3), (30, 2), (40, 1), (50, 0)]


def test_rates_add_up_while_commands_run_beside_each_other() -> None:
    recording = Recording(1, 0)
    recording.commands = [command(0, 100, 1, nbytes=400), command(50, 100, 1, nbytes=100, queue=2), command(7, 9, 2)]
    assert list(bandwidth(recording)) == [(0, 4.0), (50, 6.0), (100, 0.0)]


def test_a_timeline_has_the_counters(ctx: Any) -> None:
    with az.trace() as recorded:
        x = ctx.to_device(np.zeros(1 << 20, np.float32))
        double[1 << 20](x)
        x.copy_to()
    events = list(chrome.events([recorded.recording]))
    counters = {each["name"] for each in events if each["ph"] == "C"}
    assert counters == {"memory", "commands in flight", "copies and fills"}
    last = {each["name"]: each["args"] for each in events if each["ph"] == "C"}
    assert last["commands in flight"] == {"commands": 0}
    assert last["copies and fills"] == {"GB/s": 0.0}
    assert all("queued" in each["args"] for each in events if each.get("cat") == "command")
    assert next(usage(recorded.recording))[1]["device"] == 1 << 22
    written = io.StringIO()
    page.write([recorded.recording], written)
    text = written.getvalue()
    data = json.JSONDecoder().raw_decode(text[text.index('{"tracks"') :])[0]
    assert {"commands in flight", "copies and fills: GB/s", "memory: device"} <= {
        each["title"] for each in data["counters"]
    }


CACHED = """
import numpy as np
import anyzero as az

@az.kernel
def triple(x: az.ptr[az.f32]) -> None:
    i = az.global_id(0)
    x[i] = 3.0 * x[i]

x = az.device().context().to_device(np.ones(8, np.float32))
triple[8](x)
assert x.copy_to()[0] == 3.0
"""


def test_answers_of_the_planner_say_whether_they_were_cached(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(CACHED)
    found = []
    for place in ("first", "second"):
        folder = tmp_path / place
        folder.mkdir()
        environment = {"ANYZERO_CACHE_DIR": str(tmp_path / "cache"), "ANYZERO_TRACE": str(folder)}
        run(program, environment)
        [recording] = read_folder(folder, pytest.fail)
        found.append({each.name: (each.origin, each.kernel) for each in recording.requests if each.name != "improve"})
    assert found[0]["build"] == ("compiled", "")
    assert found[0]["compile"][0] in ("compiled", "first stage")
    assert found[1]["build"] == ("disk cache", "")
    assert found[1]["compile"] == ("disk cache", "triple")
    assert "compile (disk cache)" in [row.name for row in summary.request_rows([recording])]
    assert "planner: compile triple" in {each["name"] for each in chrome.events([recording])}


def run(program: Path, variables: dict[str, str]) -> None:
    subprocess.run([sys.executable, str(program)], env={**os.environ, **variables}, timeout=PATIENCE, check=True)


def test_replaying_a_graph_has_an_arrow_to_its_first_command(ctx: Any) -> None:
    x, y = ctx.zeros(4, np.int64), ctx.zeros(4, np.int64)
    with ctx.immediate() as lst:
        with lst.capture() as graph:
            lst.fill(x, 7)
            lst.copy(y, x)
        runs = graph.instantiate()
        with az.trace() as recorded:
            lst.replay(runs).wait()
    [appended] = [each for each in recorded.recording.calls if each.name == "zeCommandListAppendGraphExt"]
    fill = next(each for each in recorded.recording.commands if each.kind == "fill")
    assert (appended.queue, appended.position) == (fill.queue, fill.position)
    events = list(chrome.events([recorded.recording]))
    begins = [each for each in events if each["ph"] == "s" and each["ts"] == appended.start / 1000]
    ends = [each for each in events if each["ph"] == "f" and each["id"] in {each["id"] for each in begins}]
    assert [each["ts"] for each in ends] == [fill.start / 1000]
