"""Memory accounting: shared memory may exceed its device, resident memory may not, and hints move it."""

from __future__ import annotations

from tests.abi.calls import ROOT, run_python

USABLE = """
        az = Calls()
        context, out = az.context(), c_void_p()
        d, h = ze.ze_device_mem_alloc_desc_t(), ze.ze_host_mem_alloc_desc_t()
        MiB = 1 << 20
        def usable(device=None):
            extra = ze.ze_device_usablemem_size_ext_properties_t()
            properties = ze.ze_device_properties_t(pNext=ctypes.addressof(extra))
            az.ok("zeDeviceGetProperties", device or az.device, byref(properties))
            return extra.currUsableMemSize // MiB
        assert usable() == 64
        resident, evict = "zeContextMakeMemoryResident", "zeContextEvictMemory"
"""


def test_shared_memory_may_exceed_its_device_but_not_the_machine() -> None:
    run_python(
        USABLE
        + """
        shared = [az.memory(context, 24 * MiB, "shared") for _ in range(8)]
        assert usable() == 16
        for each in shared:
            write(each + 5, b"shared")
        l = az.immediate(context, mode=SYNCHRONOUS)
        az.copy(l, shared[0] + 100, shared[7] + 5, 6)
        assert read(shared[0] + 100, 6) == b"shared"
        # Device memory is not oversubscribed: shared memory gives way to it.
        device = az.memory(context, 60 * MiB, "device")
        assert usable() == 4
        az.error(OUT_OF_DEVICE_MEMORY, "zeMemAllocDevice", context, byref(d), 5 * MiB, 0, az.device, byref(out))
        assert read(shared[0] + 5, 6) == b"shared"
        relaxed = ze.ze_relaxed_allocation_limits_ext_desc_t(flags=ze.ZE_RELAXED_ALLOCATION_LIMITS_EXT_FLAG_MAX_SIZE)
        d.pNext = ctypes.addressof(relaxed)
        args = (context, byref(d), byref(h), 1 << 46, 0, az.device, byref(out))
        az.error(OUT_OF_DEVICE_MEMORY, "zeMemAllocShared", *args)
        for each in (device, *shared):
            az.ok("zeMemFree", context, each)
        assert usable() == 64
        """,
        ANYZERO_DEVICES="cpu:memory=64M",
    )


def test_what_is_resident_fits_into_the_device() -> None:
    run_python(
        USABLE
        + """
        shared = [az.memory(context, 24 * MiB, "shared") for _ in range(4)]
        for each in shared[2:]:
            az.ok(resident, context, az.device, each, 24 * MiB)
        assert usable() == 16
        az.ok(resident, context, az.device, shared[2], 24 * MiB)
        az.error(OUT_OF_DEVICE_MEMORY, resident, context, az.device, shared[0], 24 * MiB)
        assert "evict" in az.last_error(), az.last_error()
        # Resident memory is not evicted, and host memory is not charged to the device.
        az.error(OUT_OF_DEVICE_MEMORY, "zeMemAllocDevice", context, byref(d), 17 * MiB, 0, az.device, byref(out))
        az.ok(resident, context, az.device, az.memory(context, 60 * MiB, "host"), 60 * MiB)
        az.ok(resident, context, az.device, az.memory(context, 16 * MiB, "device"), 16 * MiB)
        assert usable() == 0
        az.ok(evict, context, az.device, shared[3], 24 * MiB)
        az.ok(resident, context, az.device, shared[0], 24 * MiB)
        az.error(OUT_OF_DEVICE_MEMORY, resident, context, az.device, shared[1], 24 * MiB)
        # Freeing evicts.
        az.ok("zeMemFree", context, shared[2])
        az.ok(resident, context, az.device, shared[1], 24 * MiB)
        # Resident on two devices, it takes room on both.
        other = az.devices[1]
        az.ok(resident, context, other, shared[1], 24 * MiB)
        assert (usable(), usable(other)) == (0, 8)
        az.error(OUT_OF_DEVICE_MEMORY, resident, context, other, shared[0], 24 * MiB)
        # So does an image on a device that is not its own.
        az.ok(evict, context, az.device, shared[0], 24 * MiB)
        desc = ze.ze_image_desc_t(width=2048, height=1024, depth=1)
        desc.type = ze.ZE_IMAGE_TYPE_2D
        desc.format.layout = ze.ZE_IMAGE_FORMAT_LAYOUT_32_32
        image = az.new("zeImageCreate", context, az.device, byref(desc))
        az.ok("zeContextMakeImageResident", context, az.device, image)
        az.error(OUT_OF_DEVICE_MEMORY, "zeContextMakeImageResident", context, other, image)
        az.ok(evict, context, other, shared[1], 24 * MiB)
        az.ok("zeContextMakeImageResident", context, other, image)
        assert usable(other) == 16
        az.ok("zeContextEvictImage", context, other, image)
        az.ok("zeContextMakeImageResident", context, other, image)
        az.ok("zeImageDestroy", image)
        az.ok("zeContextDestroy", context)
        assert (usable(), usable(other)) == (64, 32)
        """,
        ANYZERO_DEVICES="cpu:paging=off,memory=64M,cpu:memory=32M",
    )


def test_a_kernel_that_reaches_all_memory_needs_room_for_it() -> None:
    run_python(
        USABLE
        + f"""
        code = open({str(ROOT / "examples" / "kernels" / "residency.spv")!r}, "rb").read()
        """
        + """
        desc = ze.ze_module_desc_t(inputSize=len(code), pInputModule=ctypes.cast(code, c_void_p))
        module = c_void_p()
        az.ok("zeModuleCreate", context, az.device, byref(desc), byref(module), None)
        one = ze.ze_group_count_t(1, 1, 1)
        args = az.memory(context, 4096), az.memory(context, 4096)
        write(args[0], bytes(16))
        def kernel(flags=0, indirect=0):
            made = az.new("zeKernelCreate", module, byref(ze.ze_kernel_desc_t(flags=flags, pKernelName=b"add_up")))
            az.ok("zeKernelSetIndirectAccess", made, indirect)
            for index, address in enumerate(args):
                az.ok("zeKernelSetArgumentValue", made, index, 8, byref(c_uint64(address)))
            return made
        forced = kernel(flags=ze.ZE_KERNEL_FLAG_FORCE_RESIDENCY)
        reaching = kernel(indirect=ze.ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED)
        others = kernel(indirect=ze.ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST)
        plain = kernel()
        def outcome(kernel, immediate):
            if immediate:
                l = az.immediate(context, mode=SYNCHRONOUS)
                return az.call("zeCommandListAppendLaunchKernel", l, kernel, byref(one), None, 0, None)
            queue, l = az.queue(context, mode=SYNCHRONOUS), az.list(context)
            az.ok("zeCommandListAppendLaunchKernel", l, kernel, byref(one), None, 0, None)
            az.close(l)
            return az.call("zeCommandQueueExecuteCommandLists", queue, 1, handles([l]), None)
        shared = [az.memory(context, 24 * MiB, "shared") for _ in range(2)]
        for immediate in (False, True):
            assert outcome(forced, immediate) == outcome(reaching, immediate) == OK
        shared.append(az.memory(context, 24 * MiB, "shared"))
        for immediate in (False, True):
            for kernel in (forced, reaching):
                assert outcome(kernel, immediate) == OUT_OF_DEVICE_MEMORY
                assert "resident" in az.last_error(), az.last_error()
            assert outcome(others, immediate) == outcome(plain, immediate) == OK
        az.ok("zeMemFree", context, shared.pop())
        assert outcome(forced, False) == OK
        # Memory whose free is deferred until the kernel is done is within its reach until then.
        gate, = az.events(context, 1)
        l = az.immediate(context)
        az.ok("zeCommandListAppendLaunchKernel", l, plain, byref(one), None, 1, handles([gate]))
        free = ze.ze_memory_free_ext_desc_t(freePolicy=ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE)
        az.ok("zeMemFreeExt", context, byref(free), args[0])
        az.ok("zeEventHostSignal", gate)
        az.ok("zeCommandListHostSynchronize", l, SOON)
        """,
        ANYZERO_DEVICES="cpu:paging=off,memory=64M",
    )


def test_advice_and_prefetch_move_shared_memory() -> None:
    run_python(
        USABLE
        + """
        l = az.immediate(context, mode=SYNCHRONOUS)
        def advise(where, advice):
            az.ok("zeCommandListAppendMemAdvise", l, az.device, where, 24 * MiB, advice)
        def prefetch(where):
            az.ok("zeCommandListAppendMemoryPrefetch", l, where, 24 * MiB)
        one, two, three = (az.memory(context, 24 * MiB, "shared") for _ in range(3))
        assert usable() == 16
        advise(one, ze.ZE_MEMORY_ADVICE_SET_SYSTEM_MEMORY_PREFERRED_LOCATION)
        assert usable() == 40
        prefetch(three)
        assert usable() == 16
        prefetch(three)
        assert usable() == 16
        # There is no room, and a hint takes none from others.
        prefetch(one)
        assert usable() == 16
        advise(two, ze.ZE_MEMORY_ADVICE_SET_SYSTEM_MEMORY_PREFERRED_LOCATION)
        advise(one, ze.ZE_MEMORY_ADVICE_SET_PREFERRED_LOCATION)
        assert usable() == 16
        # Memory that prefers the device is the last to give way.
        for each in (one, three):
            assert az.call("zeMemAllocDevice", context, byref(d), 40 * MiB, 0, az.device, byref(out)) == OK
            assert usable() == 0
            az.ok("zeMemFree", context, out)
            assert usable() == 40
            advise(one, ze.ZE_MEMORY_ADVICE_CLEAR_PREFERRED_LOCATION)
        # Resident memory stays, independent of advice.
        az.ok(resident, context, az.device, two, 24 * MiB)
        advise(two, ze.ZE_MEMORY_ADVICE_SET_SYSTEM_MEMORY_PREFERRED_LOCATION)
        assert usable() == 16
        # Prefetching has populated the pages.
        libc = ctypes.CDLL(None)
        pages = (ctypes.c_ubyte * (24 * MiB // 4096))()
        assert libc.mincore(c_void_p(three), ctypes.c_size_t(24 * MiB), pages) == 0
        assert all(page & 1 for page in pages)
        """,
        ANYZERO_DEVICES="cpu:memory=64M",
    )


def test_hints_end_where_their_allocation_ends() -> None:
    run_python(
        """
        az = Calls()
        for device, plain in ((az.devices[0], OK), (az.devices[1], INVALID_ARGUMENT)):
            context = az.context()
            l = az.immediate(context, device, mode=SYNCHRONOUS)
            room = az.memory(context, 8192, "shared", device=device)
            ordinary = (ctypes.c_char * 8192)()
            for name, first, last in (("Prefetch", (), ()), ("Advise", (device,), (0,))):
                call = f"zeCommandListAppendMem{'ory' if name == 'Prefetch' else ''}{name}"
                az.ok(call, l, *first, room + 4096, 4096, *last)
                az.error(INVALID_SIZE, call, l, *first, room, 8193, *last)
                assert "beyond" in az.last_error(), az.last_error()
                az.error(INVALID_SIZE, call, l, *first, room + 8000, 2**64 - 1, *last)
                # Memory of the system's allocator is shared memory where a device can reach it.
                assert az.call(call, l, *first, ctypes.addressof(ordinary), 8192, *last) == plain
        """,
        ANYZERO_DEVICES="cpu,cpu:paging=off",
    )
