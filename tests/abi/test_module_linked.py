"""Linked modules with the real compiler: code reaches through one module into the next, and their variables."""

from __future__ import annotations

import ctypes
import struct
from ctypes import byref, c_size_t, c_void_p

from anyzero import ze
from tests.abi.calls import SYNCHRONOUS, Calls, handles, read
from tests.abi.kernels_in_c import kernel, launch
from tests.compiler.assembler import assemble
from tests.compiler.samples import PROLOGUE, TYPES

UNARY = "    %unary = OpTypeFunction %i32 %i32\n"
DECLARED = """
    %{name} = OpFunction %i32 None %unary
    %{name}_value = OpFunctionParameter %i32
    OpFunctionEnd
"""

USER = f"""{PROLOGUE}
    OpEntryPoint Kernel %main "main"
    OpEntryPoint Kernel %alone "alone"
    OpDecorate %middle LinkageAttributes "middle" Import
    OpDecorate %calls LinkageAttributes "calls" Import
{TYPES}{UNARY}
    %calls = OpVariable %global_i32 CrossWorkgroup
    %type = OpTypeFunction %void %global_i32
{DECLARED.format(name="middle")}
    %main = OpFunction %void None %type
    %to = OpFunctionParameter %global_i32
    %entry = OpLabel
    %far = OpFunctionCall %i32 %middle %c3
    OpStore %to %far Aligned 4
    %second = OpInBoundsPtrAccessChain %global_i32 %to %l1
    %seen = OpLoad %i32 %calls Aligned 4
    OpStore %second %seen Aligned 4
    OpReturn
    OpFunctionEnd
    %alone = OpFunction %void None %type
    %there = OpFunctionParameter %global_i32
    %alone_entry = OpLabel
    OpStore %there %c7 Aligned 4
    OpReturn
    OpFunctionEnd
"""

MIDDLE = f"""{PROLOGUE}
    OpDecorate %middle LinkageAttributes "middle" Export
    OpDecorate %calls LinkageAttributes "calls" Export
    OpDecorate %last LinkageAttributes "last" Import
{TYPES}{UNARY}
    %calls = OpVariable %global_i32 CrossWorkgroup %c0
{DECLARED.format(name="last")}
    %middle = OpFunction %i32 None %unary
    %value = OpFunctionParameter %i32
    %entry = OpLabel
    %before = OpLoad %i32 %calls Aligned 4
    %after = OpIAdd %i32 %before %c1
    OpStore %calls %after Aligned 4
    %result = OpFunctionCall %i32 %last %value
    OpReturnValue %result
    OpFunctionEnd
"""

LAST = f"""{PROLOGUE}
    OpDecorate %last LinkageAttributes "last" Export
    OpDecorate %total LinkageAttributes "total" Export
{TYPES}{UNARY}
    %padding = OpVariable %global_i32 CrossWorkgroup %c2
    %total = OpVariable %global_i32 CrossWorkgroup %c7
    %last = OpFunction %i32 None %unary
    %value = OpFunctionParameter %i32
    %entry = OpLabel
    %before = OpLoad %i32 %total Aligned 4
    %after = OpIAdd %i32 %before %value
    OpStore %total %after Aligned 4
    OpReturnValue %after
    OpFunctionEnd
"""


def built(az: Calls, context: c_void_p, text: str) -> c_void_p:
    data = assemble(text)
    held = ctypes.create_string_buffer(data, len(data))
    desc = ze.ze_module_desc_t(pInputModule=ctypes.addressof(held), inputSize=len(data))
    module = c_void_p()
    az.ok("zeModuleCreate", context, az.device, byref(desc), byref(module), None)
    return module


def variable(az: Calls, module: c_void_p, name: str) -> int:
    size, address = c_size_t(), c_void_p()
    az.ok("zeModuleGetGlobalPointer", module, name.encode(), byref(size), byref(address))
    assert address.value
    return address.value


def number(address: int) -> int:
    found: int = struct.unpack("<i", read(address, 4))[0]
    return found


def test_code_reaches_through_a_module_into_the_next(az: Calls, context: c_void_p) -> None:
    user, middle, last = (built(az, context, text) for text in (USER, MIDDLE, LAST))
    az.ok("zeModuleDynamicLink", 2, handles([middle, last]), None)
    az.ok("zeModuleDynamicLink", 2, handles([user, middle]), None)
    total, calls = variable(az, last, "total"), variable(az, middle, "calls")
    # Gone before any code is made; what they hold must stay as long as the code that uses it.
    az.ok("zeModuleDestroy", last)
    az.ok("zeModuleDestroy", middle)
    main = kernel(az, user, "main", to := az.memory(context, 64))
    az.ok("zeModuleDestroy", user)
    lst = az.immediate(context, mode=SYNCHRONOUS)
    for turn in (1, 2, 3):
        launch(az, lst, main, 1)
        assert (number(to), number(to + 4)) == (7 + 3 * turn, turn)
        assert (number(total), number(calls)) == (7 + 3 * turn, turn)
    az.ok("zeKernelDestroy", main)
    kind = ze.ze_memory_allocation_properties_t()
    for address in (total, calls):
        az.ok("zeMemGetAllocProperties", context, address, byref(kind), None)
        assert kind.type == ze.ZE_MEMORY_TYPE_UNKNOWN
    az.ok("zeCommandListDestroy", lst)
    az.ok("zeMemFree", context, to)


def test_only_kernels_that_reach_an_import_need_the_link(az: Calls, context: c_void_p) -> None:
    user = built(az, context, USER)
    alone = kernel(az, user, "alone", to := az.memory(context, 64))
    lst = az.immediate(context, mode=SYNCHRONOUS)
    launch(az, lst, alone, 1)
    assert number(to) == 7
    desc = ze.ze_kernel_desc_t(pKernelName=b"main")
    code = ze.ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED
    az.error(code, "zeKernelCreate", user, byref(desc), byref(c_void_p()))
    assert "calls, middle" in az.last_error()
    middle, last = built(az, context, MIDDLE), built(az, context, LAST)
    az.ok("zeModuleDynamicLink", 3, handles([user, middle, last]), None)
    main = kernel(az, user, "main", to)
    launch(az, lst, main, 1)
    assert (number(to), number(to + 4)) == (10, 1)
    for each in (main, alone):
        az.ok("zeKernelDestroy", each)
    for each in (user, middle, last):
        az.ok("zeModuleDestroy", each)
    az.ok("zeCommandListDestroy", lst)
    az.ok("zeMemFree", context, to)
