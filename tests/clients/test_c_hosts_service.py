"""The planning process by itself: what it answers, and that it goes when its program does."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from anyzero.compiler.compiled import Options
from anyzero.compiler.targets import cpu
from anyzero.driver import ahead, service
from anyzero.driver.devices import boot
from anyzero.driver.settings import settings
from anyzero.layouts.frame import FRAME_BYTES, Frame
from anyzero.layouts.module_requests import BuildReply, BuildRequest, LinkRequest, ModuleInput, PlanRequest
from anyzero.layouts.planner import CodeKind, CompileReply, CompileRequest, RequestHead
from anyzero.wire import Writer
from tests.patience import PATIENCE
from tests.unit.planning import Message, Reply, asked, exporter, importer

ROOT = Path(__file__).resolve().parents[2]
SPIRV = 0


class Line:
    """The engine's end, and the process at the other."""

    def __init__(self, before: str = "", **variables: str) -> None:
        """`before` is code that runs in the process first."""
        self.socket, other = socket.socketpair()
        self.socket.settimeout(PATIENCE)
        code = f"from anyzero.driver import service; {before or 'pass'}; service.serve({other.fileno()})"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ANYZERO_")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], env=kept | variables, pass_fds=[other.fileno()], stdin=subprocess.DEVNULL
        )
        other.close()

    def send(self, number: int, function: str, request: bytes = b"") -> None:
        name = function.encode()
        self.socket.sendall(Frame(number, len(name), len(name) + len(request)).pack() + name + request)

    def receive(self) -> tuple[int, int, bytes]:
        number, kind, size = Frame.unpack(self._exactly(FRAME_BYTES))
        return number, kind, self._exactly(size)

    def ask(self, function: str, request: Message) -> Reply:
        self.send(1, function, asked(request))
        number, kind, answer = self.receive()
        assert (number, kind) == (1, 0), answer
        return Reply(answer)

    def _exactly(self, size: int) -> bytes:
        content = b""
        while len(content) < size:
            piece = self.socket.recv(size - len(content))
            assert piece, "the process has closed the line"
            content += piece
        return content


@pytest.fixture
def lines() -> Iterator[list[Line]]:
    made: list[Line] = []
    yield made
    for line in made:
        line.socket.close()
        assert line.process.wait(PATIENCE) == 0


def build(data: bytes) -> BuildRequest:
    return BuildRequest(SPIRV, 1, [ModuleInput(data, "", [])])


def plan_of(line: Line, data: bytes) -> int:
    answer = line.ask("build", build(data))
    assert answer.status == 0, answer.log
    return BuildReply.read(answer.reader).plan


def test_a_description_is_what_a_python_program_would_get(lines: list[Line]) -> None:
    lines.append(Line())
    lines[0].send(7, "describe")
    assert lines[0].receive() == (7, 0, boot.describe())


def test_a_bad_variable_is_a_reason(lines: list[Line]) -> None:
    lines.append(Line(ANYZERO_THREADS="many"))
    lines[0].send(7, "describe")
    number, kind, reason = lines[0].receive()
    assert (number, kind) == (7, 1)
    assert b"ANYZERO_THREADS='many'" in reason


@pytest.mark.parametrize("function", ["eval", "Reader", "", "_described"])
def test_only_the_planner_can_be_called(lines: list[Line], function: str) -> None:
    lines.append(Line())
    lines[0].send(3, function)
    number, kind, reason = lines[0].receive()
    assert (number, kind) == (3, 1)
    assert b"the planner has no function" in reason


def test_llvm_is_loaded_while_nobody_asks(lines: list[Line]) -> None:
    """So that the first kernel that is in no cache does not wait for it."""
    line = Line()
    lines.append(line)
    line.send(1, "describe")
    line.receive()
    plan_of(line, exporter())
    until = time.monotonic() + PATIENCE
    while "llvmlite" not in Path(f"/proc/{line.process.pid}/maps").read_text():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_warm_up_is_for_the_processor_that_kernels_will_be_compiled_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[cpu.Target, int]] = []
    monkeypatch.setattr(cpu, "warm_up", lambda *given: made.append(given))
    monkeypatch.setenv("ANYZERO_TARGET", "haswell")
    settings.cache_clear()
    ahead._warm_up()
    settings.cache_clear()
    assert made == [(cpu.target("haswell", ""), Options().level)]


def test_llvm_initializes_itself_while_the_compiler_is_imported() -> None:
    code = """
import sys, threading
from anyzero.driver import ahead

class AtOnce(threading.Thread):
    def start(self):
        self.run()

    def join(self):
        pass

threading.Thread = AtOnce
parts = ("llvmlite.binding", "anyzero.compiler.pipeline")
ahead._warm_up = lambda: print([part in sys.modules for part in parts])
ahead.load_compiler()
print([part in sys.modules for part in parts])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[True, False]", "[True, True]"]


def test_answers_come_when_they_are_ready(lines: list[Line]) -> None:
    line = Line()
    lines.append(line)
    for number in range(1, 21):
        line.send(number, "build", asked(build(exporter())))
    answers = [line.receive() for _ in range(20)]
    assert sorted(number for number, _, _ in answers) == list(range(1, 21))
    plans = {BuildReply.read(Reply(answer).reader).plan for _, _, answer in answers}
    assert len(plans) == 20


def test_what_one_process_knew_another_can_be_told(lines: list[Line], tmp_path: Path) -> None:
    lines += [Line(ANYZERO_CACHE_DIR=str(tmp_path)), Line(ANYZERO_CACHE_DIR=str(tmp_path))]
    first, second = lines
    needs, gives = plan_of(first, importer()), plan_of(first, exporter())
    both = LinkRequest([needs, gives])
    assert first.ask("link", both).status == 0
    # No answers; and later questions wait for them.
    second.send(0, "restore", build(importer()).write(PlanRequest(needs).write(RequestHead([]).write(Writer()))).done())
    second.send(0, "restore", build(exporter()).write(PlanRequest(gives).write(RequestHead([]).write(Writer()))).done())
    second.send(0, "link", asked(both))
    request = CompileRequest(needs, "main", CodeKind.KERNEL, 1)
    answers = [line.ask("compile", request) for line in (first, second)]
    assert [each.status for each in answers] == [0, 0], answers[1].log
    assert CompileReply.read(answers[0].reader) == CompileReply.read(answers[1].reader)
    assert plan_of(second, exporter()) not in (needs, gives)


def test_answers_from_the_cache_start_no_thread(lines: list[Line], tmp_path: Path) -> None:
    """One takes longer to start than a kernel to be found; the answers are those of a thread."""
    cache, saxpy = str(tmp_path), (ROOT / "tests" / "kernels" / "saxpy.spv").read_bytes()
    refuse = "lambda line, _, number, *asked: service._reply(line, number, 1, b'by a thread')"
    before = f"from anyzero.driver.modules import requests; service._answer = {refuse}"
    lines += [Line(ANYZERO_CACHE_DIR=cache), Line(before, ANYZERO_CACHE_DIR=cache)]
    found = []
    for line in lines:
        answer = line.ask("compile", CompileRequest(plan_of(line, saxpy), "saxpy", CodeKind.KERNEL, 1))
        assert answer.status == 0, answer.log
        found.append(CompileReply.read(answer.reader).container)
    assert found[0] == found[1]
    lines[1].send(3, "build", asked(build(exporter())))
    assert lines[1].receive() == (3, 1, b"by a thread")


def test_the_process_ends_in_the_middle_of_everything(lines: list[Line]) -> None:
    """Also while it compiles, and when a question stops half way."""
    busy = Line(ANYZERO_CACHE="off")
    plan = plan_of(busy, (ROOT / "tests" / "kernels" / "saxpy.spv").read_bytes())
    busy.send(2, "compile", asked(CompileRequest(plan, "saxpy", CodeKind.KERNEL, 1)))
    busy.socket.close()
    assert busy.process.wait(PATIENCE) == 0
    cut = Line()
    cut.socket.sendall(Frame(1, 5, 1000).pack() + b"build")
    cut.socket.close()
    assert cut.process.wait(PATIENCE) == 0


def test_it_leaves_the_working_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANYZERO_CACHE_DIR", "near")
    monkeypatch.setenv("ANYZERO_DUMP", "/far")
    service._settle()
    assert Path.cwd() == Path("/")
    assert os.environ["ANYZERO_CACHE_DIR"] == str(tmp_path / "near")
    assert os.environ["ANYZERO_DUMP"] == "/far"


def test_the_description_for_any_machine_says_nothing_of_this_one() -> None:
    made = boot.anywhere()
    assert made == boot.anywhere()
    assert boot.MACHINES_MEMORY.to_bytes(8, "little") in made
    assert boot.MACHINES_THREADS.to_bytes(4, "little") in made
    built = ROOT / "src" / "anyzero" / "lib" / "description"
    assert built.read_bytes() == made, "make build"
