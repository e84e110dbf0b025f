#include "kernel.h"

#include <algorithm>
#include <cstring>

#include "../../abi/error.h"
#include "../../exec/dispatch.h"
#include "../memory/allocation.h"
#include "text.h"

namespace anyzero {

Kernel::Kernel(Module& module, Code& code, ze_kernel_flags_t flags)
    : module_(&module),
      code_(&code),
      flags_(flags),
      args_(code.facts().args_bytes),
      local_sizes_(code.facts().arguments.size()),
      images_(code.facts().images),
      samplers_(code.facts().samplers) {
  if (code.facts().required_group[0]) std::copy_n(code.facts().required_group, 3, group_size_);
  local_bytes_ = place_locals(code.facts(), local_sizes_.data(), args_.data());
  code.retain();
}

ze_result_t Kernel::create(Module& module, const ze_kernel_desc_t* desc, ze_kernel_handle_t* handle) {
  Code* code = nullptr;
  if (ze_result_t r = module.code(desc->pKernelName, Module::CodeKind::Kernel, &code)) return r;
  *handle = handle_of<ze_kernel_handle_t>(make(module, *code, desc->flags));
  return ZE_RESULT_SUCCESS;
}

ze_result_t Kernel::destroy() {
  retire();
  return ZE_RESULT_SUCCESS;
}

// Local memory is in the same caches as all other memory: a group that prefers it gets more of it, in later launches.
ze_result_t Kernel::setCacheConfig(ze_cache_config_flags_t flags) {
  cache_config_ = flags;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Kernel::schedulingHintExp(ze_scheduling_hint_exp_desc_t*) { return ZE_RESULT_SUCCESS; }

ze_result_t Kernel::setGroupSize(uint32_t x, uint32_t y, uint32_t z) {
  if (ze_result_t r = check_group_size(code_->facts(), module_->device(), x, y, z)) return r;
  group_size_[0] = x;
  group_size_[1] = y;
  group_size_[2] = z;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Kernel::setGlobalOffsetExp(uint32_t x, uint32_t y, uint32_t z) {
  global_offset_[0] = x;
  global_offset_[1] = y;
  global_offset_[2] = z;
  return ZE_RESULT_SUCCESS;
}

namespace {

// The largest divisor of `size` that is at most `most`; one that fills whole vectors if there is any.
uint32_t divisor(uint32_t size, uint32_t most, uint32_t lanes) {
  uint32_t best = 1;
  for (uint32_t d = std::min(size, most); d > 1; --d) {
    if (size % d) continue;
    if (d % lanes == 0) return d;
    if (best == 1) best = d;
  }
  return best;
}

}  // namespace

ze_result_t Kernel::suggestGroupSize(uint32_t global_x, uint32_t global_y, uint32_t global_z, uint32_t* x, uint32_t* y,
                                     uint32_t* z) {
  if (global_x == 0 || global_y == 0 || global_z == 0)
    return fail(ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION, "a global size of %u x %u x %u has no work-items", global_x,
                global_y, global_z);
  const KernelFacts& facts = code_->facts();
  if (facts.required_group[0]) {
    *x = facts.required_group[0];
    *y = facts.required_group[1];
    *z = facts.required_group[2];
    return ZE_RESULT_SUCCESS;
  }
  constexpr uint32_t kPlenty = 256;  // enough to amortize the cost of a group; larger groups only mean fewer groups to distribute
  const uint32_t most = std::min(most_items(facts, module_->device()), kPlenty);
  *x = divisor(global_x, most, facts.lanes);
  *y = divisor(global_y, most / *x, 1);
  *z = divisor(global_z, most / (*x * *y), 1);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Kernel::suggestMaxCooperativeGroupCount(uint32_t* groups) {
  *groups = most_cooperative_groups();
  return ZE_RESULT_SUCCESS;
}

ze_result_t Kernel::setArgumentValue(uint32_t index, size_t size, const void* value) {
  const KernelFacts& facts = code_->facts();
  if (ze_result_t r = check_argument(facts, index, size)) return r;
  const Argument& argument = facts.arguments[index];
  switch (argument.kind) {
    case ArgumentKind::Value:
    case ArgumentKind::Global:
    case ArgumentKind::Constant:
      note_allowed(0);
      write_argument(argument, size, value, args_.data());
      break;
    case ArgumentKind::Local:
      local_sizes_[index] = static_cast<uint32_t>(size);
      local_bytes_ = place_locals(facts, local_sizes_.data(), args_.data());
      break;
    case ArgumentKind::Image: {
      Image* image;
      if (ze_result_t r = write_image(index, argument, value, args_.data(), &image)) return r;
      images_[argument.place] = Ref<Image>(image);
      break;
    }
    case ArgumentKind::Sampler: {
      Sampler* sampler;
      if (ze_result_t r = write_sampler(index, argument, value, args_.data(), &sampler)) return r;
      samplers_[argument.place] = Ref<Sampler>(sampler);
      break;
    }
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t Kernel::setIndirectAccess(ze_kernel_indirect_access_flags_t flags) {
  indirect_ = flags;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Kernel::getIndirectAccess(ze_kernel_indirect_access_flags_t* flags) {
  *flags = indirect_;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Kernel::getSourceAttributes(uint32_t* size, char** text) {
  const std::string& attributes = code_->facts().attributes;
  return copy_out(attributes.c_str(), attributes.size() + 1, size, text ? *text : nullptr);
}

ze_result_t Kernel::getName(size_t* size, char* name) {
  const std::string& own = code_->facts().name;
  return copy_out(own.c_str(), own.size() + 1, size, name);
}

ze_result_t Kernel::getBinaryExp(size_t* size, uint8_t* binary) {
  module_->complete(*code_);
  const std::string_view bytes = code_->current().binary();
  return copy_out(bytes.data(), bytes.size(), size, binary);
}

ze_result_t Kernel::getProperties(ze_kernel_properties_t* properties) {
  const KernelFacts& facts = code_->facts();
  const uint32_t most = most_items(facts, module_->device());
  properties->numKernelArgs = static_cast<uint32_t>(facts.arguments.size());
  properties->requiredGroupSizeX = facts.required_group[0];
  properties->requiredGroupSizeY = facts.required_group[1];
  properties->requiredGroupSizeZ = facts.required_group[2];
  properties->requiredNumSubGroups = facts.required_sub_groups;
  properties->requiredSubgroupSize = facts.required_sub_group_size;
  // A kernel without sub-groups has the fastest number of lanes, which need not be a sub-group size of the device. A sub-group of a
  // required size may run as several vectors.
  const uint32_t asked = (facts.flags & KernelFlag::kSubGroups) ? facts.lanes : std::clamp(facts.lanes, 8u, 32u);
  const uint32_t sub_group = facts.required_sub_group_size ? facts.required_sub_group_size : asked;
  properties->maxSubgroupSize = sub_group;
  properties->maxNumSubgroups = (most + sub_group - 1) / sub_group;
  properties->localMemSize = facts.local_bytes;
  properties->privateMemSize = facts.private_bytes;
  properties->spillMemSize = facts.spill_bytes;
  std::copy_n(facts.kernel_uuid, sizeof properties->uuid.kid, properties->uuid.kid);
  std::copy_n(facts.module_uuid, sizeof properties->uuid.mid, properties->uuid.mid);
  if (auto* preferred = find_property<ze_kernel_preferred_group_size_properties_t>(
          properties->pNext, ZE_STRUCTURE_TYPE_KERNEL_PREFERRED_GROUP_SIZE_PROPERTIES))
    preferred->preferredMultiple = facts.lanes;
  if (auto* largest = find_property<ze_kernel_max_group_size_properties_ext_t>(
          properties->pNext, ZE_STRUCTURE_TYPE_KERNEL_MAX_GROUP_SIZE_EXT_PROPERTIES))
    largest->maxGroupSize = most;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Kernel::getAllocationPropertiesExp(uint32_t* count, ze_kernel_allocation_exp_properties_t* properties) {
  const uint32_t room = properties ? *count : 0;
  uint32_t found = 0;
  auto look = [&](const void* address, uint32_t index) {
    with_allocation(address, [&](Allocation& allocation) {
      if (found < room) {
        ze_kernel_allocation_exp_properties_t& to = properties[found];
        to.base = allocation.base;
        to.size = allocation.size;
        to.type = allocation.type;
        to.argIndex = index;
      }
      ++found;
    });
  };
  const auto& arguments = code_->facts().arguments;
  for (uint32_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].pointer()) continue;
    const void* address;
    std::memcpy(&address, args_.data() + arguments[i].offset, sizeof address);
    if (address) look(address, i);
  }
  if (module_->variables()) look(reinterpret_cast<const void*>(module_->variables()), UINT32_MAX);
  *count = room ? std::min(room, found) : found;
  return ZE_RESULT_SUCCESS;
}

size_t Kernel::launch_bytes() const {
  // The packet's size is a multiple of 8; a larger alignment of the arguments is made inside.
  const size_t slack = code_->facts().args_alignment - 8;
  const size_t bytes = sizeof(Launch) + (images_.size() + samplers_.size()) * sizeof(void*) + args_.size() + slack;
  return (bytes + 7) / 8 * 8;
}

void Kernel::write_launch(Launch* to, const ze_group_count_t& count, uint32_t flags) const {
  to->size = static_cast<uint32_t>(launch_bytes());
  to->code = code_;
  to->group_count[0] = count.groupCountX;
  to->group_count[1] = count.groupCountY;
  to->group_count[2] = count.groupCountZ;
  std::copy_n(group_size_, 3, to->group_size);
  std::copy_n(global_offset_, 3, to->global_offset);
  to->local_bytes = static_cast<uint32_t>(local_bytes_);
  to->flags = flags | (flags_ & ZE_KERNEL_FLAG_FORCE_RESIDENCY ? Launch::kAllResident : 0u) |
              (flags_ & ZE_KERNEL_FLAG_EXPLICIT_RESIDENCY ? Launch::kOwnResidency : 0u) |
              (large_local() ? Launch::kLargeLocal : 0u);
  to->indirect = indirect_;
  to->n_images = static_cast<uint32_t>(images_.size());
  to->n_samplers = static_cast<uint32_t>(samplers_.size());
  to->count_at = nullptr;
  for (size_t i = 0; i < images_.size(); ++i) to->images()[i] = images_[i].get();
  for (size_t i = 0; i < samplers_.size(); ++i) to->samplers()[i] = samplers_[i].get();
  const auto behind = reinterpret_cast<uintptr_t>(to->samplers() + samplers_.size());
  const size_t alignment = code_->facts().args_alignment;
  to->args_at = static_cast<uint32_t>((behind + alignment - 1) / alignment * alignment - reinterpret_cast<uintptr_t>(to));
  std::copy(args_.begin(), args_.end(), to->args());
}

}  // namespace anyzero
