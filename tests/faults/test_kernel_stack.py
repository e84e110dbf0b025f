"""Kernels that overrun private or local memory: at worst their own queue is lost."""

from __future__ import annotations

import pytest

from tests.abi.calls import run_python
from tests.compiler.assembler import assemble
from tests.compiler.samples import PROLOGUE, TYPES

SOURCE = r"""
//kernel {"name": "up", "args": [["value", 8], ["value", 8], ["global", 8]]}
static __attribute__((noinline)) u64 filled(u64 n, u64 value) {
  u64 room[8]; volatile u64* at = room; __asm__ volatile("" : "+r"(at));
  for (u64 i = 0; i < n; ++i) at[i] = value;
  return at[3];
}
KERNEL(up) {
  u64 outer[4]; volatile u64* at = outer; __asm__ volatile("" : "+r"(at));
  at[0] = filled(ARG(u64, 0), ARG(u64, 8)); *ARG(u64*, 16) = at[0];
}
//kernel {"name": "down", "args": [["value", 8], ["value", 8], ["global", 8]]}
KERNEL(down) {
  u64 room[8]; volatile u64* at = room; __asm__ volatile("" : "+r"(at));
  for (u64 i = 0; i < ARG(u64, 0); ++i) at[-(long)i] = ARG(u64, 8);
  *ARG(u64*, 16) = at[0];
}
//kernel {"name": "look", "args": [["value", 8], ["value", 8], ["global", 8]]}
KERNEL(look) {
  u64 room[8], sum = 0; volatile u64* at = room; __asm__ volatile("" : "+r"(at));
  for (u64 i = 0; i < ARG(u64, 0); ++i) sum += at[i];
  *ARG(u64*, 16) = sum;
}
//kernel {"name": "registers"}
KERNEL(registers) {
  __asm__ volatile("movq $-1, %rbx; movq $-1, %rbp; movq $-1, %r12; movq $-1, %r13");
  __asm__ volatile("movq $-1, %r14; movq $-1, %r15; ret");
}
//kernel {"name": "stack_pointer", "args": [["value", 8]]}
KERNEL(stack_pointer) { __asm__ volatile("movq %0, %%rsp; pushq %%rax; ret" : : "r"(ARG(u64, 0))); }
//kernel {"name": "jump", "args": [["value", 8]]}
KERNEL(jump) { __asm__ volatile("jmp *%0" : : "r"(ARG(u64, 0))); }
//kernel {"name": "breakpoint"}
KERNEL(breakpoint) { __asm__ volatile("int3"); }
//kernel {"name": "recurse", "args": [["value", 8]]}
static u64 by_address(u64 n, struct Worker* worker);
static u64 (*volatile next)(u64, struct Worker*) = by_address;
static __attribute__((noinline)) u64 by_address(u64 n, struct Worker* worker) {
  volatile u8 room[256]; room[n % 256] = (u8)n;
  if (worker && n % 64 == 0) az_printf(worker, "%d\n", &n, 1);
  return next(n + 1, worker) + room[n % 256];
}
KERNEL(recurse) { volatile u64 result = next(0, ARG(u64, 0) ? worker : 0); (void)result; }
//kernel {"name": "large", "args": [["global", 8]]}
KERNEL(large) {
  volatile u8 room[4 << 20]; u64 sum = 0;
  for (u64 i = 0; i < sizeof room; i += 4096) room[i] = 1;
  for (u64 i = 0; i < sizeof room; i += 4096) sum += room[i];
  *ARG(u64*, 0) = sum;
}
//kernel {"name": "beside", "local": 1024, "args": [["value", 8], ["value", 4], ["global", 8]]}
KERNEL(beside) {
  volatile u8* at = worker->local + (long)ARG(u64, 0);
  if (ARG(u32, 8)) *at = 1; else (void)*at;
  *ARG(u64*, 16) = 1;
}
//kernel {"name": "one_of_many", "args": [["value", 8], ["global", 8]]}
KERNEL(one_of_many) {
  FOR_GROUPS {
    if (group == 3) filled(ARG(u64, 0), 3);
    __atomic_fetch_add(ARG(u64*, 8), 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(ARG(u64*, 8), __ATOMIC_ACQUIRE) < grid->group_count[0]) __builtin_ia32_pause();
  }
}
//kernel {"name": "count", "args": [["global", 8]]}
KERNEL(count) { __atomic_fetch_add(ARG(u64*, 0), last - first, __ATOMIC_RELAXED); }
"""

OPENING = f"""
import re
from tests.abi.kernels_in_c import *
SOURCE = {SOURCE!r}
az = Calls()
context = az.context()
out = az.memory(context, 8)
with planner():
    module, _ = build(az, context, SOURCE)
    made = {{}}
    for name in re.findall(r'"name": "(\\w+)"', SOURCE):
        made[name] = kernel(az, module, name)
fine = az.immediate(context, mode=SYNCHRONOUS)

def all_is_well():
    '''On this thread, on an engine's and on the workers'.'''
    set_arguments(az, made["count"], out)
    for groups in (1, 100_000):
        write(out, bytes(8))
        launch(az, fine, made["count"], groups)
        assert read(out, 8) == groups.to_bytes(8, "little")
    az.ok("zeContextGetStatus", context)

def attempt(name, *arguments, mode, groups=1, call="zeCommandListAppendLaunchKernel"):
    '''The report, or an empty text where nothing was noticed.'''
    doomed = az.context()
    lst = az.immediate(doomed, mode=mode)
    set_arguments(az, made[name], *arguments)
    az.call(call, lst, made[name], byref(ze.ze_group_count_t(groups, 1, 1)), None, 0, None)
    result = az.call("zeCommandListHostSynchronize", lst, SOON)
    report = az.last_error() if result else ""
    assert result in (OK, DEVICE_LOST), hex(result)
    assert not result or f"kernel {{name}}" in report, report
    az.ok("zeCommandListDestroy", lst)
    az.ok("zeContextDestroy", doomed)
    return report

def lost(*arguments, says=(), **options):
    report = attempt(*arguments, **options)
    assert report and all(text in report for text in says), (arguments, report)
"""

MODES = ["SYNCHRONOUS", "ASYNCHRONOUS"]
"""On the caller's own thread, and on an engine's."""


@pytest.mark.parametrize("mode", MODES)
def test_overruns_of_private_memory(mode: str) -> None:
    """Upwards over return addresses and saved registers, with values of all sorts, and downwards."""
    run_python(
        OPENING
        + f"""
mode = {mode}
code = ctypes.cast(ctypes.CDLL(None).getpid, c_void_p).value
heap = az.memory(context, 4096)
write(heap, b"\\xc3" * 4096)
noticed = 0
lengths = [*range(9, 33), 40, 64, 100, 128, 200, 512, 1000, 2048, 4096, 20_000, 300_000]
for value in (0, 3, 0x4141414141414141, 0x7000_0000_1000, code, code + 1, heap, 2**64 - 1):
    for n in lengths:
        noticed += bool(attempt("up", c_uint64(n), c_uint64(value), out, mode=mode))
assert noticed > 8 * len(lengths) // 2, noticed
lost("up", c_uint64(300), c_uint64(3), out, mode=mode, says=["private memory"])
for n in (9, 100, 10_000, 1_000_000):
    attempt("down", c_uint64(n), c_uint64(3), out, mode=mode)
lost("down", c_uint64(1 << 20), c_uint64(3), out, mode=mode, says=["private memory"])
# Reads that are thrown away do no harm, as long as they stay near.
for n in (9, 100, 1000):
    assert not attempt("look", c_uint64(n), c_uint64(0), out, mode=mode)
lost("look", c_uint64(1 << 20), c_uint64(0), out, mode=mode, says=["private memory"])
all_is_well()
""",
        ANYZERO_LOG="off",
    )


@pytest.mark.parametrize("mode", MODES)
def test_lost_registers_and_wild_jumps(mode: str) -> None:
    run_python(
        OPENING
        + f"""
mode = {mode}
assert not attempt("registers", mode=mode)
all_is_well()
room = az.memory(context, 4096)
for pointer in (8, 0x7000_0000_1000, 1 << 63):
    lost("stack_pointer", c_uint64(pointer), mode=mode)
for target in (0, 0x1234, 0x7000_0000_1000, room):
    lost("jump", c_uint64(target), mode=mode, says=["jumped to", hex(target) if target else "0"])
lost("jump", c_uint64(1 << 63), mode=mode)
lost("breakpoint", mode=mode, says=["breakpoint"])
all_is_well()
for prints in (0, 1):
    lost("recurse", c_uint64(prints), mode=mode, says=["stack overflowed"])
    all_is_well()
set_arguments(az, made["large"], out)
launch(az, fine, made["large"], 1)
assert read(out, 8) == (1024).to_bytes(8, "little")
lost("one_of_many", c_uint64(300), out, mode=mode, groups=8, call="zeCommandListAppendLaunchCooperativeKernel")
all_is_well()
""",
        ANYZERO_LOG="off",
    )


def test_a_kernel_that_overruns_on_many_threads() -> None:
    """Short-lived program threads, each with its own stack for kernels."""
    run_python(
        OPENING
        + """
def work():
    mine = az.immediate(az.context(), mode=SYNCHRONOUS)
    az.call("zeCommandListAppendLaunchKernel", mine, made["up"], byref(ze.ze_group_count_t(1, 1, 1)), None, 0, None)
    az.error(DEVICE_LOST, "zeCommandListHostSynchronize", mine, SOON)
set_arguments(az, made["up"], c_uint64(300), c_uint64(3), out)
def count(path):
    return sum(1 for _ in open(path)) if path.endswith("maps") else len(os.listdir(path))
all_is_well()
tasks = count("/proc/self/task")
for round in range(4):
    threads = [threading.Thread(target=work) for _ in range(8)]
    for each in threads: each.start()
    for each in threads: each.join()
    while count("/proc/self/task") > tasks:  # Python's join is over before a thread's memory is given back
        os.sched_yield()
    before = count("/proc/self/maps") if round == 0 else before
assert count("/proc/self/maps") < before + 24, (before, count("/proc/self/maps"))
all_is_well()
child = os.fork()
if child == 0:
    lost("up", c_uint64(300), c_uint64(3), out, mode=SYNCHRONOUS)
    lost("up", c_uint64(300), c_uint64(3), out, mode=ASYNCHRONOUS)
    all_is_well()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
""",
        ANYZERO_LOG="off",
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("strict", ["0", "1"])
def test_a_few_bytes_beside_local_memory(mode: str, strict: str) -> None:
    """Programs read past the end and throw away what they got. Far away, and in strict mode at once, is a guard."""
    run_python(
        OPENING
        + f"""
mode, strict = {mode}, {strict}
for write_ in (0, 1):
    for at in (1024, 1024 + 4096, 1024 + 16_383):
        report = attempt("beside", c_uint64(at), c_uint32(write_), out, mode=mode)
        assert bool(report) == bool(strict), (at, report)
        assert not strict or "local memory" in report, report
    assert not attempt("beside", c_uint64(2**64 - 16_384), c_uint32(write_), out, mode=mode)
    for at in (1024 + 16_384, 1024 + 60_000):
        lost("beside", c_uint64(at), c_uint32(write_), out, mode=mode, says=["local memory"])
all_is_well()
""",
        ANYZERO_LOG="off",
        ANYZERO_STRICT=strict,
    )


IN_SPIRV = f"""{PROLOGUE}
    OpEntryPoint Kernel %main "fill" %gid
    OpDecorate %gid BuiltIn GlobalInvocationId
{TYPES}
    %c8 = OpConstant %i32 8
    %eight = OpTypeArray %i32 %c8
    %private_eight = OpTypePointer Function %eight
    %gid = OpVariable %input_v3i64 Input
    %type = OpTypeFunction %void %global_i32 %i32 %i32
    %main = OpFunction %void None %type
    %out = OpFunctionParameter %global_i32
    %n = OpFunctionParameter %i32
    %value = OpFunctionParameter %i32
    %entry = OpLabel
    %own = OpVariable %private_eight Function
    %id = OpLoad %v3i64 %gid Aligned 32
    %x = OpCompositeExtract %i64 %id 0
    OpBranch %head
    %head = OpLabel
    %i = OpPhi %i32 %c0 %entry %next %work
    %inside = OpULessThan %bool %i %n
    OpBranchConditional %inside %work %exit
    %work = OpLabel
    %at = OpAccessChain %private_i32 %own %i
    OpStore %at %value Volatile|Aligned 4
    %next = OpIAdd %i32 %i %c1
    OpBranch %head
    %exit = OpLabel
    %which = OpBitwiseAnd %i32 %value %c7
    %from = OpAccessChain %private_i32 %own %which
    %last = OpLoad %i32 %from Volatile|Aligned 4
    %to = OpPtrAccessChain %global_i32 %out %x
    OpStore %to %last Aligned 4
    OpReturn
    OpFunctionEnd
"""


@pytest.mark.parametrize("mode", MODES)
def test_compiled_kernels_notice_an_overrun_before_they_return(mode: str) -> None:
    """Whatever the overrun writes, none of it is jumped to."""
    module = assemble(IN_SPIRV)
    run_python(
        f"""
        from tests.abi.kernels_in_c import kernel, set_arguments
        az = Calls()
        context = az.context()
        out, data = az.memory(context, 4 * 64), {module!r}
        held = ctypes.create_string_buffer(data, len(data))
        desc = ze.ze_module_desc_t(pInputModule=ctypes.addressof(held), inputSize=len(data))
        module = c_void_p()
        az.ok("zeModuleCreate", context, az.device, byref(desc), byref(module), None)
        made = kernel(az, module, "fill", out, c_uint32(8), c_uint32(3), group=(64,))
        one, noticed = byref(ze.ze_group_count_t(1, 1, 1)), 0
        for n in (1, 4, 8, *range(9, 129), 200, 512, 1000, 4096, 10_000, 100_000):
            set_arguments(az, made, out, c_uint32(n), c_uint32(3))
            lst = az.immediate(az.context(), mode={mode})
            az.call("zeCommandListAppendLaunchKernel", lst, made, one, None, 0, None)
            result = az.call("zeCommandListHostSynchronize", lst, SOON)
            assert result in (OK, DEVICE_LOST)
            if result == OK:
                assert n < 200, n
                assert n < 4 or read(out, 256) == bytes([3, 0, 0, 0]) * 64
                continue
            noticed += 1
            assert n > 8 and "kernel fill" in az.last_error() and "private memory" in az.last_error(), az.last_error()
        assert noticed > 6, noticed
        """,
        ANYZERO_LOG="off",
    )
