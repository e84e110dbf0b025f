#include "plan.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "../abi/error.h"
#include "../exec/mutex.h"
#include "../planner.h"
#include "device.h"
#include "memory.h"
#include "residency.h"

namespace anyzero {

namespace {

// Plans of modules that are gone, until the planner can be told.
Guarded<std::vector<uint64_t>>& released() {
  static auto* released = new Guarded<std::vector<uint64_t>>;  // leaked: modules are destroyed from exit handlers
  return *released;
}

}  // namespace

template <class T>
T Answer::number() {
  T value = 0;
  if (!good_ || bytes_.size() - at_ < sizeof value) {
    good_ = false;
    return 0;
  }
  std::memcpy(&value, bytes_.data() + at_, sizeof value);
  at_ += sizeof value;
  return value;
}

template uint32_t Answer::number<uint32_t>();
template uint64_t Answer::number<uint64_t>();

std::string_view Answer::blob() {
  const uint64_t size = u64();
  if (!good_ || bytes_.size() - at_ < size) {
    good_ = false;
    return {};
  }
  std::string_view found(bytes_.data() + at_, size);
  at_ += size;
  return found;
}

uint32_t Answer::count(size_t least) {
  const uint32_t found = u32();
  if (found > (bytes_.size() - at_) / least) good_ = false;
  return good_ ? found : 0;
}

void ask_planner(const char* function, const Question& question, Answer* answer) {
  std::vector<uint64_t> gone;
  gone.swap(*released().open());
  Question all;
  all.u32(static_cast<uint32_t>(gone.size()));
  for (uint64_t plan : gone) all.u64(plan);
  std::string reason;
  if (!call_planner(function, all.bytes() + question.bytes(), &answer->bytes_, &reason)) {
    auto open = released().open();
    open->insert(open->end(), gone.begin(), gone.end());
    answer->status = ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
    answer->log = reason;
    return;
  }
  const uint32_t status = answer->u32();
  answer->u32();
  answer->log = answer->text();
  answer->status = answer->good() ? static_cast<ze_result_t>(status) : ZE_RESULT_ERROR_UNKNOWN;
  if (!answer->good()) answer->log = "the planner's answer is damaged";
}

Plan::~Plan() {
  released().open()->push_back(id_);
  if (!variables_) return;
  if (auto allocation = Allocations::take(reinterpret_cast<void*>(variables_), [](Allocation&) { return true; }))
    discard(std::move(allocation));
}

ze_result_t Plan::place_variables(Context& context, Device& device, Answer& answer) {
  const uint64_t size = answer.u64();
  const uint32_t alignment = answer.u32();
  const std::string_view image = answer.blob();
  const bool sound = answer.good() && image.size() <= size && (alignment & (alignment - 1)) == 0;
  if (!sound) return fail(ZE_RESULT_ERROR_UNKNOWN, "the planner's answer is damaged: the module's variables make no sense");
  if (size) {
    ze_device_mem_alloc_desc_t desc = {};
    desc.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
    void* memory = nullptr;
    if (ze_result_t r = Mem::allocDevice(context, &desc, size, std::max(alignment, 64u), device, &memory)) return r;
    with_allocation(memory, [](Allocation& allocation) { allocation.origin = Origin::Module; });
    residency_note(device, memory);
    variables_ = reinterpret_cast<uintptr_t>(memory);
    std::memcpy(memory, image.data(), image.size());
    std::memset(static_cast<char*>(memory) + image.size(), 0, size - image.size());
  }
  for (uint32_t n = answer.count(2 * sizeof(uint64_t)); n > 0; --n) {
    const uint64_t offset = answer.u64(), target = answer.u64();
    const uint64_t address = variables_ + target;
    if (size < sizeof address || offset > size - sizeof address || target > size)
      return fail(ZE_RESULT_ERROR_UNKNOWN, "the planner's answer is damaged: a pointer lies outside the module's variables");
    std::memcpy(reinterpret_cast<void*>(variables_ + offset), &address, sizeof address);
  }
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
