// Commands that can be changed after the list was closed.
#include <sched.h>

#include <algorithm>
#include <cstring>

#include "../../exec/code.h"
#include "../../exec/dispatch.h"
#include "../../system/clock.h"
#include "../../system/interpreter_lock.h"
#include "../modules/kernel.h"
#include "command_list_append.h"

namespace anyzero {

ze_result_t CommandList::isMutableExp(ze_bool_t* value) {
  *value = mutable_;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::getNextCommandIdExp(const ze_mutable_command_id_exp_desc_t* desc, uint64_t* id) {
  return getNextCommandIdWithKernelsExp(desc, 0, nullptr, id);
}

ze_result_t CommandList::getNextCommandIdWithKernelsExp(const ze_mutable_command_id_exp_desc_t* desc, uint32_t count,
                                                        Kernel* const* kernels, uint64_t* id) {
  if (!mutable_) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list was not created as mutable");
  if (closed_) return refuse_closed();
  // No flags means all mutable parts, except the kernel itself.
  constexpr uint32_t kUsual = UINT32_MAX & ~uint32_t{ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION};
  *id = program_->name_next(desc->flags ? desc->flags : kUsual);
  choices_.resize(*id);
  choices_[*id - 1].clear();
  for (uint32_t i = 0; kernels && i < count; ++i) choices_[*id - 1].emplace_back(kernels[i]);
  return ZE_RESULT_SUCCESS;
}

// A launch that may switch to another kernel needs space for the largest of them.
size_t CommandList::launch_room(const Kernel& kernel) const {
  size_t room = kernel.launch_bytes();
  if (mutable_ && program_->names_next())
    for (const Ref<Kernel>& choice : choices_.back()) room = std::max(room, choice->launch_bytes());
  return room;
}

ze_result_t CommandList::find_mutable(uint64_t id, uint32_t change, Packet** packet) {
  if (!mutable_) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list was not created as mutable");
  const Program::Named* named = program_->named(id);
  if (!named)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no command of this list has the identifier %zu", static_cast<size_t>(id));
  if (!(named->may_change & change))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "command %zu was not created with the flag for this change",
                static_cast<size_t>(id));
  // The program has waited for the work, but the queue may still release the packet: wait a moment.
  constexpr uint64_t kGrace = 10'000'000;
  GilPause pause;
  for (uint64_t begin = now_ns(); program_->shared();) {
    if (now_ns() - begin > kGrace)
      return fail(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "the command list is still running; synchronize before changing it");
    sched_yield();
  }
  *packet = named->packet;
  closed_ = false;
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::updateMutableCommandSignalEventExp(uint64_t id, Event* signal) {
  Packet* packet = nullptr;
  if (ze_result_t r = find_mutable(id, ZE_MUTABLE_COMMAND_EXP_FLAG_SIGNAL_EVENT, &packet)) return r;
  if (signal) signal->retain();
  if (packet->signal) packet->signal->release();
  packet->signal = signal;
  program_->events_changed();
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::updateMutableCommandWaitEventsExp(uint64_t id, uint32_t n, Event* const* waits) {
  Packet* packet = nullptr;
  if (ze_result_t r = find_mutable(id, ZE_MUTABLE_COMMAND_EXP_FLAG_WAIT_EVENTS, &packet)) return r;
  if (waits && n != packet->n_waits)
    return fail(ZE_RESULT_ERROR_INVALID_SIZE, "%u wait events given; the command was appended with %u", n, packet->n_waits);
  WaitFor* entry = packet->waits();
  for (uint32_t i = 0; i < packet->n_waits; ++i) {
    const WaitFor before = entry[i];
    entry[i] = waits && waits[i] ? waits[i]->wait_when_executed() : WaitFor{};
    let_go(before);
  }
  program_->events_changed();
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::find_mutable_launch(uint64_t id, uint32_t change, Launch** launch) {
  Packet* packet = nullptr;
  if (ze_result_t r = find_mutable(id, change, &packet)) return r;
  if (packet->op != Op::Launch || static_cast<LaunchPacket*>(packet)->count != 1)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "command %zu launches no kernel, or several", static_cast<size_t>(id));
  *launch = static_cast<LaunchPacket*>(packet)->first();
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::updateMutableCommandKernelsExp(uint32_t count, uint64_t* ids, Kernel* const* kernels) {
  for (uint32_t i = 0; i < count; ++i) {
    Launch* launch = nullptr;
    if (ze_result_t r = find_mutable_launch(ids[i], ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION, &launch)) return r;
    const auto& choices = choices_[ids[i] - 1];
    if (std::none_of(choices.begin(), choices.end(), [&](const Ref<Kernel>& choice) { return choice.get() == kernels[i]; }))
      return fail(ZE_RESULT_ERROR_INVALID_KERNEL_HANDLE, "the kernel is not one of those that command %zu was created with",
                  static_cast<size_t>(ids[i]));
    ze_group_count_t groups;
    std::memcpy(&groups, launch->group_count, sizeof groups);
    if (ze_result_t r = check_launch(*kernels[i], &groups, launch->flags & Launch::kCooperative)) return r;
    if (ze_result_t r = note_use(*kernels[i])) return r;
    const uint32_t room = launch->size;
    const ze_group_count_t* count_at = launch->count_at;
    let_go(*launch);
    kernels[i]->write_launch(launch, groups, launch->flags & Launch::kCooperative);
    launch->size = room;
    launch->count_at = count_at;
    hold(*launch);
  }
  return ZE_RESULT_SUCCESS;
}

namespace {

// The sizes of local arguments, from their offsets; each is rounded up already.
std::vector<uint32_t> local_sizes(const Launch& launch) {
  const auto& arguments = launch.code->facts().arguments;
  std::vector<uint32_t> sizes(arguments.size());
  uint64_t end = launch.local_bytes;
  for (size_t i = arguments.size(); i-- > 0;) {
    if (arguments[i].kind != ArgumentKind::Local) continue;
    uint64_t begin;
    std::memcpy(&begin, launch.args() + arguments[i].offset, sizeof begin);
    sizes[i] = static_cast<uint32_t>(end - begin);
    end = begin;
  }
  return sizes;
}

template <class T>
void exchange_held(T*& place, T* object) {
  if (object) object->retain();
  if (T* before = std::exchange(place, object)) before->release();
}

}  // namespace

ze_result_t CommandList::change_argument(Launch& launch, const ze_mutable_kernel_argument_exp_desc_t& desc) {
  const KernelFacts& facts = launch.code->facts();
  if (check_argument(facts, desc.argIndex, desc.argSize)) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  const Argument& argument = facts.arguments[desc.argIndex];
  switch (argument.kind) {
    case ArgumentKind::Global:
    case ArgumentKind::Constant:
      if (desc.pArgValue) note_use(*static_cast<const void* const*>(desc.pArgValue));
      [[fallthrough]];
    case ArgumentKind::Value:
      write_argument(argument, desc.argSize, desc.pArgValue, launch.args());
      return ZE_RESULT_SUCCESS;
    case ArgumentKind::Local: {
      std::vector<uint32_t> sizes = local_sizes(launch);
      sizes[desc.argIndex] = static_cast<uint32_t>(desc.argSize);
      const uint64_t bytes = place_locals(facts, sizes.data(), nullptr);
      if (ze_result_t r = check_local_memory(facts, bytes, launch.flags & Launch::kLargeLocal)) return r;
      launch.local_bytes = static_cast<uint32_t>(place_locals(facts, sizes.data(), launch.args()));
      return ZE_RESULT_SUCCESS;
    }
    case ArgumentKind::Image: {
      Image* image;
      if (ze_result_t r = write_image(desc.argIndex, argument, desc.pArgValue, launch.args(), &image)) return r;
      if (image && !device_.pages_on_demand()) image->set_resident(device_, true);
      exchange_held(launch.images()[argument.place], image);
      return ZE_RESULT_SUCCESS;
    }
    case ArgumentKind::Sampler: {
      Sampler* sampler;
      if (ze_result_t r = write_sampler(desc.argIndex, argument, desc.pArgValue, launch.args(), &sampler)) return r;
      exchange_held(launch.samplers()[argument.place], sampler);
      return ZE_RESULT_SUCCESS;
    }
  }
  return ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

ze_result_t CommandList::change_group_count(Launch& launch, const ze_group_count_t* count) {
  uint64_t groups;
  if (!count || launch.count_at)
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, count ? "the device reads the number of groups itself" : "pGroupCount is null");
  if (!count_groups(&count->groupCountX, &groups) || ((launch.flags & Launch::kCooperative) && groups > most_cooperative_groups()))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%u x %u x %u groups are more than can be launched", count->groupCountX,
                count->groupCountY, count->groupCountZ);
  std::memcpy(launch.group_count, count, sizeof *count);
  return ZE_RESULT_SUCCESS;
}

ze_result_t CommandList::change_launch(const ze_base_desc_t& desc) {
  Launch* launch = nullptr;
  switch (type_of(desc)) {
    case ZE_STRUCTURE_TYPE_MUTABLE_KERNEL_ARGUMENT_EXP_DESC: {
      auto& change = reinterpret_cast<const ze_mutable_kernel_argument_exp_desc_t&>(desc);
      if (ze_result_t r = find_mutable_launch(change.commandId, ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_ARGUMENTS, &launch)) return r;
      return change_argument(*launch, change);
    }
    case ZE_STRUCTURE_TYPE_MUTABLE_GROUP_COUNT_EXP_DESC: {
      auto& change = reinterpret_cast<const ze_mutable_group_count_exp_desc_t&>(desc);
      if (ze_result_t r = find_mutable_launch(change.commandId, ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_COUNT, &launch)) return r;
      return change_group_count(*launch, change.pGroupCount);
    }
    case ZE_STRUCTURE_TYPE_MUTABLE_GROUP_SIZE_EXP_DESC: {
      auto& change = reinterpret_cast<const ze_mutable_group_size_exp_desc_t&>(desc);
      if (ze_result_t r = find_mutable_launch(change.commandId, ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_SIZE, &launch)) return r;
      const uint32_t size[3] = {change.groupSizeX, change.groupSizeY, change.groupSizeZ};
      if (check_group_size(launch->code->facts(), device_, size[0], size[1], size[2])) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
      std::copy_n(size, 3, launch->group_size);
      return ZE_RESULT_SUCCESS;
    }
    case ZE_STRUCTURE_TYPE_MUTABLE_GLOBAL_OFFSET_EXP_DESC: {
      auto& change = reinterpret_cast<const ze_mutable_global_offset_exp_desc_t&>(desc);
      if (ze_result_t r = find_mutable_launch(change.commandId, ZE_MUTABLE_COMMAND_EXP_FLAG_GLOBAL_OFFSET, &launch)) return r;
      const uint32_t offset[3] = {change.offsetX, change.offsetY, change.offsetZ};
      std::copy_n(offset, 3, launch->global_offset);
      return ZE_RESULT_SUCCESS;
    }
    case ZE_STRUCTURE_TYPE_MUTABLE_GRAPH_ARGUMENT_EXP_DESC:
      return change_graph_argument(reinterpret_cast<const ze_mutable_graph_argument_exp_desc_t&>(desc));
    default:
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the descriptor does not fit any command of this list");
  }
}

ze_result_t CommandList::updateMutableCommandsExp(const ze_mutable_commands_exp_desc_t* desc) {
  if (!mutable_) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the command list was not created as mutable");
  for (const ze_base_desc_t& change : Chain(desc->pNext, Chain::Check::Aligned))
    if (ze_result_t r = change_launch(change)) return r;
  closed_ = false;
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
