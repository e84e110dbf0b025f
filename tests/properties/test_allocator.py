"""Any sequence of allocations, frees and questions agrees with a list of intervals."""

from __future__ import annotations

import ctypes
from ctypes import addressof, byref, c_size_t, c_void_p
from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from anyzero import ze
from tests.abi.calls import INVALID_ARGUMENT, OK, Calls, read
from tests.thorough import examples

KINDS = {"host": ze.ZE_MEMORY_TYPE_HOST, "device": ze.ZE_MEMORY_TYPE_DEVICE, "shared": ze.ZE_MEMORY_TYPE_SHARED}

# Around every border the allocator has, and anything between.
sizes = st.one_of(
    st.integers(1, 300),
    st.integers(1, 20_000),
    st.sampled_from([1 << shift for shift in range(23)]),
    st.sampled_from([(1 << shift) + delta for shift in range(6, 22) for delta in (-1, 1)]),
    st.integers(1 << 20, 5 << 20),
)


@dataclass(frozen=True)
class Block:
    address: int
    size: int
    kind: str
    context: int
    value: int


class Allocator(RuleBasedStateMachine):
    blocks = Bundle("blocks")

    def __init__(self) -> None:
        super().__init__()
        self.az = Calls()
        self.contexts = [self.az.context(), self.az.context()]
        self.live: dict[int, Block] = {}
        self.before = self.usable()

    def usable(self) -> int:
        extra = ze.ze_device_usablemem_size_ext_properties_t()
        found = ze.ze_device_properties_t(pNext=addressof(extra))
        self.az.ok("zeDeviceGetProperties", self.az.device, byref(found))
        return extra.currUsableMemSize

    @rule(
        target=blocks,
        size=sizes,
        kind=st.sampled_from(sorted(KINDS)),
        shift=st.integers(0, 21),
        aligned=st.booleans(),
        context=st.integers(0, 1),
        value=st.integers(1, 255),
    )
    def allocate(self, size: int, kind: str, shift: int, aligned: bool, context: int, value: int) -> Block:
        alignment = 1 << shift if aligned else 0
        address = self.az.memory(self.contexts[context], size, kind, alignment)
        assert address % max(alignment, 64) == 0
        for other in self.live.values():
            assert address + size <= other.address or other.address + other.size <= address
        ctypes.memset(address, value, size)
        block = Block(address, size, kind, context, value)
        self.live[address] = block
        return block

    @rule(block=consumes(blocks), policy=st.integers(0, 2))
    def free(self, block: Block, policy: int) -> None:
        self.check(block)
        desc = ze.ze_memory_free_ext_desc_t(freePolicy=policy)
        self.az.ok("zeMemFreeExt", self.contexts[block.context], byref(desc), block.address)
        del self.live[block.address]
        again = self.az.call("zeMemFree", self.contexts[block.context], block.address)
        assert again == INVALID_ARGUMENT

    @rule(block=blocks, where=st.floats(0, 1))
    def bad_free(self, block: Block, where: float) -> None:
        inside = block.address + int(where * (block.size - 1))
        context = self.contexts[block.context]
        if inside != block.address:
            self.az.error(INVALID_ARGUMENT, "zeMemFree", context, inside)
        self.az.error(INVALID_ARGUMENT, "zeMemFree", self.contexts[1 - block.context], block.address)

    @rule(block=blocks, where=st.floats(0, 1))
    def ask(self, block: Block, where: float) -> None:
        inside = block.address + int(where * (block.size - 1))
        context = self.contexts[block.context]
        found, device = ze.ze_memory_allocation_properties_t(), c_void_p()
        self.az.ok("zeMemGetAllocProperties", context, inside, byref(found), byref(device))
        assert found.type == KINDS[block.kind]
        base, size = c_void_p(), c_size_t()
        self.az.ok("zeMemGetAddressRange", context, inside, byref(base), byref(size))
        assert (base.value, size.value) == (block.address, block.size)
        foreign = self.az.call(
            "zeMemGetAddressRange", self.contexts[1 - block.context], inside, byref(base), byref(size)
        )
        assert foreign == ze.ZE_RESULT_ERROR_ADDRESS_NOT_FOUND

    @rule(address=st.integers(0, 2**64 - 1))
    def ask_anywhere(self, address: int) -> None:
        owner = next((b for b in self.live.values() if b.address <= address < b.address + b.size), None)
        found = ze.ze_memory_allocation_properties_t()
        context = self.contexts[owner.context if owner else 0]
        result = self.az.call("zeMemGetAllocProperties", context, address, byref(found), None)
        assert result == OK or address == 0
        if not owner:
            assert found.type == ze.ZE_MEMORY_TYPE_UNKNOWN

    @rule(block=blocks)
    def share(self, block: Block) -> None:
        """Becoming shareable may move what is behind the address, never what is in it."""
        handle = ze.ze_ipc_mem_handle_t()
        context = self.contexts[block.context]
        self.az.ok("zeMemGetIpcHandle", context, block.address, byref(handle))
        self.check(block)
        self.az.ok("zeMemPutIpcHandle", context, handle)

    def check(self, block: Block) -> None:
        ends = read(block.address, 1) + read(block.address + block.size - 1, 1)
        assert ends == bytes([block.value] * 2)
        if block.size < 100_000:
            assert read(block.address, block.size) == bytes([block.value]) * block.size

    @invariant()
    def account(self) -> None:
        charged = sum(block.size for block in self.live.values() if block.kind != "host")
        assert self.before - self.usable() == charged

    def teardown(self) -> None:
        for block in self.live.values():
            self.check(block)
            self.az.ok("zeMemFree", self.contexts[block.context], block.address)
        self.live.clear()
        for context in self.contexts:
            self.az.ok("zeContextDestroy", context)
        assert self.usable() == self.before


TestAllocator = Allocator.TestCase
TestAllocator.settings = settings(max_examples=examples(60, 120), stateful_step_count=60, deadline=None)
