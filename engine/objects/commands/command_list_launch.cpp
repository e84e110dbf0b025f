// Appends that launch kernels.
#include <cstring>

#include "../../exec/dispatch.h"
#include "../modules/kernel.h"
#include "command_list_append.h"

namespace anyzero {

ze_result_t CommandList::check_launch(const Kernel& kernel, const ze_group_count_t* count, uint32_t flags) {
  if (copy_only())
    return fail(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
                "kernels need a command list of a compute queue group; this one only copies");
  const Device& made_for = kernel.module().device();
  if (!device_.is_or_is_tile_of(made_for) && !made_for.is_or_is_tile_of(device_))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "kernel %s belongs to a module of another device",
                kernel.code().facts().name.c_str());
  if (ze_result_t r = check_local_memory(kernel.code().facts(), kernel.local_bytes(), kernel.large_local())) return r;
  uint64_t groups = 0;
  if (count && !count_groups(&count->groupCountX, &groups))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%u x %u x %u groups are more than can be launched", count->groupCountX,
                count->groupCountY, count->groupCountZ);
  if ((flags & Launch::kCooperative) && groups > most_cooperative_groups())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                "%llu groups of a cooperative kernel: %u can run at the same time (zeKernelSuggestMaxCooperativeGroupCount)",
                static_cast<unsigned long long>(groups), most_cooperative_groups());
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::check_local_memory(const KernelFacts& facts, uint64_t bytes, bool large) const {
  if (bytes == 0) return ZE_RESULT_SUCCESS;
  auto* limits = device_.properties().get<ze_device_compute_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES);
  if (!limits) return ZE_RESULT_SUCCESS;
  // Four times as much still fits into the second-level cache of common processors.
  constexpr uint64_t kLarge = 4;
  const uint64_t most = limits->maxSharedLocalMemory * (large ? kLarge : 1);
  if (bytes <= most) return ZE_RESULT_SUCCESS;
  const bool helps = !large && bytes <= most * kLarge;
  return fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "kernel %s needs %llu bytes of local memory; a group has %llu%s",
              facts.name.c_str(), static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(most),
              helps ? ", and four times as much with zeKernelSetCacheConfig(ZE_CACHE_CONFIG_FLAG_LARGE_SLM)" : "");
}

// On a device without on-demand paging, a launch makes the memory of its arguments resident, unless the program does so itself.
ze_result_t CommandList::note_use(const Kernel& kernel) {
  if (device_.pages_on_demand()) return ZE_RESULT_SUCCESS;
  const bool forced = kernel.flags() & ZE_KERNEL_FLAG_FORCE_RESIDENCY, own = kernel.flags() & ZE_KERNEL_FLAG_EXPLICIT_RESIDENCY;
  // Recorded launches are checked when they are executed.
  if (immediate())
    if (ze_result_t r = residency_check(*context_, device_, forced ? UINT32_MAX : own ? 0 : kernel.indirect())) return r;
  if (own) return ZE_RESULT_SUCCESS;
  for (const Argument& argument : kernel.code().facts().arguments) {
    if (!argument.pointer()) continue;
    const void* address;
    std::memcpy(&address, kernel.args() + argument.offset, sizeof address);
    residency_note(device_, address);
  }
  for (const Ref<Image>& image : kernel.images())
    if (image) image->set_resident(device_, true);
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::launch(const Kernel& kernel, const ze_group_count_t& count, uint32_t flags, Event* signal, uint32_t n,
                                Event* const* waits) {
  if (ze_result_t r = check_launch(kernel, &count, flags)) return r;
  if (ze_result_t r = note_use(kernel)) return r;
  // The cost of a recorded launch is estimated when it is executed.
  const TurnsSource turns{kernel.args(), &count.groupCountX, kernel.group_size(), kernel.global_offset()};
  const uint64_t cost = immediate() ? cost_of_launch(kernel.code(), turns, flags) : 0;
  const size_t room = launch_room(kernel);
  return append<LaunchPacket>(cost, room, signal, n, waits, [&](LaunchPacket& packet) {
    packet.enabled_at = nullptr;
    packet.count = 1;
    kernel.write_launch(packet.first(), count, flags);
    packet.first()->size = static_cast<uint32_t>(room);
  });
}

ze_result_t CommandList::appendLaunchKernel(Kernel& kernel, const ze_group_count_t* count, Event* signal, uint32_t n,
                                            Event* const* waits) {
  return launch(kernel, *count, 0, signal, n, waits);
}

ze_result_t CommandList::appendLaunchCooperativeKernel(Kernel& kernel, const ze_group_count_t* count, Event* signal, uint32_t n,
                                                       Event* const* waits) {
  return launch(kernel, *count, Launch::kCooperative, signal, n, waits);
}

namespace {

// Parses the pNext chain of an append; false for an unknown structure.
bool read_parameters(const void* next, uint32_t* flags) {
  for (const ze_base_desc_t& desc : Chain(next, Chain::Check::Aligned)) {
    if (type_of(desc) != ZE_STRUCTURE_TYPE_COMMAND_LIST_APPEND_PARAM_COOPERATIVE_DESC) return false;
    auto& cooperative = reinterpret_cast<const ze_command_list_append_launch_kernel_param_cooperative_desc_t&>(desc);
    if (cooperative.isCooperative) *flags |= Launch::kCooperative;
  }
  return true;
}

}  // namespace

ze_result_t CommandList::appendLaunchKernelWithParameters(Kernel& kernel, const ze_group_count_t* count, const void* next,
                                                          Event* signal, uint32_t n, Event* const* waits) {
  uint32_t flags = 0;
  if (!read_parameters(next, &flags)) return refuse_parameters();
  return launch(kernel, *count, flags, signal, n, waits);
}

ze_result_t CommandList::appendLaunchKernelWithArguments(Kernel& kernel, ze_group_count_t count, ze_group_size_t size,
                                                         void** arguments, const void* next, Event* signal, uint32_t n,
                                                         Event* const* waits) {
  uint32_t flags = 0;
  if (!read_parameters(next, &flags)) return refuse_parameters();
  if (ze_result_t r = kernel.setGroupSize(size.groupSizeX, size.groupSizeY, size.groupSizeZ)) return r;
  const auto& wanted = kernel.code().facts().arguments;
  for (uint32_t i = 0; i < wanted.size(); ++i) {
    // An argument of local memory is given by its size.
    size_t bytes = wanted[i].size;
    const bool local = wanted[i].kind == ArgumentKind::Local;
    if (local) {
      if (!arguments[i]) return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "argument %u: the size of local memory is missing", i);
      std::memcpy(&bytes, arguments[i], sizeof bytes);
    }
    if (ze_result_t r = kernel.setArgumentValue(i, bytes, local ? nullptr : arguments[i])) return r;
  }
  return launch(kernel, count, flags, signal, n, waits);
}

ze_result_t CommandList::appendLaunchKernelIndirect(Kernel& kernel, const ze_group_count_t* count_at, Event* signal, uint32_t n,
                                                    Event* const* waits) {
  Kernel* one = &kernel;
  return launch_indirect(1, &one, nullptr, count_at, signal, n, waits);
}

ze_result_t CommandList::appendLaunchMultipleKernelsIndirect(uint32_t count, Kernel* const* kernels, const uint32_t* enabled_at,
                                                             const ze_group_count_t* counts_at, Event* signal, uint32_t n,
                                                             Event* const* waits) {
  return launch_indirect(count, kernels, enabled_at, counts_at, signal, n, waits);
}

ze_result_t CommandList::launch_indirect(uint32_t count, Kernel* const* kernels, const uint32_t* enabled_at,
                                         const ze_group_count_t* counts_at, Event* signal, uint32_t n, Event* const* waits) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (ze_result_t r = check_launch(*kernels[i], nullptr, 0)) return r;
    if (ze_result_t r = note_use(*kernels[i])) return r;
    note_use(counts_at + i);
    bytes += kernels[i]->launch_bytes();
  }
  if (enabled_at) note_use(enabled_at);
  return append<LaunchPacket>(kNeverInline, bytes, signal, n, waits, [&](LaunchPacket& packet) {
    packet.enabled_at = enabled_at;
    packet.count = count;
    Launch* launch = packet.first();
    for (uint32_t i = 0; i < count; ++i, launch = launch->next()) {
      kernels[i]->write_launch(launch, {}, 0);
      launch->count_at = counts_at + i;
    }
  });
}

}  // namespace anyzero
