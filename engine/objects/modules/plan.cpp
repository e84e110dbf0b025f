#include "plan.h"

#include <algorithm>
#include <cstring>

#include "../../abi/error.h"
#include "../../layouts/gen/module_requests.h"
#include "../../layouts/gen/planner.h"
#include "../../planning/request.h"
#include "../devices/device.h"
#include "../memory/memory.h"
#include "../memory/residency.h"

namespace anyzero {

Plan::~Plan() {
  release_plan(id_);
  if (!variables_) return;
  if (auto allocation = Allocations::take(reinterpret_cast<void*>(variables_), [](Allocation&) { return true; }))
    discard(std::move(allocation));
}

ze_result_t Plan::place_variables(Context& context, Device& device, const BuildReply& build) {
  const uint64_t size = build.block_size;
  const uint32_t alignment = build.block_alignment;
  if (build.block.size() > size || (alignment & (alignment - 1)))
    return fail(ZE_RESULT_ERROR_UNKNOWN, "the planner's reply is damaged: the module's variables are invalid");
  if (size) {
    ze_device_mem_alloc_desc_t desc = {};
    desc.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
    void* memory = nullptr;
    if (ze_result_t r = Mem::allocDevice(context, &desc, size, std::max(alignment, 64u), device, &memory)) return r;
    with_allocation(memory, [](Allocation& allocation) { allocation.origin = Origin::Module; });
    residency_note(device, memory);
    variables_ = reinterpret_cast<uintptr_t>(memory);
    std::memcpy(memory, build.block.data(), build.block.size());
    std::memset(static_cast<char*>(memory) + build.block.size(), 0, size - build.block.size());
  }
  for (const ModuleRelocation& each : build.relocations) {
    const uint64_t address = variables_ + each.target;
    if (size < sizeof address || each.offset > size - sizeof address || each.target > size)
      return fail(ZE_RESULT_ERROR_UNKNOWN, "the planner's reply is damaged: a pointer lies outside the module's variables");
    std::memcpy(reinterpret_cast<void*>(variables_ + each.offset), &address, sizeof address);
  }
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
