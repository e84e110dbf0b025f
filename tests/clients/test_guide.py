"""The guide's samples, as examples/c has them, built as a stranger would: Debian's headers, `-lze_loader`."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

import pytest

from anyzero import get_include
from tests.clients.building import BUILT, program
from tests.clients.debian import NEWEST, OLDEST
from tests.clients.ways import Outcome, Way, debian, run
from tests.examples.together import APART, needed_devices, together
from tests.examples.together import FOLDER as EXAMPLES
from tests.thorough import THOROUGH

NAMES = sorted({path.stem for path in EXAMPLES.glob("*.cpp")} - {"opencl_interop"})
"""But for the one that needs OpenCL as well, which test_opencl.py runs."""

NEWER = {"capture", "command_list", "command_queue", "ipc_events", "ipc_memory", "memory_barrier", "sub_devices"}
"""Programs that call functions newer than 1.4 need newer headers and loaders."""

EVERY_HANDLE = (
    *(
        "cooperative_kernel",
        "events",
        "fence",
        "image_scaling",
        "immediate_list",
        "indirect_launch",
        "kernel_arguments",
    ),
    *("module_variables", "native_binary", "peer_to_peer", "residency", "sampler"),
)
"""Together they pass handles of every kind in every way: alone, in arrays, as kernel arguments, beside properties."""

RESTARTING = {"ipc_events", "ipc_memory"}
"""They restart themselves through /proc/self/exe, which is the dynamic linker if that is on the command line."""

UNWRAPPED = ("build_log", "dynamic_linking")
"""Functions that fail with loaders that wrap every handle: the log of a failed module, and linking modules. Newer
loaders query the driver, and ours reports that its handles need no wrapping."""

SHOWN = NAMES if THOROUGH else sorted({*EVERY_HANDLE, *NEWER, *UNWRAPPED})
"""Each takes a while; tests/examples has all of them."""


def headers_for(name: str) -> str:
    return NEWEST if name in NEWER else OLDEST


@functools.cache
def compiled_together(headers: str) -> Path:
    """A program with all examples that are compiled against these headers."""
    text = together([name for name in SHOWN if headers_for(name) == headers and name not in APART])
    BUILT.mkdir(parents=True, exist_ok=True)
    part, source = BUILT / f"guide.{os.getpid()}", BUILT / f"guide_{headers}.cpp"
    part.write_text(text)
    part.replace(source)
    return program(source, debian(headers), headers=EXAMPLES)


def run_example(name: str, way: Way, headers: str) -> Outcome:
    devices = needed_devices(name)
    variables = {"EXAMPLE": name} | ({"ANYZERO_DEVICES": devices} if devices else {})
    if not THOROUGH and name not in APART:
        return run(compiled_together(headers), way, variables=variables)
    source, flags = EXAMPLES / f"{name}.cpp", ()
    if "ze_npu_ext.h" in source.read_text():
        pytest.importorskip("openvino", reason="NOT TESTED: the NPU device needs OpenVINO; pip install openvino")
        flags = ("-idirafter", get_include() + "/level_zero")  # Debian has no header for the extension
    return run(program(source, debian(headers), *flags), way, variables=variables)


@pytest.mark.parametrize("name", SHOWN)
def test_on_our_loader(name: str) -> None:
    outcome = run_example(name, Way(), headers_for(name))
    assert outcome.good, outcome


@pytest.mark.parametrize("name", sorted({*SHOWN} - NEWER))
def test_on_the_oldest_loader_with_validation(name: str) -> None:
    outcome = run_example(name, Way(OLDEST, "validated"), OLDEST)
    assert outcome.good, outcome


@pytest.mark.parametrize("name", EVERY_HANDLE)
def test_with_wrapped_handles(name: str) -> None:
    outcome = run_example(name, Way(OLDEST, "two"), OLDEST)
    assert outcome.good, outcome


@pytest.mark.parametrize("name", [*sorted(NEWER - RESTARTING), *UNWRAPPED, "image_scaling", "events"])
def test_on_the_newest_loader_with_two_drivers(name: str) -> None:
    outcome = run_example(name, Way(NEWEST, "two"), headers_for(name))
    assert outcome.good, outcome


def test_the_list_of_newer_ones_is_right() -> None:
    functions = set(re.findall(r"\bze[A-Z]\w+", (debian(OLDEST).headers / "ze_api.h").read_text()))
    sources = {name: (EXAMPLES / f"{name}.cpp").read_text() for name in NAMES}
    assert {name for name, text in sources.items() if set(re.findall(r"\bze[A-Z]\w+", text)) - functions} == NEWER
