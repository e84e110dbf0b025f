"""Kernels that wait for their host: however fast they were before, the append returns in time to release them."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from ctypes import byref, c_void_p

import pytest

from anyzero import ze
from tests.abi.calls import NOT_READY, SECOND, SOON, Calls, write
from tests.abi.kernels_in_c import build, kernel, launch, planner
from tests.compiler.assembler import assemble
from tests.compiler.samples import PROLOGUE, TYPES
from tests.patience import PATIENCE

IN_C = """
//kernel {"name": "obey", "args": [["global", 8]], "flags": 16}
KERNEL(obey) { while (!__atomic_load_n(ARG(u32*, 0), __ATOMIC_ACQUIRE)) __builtin_ia32_pause(); }
"""

IN_SPIRV = f"""{PROLOGUE}
    OpEntryPoint Kernel %obey "obey"
{TYPES}
    %type = OpTypeFunction %void %global_i32
    %obey = OpFunction %void None %type
    %flag = OpFunctionParameter %global_i32
    %entry = OpLabel
    OpBranch %head
    %head = OpLabel
    {{read}}
    %ready = OpINotEqual %bool %seen %c0
    OpBranchConditional %ready %exit %head
    %exit = OpLabel
    OpReturn
    OpFunctionEnd
"""

READS = {
    "volatile": "%seen = OpLoad %i32 %flag Volatile|Aligned 4",
    "atomic": "%seen = OpAtomicLoad %i32 %flag %c0 %c2",
}

Obey = tuple[c_void_p, int]


@pytest.fixture(params=["machine code", *READS])
def obey(az: Calls, context: c_void_p, request: pytest.FixtureRequest) -> Iterator[Obey]:
    """The kernel, and the flag it waits for."""
    flag = az.memory(context, 4)
    if request.param == "machine code":
        with planner():
            module, _ = build(az, context, IN_C)
            made = kernel(az, module, "obey", flag)
    else:
        data = assemble(IN_SPIRV.format(read=READS[request.param]))
        held = ctypes.create_string_buffer(data, len(data))
        desc = ze.ze_module_desc_t(pInputModule=ctypes.addressof(held), inputSize=len(data))
        module = c_void_p()
        az.ok("zeModuleCreate", context, az.device, byref(desc), byref(module), None)
        made = kernel(az, module, "obey", flag)
    yield made, flag
    az.ok("zeKernelDestroy", made)
    az.ok("zeModuleDestroy", module)
    az.ok("zeMemFree", context, flag)


def returns_in_time(submit: Callable[[], None], flag: int) -> None:
    """The flag is always set at the end, so that a failure leaves no thread waiting."""
    write(flag, bytes(4))
    thread = threading.Thread(target=submit)
    thread.start()
    thread.join(PATIENCE)
    late = thread.is_alive()
    write(flag, bytes([1, 0, 0, 0]))
    thread.join()
    assert not late, "it waited for the kernel"


@pytest.mark.parametrize("groups", [1, 20])
def test_an_append_does_not_wait(az: Calls, context: c_void_p, obey: Obey, groups: int) -> None:
    made, flag = obey
    lst = az.immediate(context)
    write(flag, bytes([1, 0, 0, 0]))
    for _ in range(100):
        launch(az, lst, made, groups)
        az.ok("zeCommandListHostSynchronize", lst, SOON)
    returns_in_time(lambda: launch(az, lst, made, groups), flag)
    az.ok("zeCommandListHostSynchronize", lst, SOON)
    az.ok("zeCommandListDestroy", lst)


def test_an_execution_does_not_wait(az: Calls, context: c_void_p, obey: Obey) -> None:
    made, flag = obey
    lst, queue = az.list(context), az.queue(context)
    launch(az, lst, made, 1)
    az.close(lst)
    write(flag, bytes([1, 0, 0, 0]))
    for _ in range(100):
        az.execute(queue, lst)
        az.finish(queue)
    returns_in_time(lambda: az.execute(queue, lst), flag)
    az.finish(queue)
    immediate = az.immediate(context)
    name = "zeCommandListImmediateAppendCommandListsExp"
    returns_in_time(lambda: az.ok(name, immediate, 1, byref(lst), None, 0, None), flag)
    az.ok("zeCommandListHostSynchronize", immediate, SOON)


def test_a_wait_with_an_end_ends(az: Calls, context: c_void_p, obey: Obey) -> None:
    made, flag = obey
    lst, (event,) = az.immediate(context), az.events(context, 1)
    write(flag, bytes([1, 0, 0, 0]))
    for _ in range(20):
        launch(az, lst, made, 1)
        az.ok("zeCommandListHostSynchronize", lst, SOON)

    def wait() -> None:
        launch(az, lst, made, 1, signal=event)
        az.error(NOT_READY, "zeEventHostSynchronize", event, SECOND // 10)
        az.error(NOT_READY, "zeCommandListHostSynchronize", lst, SECOND // 10)

    returns_in_time(wait, flag)
    az.ok("zeEventHostSynchronize", event, SOON)
