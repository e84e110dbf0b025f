"""Modules: building, logs, names, variables, linking, native binaries; and that destroying needs no planner."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from ctypes import byref, c_char_p, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import pytest

from anyzero import ze
from tests.abi.calls import INVALID_ARGUMENT, INVALID_NULL_POINTER, INVALID_SIZE, OK, SOON, Calls, handles, read, write
from tests.abi.kernels_in_c import Planner, build, kernel, launch, log_text, planner

TWO = """
//kernel {"name": "first", "args": [["global", 8]]}
KERNEL(first) { *ARG(u32*, 0) = 1; }
//kernel {"name": "second", "args": [["global", 8]]}
KERNEL(second) { *ARG(u32*, 0) = 2; }
"""

VARIABLES = """
//global {"name": "table", "size": 16, "image": "0102030405060708"}
//global {"name": "empty", "size": 8}
//global {"name": "pointer", "size": 8, "points_to": 4}
//kernel {"name": "look", "args": [["global", 8]]}
KERNEL(look) {
  u64* to = ARG(u64*, 0);
  to[0] = *(u64*)az_globals;
  to[1] = ++*(u64*)(az_globals + 16);
  to[2] = *(*(u32**)(az_globals + 24));
}
"""


@pytest.fixture
def plan() -> Iterator[Planner]:
    with planner() as made:
        yield made


def attempt(az: Calls, context: c_void_p, **fields: Any) -> tuple[int, c_void_p, c_void_p]:
    module, log = c_void_p(), c_void_p()
    desc = ze.ze_module_desc_t(**fields)
    return az.call("zeModuleCreate", context, az.device, byref(desc), byref(module), byref(log)), module, log


def source(text: str) -> dict[str, Any]:
    data = ctypes.create_string_buffer(text.encode())
    return {"pInputModule": ctypes.addressof(data), "inputSize": len(text.encode()), "_keep": data}


def given(text: str) -> tuple[dict[str, Any], Any]:
    fields = source(text)
    return fields, fields.pop("_keep")


def global_pointer(az: Calls, module: c_void_p, name: str) -> tuple[int, int]:
    size, address = c_size_t(), c_void_p()
    az.ok("zeModuleGetGlobalPointer", module, name.encode(), byref(size), byref(address))
    assert address.value
    return address.value, size.value


def test_a_module_tells_its_kernels(az: Calls, context: c_void_p, plan: Planner) -> None:
    module, log = build(az, context, TWO)
    count = c_uint32()
    az.ok("zeModuleGetKernelNames", module, byref(count), None)
    assert count.value == 2
    names = (c_char_p * 5)()
    count.value = 5
    az.ok("zeModuleGetKernelNames", module, byref(count), names)
    assert count.value == 2
    assert list(names)[:2] == [b"first", b"second"]
    count.value = 1
    az.ok("zeModuleGetKernelNames", module, byref(count), names)
    assert count.value == 1
    assert az.query("zeModuleGetProperties", ze.ze_module_properties_t, module).flags == 0
    assert log_text(az, log) == "built"
    az.ok("zeModuleBuildLogDestroy", log)
    az.ok("zeModuleDestroy", module)


def test_a_failed_build_leaves_its_log(az: Calls, context: c_void_p, plan: Planner) -> None:
    fields, _keep = given("#error no")
    result, module, log = attempt(az, context, **fields)
    assert result == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert not module.value
    assert log_text(az, log) == "the source asks to fail"
    assert "asks to fail" in az.last_error()
    size = c_size_t(5)
    text = ctypes.create_string_buffer(b"xxxxxxxx")
    az.ok("zeModuleBuildLogGetString", log, byref(size), text)
    assert (size.value, text.raw[:8]) == (5, b"the sxxx")
    az.ok("zeModuleBuildLogDestroy", log)
    # Nobody has to want a log.
    desc = ze.ze_module_desc_t(**fields)
    az.error(result, "zeModuleCreate", context, az.device, byref(desc), byref(module), None)


def test_inputs_are_looked_at(az: Calls, context: c_void_p, plan: Planner) -> None:
    fields, _keep = given(f"//constant [7, 4]\n//constant [9, 8]\n{TWO}")
    assert attempt(az, context)[0] == INVALID_SIZE
    assert attempt(az, context, inputSize=4)[0] == INVALID_NULL_POINTER
    ids = (c_uint32 * 2)(7, 9)
    three, four = c_uint32(3), c_uint64(4)
    values = (c_void_p * 2)(ctypes.addressof(three), ctypes.addressof(four))
    constants = ze.ze_module_constants_t(
        numConstants=2, pConstantIds=ctypes.addressof(ids), pConstantValues=ctypes.addressof(values)
    )
    result, module, _ = attempt(az, context, pConstants=ctypes.addressof(constants), pBuildFlags=b"-g", **fields)
    assert result == OK
    ((_data, flags, seen),) = plan.inputs[-1]
    assert (flags, seen) == (b"-g", {7: bytes(three), 9: bytes(four)})
    az.ok("zeModuleDestroy", module)
    values[1] = None
    assert attempt(az, context, pConstants=ctypes.addressof(constants), **fields)[0] == INVALID_NULL_POINTER
    constants.pConstantValues = None
    assert attempt(az, context, pConstants=ctypes.addressof(constants), **fields)[0] == INVALID_NULL_POINTER
    other = ze.ze_module_desc_t(format=7, **fields)
    az.error(
        ze.ZE_RESULT_ERROR_INVALID_ENUMERATION,
        "zeModuleCreate",
        context,
        az.device,
        byref(other),
        byref(c_void_p()),
        None,
    )


def test_several_inputs_make_one_module(az: Calls, context: c_void_p, plan: Planner) -> None:
    """As oneMKL does it: the descriptor's own input is a placeholder."""
    texts = [ctypes.create_string_buffer(part.encode()) for part in TWO.split("//kernel")[1:]]
    parts = [ctypes.create_string_buffer(b"//kernel" + text.value) for text in texts]
    sizes = (c_size_t * 2)(*(len(part.value) for part in parts))
    pointers = (c_void_p * 2)(*(ctypes.addressof(part) for part in parts))
    program = ze.ze_module_program_exp_desc_t(
        count=2, inputSizes=ctypes.addressof(sizes), pInputModules=ctypes.addressof(pointers)
    )
    for fields in ({}, {"inputSize": 1, "pInputModule": 1}):
        result, module, log = attempt(az, context, pNext=ctypes.addressof(program), **fields)
        assert result == OK, az.last_error()
        assert len(plan.inputs[-1]) == 2
        az.ok("zeKernelDestroy", kernel(az, module, "second"))
        az.ok("zeModuleDestroy", module)
        az.ok("zeModuleBuildLogDestroy", log)
    program.count = 0
    assert attempt(az, context, pNext=ctypes.addressof(program))[0] == INVALID_SIZE
    program.count, program.pInputModules = 2, None
    assert attempt(az, context, pNext=ctypes.addressof(program))[0] == INVALID_NULL_POINTER


def test_variables_are_device_memory(az: Calls, context: c_void_p, plan: Planner) -> None:
    module, _ = build(az, context, VARIABLES)
    table, size = global_pointer(az, module, "table")
    assert size == 16
    assert read(table, 16) == bytes([1, 2, 3, 4, 5, 6, 7, 8]) + bytes(8)
    properties = ze.ze_memory_allocation_properties_t()
    owner = c_void_p()
    az.ok("zeMemGetAllocProperties", context, table, byref(properties), byref(owner))
    assert properties.type == ze.ZE_MEMORY_TYPE_DEVICE
    assert owner.value == az.device.value
    assert global_pointer(az, module, "pointer") == (table + 24, 8)
    assert struct.unpack("<Q", read(table + 24, 8))[0] == table + 4
    az.error(INVALID_ARGUMENT, "zeMemFree", context, table)
    assert "module" in az.last_error()
    code = ze.ZE_RESULT_ERROR_INVALID_GLOBAL_NAME
    az.error(code, "zeModuleGetGlobalPointer", module, b"nothing", None, None)
    to = az.memory(context, 64)
    look = kernel(az, module, "look", to)
    immediate = az.immediate(context)
    write(table, struct.pack("<Q", 77))
    for round_ in (1, 2):
        launch(az, immediate, look, 1)
        az.ok("zeCommandListHostSynchronize", immediate, SOON)
        assert struct.unpack("<3Q", read(to, 24))[:2] == (77, round_)
    # Code that may still run holds the variables; then they are freed.
    az.ok("zeModuleDestroy", module)
    launch(az, immediate, look, 1)
    az.ok("zeCommandListHostSynchronize", immediate, SOON)
    assert struct.unpack("<3Q", read(to, 24))[1] == 3
    az.ok("zeKernelDestroy", look)
    az.ok("zeMemGetAllocProperties", context, table, byref(properties), None)
    assert properties.type == ze.ZE_MEMORY_TYPE_UNKNOWN
    az.ok("zeCommandListDestroy", immediate)
    az.ok("zeMemFree", context, to)


def test_code_is_compiled_once_and_plans_are_released_later(az: Calls, context: c_void_p, plan: Planner) -> None:
    module, _ = build(az, context, TWO)
    kernels = [kernel(az, module, "first") for _ in range(3)]
    assert plan.compilations == ["first"]
    (number,) = plan.plans
    az.ok("zeModuleDestroy", module)
    for each in kernels:
        az.ok("zeKernelDestroy", each)
    assert number not in plan.released  # destroying sends no request
    build(az, context, TWO)
    assert number in plan.released


def test_native_binaries_go_round(az: Calls, context: c_void_p, plan: Planner) -> None:
    module, _ = build(az, context, TWO)
    size = c_size_t()
    az.ok("zeModuleGetNativeBinary", module, byref(size), None)
    part = (c_uint8 * 3)()
    az.ok("zeModuleGetNativeBinary", module, byref(c_size_t(3)), part)
    assert bytes(part) == b"nat"
    binary = (c_uint8 * size.value)()
    az.ok("zeModuleGetNativeBinary", module, byref(size), binary)
    # Built once for the queries of size and bytes, and not retained.
    assert plan.natives == 1
    az.ok("zeModuleGetNativeBinary", module, byref(size), None)
    assert plan.natives == 2
    again, _ = build(az, context, bytes(binary).decode(), format=ze.ZE_MODULE_FORMAT_NATIVE)
    az.ok("zeKernelDestroy", kernel(az, again, "second"))
    fields, _keep = given("garbage")
    result, _module, _log = attempt(az, context, format=ze.ZE_MODULE_FORMAT_NATIVE, **fields)
    assert result == ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY


EXPORTING = """
//export "shared"
//global {"name": "shared", "size": 8, "image": "2a"}
"""
IMPORTING = """
//import "shared"
//kernel {"name": "use", "args": [["global", 8]]}
extern u8 other[] __asm__("az_globals.1");
KERNEL(use) { *ARG(u64*, 0) = ++*(u64*)other; }
"""


def test_linking(az: Calls, context: c_void_p, plan: Planner) -> None:
    exporting, _ = build(az, context, EXPORTING)
    importing, _ = build(az, context, IMPORTING)
    flags = az.query("zeModuleGetProperties", ze.ze_module_properties_t, importing).flags
    assert flags == ze.ZE_MODULE_PROPERTY_FLAG_IMPORTS
    desc = ze.ze_kernel_desc_t(pKernelName=b"use")
    code = ze.ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED
    az.error(code, "zeKernelCreate", importing, byref(desc), byref(c_void_p()))
    assert "shared" in az.last_error()
    log = c_void_p()
    failure = ze.ZE_RESULT_ERROR_MODULE_LINK_FAILURE
    az.error(failure, "zeModuleDynamicLink", 1, handles([importing]), byref(log))
    assert log_text(az, log) == "unresolved: shared"
    az.error(code, "zeKernelCreate", importing, byref(desc), byref(c_void_p()))
    az.ok("zeModuleDynamicLink", 2, handles([importing, exporting]), None)
    address, _ = global_pointer(az, exporting, "shared")
    use = kernel(az, importing, "use", to := az.memory(context, 64))
    # The exporting module's variables live as long as the code that uses them.
    az.ok("zeModuleDestroy", exporting)
    immediate = az.immediate(context, mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
    launch(az, immediate, use, 1)
    assert struct.unpack("<Q", read(to, 8)) == (43,) == struct.unpack("<Q", read(address, 8))
    az.ok("zeKernelDestroy", use)
    az.ok("zeModuleDestroy", importing)
    az.ok(
        "zeMemGetAllocProperties", context, address, byref(properties := ze.ze_memory_allocation_properties_t()), None
    )
    assert properties.type == ze.ZE_MEMORY_TYPE_UNKNOWN
    az.ok("zeCommandListDestroy", immediate)
    az.ok("zeMemFree", context, to)


BETWEEN = """
//import "shared"
//export "between"
"""
FAR = """
//import "between"
//kernel {"name": "use", "args": [["global", 8]]}
extern u8 other[] __asm__("az_globals.2");
KERNEL(use) { *ARG(u64*, 0) = ++*(u64*)other; }
"""


def test_links_lead_on(az: Calls, context: c_void_p, plan: Planner) -> None:
    """Links are transitive: modules linked indirectly are reachable and stay alive."""
    giver, between, user = (build(az, context, text)[0] for text in (EXPORTING, BETWEEN, FAR))
    az.ok("zeModuleDynamicLink", 2, handles([between, giver]), None)
    az.ok("zeModuleDynamicLink", 2, handles([user, between]), None)
    address, _ = global_pointer(az, giver, "shared")
    az.ok("zeModuleDestroy", giver)
    az.ok("zeModuleDestroy", between)
    use = kernel(az, user, "use", to := az.memory(context, 64))
    az.ok("zeModuleDestroy", user)
    immediate = az.immediate(context, mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
    launch(az, immediate, use, 1)
    assert struct.unpack("<Q", read(to, 8)) == (43,) == struct.unpack("<Q", read(address, 8))
    az.ok("zeKernelDestroy", use)
    az.ok(
        "zeMemGetAllocProperties", context, address, byref(properties := ze.ze_memory_allocation_properties_t()), None
    )
    assert properties.type == ze.ZE_MEMORY_TYPE_UNKNOWN
    az.ok("zeCommandListDestroy", immediate)
    az.ok("zeMemFree", context, to)


def test_kernels_without_imports_need_no_link(az: Calls, context: c_void_p, plan: Planner) -> None:
    text = """
//import "shared"
//kernel {"name": "use"}
KERNEL(use) {}
//kernel {"name": "alone", "args": [["global", 8]], "imports": []}
KERNEL(alone) { *ARG(u64*, 0) = 5; }
"""
    module, _ = build(az, context, text)
    alone = kernel(az, module, "alone", to := az.memory(context, 64))
    immediate = az.immediate(context, mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
    launch(az, immediate, alone, 1)
    assert struct.unpack("<Q", read(to, 8)) == (5,)
    desc = ze.ze_kernel_desc_t(pKernelName=b"use")
    code = ze.ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED
    az.error(code, "zeKernelCreate", module, byref(desc), byref(c_void_p()))
    assert "use needs shared" in az.last_error()
    az.ok("zeCommandListDestroy", immediate)
    az.ok("zeMemFree", context, to)


def test_linkage_can_be_inspected(az: Calls, context: c_void_p, plan: Planner) -> None:
    modules = [build(az, context, text)[0] for text in (EXPORTING, IMPORTING)]
    for flag in (ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS, ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS):
        log = c_void_p()
        desc = ze.ze_linkage_inspection_ext_desc_t(flags=flag)
        az.ok("zeModuleInspectLinkageExt", byref(desc), 2, handles(modules), byref(log))
        assert log_text(az, log) == "shared"


def test_modules_of_two_contexts_are_not_linked(az: Calls, context: c_void_p, plan: Planner) -> None:
    other = az.context()
    modules = [build(az, context, EXPORTING)[0], build(az, other, IMPORTING)[0]]
    az.error(INVALID_ARGUMENT, "zeModuleDynamicLink", 2, handles(modules), None)
    az.ok("zeModuleDestroy", modules[1])
    az.ok("zeContextDestroy", other)


def test_function_pointers(az: Calls, context: c_void_p, plan: Planner) -> None:
    text = '//function {"name": "triple"}\nu32 triple(u32 x) { return 3 * x; }\n'
    module, _ = build(az, context, text)
    found = c_void_p()
    az.ok("zeModuleGetFunctionPointer", module, b"triple", byref(found))
    assert found.value
    assert ctypes.CFUNCTYPE(c_uint32, c_uint32)(found.value)(14) == 42
    again = c_void_p()
    az.ok("zeModuleGetFunctionPointer", module, b"triple", byref(again))
    assert again.value == found.value
    code = ze.ZE_RESULT_ERROR_INVALID_FUNCTION_NAME
    az.error(code, "zeModuleGetFunctionPointer", module, b"triplet", byref(again))


@pytest.mark.parametrize(
    "flags",
    [[], ["-mcmodel=large"], ["-mcmodel=medium"], ["-fno-pic"], ["-fno-plt"], ["-O0"], ["-O3", "-ffunction-sections"]],
    ids=lambda flags: " ".join(flags) or "as usual",
)
def test_objects_of_every_make(az: Calls, context: c_void_p, plan: Planner, flags: list[str]) -> None:
    """Whatever kinds of reference the code has, among its own sections and to what the engine offers."""
    listed = str(flags).replace("'", '"')
    # Code with 32-bit addresses cannot reach variables, whose addresses are arbitrary.
    variable = "5" if "-fno-pic" in flags else "az_globals[0]"
    text = f"""
    //kernel {{"name": "all", "args": [["global", 8], ["value", 4]], "compiler": {listed}}}
    //global {{"name": "g", "size": 8, "image": "05"}}
    extern void* memcpy(void*, const void*, u64);
    static u32 table[] = {{1, 2, 4, 8}}; u32 zero[100]; static const char* const names[] = {{"one", "two"}};
    static u32 twice(u32 x) {{ return 2 * x; }} u32 (*volatile function)(u32) = twice;
    KERNEL(all) {{
      u32 which = ARG(u32, 8), *to = ARG(u32*, 0);
      memcpy(to, table, sizeof table);
      to[4] = zero[which]++ + function(which);
      to[5] = names[which & 1][0];
      to[6] = {variable};
      to[7] = (u32)(((unsigned __int128)(which + 7) << 66) / (which + 3) >> 60);
    }}"""
    text = "\n".join(line.strip() for line in text.splitlines())
    module, _ = build(az, context, text)
    to = az.memory(context, 64)
    made = kernel(az, module, "all", to, c_uint32(3))
    immediate = az.immediate(context, mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
    launch(az, immediate, made, 1)
    assert struct.unpack("<8I", read(to, 32)) == (1, 2, 4, 8, 6, ord("t"), 5, (10 << 66) // 6 >> 60)
    az.ok("zeCommandListDestroy", immediate)
    az.ok("zeKernelDestroy", made)
    az.ok("zeModuleDestroy", module)
    az.ok("zeMemFree", context, to)


def test_a_reference_that_does_not_reach(az: Calls, context: c_void_p, plan: Planner) -> None:
    # An absolute address of 32 bits, and memory never lies that low; how far it is from the code is up to the system.
    text = '//kernel {"name": "near", "compiler": ["-fno-pic"]}\n'
    text += 'KERNEL(near) { __asm__ volatile("movl $az_globals, %%eax" ::: "eax"); }\n'
    module, _ = build(az, context, text + '//global {"name": "g", "size": 8}\n')
    desc = ze.ze_kernel_desc_t(pKernelName=b"near")
    code = ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    az.error(code, "zeKernelCreate", module, byref(desc), byref(c_void_p()))
    assert "az_globals is out of range" in az.last_error()


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda made: made[:-1], "size"),
        (lambda made: made[:100] + bytes([made[100] ^ 1]) + made[101:], "checksum"),
        (lambda made: b"", "header"),
        (lambda made: bytes(8) + made[8:], "header"),
    ],
    ids=["cut", "flipped", "nothing", "other magic"],
)
def test_damaged_code_is_refused(az: Calls, context: c_void_p, plan: Planner, spoil: Any, text: str) -> None:
    module, _ = build(az, context, TWO)
    plan.spoil = spoil
    desc = ze.ze_kernel_desc_t(pKernelName=b"first")
    code = ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    az.error(code, "zeKernelCreate", module, byref(desc), byref(c_void_p()))
    assert text in az.last_error()
    plan.spoil = None
    az.ok("zeKernelDestroy", kernel(az, module, "first"))


def test_code_that_needs_what_nobody_offers(az: Calls, context: c_void_p, plan: Planner) -> None:
    text = '//kernel {"name": "lost"}\nextern void somewhere(void);\nKERNEL(lost) { somewhere(); }\n'
    module, _ = build(az, context, text)
    desc = ze.ze_kernel_desc_t(pKernelName=b"lost")
    code = ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    az.error(code, "zeKernelCreate", module, byref(desc), byref(c_void_p()))
    assert "somewhere" in az.last_error()


def test_a_planner_that_fails(az: Calls, context: c_void_p, plan: Planner) -> None:
    """An exception where none should be, an answer that is no bytes, one that is cut short."""
    fields, _keep = given(TWO)
    for answer in (lambda _: 1 / 0, lambda _: "text", lambda _: b"\0\0"):
        plan.build = answer  # type: ignore[method-assign]
        result, _module, log = attempt(az, context, **fields)
        assert result in (ze.ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, ze.ZE_RESULT_ERROR_UNKNOWN)
        assert log_text(az, log)
    whole = Planner().build(
        struct.pack("<IIII", 0, 0, 1, 1) + struct.pack("<Q", len(VARIABLES)) + VARIABLES.encode() + bytes(12)
    )
    for size in range(16, len(whole), 5):
        plan.build = lambda _, size=size: whole[:size]  # type: ignore[method-assign]
        assert attempt(az, context, **fields)[0] == ze.ZE_RESULT_ERROR_UNKNOWN, size


def test_runtime_requirements(az: Calls, context: c_void_p, plan: Planner) -> None:
    module, _ = build(az, context, TWO)
    desc = ze.ze_runtime_requirements_module_desc_t(requirementsSrc=module.value)
    size = c_size_t()
    az.ok("zeDeviceGetRuntimeRequirements", az.device, byref(desc), byref(size), None)
    text = ctypes.create_string_buffer(size.value)
    az.ok("zeDeviceGetRuntimeRequirements", az.device, byref(desc), byref(size), text)
    found = ze.ze_validate_runtime_requirements_output_t()
    az.ok("zeDeviceValidateRuntimeRequirements", az.device, text, byref(found))
    assert found.result == ze.ZE_VALIDATE_RUNTIME_REQUIREMENTS_RESULT_REQUIREMENTS_MET
    az.ok("zeDeviceValidateRuntimeRequirements", az.device, text.value + b"0", byref(found))
    assert found.result == ze.ZE_VALIDATE_RUNTIME_REQUIREMENTS_RESULT_REQUIREMENTS_NOT_MET
    size.value = 3
    az.error(INVALID_NULL_POINTER, "zeDeviceGetRuntimeRequirements", az.device, byref(desc), byref(size), text)
    az.ok("zeModuleDestroy", module)
    az.error(INVALID_ARGUMENT, "zeDeviceGetRuntimeRequirements", az.device, byref(desc), byref(size), None)


def test_nothing_is_left_of_modules(az: Calls, context: c_void_p, plan: Planner) -> None:
    """Code, variables and objects go with the last of what uses them."""

    def mappings() -> int:
        return sum("r-xp" in line for line in Path("/proc/self/maps").read_text().splitlines())

    def once() -> None:
        module, log = build(az, context, VARIABLES)
        look = kernel(az, module, "look", to)
        launch(az, immediate, look, 1)
        az.ok("zeKernelDestroy", look)
        az.ok("zeModuleDestroy", module)
        az.ok("zeModuleBuildLogDestroy", log)
        az.ok("zeCommandListHostSynchronize", immediate, SOON)

    to, immediate = az.memory(context, 64), az.immediate(context)
    once()
    before = mappings()
    for _ in range(20):
        once()
    assert mappings() <= before + 1  # the last command may still be letting go of its code
    plan.released.clear()
    build(az, context, TWO)
    assert len(plan.released) >= 1


def test_a_context_may_go_before_its_modules(az: Calls, plan: Planner) -> None:
    context = az.context()
    module, _ = build(az, context, VARIABLES)
    address, _size = global_pointer(az, module, "table")
    az.ok("zeContextDestroy", context)
    assert read(address, 1) == b"\1"
    az.ok("zeModuleDestroy", module)
