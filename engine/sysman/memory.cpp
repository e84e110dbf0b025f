#include "memory.h"

#include <algorithm>

#include "../abi/error.h"
#include "../objects/devices/device.h"
#include "../objects/memory/memory.h"
#include "parts.h"

namespace anyzero {

namespace {

uint64_t free_of(const Device& device) { return device.memory_total() - std::min(device.memory_total(), device.memory_used()); }

}  // namespace

std::vector<SysmanMemory*> SysmanMemory::of(Device& root) {
  std::vector<SysmanMemory*> memories;
  for (Device* tile : root.tiles()) memories.push_back(make(*tile));
  if (memories.empty() && root.memories()) memories.push_back(make(root));
  return memories;
}

ze_result_t SysmanMemory::getProperties(zes_mem_properties_t* properties) {
  properties->type = ZES_MEM_TYPE_DDR;
  place(device_, &properties->onSubdevice, &properties->subdeviceId);
  properties->location = ZES_MEM_LOC_SYSTEM;
  properties->physicalSize = device_.memory_total();
  properties->busWidth = properties->numChannels = -1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanMemory::getState(zes_mem_state_t* state) {
  sweep_deferred_frees();
  state->health = ZES_MEM_HEALTH_UNKNOWN;
  state->size = device_.memory_total();
  state->free = free_of(device_);
  const Device* root = device_.parent();
  if (!root) return ZE_RESULT_SUCCESS;
  // Allocations on the whole device belong to no tile, so each tile accounts for a share: the tiles' free memory adds up to that of
  // the device.
  uint64_t on_tiles = 0;
  for (const Device* tile : root->tiles()) on_tiles += free_of(*tile);
  const uint64_t left = std::min(free_of(*root), on_tiles);
  if (on_tiles) state->free = static_cast<uint64_t>(static_cast<unsigned __int128>(state->free) * left / on_tiles);
  return ZE_RESULT_SUCCESS;
}

ze_result_t SysmanMemory::getBandwidth(zes_mem_bandwidth_t*) {
  return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "memory traffic is not counted; time kernels and copies instead");
}

}  // namespace anyzero
