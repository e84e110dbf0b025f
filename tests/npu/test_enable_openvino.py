"""`anyzero.enable_openvino()`: what it refuses, and OpenVINO's own plugin after it."""

from __future__ import annotations

import shutil
import sys
import textwrap
from pathlib import Path

import pytest

from anyzero.api.calls import loaders
from tests.npu.conftest import Client
from tests.npu.discovery import discover, looks_like_openvino

REFUSED = """
import anyzero
try:
    anyzero.enable_openvino()
except anyzero.Unavailable as error:
    print(error)
else:
    raise AssertionError("it was enabled")
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return looks_like_openvino(tmp_path_factory.mktemp("site"))


def test_the_plugin_would_find_our_loader_by_its_name(site: Path) -> None:
    discover(
        site,
        """
        import anyzero
        anyzero.enable_openvino()
        anyzero.enable_openvino()
        found = ctypes.CDLL("libze_loader.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        maps = open("/proc/self/maps").read()
        places = {line.split()[5] for line in maps.splitlines() if "libze_loader" in line}
        assert places == {os.path.realpath(LIBRARY.with_name("libze_loader.so.1"))}, places
        count = c_uint32()
        desc = ze.ze_init_driver_type_desc_t(flags=ze.ZE_INIT_DRIVER_TYPE_FLAG_NPU)
        assert found.zeInitDrivers(byref(count), None, byref(desc)) == 0 and count.value == 1
        assert "openvino" not in sys.modules
        """,
    )


def test_an_old_openvino_is_refused(tmp_path: Path) -> None:
    said = discover(looks_like_openvino(tmp_path, "2025.2.0"), REFUSED)
    assert "2025.2.0 in" in said
    assert "older than 2026.4" in said
    assert "[npu]'" in said


def test_a_driver_that_shows_no_npu_is_refused(site: Path) -> None:
    said = discover(site, REFUSED, ANYZERO_DEVICES="cpu")
    assert "ANYZERO_DEVICES=cpu leaves it out" in said


def test_a_driver_that_does_not_start_says_why(site: Path) -> None:
    program = REFUSED.replace("anyzero.Unavailable", "anyzero.Error")
    assert "ANYZERO_THREADS='many'" in discover(site, program, ANYZERO_THREADS="many")


def test_another_loader_in_the_process_is_refused(site: Path, tmp_path: Path) -> None:
    other = tmp_path / loaders.NAME
    shutil.copy(loaders.OURS, other)
    load = "import ctypes, sys; ctypes.CDLL(sys.argv[1])\n"
    said = discover(site, load + REFUSED, str(other))
    assert f"the loader {other} is in this process already" in said
    # One that has been told of our driver leads to it as well.
    enabled = f"{load}import anyzero; anyzero.enable_openvino()"
    discover(site, enabled, str(other), ZE_ENABLE_ALT_DRIVERS=str(loaders.DRIVER))
    discover(site, enabled, str(loaders.OURS))


def test_the_plugin_lists_the_device(client: Client) -> None:
    client.run("""
        core = ov.Core()
        assert "NPU" in core.available_devices
        assert core.get_property("NPU", "FULL_DEVICE_NAME").startswith("anyzero NPU (")
        assert core.get_property("NPU", "DEVICE_ARCHITECTURE") == "3720"
        assert core.get_property("NPU", "NPU_DRIVER_VERSION") == anyzero.device("npu").driver.version
    """)


def test_a_look_for_devices_before_does_no_harm(client: Client) -> None:
    """The plugin has failed to find a loader by then; the next Core asks again."""
    source = """
        import openvino as ov
        first = ov.Core().available_devices
        import anyzero
        anyzero.enable_openvino()
        assert "NPU" in ov.Core().available_devices
    """
    done = client.start([sys.executable, "-c", textwrap.dedent(source)])
    assert done.returncode == 0, done.stderr


def test_compiling_needs_no_lock_of_the_interpreter(client: Client) -> None:
    """One thread compiles while another holds the GIL: as it would, waiting for a lock that the first has in hand."""
    client.run("""
        import ctypes, os, pathlib, threading
        from openvino import opset13 as op
        parameter = op.parameter([1, 4], np.float32, name="x")
        model = ov.Model([op.relu(parameter)], [parameter], "small")
        core = ov.Core()
        assert "NPU" in core.available_devices
        folder = pathlib.Path(os.environ["ANYZERO_CACHE_DIR"])
        (folder / "npu").mkdir(mode=0o700)
        # PyDLL keeps the interpreter's lock: this thread reads with it until the compiled model is in the cache, so a
        # compilation that needs the lock never ends.
        holding = ctypes.PyDLL(None)
        watch = holding.inotify_init()
        IN_MOVED_TO = 0x80
        assert holding.inotify_add_watch(watch, os.fsencode(folder / "npu"), IN_MOVED_TO) >= 0
        thread = threading.Thread(target=core.compile_model, args=(model, "NPU"))
        thread.start()
        assert holding.read(watch, ctypes.create_string_buffer(4096), 4096) > 0
        thread.join()
        assert len(list(folder.rglob("*.blob"))) == 1
    """)


def test_where_no_process_can_plan_this_one_does(client: Client) -> None:
    client.run(
        """
        from openvino import opset13 as op
        parameter = op.parameter([1, 4], np.float32, name="x")
        compiled = ov.Core().compile_model(ov.Model([op.relu(parameter)], [parameter], "small"), "NPU")
        assert compiled(np.array([[-1, 2, -3, 4]], np.float32))[0].tolist() == [[0, 2, 0, 4]]
        """,
        ANYZERO_PYTHON="/no/such/python",
    )


def test_a_program_that_knows_nothing_of_anyzero(client: Client) -> None:
    """`anyzero run` gives it the loader and the Python that plans."""
    program = (
        "import openvino, sys; assert 'NPU' in openvino.Core().available_devices; assert 'anyzero' not in sys.modules"
    )
    done = client.start([sys.executable, "-m", "anyzero.tools", "run", "--", sys.executable, "-c", program])
    assert done.returncode == 0, done.stderr
