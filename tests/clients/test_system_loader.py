"""The Python API on a loader that is not ours: Debian's, which is as old as they get, with our driver behind it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from anyzero.api.calls import loaders
from tests.clients import debian
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
WRAPPED = {"ZE_ENABLE_LOADER_INTERCEPT": "1"}
"""The loader wraps handles, as it does with several drivers."""

Run = Callable[..., subprocess.CompletedProcess[str]]

WORK = """
    x, y = ctx.to_device(np.arange(64, dtype=np.float32)), ctx.zeros(64, np.float32, kind="shared")
    saxpy = ctx.module(files("anyzero.tools") / "saxpy.spv")["saxpy"]
    print(saxpy.types)
    saxpy[64](y, x, 2.0)
    assert np.array_equal(np.asarray(y), 2 * x.copy_to())

    go, done = ctx.events(2)
    with ctx.immediate() as one, ctx.immediate() as other:
        saxpy[64](y, x, 1.0, on=one, wait=go, signal=done)
        last = saxpy[64](y, x, 1.0, on=other, wait=done)
        assert not last.done
        go.signal()
        last.wait(timeout=200)
        assert np.array_equal(np.asarray(y), 4 * x.copy_to())
        for _ in range(200):
            saxpy[64](y, x, 0.5, on=one, wait=other.barrier())
        one.synchronize(timeout=200)
    assert np.array_equal(np.asarray(y), 104 * x.copy_to())

    with ctx.command_list() as cl:
        cl.fill(y, 0)
        cl.launch(saxpy, 32, args=(y, x, 1.0), offset=16)
    with ctx.queue() as queue:
        for _ in range(3):
            queue.submit(cl).wait(timeout=200)
    assert np.asarray(y).sum() == np.arange(16, 48).sum()

    image = ctx.image((4, 8), np.uint8, channels=4, normalized=True)
    pixels = np.arange(128, dtype=np.uint8).reshape(4, 8, 4)
    image.copy_from(pixels)
    view = image.view()
    assert np.array_equal(view.copy_to(), pixels)
    print("all done")
"""


@pytest.fixture(scope="session")
def old_loader() -> Path:
    """Of 2022, with the API of 1.4."""
    try:
        return debian.release(debian.OLDEST).libraries / loaders.NAME
    except debian.NotAvailableError as error:
        pytest.skip(f"needs the libze1 of Debian {debian.OLDEST}: {error}")


@pytest.fixture
def run() -> Run:
    """Run a program on a loader; the driver behind it is ours unless told."""

    def start(loader: object, source: str, **variables: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANYZERO_", "ZE"))}
        program = "import numpy as np, anyzero as az\nfrom importlib.resources import files\n"
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", program + textwrap.dedent(source)],
            env={
                **kept,
                "ANYZERO_LOADER": str(loader),
                "ZE_ENABLE_ALT_DRIVERS": str(loaders.DRIVER),
                **variables,
            },
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    return start


def works(result: subprocess.CompletedProcess[str]) -> str:
    assert (result.returncode, result.stderr) == (0, ""), f"{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.mark.parametrize("wrapped", [{}, WRAPPED], ids=["as they are", "wrapped"])
def test_programs_run_on_an_old_loader(run: Run, old_loader: Path, wrapped: dict[str, str]) -> None:
    out = works(run(old_loader, "ctx = az.device().context()" + textwrap.dedent(WORK), **wrapped))
    assert out == "('global float*', 'global float*', 'float')\nall done\n"


def test_programs_run_on_our_own_loader(run: Run) -> None:
    out = works(run(loaders.OURS, "ctx = az.device().context()" + textwrap.dedent(WORK), ZE_ENABLE_ALT_DRIVERS=""))
    assert out.endswith("all done\n")


def test_the_system_has_a_loader_where_the_linker_finds_one(run: Run, old_loader: Path) -> None:
    """And its place is what errors name."""
    source = """
        print(az.device().name)
        try:
            az.device().context().command_list(cloneable=True).clone()
        except az.Error as error:
            print(error)
    """
    out = works(run("system", source, LD_LIBRARY_PATH=str(old_loader.parent), **WRAPPED))
    assert out.startswith("anyzero CPU")
    assert f"{old_loader.resolve()} does not have it; it is new in Level Zero 1.9" in out


def test_info_names_the_loader(run: Run, old_loader: Path) -> None:
    out = works(run(old_loader, "from anyzero.tools.cli import main; main(['info'])"))
    assert out.startswith(f"loader: {old_loader}\ndriver 0: Level Zero 1.17")


def test_what_an_old_loader_lacks_is_refused_when_it_is_used(run: Run, old_loader: Path) -> None:
    source = """
        ctx = az.device().context()
        x = ctx.zeros(4)
        with ctx.command_list(cloneable=True) as cl:
            cl.fill(x, 1)
        with ctx.immediate() as lst:
            for use in (lambda: lst.host_function(print), lambda: lst.submit(cl), cl.clone, ctx.device.synchronize):
                try:
                    use()
                except az.UnsupportedFeature as error:
                    print(error)
            lst.fill(x, 2).wait(timeout=200)
        assert (x.copy_to() == 2).all()
    """
    lines = works(run(old_loader, source, **WRAPPED)).splitlines()
    assert [line.split()[0] for line in lines[::2]] == [
        "zeCommandListAppendHostFunction",
        "zeCommandListImmediateAppendCommandListsExp",
        "zeCommandListCreateCloneExp",
        "zeDeviceSynchronize",
    ]
    assert lines[0].endswith(f"{old_loader} does not have it; it is new in Level Zero 1.17")
    assert set(lines[1::2]) == {"Use a newer loader, or this package's: ANYZERO_LOADER=ours."}


def test_modules_are_not_linked_where_the_loader_would_crash(run: Run, old_loader: Path) -> None:
    source = """
        module = az.device().context().module(files("anyzero.tools") / "saxpy.spv")
        for use in (module.link, module.linkage):
            try:
                use()
                print("linked")
            except az.UnsupportedFeature as error:
                print(error)
    """
    assert works(run(old_loader, source)) == "linked\n" * 2
    out = works(run(old_loader, source, **WRAPPED))
    assert out.count("is too old: it crashes in that function if several drivers are loaded\n") == 2


def test_the_driver_offers_what_its_old_loader_does_not(run: Run, old_loader: Path) -> None:
    """With unwrapped handles, calls bypass the loader."""
    source = """
        ctx = az.device().context()
        x, seen = ctx.zeros(4, kind="shared"), []
        with ctx.command_list(cloneable=True) as cl:
            cl.fill(x, 1)
        with ctx.immediate() as lst:
            lst.submit(cl.clone())
            lst.host_function(lambda: seen.append(np.asarray(x).sum())).wait(timeout=200)
        az.device().synchronize()
        print(seen)
    """
    assert "4.0" in works(run(old_loader, source))


@pytest.mark.parametrize("wrapped", [{}, WRAPPED], ids=["as they are", "wrapped"])
def test_waiting_for_a_list_covers_everything_before(run: Run, old_loader: Path, wrapped: dict[str, str]) -> None:
    """The old loader cannot wait for a list; an event behind its commands can, however often and from where."""
    source = """
        import threading
        ctx = az.device().context()
        x = ctx.zeros(1 << 16, np.uint8, kind="shared")
        one, two, event = ctx.event(), ctx.event(), ctx.event()
        lst = ctx.immediate(kind="copy")
        lst.fill(x, 1, wait=one)
        for timeout in (0, 0, 0.02):
            try:
                lst.synchronize(timeout=timeout)
                raise AssertionError("nothing was done yet")
            except az.TimeoutError:
                pass
        lst.fill(x, 2, wait=two)
        one.signal()
        try:
            lst.synchronize(timeout=0.05)   # the mark of the first waits was reached, and says too little
            raise AssertionError("the second fill is not done yet")
        except az.TimeoutError:
            pass
        seen = []
        def see():
            lst.synchronize()
            seen.append(int(x.copy_to()[0]))
        waiting = [threading.Thread(target=see) for _ in "abc"]
        for each in waiting: each.start()
        two.signal()
        for each in waiting: each.join(200)
        print(seen)
        lst.fill(x, 3)
        lst.synchronize(timeout=200)
        print(int(np.asarray(x).sum()) // (1 << 16))
        lst.close()
    """
    assert works(run(old_loader, source, **wrapped)) == "[2, 2, 2]\n3\n"


def test_the_driver_says_what_is_wrong_through_any_loader(run: Run, old_loader: Path) -> None:
    source = """
        try:
            az.device().context().buffer(16, alignment=3)
        except az.Error as error:
            print(error)
    """
    direct = works(run("ours", source))
    assert "zeMemAllocDevice" in direct
    assert direct == works(run(old_loader, source)) == works(run(old_loader, source, **WRAPPED))


def test_without_counting_events_commands_are_waited_for_one_by_one(run: Run, old_loader: Path) -> None:
    source = """
        from anyzero.api.calls.adapted import Adapter
        Adapter.has_extension = lambda *_: False
        ctx = az.device().context()
        x = ctx.zeros(4, np.int32)
        try:
            ctx.immediate().fill(x, 1)
        except az.UnsupportedFeature as error:
            print(error.function)
        with ctx.immediate(mode="synchronous") as lst:
            lst.fill(x, 2)
        event = ctx.event()
        with ctx.immediate() as lst:
            lst.copy(np.zeros(4, np.int32), x, signal=event).wait(timeout=200)
        print(x.copy_to())
    """
    assert works(run(old_loader, source, **WRAPPED)) == "zeEventCounterBasedCreate\n[2 2 2 2]\n"


@pytest.mark.parametrize("drivers", ["", "/nowhere/libze_other.so"])
def test_no_driver_behind_the_loader_is_a_clear_error(run: Run, old_loader: Path, drivers: str) -> None:
    result = run(old_loader, "az.devices()", ZE_ENABLE_ALT_DRIVERS=drivers)
    assert result.returncode == 1
    last = "\n".join(result.stderr.splitlines()[-2:])
    assert f"anyzero.errors.Unavailable: no driver is available through the loader {old_loader}" in last
    assert f"ZE_ENABLE_ALT_DRIVERS={loaders.DRIVER}" in last
    assert "ANYZERO_LOADER=ours" in last
    if drivers:
        assert f"(ZE_ENABLE_ALT_DRIVERS={drivers})" in last


def test_no_loader_is_a_clear_error(run: Run, tmp_path: Path) -> None:
    result = run(tmp_path / loaders.NAME, "az.devices()")
    assert result.returncode == 1
    last = "\n".join(result.stderr.splitlines()[-2:])
    assert "anyzero.errors.Unavailable: the loader cannot be loaded" in last
    assert str(tmp_path) in last
    assert "apt install libze1" in last


def test_a_word_that_is_no_loader_is_refused(run: Run) -> None:
    result = run("theirs", "az.devices()")
    assert result.returncode == 1
    assert "ANYZERO_LOADER='theirs'" in result.stderr


@pytest.mark.parametrize("file", ["test_kernel_arguments", "test_queues"])
def test_the_tests_of_the_api_pass_on_an_old_loader(old_loader: Path, file: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANYZERO_", "ZE", "PYTEST"))}
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", f"tests/api/{file}.py"],
        cwd=ROOT,
        env={**kept, "ANYZERO_LOADER": str(old_loader), "ZE_ENABLE_ALT_DRIVERS": str(loaders.DRIVER)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert result.returncode == 0, result.stdout[-4000:]
