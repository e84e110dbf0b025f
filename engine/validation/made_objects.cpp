#include "made_objects.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "../abi/handle.h"
#include "../check/finding.h"
#include "../exec/written_memory.h"
#include "../objects/commands/command_list.h"
#include "../objects/commands/command_queue.h"
#include "../objects/memory/allocation.h"
#include "../system/mutex.h"
#include "hooks.h"
#include "initialization.h"

namespace anyzero {

namespace {

struct Made {
  const void* context;
  size_t size;  // of memory; 0 for objects
  std::string what;
  std::string where;
  uint64_t place;
  bool managed;  // by the language of the program
  bool library;  // made by a library
};

using Registry = std::map<uintptr_t, Made>;

Guarded<Registry>& registry() {
  static auto* all = new Guarded<Registry>;  // leaked: objects are destroyed from exit handlers
  return *all;
}

void note(ze_result_t result, const void* context, const void* object, size_t size, std::string what) {
  if (result != ZE_RESULT_SUCCESS || !object) return;
  CallPlace place;
  Made made{context, size, std::move(what), std::move(place.text), place.number, place.managed, place.library};
  (*registry().open())[reinterpret_cast<uintptr_t>(object)] = std::move(made);
}

void note_memory(ze_result_t result, const void* context, void* const* pointer, size_t size, const char* kind) {
  if (result == ZE_RESULT_SUCCESS)
    note(result, context, *pointer, size, std::string("the ") + kind + " allocation of " + std::to_string(size) + " bytes");
}

template <class Handle>
void note_object(ze_result_t result, const void* context, const Handle* made, const char* what) {
  if (result == ZE_RESULT_SUCCESS) note(result, context, *made, 0, what);
}

void forget_memory(ze_result_t result, const void* pointer) {
  if (result == ZE_RESULT_SUCCESS) forget_written(reinterpret_cast<uintptr_t>(pointer));
}

void forget(ze_result_t result, const void* object) {
  if (result == ZE_RESULT_SUCCESS) registry().open()->erase(reinterpret_cast<uintptr_t>(object));
}

// Takes out of the registry what belongs to a context that is going; what the program should have destroyed is reported.
template <class F>
void report_leaks(F&& is_going, const char* when) {
  std::vector<Made> left;
  {
    auto all = registry().open();
    for (auto at = all->begin(); at != all->end();) {
      const bool going = is_going(at->second);
      if (going) left.push_back(std::move(at->second));
      at = going ? all->erase(at) : std::next(at);
    }
  }
  if (!is_checked(kCheckMemory)) return;
  for (const Made& made : left)
    if (!made.managed && !seen(Rule::Leak, made.place))
      report({Rule::Leak, made.place, made.what + " still exists " + when, "", "", "", "", "made by " + made.where});
}

}  // namespace

std::string where_made(const void* object) {
  auto all = registry().open();
  auto found = all->upper_bound(reinterpret_cast<uintptr_t>(object));
  if (found == all->begin()) return "";
  --found;
  const Made& made = found->second;
  const uintptr_t offset = reinterpret_cast<uintptr_t>(object) - found->first;
  return offset < std::max<size_t>(made.size, 1) ? "; made by " + made.where : "";
}

void before_zeContextDestroy(ze_context_handle_t context) {
  if (checked<Context>(context))
    report_leaks([&](const Made& made) { return made.context == context; }, "when its context is destroyed");
}

void report_leaks_at_exit() {
  // Libraries may keep what they have until then.
  report_leaks([](const Made& made) { return !made.library; }, "when the process ends");
}

void after_zeMemAllocDevice(ze_result_t result, ze_context_handle_t context, const ze_device_mem_alloc_desc_t* desc, size_t size,
                            size_t, ze_device_handle_t, void** pointer) {
  // Imported memory has contents already.
  if (result == ZE_RESULT_SUCCESS && is_checked(kCheckInit) && !(desc && desc->pNext))
    track_written(reinterpret_cast<uintptr_t>(*pointer), size);
  note_memory(result, context, pointer, size, "device");
}

void after_zeMemAllocHost(ze_result_t result, ze_context_handle_t context, const ze_host_mem_alloc_desc_t*, size_t size, size_t,
                          void** pointer) {
  note_memory(result, context, pointer, size, "host");
}

void after_zeMemAllocShared(ze_result_t result, ze_context_handle_t context, const ze_device_mem_alloc_desc_t*,
                            const ze_host_mem_alloc_desc_t*, size_t size, size_t, ze_device_handle_t, void** pointer) {
  note_memory(result, context, pointer, size, "shared");
}

void after_zeMemFree(ze_result_t result, ze_context_handle_t, void* pointer) {
  forget(result, pointer);
  forget_memory(result, pointer);
}

void after_zeMemFreeExt(ze_result_t result, ze_context_handle_t, const ze_memory_free_ext_desc_t*, void* pointer) {
  forget(result, pointer);
  forget_memory(result, pointer);
}

void after_zeCommandQueueCreate(ze_result_t result, ze_context_handle_t context, ze_device_handle_t, const ze_command_queue_desc_t*,
                                ze_command_queue_handle_t* made) {
  note_object(result, context, made, "a command queue");
  if (result == ZE_RESULT_SUCCESS) note_new_queue(checked<CommandQueue>(*made)->context().driver());
}

void after_zeCommandListCreate(ze_result_t result, ze_context_handle_t context, ze_device_handle_t, const ze_command_list_desc_t*,
                               ze_command_list_handle_t* made) {
  note_object(result, context, made, "a command list");
}

void after_zeCommandListCreateImmediate(ze_result_t result, ze_context_handle_t context, ze_device_handle_t,
                                        const ze_command_queue_desc_t*, ze_command_list_handle_t* made) {
  note_object(result, context, made, "an immediate command list");
  if (result == ZE_RESULT_SUCCESS) note_new_queue(checked<CommandList>(*made)->context().driver());
}

void after_zeEventPoolCreate(ze_result_t result, ze_context_handle_t context, const ze_event_pool_desc_t*, uint32_t,
                             ze_device_handle_t*, ze_event_pool_handle_t* made) {
  note_object(result, context, made, "an event pool");
}

void after_zeImageCreate(ze_result_t result, ze_context_handle_t context, ze_device_handle_t, const ze_image_desc_t*,
                         ze_image_handle_t* made) {
  note_object(result, context, made, "an image");
  if (result == ZE_RESULT_SUCCESS) note_new_image(*made);
}

void after_zeSamplerCreate(ze_result_t result, ze_context_handle_t context, ze_device_handle_t, const ze_sampler_desc_t*,
                           ze_sampler_handle_t* made) {
  note_object(result, context, made, "a sampler");
}

void after_zeModuleCreate(ze_result_t result, ze_context_handle_t context, ze_device_handle_t, const ze_module_desc_t*,
                          ze_module_handle_t* made, ze_module_build_log_handle_t*) {
  note_object(result, context, made, "a module");
}

void after_zeEventPoolDestroy(ze_result_t result, ze_event_pool_handle_t object) { forget(result, object); }
void after_zeImageDestroy(ze_result_t result, ze_image_handle_t object) { forget(result, object); }
void after_zeSamplerDestroy(ze_result_t result, ze_sampler_handle_t object) { forget(result, object); }
void after_zeModuleDestroy(ze_result_t result, ze_module_handle_t object) { forget(result, object); }
void after_zeCommandListDestroy(ze_result_t result, ze_command_list_handle_t object) { forget(result, object); }
void after_zeCommandQueueDestroy(ze_result_t result, ze_command_queue_handle_t object) { forget(result, object); }

}  // namespace anyzero
