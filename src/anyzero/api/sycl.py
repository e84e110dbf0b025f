"""SYCL's runtime on this package's compute devices, in the same process."""

from __future__ import annotations

import ctypes
import os
from typing import Final

from anyzero import errors, ze
from anyzero.api.calls import loaders

__all__ = ["enable_sycl"]

_ADAPTER: Final = "libur_adapter_level_zero"
_SELECTOR: Final = "ONEAPI_DEVICE_SELECTOR"
_SEARCH: Final = "ZEL_LIBRARY_PATH"
_PLATFORMS: Final = "OCL_ICD_FILENAMES"


def enable_sycl() -> None:
    """Make SYCL libraries in this process (dpctl, dpnp and others) find the compute devices, as GPUs of Level Zero.

    SYCL's runtime asks the linker for a Level Zero loader when it first looks for devices, so call this earlier, best
    before `dpctl` is imported. A second call has no effect. It raises `anyzero.Unavailable` if the runtime has looked
    already, if another loader is already loaded, if ``ONEAPI_DEVICE_SELECTOR`` excludes Level Zero, and if
    ``ANYZERO_DEVICES`` names no compute device.

    .. code-block:: python

        import anyzero

        anyzero.enable_sycl()
        import dpctl

        print(dpctl.SyclDevice("level_zero:gpu"))

    Kernels are then compiled by a process beside this one: threads of SYCL's runtime create kernels while others hold
    the interpreter's lock. If `anyzero` has been used before, this process goes on to compile them.

    A program without this call works with ``anyzero run -- python program.py``.
    """
    other = loaders.in_this_process()
    if other and not loaders.leads_to_us(other):
        raise errors.Unavailable(
            f"the loader {other} is in this process already, and SYCL's runtime would use that one",
            remedy="Call enable_sycl() earlier; or start the program with `anyzero run`; or name our driver to "
            f"that loader, before it is loaded: ZE_ENABLE_ALT_DRIVERS={loaders.DRIVER}",
        )
    adapter = loaders.mapped(_ADAPTER)
    if adapter and not other:
        raise errors.Unavailable(
            f"SYCL's runtime has looked for devices already ({adapter} is loaded) and found no loader",
            remedy="Call enable_sycl() before dpctl or another SYCL library is imported.",
        )
    _require_level_zero(os.environ.get(_SELECTOR, ""))
    _require_device()
    if os.environ.get(_SEARCH) and not other:
        # If the variable is set, the runtime looks for the loader there and nowhere else.
        os.environ[_SEARCH] = str(loaders.FOLDER)
    platforms = [each for each in os.environ.get(_PLATFORMS, "").split(":") if each]
    if str(loaders.OPENCL) not in platforms:
        # oneMKL's FFT compiles its kernels through OpenCL.
        os.environ[_PLATFORMS] = ":".join([*platforms, str(loaders.OPENCL)])
    loaders.keep()


def _require_level_zero(selector: str) -> None:
    """Refuse a selector by which the runtime would never look at Level Zero; it would just show no device."""
    terms = [term.strip().lower() for term in selector.split(";") if term.strip()]
    accepted = [term.partition(":")[0] for term in terms if not term.startswith("!")]
    refused = "!level_zero:*" in terms or "!*:gpu" in terms
    if refused or (accepted and not {"level_zero", "*"} & set(accepted)):
        raise errors.Unavailable(
            f"{_SELECTOR}={selector} excludes Level Zero",
            remedy=f"Unset it, or add the devices of Level Zero: {_SELECTOR}='level_zero:*'",
        )


def _require_device() -> None:
    """Start the driver here, where its error message can be passed on; the runtime would not repeat it."""
    # Not as a `Library` of this package, which would make this interpreter the planner.
    driver = ctypes.CDLL(str(loaders.DRIVER))
    count = ctypes.c_uint32()
    wanted = ze.ze_init_driver_type_desc_t(flags=ze.ZE_INIT_DRIVER_TYPE_FLAG_GPU)
    result = driver.zeInitDrivers(ctypes.byref(count), None, ctypes.byref(wanted))
    if result:
        text = ctypes.c_char_p()
        driver.zerGetLastErrorDescription(ctypes.byref(text))
        raise errors.from_result(result & 0xFFFFFFFF, "zeInitDrivers", (text.value or b"").decode(errors="replace"))
    if not count.value:
        raise errors.Unavailable(
            f"the driver shows no compute device: ANYZERO_DEVICES={os.environ.get('ANYZERO_DEVICES', '')} names none",
            remedy="Name one: ANYZERO_DEVICES=cpu,npu",
        )
