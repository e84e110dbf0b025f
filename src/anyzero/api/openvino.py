"""OpenVINO's own NPU plugin on this package's NPU device, in the same process."""

from __future__ import annotations

import ctypes
import os

from anyzero import errors, installed, ze
from anyzero.api.calls import loaders
from anyzero.ze.library import Library

__all__ = ["enable_openvino"]


def enable_openvino() -> None:
    """Make OpenVINO in this process find the NPU device, under its own name for such a device: ``NPU``.

    Its NPU plugin asks the linker for a Level Zero loader when it is first used, so call this earlier, before the
    first ``openvino.Core()`` that looks for devices. `openvino` may be imported before, and a second call has no
    effect. It raises `anyzero.Unavailable` if OpenVINO is missing or too old, if another loader is already loaded, and
    if ``ANYZERO_DEVICES`` excludes the NPU.

    .. code-block:: python

        import anyzero, openvino

        anyzero.enable_openvino()
        compiled = openvino.Core().compile_model("model.xml", "NPU")

    A program without this call works with ``anyzero run -- python program.py``.
    """
    found = installed.openvino()
    if found is None or not found.is_enough:
        why = found.shortcoming if found else "it is not installed"
        raise errors.Unavailable(f"OpenVINO cannot be used: {why}", remedy=f"Install it: {installed.install('npu')}")
    other = loaders.in_this_process()
    if other and not loaders.leads_to_us(other):
        raise errors.Unavailable(
            f"the loader {other} is in this process already, and OpenVINO would use that one",
            remedy="Call enable_openvino() earlier; or start the program with `anyzero run`; or name our driver "
            f"to that loader, before it is loaded: ZE_ENABLE_ALT_DRIVERS={loaders.DRIVER}",
        )
    driver = Library(loaders.DRIVER)
    # A thread of OpenVINO compiles with locks in hand for which another thread may wait that holds the GIL. So its
    # graphs have a planner in another process.
    ctypes.CDLL(driver.path).zexRunGraphPlannerBeside()
    _require_npu(driver)
    loaders.keep()


def _require_npu(driver: Library) -> None:
    """Start the driver here, where its error message can be passed on; OpenVINO would just show no device."""
    count = ctypes.c_uint32()
    wanted = ze.ze_init_driver_type_desc_t(flags=ze.ZE_INIT_DRIVER_TYPE_FLAG_NPU)
    result = driver.zeInitDrivers(ctypes.byref(count), None, ctypes.byref(wanted))
    if result:
        text = ctypes.c_char_p()
        ctypes.CDLL(driver.path).zerGetLastErrorDescription(ctypes.byref(text))
        raise errors.from_result(result, "zeInitDrivers", (text.value or b"").decode(errors="replace"))
    if not count.value:
        raise errors.Unavailable(
            f"the driver shows no NPU device: {_why_not()}", remedy="Name it: ANYZERO_DEVICES=cpu,npu"
        )


def _why_not() -> str:
    if described := os.environ.get("ANYZERO_DESCRIPTION", "").strip():
        return f"the description in {described} (ANYZERO_DESCRIPTION) has none"
    if shown := os.environ.get("ANYZERO_DEVICES", "").strip():
        return f"ANYZERO_DEVICES={shown} leaves it out"
    return "it was started when OpenVINO could not be found yet"
