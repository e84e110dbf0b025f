"""What can be taken away from an example, each time with the effect that it must fail.

A removal replaces one piece of the source, which stands there exactly once, or sets variables that take the thing away.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Removal:
    example: str
    """The file, in `examples/`."""
    old: str = ""
    new: str = ""
    variables: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.example}: {self.old.strip() or self.variables}"

    def applied(self, source: str) -> str:
        if not self.old:
            return source
        assert source.count(self.old) == 1, f"{self}: {source.count(self.old)} times in the source"
        return source.replace(self.old, self.new)


# A launch that waits for groups that never run is ended, and one thread runs one group at a time.
ALONE = {"ANYZERO_THREADS": "1", "ANYZERO_KERNEL_TIMEOUT": "0.5"}
NO_DEVICE = {"ZE_AFFINITY_MASK": "9"}

PYTHON = [
    Removal("barrier.py", "        cl.barrier(signal=passed, wait=[go, filled])\n"),
    Removal("barrier.py", "signal=passed, wait=[go, filled]", "signal=passed"),
    Removal("build_log.py", "-ze-opt-level=1 -ze-sing", "-ze-opt-level=1"),
    Removal("build_log.py", "source[:400]", "source"),
    Removal(
        "build_log.py", '.to_bytes(4, "little")  # OpIMul', '.to_bytes(4, "little") if False else words[at : at + 4]'
    ),
    Removal("cache_hints.py", ', placement="host"'),
    Removal("capture.py", ", wait=uploaded)", ")"),
    Removal("capture.py", "        lst.wait(copied)  # and its join\n"),
    Removal("command_list.py", "    cl.end()\n"),
    Removal("command_list.py", 'kind="copy"', 'kind="compute"'),
    Removal("command_list.py", "in_order=False"),
    Removal("command_queue.py", "index=1000", "index=0"),
    Removal("cooperative_kernel.py", "cooperative=True).wait", "cooperative=False).wait", ALONE),
    Removal("discovery.py", variables=NO_DEVICE),
    Removal("dynamic_linking.py", "    user.link(square)\n"),
    Removal("dynamic_linking.py", "    az.link(other, half)\n"),
    Removal("dynamic_linking.py", ', KERNELS / "dynamic_linking_half.spv"]', "]"),
    Removal("events.py", "wait=go, "),
    Removal("events.py", "wait=filled, "),
    Removal("events.py", "    copied.wait(timeout=30)\n"),
    Removal("events.py", "    go.reset()\n"),
    Removal("events.py", "reset.reset_event(filled)", "pass"),
    Removal("execution_barrier.py", ", wait=first_done"),
    Removal("fence.py", "    fence.wait()\n"),
    Removal("fence.py", "    fence.reset()\n"),
    Removal("fence.py", ", wait=go"),
    Removal("image_upload.py", "        cl.copy_image(image, pixels)\n"),
    Removal("image_upload.py", "image[10:20, 50:60]", "image[10:20, 51:61]"),
    Removal("immediate_list.py", ", wait=uploaded"),
    Removal("immediate_list.py", "    back.wait(timeout=30)\n"),
    Removal("immediate_list.py", ", wait=launched"),
    Removal("immediate_list.py", 'mode="synchronous"', 'mode="asynchronous"'),
    Removal("indirect_launch.py", "        cl.launch(plan, 1, (count, groups))\n"),
    Removal("indirect_launch.py", "ctx.full(1, 2, np.uint32)", "ctx.full(1, 3, np.uint32)"),
    Removal("ipc_events.py", ", ipc=True"),
    Removal("ipc_events.py", "        event.wait(timeout=30)\n"),
    Removal("ipc_memory.py", "        memory.copy_from(values * 2)\n"),
    Removal("kernel_arguments.py", "np.array((2.0, 5), TRANSFORM)", "np.array((2.0, 6), TRANSFORM)"),
    Removal("image_scaling.py", "(steep, wide, 2 * WIDTH, 2 * HEIGHT)", "(ramp, wide, 2 * WIDTH, 2 * HEIGHT)"),
    Removal("image_scaling.py", "(ramp, large, 2 * WIDTH, 2 * HEIGHT)", "(ramp, large, WIDTH, HEIGHT)"),
    Removal(
        "image_scaling.py", '    nearest = ctx.sampler(filter="nearest"', '    nearest = ctx.sampler(filter="linear"'
    ),
    Removal("kernel_launch.py", '    places.set_indirect_access("device", "shared")\n'),
    Removal("kernel_launch.py", ", offset=100"),
    Removal("kernel_launch.py", "tiles[16, 8](sizes, group=(16, 1)", "tiles[16, 8](sizes, group=(8, 4)"),
    Removal("memory_barrier.py", "wait=coherent, "),
    Removal("memory_barrier.py", 'signal_scope="device", '),
    Removal("memory_kinds.py", '        lst.advise(moving, "preferred_on_host").wait()\n'),
    Removal("memory_kinds.py", "        lst.prefetch(moving).wait()\n"),
    Removal("memory_ranges_barrier.py", "signal=passed, wait=[go, *filled]", "signal=passed"),
    Removal("memory_ranges_barrier.py", "cl.barrier(one, other, signal=passed, wait=[go, *filled])", "pass"),
    Removal("module_variables.py", "    table.copy_from(np.array([1, 2, 3, 4], np.float32))\n"),
    Removal("native_binary.py", "    module.save(entry)\n"),
    Removal("native_binary.py", "    entry.write_bytes(entry.read_bytes()[:-100])\n"),
    Removal("npu_inference.py", "        np.asarray(given)[...] = values\n"),
    Removal("npu_inference.py", '"x": given, ', '"x": ctx.zeros((1, 16), np.float32, kind="host"), '),
    Removal("npu_inference.py", "    request.infer()\n"),
    Removal("npu_inference.py", "    jobs.wait_all()\n"),
    Removal("opencl_interop.py", "with shared.turn() as lst:", "with ctx.immediate() as lst:"),
    Removal("opencl_interop.py", "wait_for=[opencl.user_event(cl_ctx, filled)]", "wait_for=[]"),
    Removal("opencl_interop.py", ", wait=opencl.event(ctx, after)"),
    Removal("peer_to_peer.py", ", wait=exchanged"),
    Removal("peer_to_peer.py", "az.Context(one, two)", "az.Context(one)"),
    Removal("peer_to_peer.py", "for device in (one, two)]", "for device in (one,)]"),
    Removal("recycling.py", "        done.wait()\n"),
    Removal("recycling.py", "        done.reset()\n"),
    Removal("recycling.py", "        cl.reset()\n"),
    Removal("residency.py", "ctx.make_resident(node)", "ctx.evict(node)"),
    Removal("residency.py", '    add_up.set_indirect_access("host")\n'),
    Removal("residency_fault.py", "    ctx.evict(evicted)\n"),
    Removal("sampler.py", 'ctx.sampler(filter="linear"), 0.5', "ctx.sampler(), 0.5"),
    Removal("sampler.py", 'ctx.sampler(address="border")', 'ctx.sampler(address="clamp")'),
    Removal("saxpy.py", "            queue.submit(cl)\n", "            pass\n"),
    Removal("sub_devices.py", "with tile.context()", "with device.context()"),
    Removal("sub_devices.py", "    held = ctx.buffer(most)\n"),
    Removal("submission.py", "    queue.synchronize()\n"),
    Removal("submission.py", "    cl.reset()\n"),
    Removal("larger_local_memory.py", '    reverse.set_cache_config("local")\n'),
    Removal("specialization_constants.py", "group_size = {2: 16, 3: 2, 4: 1}", "group_size = {}"),
    Removal("specialization_constants.py", "TERMS: 3, "),
]

CPP = [
    Removal("c/barrier.cpp", "  CHECK(zeCommandListAppendBarrier(list, passed, 2, awaited));\n", "  (void)awaited;\n"),
    Removal("c/barrier.cpp", "passed, 2, awaited", "passed, 0, awaited"),
    Removal("c/build_log.cpp", "-ze-opt-level=1 -ze-sing", "-ze-opt-level=1"),
    Removal("c/build_log.cpp", "code.begin() + 400", "code.end()"),
    Removal("c/cache_hints.cpp", "shared(ZE_HOST_MEM_ALLOC_FLAG_BIAS_INITIAL_PLACEMENT)", "shared(0)"),
    Removal("c/capture.cpp", "kBytes, join, 1, &fork", "kBytes, join, 0, nullptr"),
    Removal("c/capture.cpp", "  CHECK(zeCommandListAppendWaitOnEvents(lists[0], 1, &join));\n"),
    Removal("c/command_list.cpp", "  s.run(queue, list);\n"),
    Removal("c/command_list.cpp", "desc.flags = ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING", "desc.flags = 0"),
    Removal("c/command_list.cpp", ".commandQueueGroupOrdinal = 1", ".commandQueueGroupOrdinal = 0"),
    Removal("c/command_queue.cpp", ".ordinal = count}", ".ordinal = 0}"),
    Removal(
        "c/cooperative_kernel.cpp",
        "zeCommandListAppendLaunchCooperativeKernel(list, share, &all",
        "zeCommandListAppendLaunchKernel(list, share, &all",
        ALONE,
    ),
    Removal("c/discovery.cpp", variables=NO_DEVICE),
    Removal(
        "c/dynamic_linking.cpp",
        "CHECK(zeModuleDynamicLink(2, modules, &log))",
        "CHECK(zeModuleDynamicLink(1, modules, &log))",
    ),
    Removal("c/dynamic_linking.cpp", "  desc.pNext = &program;\n"),
    Removal("c/events.cpp", "4, 4, filled, 1, &go", "4, 4, filled, 0, nullptr"),
    Removal("c/events.cpp", "4, copied, 1, &filled", "4, copied, 0, nullptr"),
    Removal("c/events.cpp", "    CHECK(zeEventHostSynchronize(copied, kForever));\n"),
    Removal("c/events.cpp", "  CHECK(zeEventHostReset(go));\n"),
    Removal("c/events.cpp", "  CHECK(zeCommandListAppendEventReset(fill, filled));\n"),
    Removal("c/execution_barrier.cpp", "&stamps[1], nullptr, 1, &first_done", "&stamps[1], nullptr, 0, nullptr"),
    Removal("c/fence.cpp", "    CHECK(zeFenceHostSynchronize(fence, kForever));\n    prove", "    prove"),
    Removal("c/fence.cpp", "  CHECK(zeFenceReset(fence));\n"),
    Removal(
        "c/image_upload.cpp",
        "  CHECK(zeCommandListAppendImageCopyFromMemory(list, image, pixels.data(), nullptr, nullptr, 0, nullptr));\n",
    ),
    Removal("c/immediate_list.cpp", "kBytes, back, 1, &uploaded", "kBytes, back, 0, nullptr"),
    Removal("c/immediate_list.cpp", "    CHECK(zeEventHostSynchronize(back, kForever));\n"),
    Removal("c/immediate_list.cpp", "kBytes, copied, 1, &launched", "kBytes, copied, 0, nullptr"),
    Removal(
        "c/immediate_list.cpp",
        "immediate(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS, 0)",
        "immediate(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, 0)",
    ),
    Removal(
        "c/indirect_launch.cpp", "  CHECK(zeCommandListAppendLaunchKernel(list, plan, &one, nullptr, 0, nullptr));\n"
    ),
    Removal("c/indirect_launch.cpp", "*how_many = 2", "*how_many = 3"),
    Removal("c/ipc_events.cpp", "ZE_EVENT_POOL_FLAG_IPC | "),
    Removal("c/ipc_events.cpp", "  CHECK(zeEventHostSynchronize(event, kForever));\n"),
    Removal("c/ipc_memory.cpp", "  copy(s, memory, values.data());\n\n  CHECK(zeMemClose", "  CHECK(zeMemClose"),
    Removal("c/kernel_arguments.cpp", "  CHECK(zeKernelSetArgumentValue(kernel, 0, sizeof second, &second));\n"),
    Removal("c/image_scaling.cpp", "  set_arguments(scale, steep, wide);\n"),
    Removal("c/image_scaling.cpp", "ramp, large, kLargeWidth, kLargeHeight", "ramp, large, kWidth, kHeight"),
    Removal("c/image_scaling.cpp", "ZE_SAMPLER_FILTER_MODE_NEAREST);", "ZE_SAMPLER_FILTER_MODE_LINEAR);"),
    Removal("c/kernel_launch.cpp", "  CHECK(zeKernelSetIndirectAccess(places, kReached));\n"),
    Removal("c/kernel_launch.cpp", "  CHECK(zeKernelSetGlobalOffsetExp(places, 100, 0, 0));\n"),
    Removal("c/memory_barrier.cpp", "nullptr, 1, &coherent", "nullptr, 0, nullptr"),
    Removal("c/memory_barrier.cpp", ".signal = ZE_EVENT_SCOPE_FLAG_DEVICE", ".signal = 0"),
    Removal("c/memory_kinds.cpp", "SET_SYSTEM_MEMORY_PREFERRED", "CLEAR_SYSTEM_MEMORY_PREFERRED"),
    Removal("c/memory_kinds.cpp", "  s.run(queue, back);\n"),
    Removal(
        "c/memory_ranges_barrier.cpp",
        "  CHECK(zeCommandListAppendMemoryRangesBarrier(list, 2, sizes, ranges, passed, 3, awaited));\n",
        "  (void)awaited;\n",
    ),
    Removal("c/module_variables.cpp", "  copy(table, other, sizeof other);\n"),
    Removal("c/native_binary.cpp", "  fs::resize_file(entry, fs::file_size(entry) - 100);\n"),
    Removal("c/native_binary.cpp", "  if (fs::exists(entry)) {", "  if (false) {"),
    Removal(
        "c/peer_to_peer.cpp",
        "launch(second.exchange, counted[0], exchanged)",
        "launch(second.exchange, counted[0], go)",
    ),
    Removal("c/npu_inference.cpp", "  s.run(queue, list);\n  prove(close(y, ", "  prove(close(y, "),
    Removal("c/npu_inference.cpp", "  graph.set(1, y);\n"),
    Removal("c/npu_inference.cpp", "  weightless.set(1, w);\n", "  weightless.set(1, kWeights);\n"),
    Removal("c/npu_inference.cpp", 'ENABLE_WEIGHTLESS=\\"YES', 'ENABLE_WEIGHTLESS=\\"NO'),
    Removal("c/opencl_interop.cpp", "&groups, end, 1, &begin", "&groups, end, 0, nullptr"),
    Removal("c/opencl_interop.cpp", "    CHECK_CL(cl.barrier(cl_queue, 1, &passed, nullptr));\n"),
    Removal("c/peer_to_peer.cpp", 'make_module(s, "peer_to_peer", device)', 'make_module(s, "peer_to_peer")'),
    Removal("c/recycling.cpp", "      CHECK(zeEventHostSynchronize(done, kForever));\n"),
    Removal("c/recycling.cpp", "{go, done}) CHECK(zeEventHostReset(event))", "{go}) CHECK(zeEventHostReset(event))"),
    Removal("c/residency.cpp", "zeContextMakeMemoryResident(", "zeContextEvictMemory("),
    Removal("c/residency.cpp", "  CHECK(zeKernelSetIndirectAccess(add_up, ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST));\n"),
    Removal("c/residency_fault.cpp", "  CHECK(zeContextEvictMemory(s.context, s.device, evicted, size));\n"),
    Removal("c/sampler.cpp", ".filterMode = filter", ".filterMode = ZE_SAMPLER_FILTER_MODE_NEAREST"),
    Removal("c/sampler.cpp", ".addressMode = address", ".addressMode = ZE_SAMPLER_ADDRESS_MODE_CLAMP"),
    Removal("c/saxpy.cpp", "  CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, nullptr, 0, nullptr));\n"),
    Removal("c/sub_devices.cpp", "s.local<unsigned char>(kBytes, tile)", "s.local<unsigned char>(kBytes)"),
    Removal("c/sub_devices.cpp", "bytes, 0, tile, &most", "bytes, 0, s.device, &most"),
    Removal("c/submission.cpp", "    CHECK(zeCommandQueueSynchronize(queue, kForever));\n    prove", "    prove"),
    Removal("c/submission.cpp", "  CHECK(zeCommandListReset(list));\n  from", "  from"),
    Removal("c/larger_local_memory.cpp", "  CHECK(zeKernelSetCacheConfig(reverse, ZE_CACHE_CONFIG_FLAG_LARGE_SLM));\n"),
    Removal(
        "c/specialization_constants.cpp", "has_groups_of(s, &group_size, 16, 2)", "has_groups_of(s, nullptr, 16, 2)"
    ),
    Removal("c/specialization_constants.cpp", "int32_t terms = 3;", "int32_t terms = 2;"),
]
