"""Compiled code that goes from one process to another, by the cache and as native binaries, with the real compiler."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import textwrap
import time
from ctypes import byref, c_char_p, c_uint32, c_void_p
from pathlib import Path

import pytest

from anyzero import ze
from anyzero.layouts.container_head import CONTAINER_MAGIC
from tests.abi.calls import Calls, environment, read, run_python, write
from tests.abi.kernels_in_c import kernel, log_text
from tests.compiler.samples import MODULES, many_kernels
from tests.patience import PATIENCE
from tests.thorough import every

KERNELS = Path(__file__).resolve().parents[1] / "kernels"
VARIABLES = KERNELS.parents[1] / "examples" / "kernels" / "module_variables.spv"

MAKE = f"""
    import struct
    from pathlib import Path
    from tests.abi.kernels_in_c import *

    def make(context, data, flags=b"", format=ze.ZE_MODULE_FORMAT_IL_SPIRV):
        held = ctypes.create_string_buffer(data, len(data))
        desc = ze.ze_module_desc_t(
            format=format, pInputModule=ctypes.addressof(held), inputSize=len(data), pBuildFlags=flags)
        module, log = c_void_p(), c_void_p()
        az.ok("zeModuleCreate", context, az.device, byref(desc), byref(module), byref(log))
        assert log_text(az, log) == "", log_text(az, log)
        return module

    def check(context, module):
        y, x = (az.memory(context, 400, "shared") for _ in "yx")
        write(y, struct.pack("<100f", *[1.0] * 100))
        write(x, struct.pack("<100f", *map(float, range(100))))
        saxpy = kernel(az, module, "saxpy", y, x, ctypes.c_float(2), ctypes.c_uint64(100))
        launch(az, az.immediate(context, mode=SYNCHRONOUS), saxpy, 100)
        assert struct.unpack("<100f", read(y, 400)) == tuple(1.0 + 2 * i for i in range(100))

    def compiled():
        return "llvmlite" in sys.modules

    az = Calls()
    context = az.context()
    saxpy = Path({str(KERNELS / "saxpy.spv")!r}).read_bytes()
"""


def run(code: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return run_python(
        textwrap.dedent(MAKE) + textwrap.dedent(code),
        arguments=[str(folder)],
        ANYZERO_CACHE_DIR=str(folder),
        **variables,
    )


@pytest.mark.parametrize("flags", ["", "-g", "-ze-opt-disable"])
def test_a_native_binary_spares_another_process_the_compiler(tmp_path: Path, flags: str) -> None:
    run(
        f"""
        module = make(context, saxpy, {flags!r}.encode())
        size = ctypes.c_size_t()
        az.ok("zeModuleGetNativeBinary", module, byref(size), None)
        binary = (c_uint8 * size.value)()
        az.ok("zeModuleGetNativeBinary", module, byref(size), binary)
        Path(sys.argv[1], "binary").write_bytes(binary)
        assert compiled()
        """,
        tmp_path,
        ANYZERO_CACHE="off",
    )
    run(
        """
        check(context, make(context, Path(sys.argv[1], "binary").read_bytes(), format=ze.ZE_MODULE_FORMAT_NATIVE))
        assert not compiled()
        """,
        tmp_path,
        ANYZERO_CACHE="off",
    )


WITH_VARIABLES = """
    def look_up(module):
        values = az.memory(context, 64, "shared")
        write(values, struct.pack("<16f", *[2.0] * 16))
        launch(az, az.immediate(context, mode=SYNCHRONOUS), kernel(az, module, "look_up", values), 16)
        assert struct.unpack("<16f", read(values, 64)) == (2.0, 20.0, 200.0, 2000.0) * 4
        size, place = ctypes.c_size_t(), c_void_p()
        az.ok("zeModuleGetGlobalPointer", module, b"launches", byref(size), byref(place))
        assert struct.unpack("<i", read(place.value, 4)) == (1,)
"""


def test_variables_need_no_compiler_either(tmp_path: Path) -> None:
    """Neither for cached kernels nor for those in a native binary."""
    opening = f"{WITH_VARIABLES}    spirv = Path({str(VARIABLES)!r}).read_bytes()\n"
    native = "ze.ZE_MODULE_FORMAT_NATIVE"
    run(
        f"""{opening}
    module = make(context, spirv)
    assert not compiled()
    look_up(module)
    assert compiled()
    size = ctypes.c_size_t()
    az.ok("zeModuleGetNativeBinary", module, byref(size), None)
    binary = (c_uint8 * size.value)()
    az.ok("zeModuleGetNativeBinary", module, byref(size), binary)
    Path(sys.argv[1], "binary").write_bytes(binary)
    """,
        tmp_path,
    )
    run(f"{opening}    look_up(make(context, spirv))\n    assert not compiled()\n", tmp_path)
    binary = 'Path(sys.argv[1], "binary").read_bytes()'
    run(
        f"{opening}    look_up(make(context, {binary}, format={native}))\n    assert not compiled()\n",
        tmp_path,
        ANYZERO_CACHE="off",
    )


def entries(folder: Path) -> list[Path]:
    """The compiled kernels in the cache, without the replies to builds."""
    return sorted(path for path in folder.rglob("*.kernel") if CONTAINER_MAGIC in path.read_bytes())


def test_a_bad_entry_is_made_anew_in_silence(tmp_path: Path) -> None:
    use = "check(context, make(context, saxpy))\nprint(compiled())"
    assert run(use, tmp_path).stdout == "True\n"
    assert run(use, tmp_path).stdout == "False\n"
    (entry,) = entries(tmp_path)
    good = entry.read_bytes()
    # Of another kernel: whole, and under a name that is not its own.
    run("kernel(az, make(context, saxpy, b'-O1'), 'saxpy')", tmp_path)
    (foreign,) = (each.read_bytes() for each in entries(tmp_path) if each != entry)
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 4
    damaged = [bytes(flipped), good[:-1], good[:50], b"", foreign, b"AZCACH01" + bytes(500), good + b"\0"]
    for bad in every(2, damaged):
        entry.write_bytes(bad)
        done = run(use, tmp_path)
        assert (done.stdout, done.stderr) == ("True\n", "")
        assert entry.read_bytes() == good
    entry.unlink()
    entry.mkdir()
    done = run(use, tmp_path)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_eight_processes_build_the_same_modules_at_once(tmp_path: Path) -> None:
    names = ("saxpy", "atomics")
    code = f"""
    while not Path(sys.argv[1], "go").exists():
        time.sleep(0.001)
    check(context, make(context, saxpy))
    for name in {names!r}:
        module = make(context, Path({str(KERNELS)!r}, name + ".spv").read_bytes())
        count = c_uint32()
        az.ok("zeModuleGetKernelNames", module, byref(count), None)
        listed = (c_char_p * count.value)()
        az.ok("zeModuleGetKernelNames", module, byref(count), listed)
        for each in list(listed)[:2]:
            kernel(az, module, each.decode())
    print(compiled())
    """
    opening = (
        "import ctypes, os, sys, time\nfrom ctypes import *\nfrom anyzero import ze\nfrom tests.abi.calls import *\n"
    )
    program = opening + textwrap.dedent(MAKE) + textwrap.dedent(code)
    command = [sys.executable, "-c", program, str(tmp_path)]
    variables = environment(ANYZERO_CACHE_DIR=str(tmp_path))
    started = [
        subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    (tmp_path / "go").touch()
    outcomes = [(each.communicate(timeout=PATIENCE)[1], each.returncode) for each in started]
    assert outcomes == [("", 0)] * 8
    assert not list(tmp_path.rglob("*.part"))
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


def built(az: Calls, context: c_void_p, data: bytes, **fields: object) -> tuple[c_void_p, str]:
    held = ctypes.create_string_buffer(data, len(data))
    desc = ze.ze_module_desc_t(pInputModule=ctypes.addressof(held), inputSize=len(data), **fields)
    module, log = c_void_p(), c_void_p()
    az.ok("zeModuleCreate", context, az.device, byref(desc), byref(module), byref(log))
    text = log_text(az, log)
    az.ok("zeModuleBuildLogDestroy", log)
    return module, text


def test_a_thousand_kernels_are_ready_at_once(az: Calls, context: c_void_p) -> None:
    data = many_kernels(1000, 100)
    before = time.process_time()
    module, _ = built(az, context, data)
    count = c_uint32()
    az.ok("zeModuleGetKernelNames", module, byref(count), None)
    names = (c_char_p * count.value)()
    az.ok("zeModuleGetKernelNames", module, byref(count), names)
    assert time.process_time() - before < 0.5
    assert count.value == 1000
    az.ok("zeKernelDestroy", kernel(az, module, names[777].decode()))
    az.ok("zeModuleDestroy", module)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("", ""),
        ("-ze-opt-disable", ""),
        ("-ze-opt-level=2", ""),
        ("-ze-opt-level=9", ""),
        ("-ze-opt-greater-than-4GB-buffer-required -ze-opt-large-register-file -g", ""),
        ("-cl-mad-enable -cl-std=CL2.0 -w", ""),
        ("-ze-fly", 'warning: the build flag "-ze-fly" is not known and has no effect'),
        ("-g -ze-opt-level=fast", "warning:"),
    ],
)
def test_flags_and_what_the_log_says_of_them(az: Calls, context: c_void_p, flags: str, said: str) -> None:
    module, text = built(az, context, (KERNELS / "saxpy.spv").read_bytes(), pBuildFlags=flags.encode())
    if said:
        assert said in text
        assert len(text.splitlines()) == 1
    else:
        assert text == ""
    az.ok("zeKernelDestroy", kernel(az, module, "saxpy"))
    az.ok("zeModuleDestroy", module)


def test_specialization_constants(az: Calls, context: c_void_p) -> None:
    data = MODULES["special"]

    def group(*pairs: tuple[int, ctypes._SimpleCData[int]]) -> tuple[tuple[int, int, int], str]:
        ids = (c_uint32 * len(pairs))(*(number for number, _ in pairs))
        values = (c_void_p * len(pairs))(*(ctypes.addressof(value) for _, value in pairs))
        constants = ze.ze_module_constants_t(
            numConstants=len(pairs), pConstantIds=ctypes.addressof(ids), pConstantValues=ctypes.addressof(values)
        )
        module, text = built(az, context, data, pConstants=ctypes.addressof(constants))
        made = kernel(az, module, "special")
        found = az.query("zeKernelGetProperties", ze.ze_kernel_properties_t, made)
        az.ok("zeKernelDestroy", made)
        az.ok("zeModuleDestroy", module)
        return (found.requiredGroupSizeX, found.requiredGroupSizeY, found.requiredGroupSizeZ), text

    usual, text = group()
    assert text == ""
    assert group((4, c_uint32(24))) == ((24, *usual[1:]), "")
    size, text = group((4, c_uint32(12)), (99, c_uint32(1)))
    assert size == (12, *usual[1:])
    assert text == "warning: there is no specialization constant 99; its value has no effect"


def test_groups_that_really_synchronise(az: Calls, context: c_void_p) -> None:
    """Each group adds up what all have written before: exactly as many of them as may run together."""
    example = KERNELS.parents[1] / "examples" / "kernels" / "cooperative_kernel.spv"
    module, _ = built(az, context, example.read_bytes())
    made = kernel(az, module, "share")
    size = 4
    az.ok("zeKernelSetGroupSize", made, size, 1, 1)
    most = az.query("zeKernelSuggestMaxCooperativeGroupCount", c_uint32, made)
    values, sums, arrived = (az.memory(context, 4 * size * most, "shared") for _ in range(3))
    for index, address in enumerate((values, sums, arrived)):
        held = c_void_p(address)
        az.ok("zeKernelSetArgumentValue", made, index, 8, byref(held))
    lst = az.immediate(context)
    for _ in range(5):
        write(values, bytes((ctypes.c_float * (size * most))(*[2.0] * (size * most))))
        write(arrived, bytes(4))
        count = ze.ze_group_count_t(most, 1, 1)
        az.ok("zeCommandListAppendLaunchCooperativeKernel", lst, made, byref(count), None, 0, None)
        az.ok("zeCommandListHostSynchronize", lst, 30_000_000_000)
        found = (ctypes.c_float * (size * most)).from_buffer_copy(read(values, 4 * size * most))
        assert all(abs(each * size * most - 1) < 1e-5 for each in found)
