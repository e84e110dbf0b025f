#include "made_objects.h"

#include <iterator>
#include <utility>
#include <vector>

#include "../abi/handle.h"
#include "../check/finding.h"
#include "../check/made.h"
#include "../exec/written_memory.h"
#include "../objects/commands/command_list.h"
#include "../objects/commands/command_queue.h"
#include "../objects/memory/allocation.h"
#include "../objects/modules/module.h"
#include "hooks.h"
#include "initialization.h"

namespace anyzero {

namespace {

void note_memory(ze_result_t result, const void* context, void* const* pointer, size_t size, const char* kind) {
  if (result == ZE_RESULT_SUCCESS)
    note_made(context, nullptr, *pointer, size, std::string("the ") + kind + " allocation of " + std::to_string(size) + " bytes");
}

template <class Handle>
void note_object(ze_result_t result, const void* context, const Handle* made, const char* what, const void* parent = nullptr) {
  if (result == ZE_RESULT_SUCCESS) note_made(context, parent, *made, 0, what);
}

void forget_memory(ze_result_t result, const void* pointer) {
  if (result != ZE_RESULT_SUCCESS) return;
  forget_written(reinterpret_cast<uintptr_t>(pointer));
  note_freed(pointer);
}

void forget(ze_result_t result, const void* object) {
  if (result == ZE_RESULT_SUCCESS) forget_made(object);
}

// Takes out of the registry what belongs to a context that is going; what the program should have destroyed is reported.
template <class F>
void report_leaks(F&& is_going, const char* when) {
  std::vector<Made> left;
  {
    auto all = made_objects().open();
    for (auto at = all->objects.begin(); at != all->objects.end();) {
      const bool going = at->second.freed_where.empty() && is_going(at->second);
      if (going) left.push_back(std::move(at->second));
      at = going ? all->erase(at) : std::next(at);
    }
  }
  if (!is_checked(kCheckMemory)) return;
  for (const Made& made : left)
    if (!made.managed && !seen(Rule::Leak, made.place))
      report({Rule::Leak, made.place, made.what + " still exists " + when, "", "", "", "", "made by " + made.where});
}

// Before an object is destroyed: what was made from it has to be destroyed first.
void check_parts(const void* parent, const char* kind) {
  if (!is_checked(kCheckStrict) || !parent) return;
  std::vector<Made> left;
  {
    auto all = made_objects().open();
    for (const auto& [address, made] : all->objects)
      if (made.parent == parent && !made.managed) left.push_back(made);
  }
  if (left.empty()) return;
  const uint64_t place = CallPlace().number;
  if (seen(Rule::DestroyedBeforeParts, place)) return;
  const std::string more = left.size() > 1 ? ", the first of " + std::to_string(left.size()) : "";
  report({Rule::DestroyedBeforeParts, place, std::string(kind) + " is destroyed before " + left[0].what, "", "", "", "",
          left[0].what + more + ", made by " + left[0].where});
}

}  // namespace

void before_zeContextDestroy(ze_context_handle_t context) {
  if (checked<Context>(context))
    report_leaks([&](const Made& made) { return made.context == context; }, "when its context is destroyed");
}

// A context belongs to none.
void after_zeContextCreate(ze_result_t result, ze_driver_handle_t, const ze_context_desc_t*, ze_context_handle_t* made) {
  note_object(result, nullptr, made, "a context");
}

void after_zeContextCreateEx(ze_result_t result, ze_driver_handle_t, const ze_context_desc_t*, uint32_t, ze_device_handle_t*,
                             ze_context_handle_t* made) {
  note_object(result, nullptr, made, "a context");
}

void after_zeContextDestroy(ze_result_t result, ze_context_handle_t object) { forget(result, object); }

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

void after_zeMemFree(ze_result_t result, ze_context_handle_t, void* pointer) { forget_memory(result, pointer); }

void after_zeMemFreeExt(ze_result_t result, ze_context_handle_t, const ze_memory_free_ext_desc_t*, void* pointer) {
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

void after_zeKernelCreate(ze_result_t result, ze_module_handle_t handle, const ze_kernel_desc_t*, ze_kernel_handle_t* made) {
  if (const auto* module = checked<Module>(handle))
    note_object(result, handle_of<ze_context_handle_t>(&module->context()), made, "a kernel", handle);
}

void after_zeFenceCreate(ze_result_t result, ze_command_queue_handle_t handle, const ze_fence_desc_t*, ze_fence_handle_t* made) {
  if (const auto* queue = checked<CommandQueue>(handle))
    note_object(result, handle_of<ze_context_handle_t>(&queue->context()), made, "a fence", handle);
}

void note_new_event(const Event& event, ze_event_pool_handle_t pool, uint32_t index) {
  const auto handle = reinterpret_cast<uintptr_t>(&event);
  std::string what = "event " + std::to_string(index) + " of its pool", other;
  {
    auto all = made_objects().open();
    uintptr_t& there = all->pool_places[{pool, index}];
    const auto found = all->objects.find(std::exchange(there, handle));
    if (found != all->objects.end() && found->second.parent == pool && found->second.what == what)
      other = "made by " + found->second.where;
  }
  if (!other.empty() && is_checked(kCheckStrict)) {
    const uint64_t place = CallPlace().number;
    if (!seen(Rule::SharedEventIndex, place))
      report({Rule::SharedEventIndex, place, "two events have the index " + std::to_string(index) + " of a pool", "", "", "", "",
              "the first: " + other});
  }
  note_made(handle_of<ze_context_handle_t>(&event.context()), pool, &event, 0, std::move(what));
}

void after_zePhysicalMemCreate(ze_result_t result, ze_context_handle_t context, ze_device_handle_t, ze_physical_mem_desc_t*,
                               ze_physical_mem_handle_t* made) {
  note_object(result, context, made, "physical memory");
}

void after_zeVirtualMemReserve(ze_result_t result, ze_context_handle_t context, const void*, size_t size, void** made) {
  if (result == ZE_RESULT_SUCCESS) note_made(context, nullptr, *made, size, "a reservation of " + std::to_string(size) + " bytes");
}

void after_zeMemOpenIpcHandle(ze_result_t result, ze_context_handle_t context, ze_device_handle_t, ze_ipc_mem_handle_t,
                              ze_ipc_memory_flags_t, void** made) {
  note_object(result, context, made, "memory of an IPC handle");
}

void before_zeModuleDestroy(ze_module_handle_t object) { check_parts(object, "a module"); }
void before_zeEventPoolDestroy(ze_event_pool_handle_t object) {
  check_parts(object, "an event pool");
  auto all = made_objects().open();
  all->pool_places.erase(all->pool_places.lower_bound({object, 0}), all->pool_places.upper_bound({object, UINT32_MAX}));
}

void after_zeKernelDestroy(ze_result_t result, ze_kernel_handle_t object) { forget(result, object); }
void after_zeFenceDestroy(ze_result_t result, ze_fence_handle_t object) { forget(result, object); }
void after_zeEventDestroy(ze_result_t result, ze_event_handle_t object) { forget(result, object); }
void after_zePhysicalMemDestroy(ze_result_t result, ze_context_handle_t, ze_physical_mem_handle_t object) {
  forget(result, object);
}
void after_zeVirtualMemFree(ze_result_t result, ze_context_handle_t, const void* pointer, size_t) { forget(result, pointer); }
void after_zeMemCloseIpcHandle(ze_result_t result, ze_context_handle_t, const void* pointer) { forget(result, pointer); }
void after_zeEventPoolDestroy(ze_result_t result, ze_event_pool_handle_t object) { forget(result, object); }
void after_zeImageDestroy(ze_result_t result, ze_image_handle_t object) { forget(result, object); }
void after_zeSamplerDestroy(ze_result_t result, ze_sampler_handle_t object) { forget(result, object); }
void after_zeModuleDestroy(ze_result_t result, ze_module_handle_t object) { forget(result, object); }
void after_zeCommandListDestroy(ze_result_t result, ze_command_list_handle_t object) { forget(result, object); }
void after_zeCommandQueueDestroy(ze_result_t result, ze_command_queue_handle_t object) { forget(result, object); }

}  // namespace anyzero
