"""Lines of Python in recordings: of `az.trace` and of programs under `anyzero trace`."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import anyzero as az
from anyzero.tracing import chrome, summary
from anyzero.tracing.recording import Call, read_folder
from tests.patience import PATIENCE


@pytest.fixture
def ctx() -> Any:
    with az.device().context() as made:
        yield made


def line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def of(recorded: az.trace, *names: str) -> list[Call]:
    return [call for call in recorded.recording.calls if call.name.startswith(names)]


def test_a_call_has_the_line_of_the_program_not_of_the_package(ctx: Any) -> None:
    with az.trace() as recorded:
        ctx.event()
        created = line() - 1
    [call] = of(recorded, "zeEventCreate")[-1:]
    assert (Path(call.file), call.line) == (Path(__file__), created)
    assert call.function == test_a_call_has_the_line_of_the_program_not_of_the_package.__qualname__
    about = [each["args"] for each in chrome.events([recorded.recording]) if each.get("name") == call.name]
    assert about[-1]["line"] == f"{__file__}:{created} ({call.function})"
    assert f"{__file__}:{created} ({call.function})" in [row.name for row in summary.line_rows([recorded.recording])]


def test_calls_of_the_fast_path_have_a_line(ctx: Any) -> None:
    """In a burst not every one, but the first has."""
    event = ctx.event()
    with az.trace() as recorded:
        for _ in range(50):
            assert not event.done
        asked = line() - 1
    found = [call.line for call in of(recorded, "zeEventQueryStatus")]
    assert len(found) == 50
    assert found[0] == asked
    assert set(found) <= {asked, 0}


def test_functions_that_are_made_anew_have_their_own_lines(ctx: Any) -> None:
    """A code object may get the address of an older one, with the same call at the same place."""
    event = ctx.event()
    with az.trace() as recorded:
        for number in range(300):
            scope: dict[str, Any] = {}
            exec(compile("\n" * number + "def ask(event): return event.done", "made.py", "exec"), scope)
            for _ in range(number % 3):
                scope["ask"](event)
    asked = [number + 1 for number in range(300) for _ in range(number % 3)]
    found = [call.line for call in of(recorded, "zeEventQueryStatus")]
    assert len(found) == len(asked)
    assert [line for line in zip(found, asked, strict=True) if line[0] not in (0, line[1])] == []
    assert any(found[20:])


def test_modules_of_python_that_the_package_calls_itself_by_are_passed_over(ctx: Any) -> None:
    """They are between the package and the program's line: `functools.cached_property` computes properties."""
    with az.trace() as recorded:
        az.device(0).name  # noqa: B018
        with contextlib.closing(ctx.event()):
            pass
        last = line() - 2
    found = {(Path(call.file), call.line) for call in recorded.recording.calls if call.line}
    assert {file for file, _ in found} == {Path(__file__)}
    [call] = of(recorded, "zeEventDestroy")[-1:]
    assert call.line in (0, last)


def test_each_thread_has_its_own_line(ctx: Any) -> None:
    places: dict[int, tuple[int, str]] = {}

    def first() -> None:
        ctx.event()
        places[threading.get_native_id()] = line() - 1, first.__qualname__

    def second() -> None:
        ctx.event()
        places[threading.get_native_id()] = line() - 1, second.__qualname__

    with az.trace() as recorded:
        threads = [threading.Thread(target=work) for work in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    created = {call.thread: (call.line, call.function) for call in of(recorded, "zeEventCreate")}
    assert created == places


def test_lines_can_be_left_out_and_end_with_the_block(ctx: Any) -> None:
    with az.trace(lines=False) as without:
        ctx.event()
    assert {call.line for call in without.recording.calls} == {0}
    with az.trace() as again:
        ctx.event()
    assert of(again, "zeEventCreate")[-1].line == line() - 1


def test_programs_under_anyzero_trace(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import anyzero as az\n\nctx = az.device().context()\nevent = ctx.event()\n")
    output = tmp_path / "trace.json"
    command = [sys.executable, "-m", "anyzero.tools", "trace", "-o", str(output), "--", sys.executable, str(program)]
    subprocess.run(command, timeout=PATIENCE, check=True, env={**os.environ, "ANYZERO_DEVICES": "cpu"})
    events = json.loads(output.read_text())["traceEvents"]
    lines = {each["name"]: each["args"].get("line") for each in events if each.get("cat") == "call"}
    assert lines["zeContextCreateEx"] == f"{program}:3 (<module>)"
    assert lines["zeEventCreate"] == f"{program}:4 (<module>)"


def test_the_line_is_known_after_newer_records_have_replaced_it(tmp_path: Path) -> None:
    """A ring of 4,096 records that is written twice over from one line."""
    program = tmp_path / "program.py"
    program.write_text(
        "import ctypes, os, sys\n"
        "import anyzero as az\n"
        "from anyzero.api.library import LIBRARY_PATH\n"
        "from anyzero.ze import source_lines\n"
        "library = ctypes.CDLL(str(LIBRARY_PATH))\n"
        "event = az.device().context().event()\n"
        "start = library.zexTraceStart\n"
        "start.argtypes = ctypes.c_char_p, ctypes.c_uint64\n"
        "assert start(os.fsencode(sys.argv[1]), 4096) == 0\n"
        "source_lines.record(library, str(LIBRARY_PATH))\n"
        "for _ in range(9000): event.done\n"
    )
    path = tmp_path / "1.aztrace"
    subprocess.run([sys.executable, str(program), str(path)], timeout=PATIENCE, check=True)
    [recording] = read_folder(tmp_path, pytest.fail)
    asked = [call.line for call in recording.calls if call.name == "zeEventQueryStatus"]
    assert recording.lost > 4096
    assert 11 in asked
    assert set(asked) <= {0, 11}
