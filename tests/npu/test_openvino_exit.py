"""Programs exit cleanly, independent of the device's activity."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import anyzero
from tests.npu.conftest import Client

SLOW = """
from tests.npu import models
core = ov.Core()
made = core.compile_model(models.residual(channels=64, size=64, blocks=6), "NPU")
requests = [made.create_infer_request() for _ in range(4)]
"""
"""A model that takes some milliseconds, with requests that live as long as the module."""

ENDINGS = {
    "in flight": """
        for request in requests:
            request.start_async()
    """,
    "a queue in flight": """
        queue = ov.AsyncInferQueue(made, 4)
        for number in range(16):
            queue.start_async(userdata=number)
    """,
    "the model is deleted while its requests run": """
        for request in requests:
            request.start_async()
        del made
        for request in requests:
            request.wait()
    """,
    "model and requests are deleted while they run": """
        for request in requests:
            request.start_async()
        del made, requests, request, core
        import gc
        gc.collect()
    """,
    "the queue is deleted while it runs": """
        queue = ov.AsyncInferQueue(made, 4)
        for _ in range(8):
            queue.start_async()
        del queue, made
    """,
    "only tensors are left": """
        requests[0].infer()
        tensor = requests[0].get_output_tensor()
        del made, requests, core
        import atexit
        atexit.register(lambda: print(tensor.data.shape))
    """,
    "an exit handler that infers": """
        import atexit
        atexit.register(lambda: requests[0].infer())
        requests[1].start_async()
    """,
    "without a farewell": """
        import os
        for request in requests:
            request.start_async()
        os._exit(0)
    """,
}


RETURNING = {
    "callbacks in flight": """
        for number, request in enumerate(requests):
            request.set_callback(lambda _: None, number)
            request.start_async(userdata=number)
    """,
    "a callback that takes long": """
        import ctypes
        requests[0].set_callback(lambda _: ctypes.CDLL(None).await_finalizing(), 0)
        for request in requests:
            request.start_async(userdata=0)
        requests[1].wait()
    """,
    "a queue with callbacks": """
        queue = ov.AsyncInferQueue(made, 4)
        queue.set_callback(lambda request, data: request.get_output_tensor().data.sum())
        for number in range(16):
            queue.start_async(userdata=number)
    """,
    "threads that never stop": """
        import threading
        def work(request, once):
            while True:
                request.infer()
                once.set()
        for request in requests:
            once = threading.Event()
            threading.Thread(target=work, args=(request, once), daemon=True).start()
            once.wait()
    """,
}
"""Threads that return to Python after finalization.

Python unwinds such threads, which OpenVINO's functions do not permit: the process is sometimes aborted, on the CPU
device as well. And OpenVINO's bindings request or give back a thread state of the finalized interpreter, which crashes,
or which Python itself refuses."""
UNWOUND = (
    "terminate called without an active exception",
    "FATAL: exception not rethrown",
    "Fatal Python error: _PyThreadState_DeleteCurrent",
)


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda name: name.replace(" ", "_"))
def test_ending(client: Client, ending: str) -> None:
    client.run(SLOW + dedent(ENDINGS[ending]))


RUNTIME = ("libc.", "libstdc++.", "libgcc_s.", "libpthread.", "libm.")
"""The functions that other threads call and fault in."""


@pytest.fixture(scope="module")
def reporting(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables with which a process says in which library it faulted."""
    if not shutil.which("gcc"):
        pytest.skip("NOT TESTED: whose crash it is; apt install gcc")
    source = Path(__file__).with_name("fault_report.c")
    library = tmp_path_factory.mktemp("faults") / "fault_report.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", source, "-o", library, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library)}


def faulted_in(said: str) -> str:
    """The innermost library that is not the C runtime."""
    found = [line.split()[2:] for line in said.splitlines() if line.startswith("fault in: ")]
    assert found, said
    return next((name for name in found[0] if not name.startswith(RUNTIME)), "")


@pytest.mark.parametrize("ending", RETURNING, ids=lambda name: name.replace(" ", "_"))
def test_ending_with_threads_that_return_to_python(client: Client, reporting: dict[str, str], ending: str) -> None:
    """They do not hang, and the driver does not crash."""
    done = client.ending(SLOW + dedent(RETURNING[ending]), **reporting)
    if done.returncode == -signal.SIGSEGV:
        assert not faulted_in(done.stderr).startswith(("libze_", "libanyzero_")), done.stderr
    elif done.returncode:
        assert done.returncode == -signal.SIGABRT, done.stderr
        assert any(text in done.stderr for text in UNWOUND), done.stderr


@pytest.mark.parametrize("ours", [True, False])
def test_a_crash_of_the_driver_is_told_from_others(client: Client, reporting: dict[str, str], ours: bool) -> None:
    driver = Path(anyzero.__file__).with_name("lib") / "libze_anyzero.so.1"
    call = f"ctypes.CDLL('{driver}').zeDriverGet(ctypes.c_void_p(16), None)" if ours else "ctypes.string_at(16)"
    source = f"import ctypes, anyzero as az\naz.device()\n{call}"
    done = client.start([sys.executable, "-c", source], **reporting)
    assert done.returncode == -signal.SIGSEGV, done.stderr
    assert faulted_in(done.stderr).startswith("libze_anyzero." if ours else "_ctypes."), done.stderr


@pytest.mark.parametrize("wanted", [1, 3])
def test_the_exit_status_is_the_programs_own(client: Client, wanted: int) -> None:
    ending = "raise SystemExit(3)" if wanted == 3 else "raise RuntimeError('mine')"
    client.run(f"{SLOW}\nfor request in requests:\n    request.start_async()\n{ending}\n", expect=wanted)


def test_interrupted_by_the_user(client: Client) -> None:
    """Control-C while the device works ends the program as it ends others."""
    client.run(
        SLOW
        + dedent("""
        import os, signal, threading
        # Background processes of a shell, and their children, ignore the signal.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            for request in requests:
                request.infer()
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            while True:
                for request in requests:
                    request.start_async()
                for request in requests:
                    request.wait()
        except KeyboardInterrupt:
            print("interrupted")
        """)
    )
