#include "engine.h"

#include <algorithm>

#include "../objects/devices/device.h"
#include "../system/clock.h"
#include "parts.h"

namespace anyzero {

std::vector<SysmanEngine*> SysmanEngine::of(Device& root) {
  std::vector<SysmanEngine*> groups;
  list(root, &groups);
  for (Device* tile : root.tiles()) list(*tile, &groups);
  return groups;
}

void SysmanEngine::list(Device& device, std::vector<SysmanEngine*>* groups) {
  auto all = [&](zes_engine_group_t type, bool compute, bool copy) {
    SysmanEngine* group = make(device, type);
    group->add(device, compute, copy);
    // A device is busy if one of its tiles is.
    for (Device* tile : device.tiles()) group->add(*tile, compute, copy);
    groups->push_back(group);
  };
  const bool copies = std::any_of(device.groups().begin(), device.groups().end(), [](auto& group) { return group.copy_only(); });
  all(ZES_ENGINE_GROUP_ALL, true, true);
  all(ZES_ENGINE_GROUP_COMPUTE_ALL, true, false);
  if (copies) all(ZES_ENGINE_GROUP_COPY_ALL, false, true);
  for (const Device::Group& group : device.groups())
    for (const auto& engine : group.engines) {
      SysmanEngine* single = make(device, group.copy_only() ? ZES_ENGINE_GROUP_COPY_SINGLE : ZES_ENGINE_GROUP_COMPUTE_SINGLE);
      single->devices_.push_back(&device);
      single->engines_.push_back(engine.get());
      groups->push_back(single);
    }
}

void SysmanEngine::add(Device& device, bool compute, bool copy) {
  devices_.push_back(&device);
  for (const Device::Group& group : device.groups())
    if (group.copy_only() ? copy : compute)
      for (const auto& engine : group.engines) engines_.push_back(engine.get());
}

ze_result_t SysmanEngine::getProperties(zes_engine_properties_t* properties) {
  properties->type = type_;
  place(device_, &properties->onSubdevice, &properties->subdeviceId);
  auto* extended = find_sysman<zes_engine_ext_properties_t>(properties->pNext, ZES_STRUCTURE_TYPE_ENGINE_EXT_PROPERTIES);
  if (extended) extended->countOfVirtualFunctionInstance = 0;
  return ZE_RESULT_SUCCESS;
}

uint64_t SysmanEngine::worked(uint64_t now) const {
  uint64_t sum = 0;
  // Finished rings first: a ring that ends in between is then missed once instead of counted twice.
  for (const Engine* engine : engines_) sum += engine->past_busy();
  for (Device* device : devices_)
    device->each_ring([&](const Ring& ring) {
      if (std::find(engines_.begin(), engines_.end(), &ring.engine()) != engines_.end()) sum += ring.busy(now);
    });
  return sum;
}

ze_result_t SysmanEngine::getActivity(zes_engine_stats_t* stats) {
  auto told = told_.open();
  const uint64_t now = now_ns(), work = worked(now);
  // Several threads may have worked concurrently for one engine; a hardware engine would have been active for at most the elapsed
  // time.
  if (work > told->worked) told->active += std::min(work - told->worked, now - told->time);
  *told = {told->active, std::max(work, told->worked), now};
  *stats = {told->active / 1000, now / 1000};
  return ZE_RESULT_SUCCESS;
}

// The first entry is the device itself; there are no virtual functions.
ze_result_t SysmanEngine::getActivityExt(uint32_t* count, zes_engine_stats_t* stats) {
  const bool asked = stats && *count > 0;
  *count = 1;
  return asked ? getActivity(stats) : ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
