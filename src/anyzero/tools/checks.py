"""The checks of `anyzero doctor`, one function each."""

from __future__ import annotations

import difflib
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Literal

from anyzero import config, installed
from anyzero.api.calls import loaders
from anyzero.errors import Error
from anyzero.tools import environment
from anyzero.tools.interpreter import Interpreter, for_c_programs
from anyzero.tools.onnxruntime import INSTALL, missing_openvino
from anyzero.tools.sizes import size

__all__ = ["CHECKS", "Check", "State"]

State = Literal["good", "note", "warning", "bad"]

_SPIRV: Final = Path(__file__).with_name("saxpy.spv")
_PYZES: Final = Path("/usr/lib/x86_64-linux-gnu", loaders.NAME)
"""The only path where that client looks, regardless of the linker's search."""
_HAS_SYSMAN: Final = """
import ctypes, json, os, sys
print(json.dumps({"zesInit": hasattr(ctypes.CDLL(sys.argv[1]), "zesInit")}), flush=True)
os._exit(0)
"""
_PATIENCE_S: Final = 120
_FILES: Final = 256
_REINSTALL: Final = "In a checkout run `make build`; else reinstall: pip install --force-reinstall anyzero."
# The command line with which the driver starts Python for C programs: without the user's own settings for Python.
_CHECKUP: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); from anyzero.driver import checkup; checkup.report(sys.argv[2])"
)


@dataclass(frozen=True, slots=True)
class Check:
    """The finding of one check, and its remedy."""

    name: str
    state: State
    finding: str
    remedy: str = ""


def driver() -> Iterator[Check]:
    """The driver starts and has a device. Without the variables of the user's, which have a check of their own."""
    name = "driver"
    if not loaders.DRIVER.exists():
        yield Check(name, "bad", f"{loaders.DRIVER} is missing", _REINSTALL)
        return
    plain = {key: value for key, value in os.environ.items() if not key.startswith("ANYZERO_")}
    found, error = _asked([sys.executable, "-m", "anyzero.tools", "info", "--json"], environment.for_python(plain))
    if found is None:
        yield Check(name, "bad", error.removeprefix("anyzero: error: "), _REINSTALL)
        return
    devices = ", ".join(device["name"] for told in found["drivers"] for device in told["devices"])
    yield Check(name, "good", f"Level Zero {found['drivers'][0]['api_version']}, {devices}")


def loader() -> Iterator[Check]:
    """The loader that comes with this package."""
    found = loaders.look_at(str(loaders.OURS), os.environ)
    if found.level is None:
        why = found.error if loaders.OURS.exists() else f"{loaders.OURS} is missing"
        yield Check("our loader", "bad", why or "", _REINSTALL)
    else:
        yield Check("our loader", "good", f"Level Zero {loaders.text_of(found.level)}, {found.path}")


def system_loader() -> Iterator[Check]:
    """The system's loader: needed only where ANYZERO_LOADER selects it."""
    name = "system's loader"
    wanted = os.environ.get("ANYZERO_LOADER", "").strip() == "system"
    found = loaders.system_loader(environment.without_ours(os.environ))
    install = "Debian, Ubuntu: apt install libze1; Fedora: dnf install oneapi-level-zero."
    if found is None:
        if wanted:
            yield Check(name, "bad", "none, but ANYZERO_LOADER=system asks for it", f"Unset it. {install}")
        else:
            yield Check(name, "note", "none; `anyzero run` gives programs ours")
    elif found.level is None:
        state: State = "bad" if wanted else "note"
        yield Check(name, state, str(found), "Unset ANYZERO_LOADER, or fix that loader." if wanted else "")
    elif not found.is_enough:
        needed = loaders.text_of(loaders.NEEDED)
        yield Check(name, "note", f"{found}; older than {needed}, so `anyzero run` gives programs ours")
    else:
        yield Check(name, "good", str(found))


def pyzes() -> Iterator[Check]:
    """Intel's client of system management opens a loader by an absolute path, so `anyzero run` cannot give it ours."""
    name, wanted = "pyzes", bool(_installed("pyzes"))
    trouble = ""
    if not _PYZES.exists():
        trouble = f"there is no loader at {_PYZES}, and it looks nowhere else"
    else:
        found, error = _asked([sys.executable, "-I", "-S", "-c", _HAS_SYSMAN, str(_PYZES)], os.environ)
        if not found or not found["zesInit"]:
            trouble = f"it cannot use {_PYZES} and looks nowhere else: {error or 'no zesInit there'}"
    if not trouble:
        yield Check(name, "good", f"finds its loader, {_PYZES}")
    elif not wanted:
        # The client may be installed in some other environment.
        yield Check(name, "note", f"not installed; to use it, see `anyzero docs sysman`: {trouble}")
    else:
        fix = f"apt install libze1 (newer than Debian 12's), or ln -s {loaders.OURS} {_PYZES}"
        yield Check(name, "warning", trouble, fix)


def compiler() -> Iterator[Check]:
    """A kernel is compiled, not looked up."""
    found, error = _checkup(Interpreter(sys.executable, ""))
    told = {"error": error} if found is None else found["compiler"]
    if "error" in told:
        yield Check("compiler", "bad", told["error"], f"{sys.executable} -m pip install --force-reinstall llvmlite")
        return
    what = f"a kernel for {told['processor']} in {told['milliseconds']} ms, {told['lanes']} lanes"
    yield Check("compiler", "good", f"llvmlite {told['llvmlite']} with LLVM {told['llvm']}: {what}")


def python() -> Iterator[Check]:
    """The Python that runs the planner for programs that have none of their own."""
    name = "Python for C programs"
    found = for_c_programs(os.environ)
    fix = f"export ANYZERO_PYTHON={sys.executable}, or use `anyzero run`, which sets it."
    if not found.path:
        # A user may never start such programs; but a user who set ANYZERO_PYTHON does.
        yield Check(name, "bad" if os.environ.get("ANYZERO_PYTHON") else "warning", found.reason, fix)
        return
    told, error = _checkup(found)
    wrong = error if told is None else next((part["error"] for part in told.values() if "error" in part), "")
    if wrong or told is None:
        # Another Python does not help where this one lacks the same.
        same = Path(found.path).exists() and Path(sys.executable).samefile(found.path)
        lacking = re.search(r"No module named '(\w+)", wrong)
        if lacking is not None:
            fix = f"{found.path} -m pip install {lacking[1]}" + ("" if same else f", or {fix}")
        yield Check(name, "bad", f"{found.path} ({found.reason}): {wrong}", fix)
    else:
        yield Check(name, "good", f"{found.path}, Python {told['python']['version']}, {found.reason}")


def openvino() -> Iterator[Check]:
    """The NPU device needs it, and its own NPU plugin may want that device."""
    name = "OpenVINO"
    found = installed.openvino()
    if found is None:
        yield Check(name, "note", f"not installed; only the NPU device needs it ({installed.install('npu')})")
    elif not found.is_enough:
        yield Check(name, "warning", f"{found.shortcoming}, so there is no NPU device", installed.install("npu"))
    else:
        yield Check(name, "good", f"{found.version}, {found.folder}; {_what_its_plugin_finds()}")


def _what_its_plugin_finds() -> str:
    """OpenVINO's plugin asks the linker for a loader by its name, and sees the drivers behind that one."""
    other_ways = "with anyzero.enable_openvino() or `anyzero run`"
    found = loaders.system_loader(os.environ)
    if found is None:
        return f"its NPU plugin finds this driver {other_ways}"
    if found.is_ours:
        return "its NPU plugin finds this driver by itself"
    if not found.is_enough:
        return f"its NPU plugin cannot use the loader {found}, and finds this driver {other_ways}"
    named = os.environ.get(environment.DRIVERS, "").split(",")
    if any(each and os.path.realpath(each) == os.path.realpath(loaders.DRIVER) for each in named):
        return f"its NPU plugin finds this driver by itself, through {found.path}"
    return f"its NPU plugin uses the loader {found.path}, and finds this driver {other_ways}"


def onnxruntime() -> Iterator[Check]:
    """ONNX Runtime silently runs models on its own CPU provider where its OpenVINO provider cannot be loaded."""
    if found := missing_openvino([each for each in sys.path if each]):
        finding = f"onnxruntime-openvino {found} has no openvino beside it: models silently run on its CPU provider"
        yield Check("onnxruntime", "warning", finding, INSTALL)
    elif told := _installed("onnxruntime-openvino"):
        yield Check("onnxruntime", "good", f"onnxruntime-openvino {told}, with openvino {_installed('openvino')}")


def kept_kernels() -> Iterator[Check]:
    """The cache of compiled kernels."""
    name = "cache"
    found, _ = _checkup(Interpreter(sys.executable, ""))
    told: dict[str, Any] = {"error": "not checked: the compiler's check failed"} if not found else found["cache"]
    place = told.get("folder")
    fix = "Choose another folder with ANYZERO_CACHE_DIR, or switch the cache off: ANYZERO_CACHE=off."
    if "error" in told:
        yield Check(name, "warning", told["error"], fix)
    elif not told["on"]:
        yield Check(name, "note", "off (ANYZERO_CACHE)")
    elif place is None:
        yield Check(name, "warning", "this user has no home folder for compiled kernels", fix)
    elif told["trouble"]:
        finding = f"{place} is not used, and kernels are compiled each time: {told['trouble']}"
        yield Check(name, "warning", finding, fix)
    elif not told["writable"]:
        yield Check(name, "warning", f"{place} is read-only; kernels that it lacks are compiled each time", fix)
    else:
        amount = f"{told['entries']} kernels, {size(told['bytes'])} of {size(told['limit'])}"
        yield Check(name, "good", f"{place}, {amount}")


def limits() -> Iterator[Check]:
    """Limits of the system: memfd_create, descriptors, address space. Locked memory and /dev/shm are not used."""
    name = "system limits"
    troubles = list(_troubles())
    yield from (Check(name, "warning", finding, remedy) for finding, remedy in troubles)
    if not troubles:
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        yield Check(name, "good", f"memfd_create, {soft} open files, unlimited address space")


def _troubles() -> Iterator[tuple[str, str]]:
    try:
        os.close(os.memfd_create("anyzero"))
    except (AttributeError, OSError) as error:
        yield f"memfd_create fails ({error}), so nothing can be shared between processes", "Allow memfd_create(2)."
    if not Path("/proc/self/fd").exists():
        yield "/proc is not mounted, so nothing can be shared between processes", "mount -t proc proc /proc"
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < _FILES:
        yield f"only {hard} open files: shared memory takes some", "Raise it: ulimit -Hn 4096"
    room = resource.getrlimit(resource.RLIMIT_AS)[0]
    if room != resource.RLIM_INFINITY:
        yield f"{size(room)} of address space; devices show more memory than that", "ulimit -v unlimited"
    strict = Path("/proc/sys/vm/overcommit_memory")
    if strict.exists() and strict.read_text().strip() == "2":
        yield "memory is not overcommitted: large buffers fail early", "sysctl vm.overcommit_memory=0"


def variables() -> Iterator[Check]:
    """Variables with invalid values, and unknown names."""
    name = "variables"
    troubles = [*_unread(), *_refused(), *_drivers_gone()]
    yield from (Check(name, state, finding, remedy) for state, finding, remedy in troubles)
    if not troubles:
        known = {row.name for _, row in config.variables()}
        used = sorted(key for key in os.environ if key in known and os.environ[key].strip())
        yield Check(name, "good", ", ".join(f"{key}={os.environ[key]}" for key in used) or "none are set")


Trouble = tuple[State, str, str]


def _unread() -> Iterator[Trouble]:
    known = [row.name for _, row in config.variables()]
    for variable in sorted(key for key in os.environ if key.startswith("ANYZERO_") and key not in known):
        near = difflib.get_close_matches(variable, known, n=1, cutoff=0.75)
        fix = f"Did you mean {near[0]}?" if near else "`anyzero docs environment` lists all variables."
        yield "warning", f"nothing reads {variable}", fix


def _refused() -> Iterator[Trouble]:
    """First each by itself, so that one does not hide another; then as the driver takes them all."""
    found = False
    for _, row in config.variables():
        try:
            config.read({row.name: os.environ.get(row.name, "")})
        except config.ConfigError as error:
            found = True
            yield "bad", f"{error.variable}={error.value!r}: {error.reason}", f"It takes {error.accepts}."
    if not found:
        try:
            environment.check(os.environ)
        except (Error, config.ConfigError) as error:
            yield "bad", str(error).strip(), "`anyzero docs environment` has the grammar."


def _drivers_gone() -> Iterator[Trouble]:
    for listed in filter(None, os.environ.get(environment.DRIVERS, "").split(",")):
        if "/" in listed and not Path(listed).exists():
            yield "warning", f"{environment.DRIVERS} names {listed}, which does not exist", "Remove it."


def _installed(package: str) -> str:
    """The version of a package; empty where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


@cache
def _checkup(python: Interpreter) -> tuple[dict[str, Any] | None, str]:
    place = str(Path(config.__file__).parents[1])
    return _asked([python.path, "-I", "-c", _CHECKUP, place, str(_SPIRV)], os.environ)


def _asked(command: list[str], environ: Mapping[str, str]) -> tuple[dict[str, Any] | None, str]:
    """The JSON that a process printed; or None, and the last line of its messages."""
    try:
        answer = subprocess.run(command, env=dict(environ), capture_output=True, text=True, timeout=_PATIENCE_S)
        if answer.returncode == 0:
            return json.loads(answer.stdout), ""
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    said = answer.stderr.strip().splitlines()
    return None, said[-1] if said else f"the process ended with code {answer.returncode}"


CHECKS: Final = (
    driver,
    loader,
    system_loader,
    pyzes,
    compiler,
    python,
    openvino,
    onnxruntime,
    kept_kernels,
    limits,
    variables,
)
"""The checks in the order of the report."""
