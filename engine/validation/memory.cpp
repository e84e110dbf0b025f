// Memory as calls and commands name it.
#include <cstdio>
#include <optional>

#include "../abi/error.h"
#include "../abi/handle.h"
#include "../check/finding.h"
#include "../exec/bounds.h"
#include "../exec/written_memory.h"
#include "../objects/commands/command_list.h"
#include "../objects/devices/driver.h"
#include "../objects/memory/allocation.h"
#include "commands.h"
#include "hooks.h"
#include "host_scope.h"
#include "known_memory.h"
#include "races.h"
#include "spans.h"

namespace anyzero {

namespace {

// `awaited`: the commands that use the memory are waited for.
void check_free(ze_context_handle_t handle, void* pointer, bool awaited) {
  auto* context = checked<Context>(handle);
  if (!context || !pointer) return;
  std::optional<MemoryRange> range;
  with_allocation(pointer, [&](Allocation& allocation) { range = allocation.range(); });
  const auto tell = [&](Rule rule, const char* message, const std::string& other) {
    const uint64_t place = CallPlace().number;
    if (seen(rule, place)) return;
    char where[256];
    describe_address(reinterpret_cast<uintptr_t>(pointer), where, sizeof where);
    report({rule, place, message, "", "", "", where + where_made(pointer), other});
  };
  if (!range) {
    if (is_checked(kCheckMemory) && freed_lately(reinterpret_cast<uintptr_t>(pointer), false))
      tell(Rule::DoubleFree, "memory is freed a second time", "");
    return;
  }
  const std::string unseen = awaited ? "" : unseen_use(*range);
  note_freed(*range);
  if (awaited) return;
  const std::string use = is_checked(kCheckSync) ? use_of(*range, context->driver()) : "";
  if (!use.empty()) return tell(Rule::MemoryFreedInUse, "memory is freed while a command still uses it", use);
  // The command may be done by now, but that is luck: without a wait, the program has also read any result too early.
  if (!unseen.empty())
    tell(Rule::MemoryFreedInUse, "memory is freed, and the program has not waited for a command that uses it", unseen);
}

[[gnu::cold, gnu::noinline]] ze_result_t refuse_span(const void* pointer, uint64_t bytes, uint64_t left, bool freed,
                                                     const char* does) {
  const auto at = reinterpret_cast<uintptr_t>(pointer);
  const Rule rule = freed ? Rule::UseAfterFree : Rule::CommandOutOfBounds;
  char where[256], message[160];
  describe_address(at, where, sizeof where);
  if (freed)
    std::snprintf(message, sizeof message, "a command %s %llu bytes of memory that has been freed", does,
                  static_cast<unsigned long long>(bytes));
  else
    std::snprintf(message, sizeof message, "a command %s %llu bytes, %llu more than are left in the allocation", does,
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(bytes - left));
  const uint64_t place = CallPlace().number;
  const std::string made = where_made(pointer);
  if (!seen(rule, place)) report({rule, place, message, "", "", "", where + made, ""});
  return fail(freed ? ZE_RESULT_ERROR_INVALID_ARGUMENT : ZE_RESULT_ERROR_INVALID_SIZE, "%s (%s)", message, where);
}

// Refuses a command that leaves the allocation in which it begins, or uses memory that has been freed. Memory of the program's own
// is not known. `list`: whose context the memory has to belong to, or nullptr.
inline ze_result_t check_span(ze_command_list_handle_t list, const void* pointer, uint64_t bytes, const char* does) {
  if (!pointer || !is_checked(kCheckMemory | kCheckStrict)) return ZE_RESULT_SUCCESS;
  const KnownMemory& memory = known_memory(pointer);
  auto* user = list && memory.context ? checked<CommandList>(list) : nullptr;
  if (user && memory.context != &user->context()) [[unlikely]] {
    check_context(list, pointer);
    return check_span(nullptr, pointer, bytes, does);
  }
  const uint64_t left = memory.end - reinterpret_cast<uintptr_t>(pointer);
  if (bytes <= left && !memory.freed) [[likely]]
    return ZE_RESULT_SUCCESS;
  return is_checked(kCheckMemory) && bytes ? refuse_span(pointer, bytes, left, memory.freed, does) : ZE_RESULT_SUCCESS;
}

// Memory that a command writes counts as written from now on, although the command may run later: better than a false alarm.
inline ze_result_t check_write(ze_command_list_handle_t list, const void* to, uint64_t bytes, ze_event_handle_t signal) {
  if (is_checked(kCheckInit)) note_written(to, bytes);
  if (signal) note_result(signal, to);
  return check_span(list, to, bytes, "writes");
}

// Later commands of the list that name this memory need not come here.
void let_pass(ze_command_list_handle_t handle, const void* pointer) {
  if (const auto* list = checked<CommandList>(handle); list && pointer) let_pass(pointer, list->context());
}

// From the beginning of the memory to the last byte that a region touches.
uint64_t span_of(const ze_copy_region_t& region, uint32_t pitch, uint32_t slice_pitch) {
  if (!region.width || !region.height) return 0;
  const uint64_t depth = region.depth ? region.depth : 1;
  return (region.originZ + depth - 1) * slice_pitch + (uint64_t{region.originY} + region.height - 1) * pitch + region.originX +
         region.width;
}

}  // namespace

ze_result_t check_reads(ze_command_list_handle_t list, const void* from, uint64_t bytes) {
  return check_span(list, from, bytes, "reads");
}

ze_result_t check_writes(ze_command_list_handle_t list, const void* to, uint64_t bytes) {
  return check_span(list, to, bytes, "writes");
}

void before_zeMemFree(ze_context_handle_t context, void* pointer) { check_free(context, pointer, false); }

void before_zeMemFreeExt(ze_context_handle_t context, const ze_memory_free_ext_desc_t* desc, void* pointer) {
  // The two other policies wait for the commands.
  if (desc) check_free(context, pointer, desc->freePolicy != 0);
}

ze_result_t before_zeCommandListAppendMemoryCopy(ze_command_list_handle_t list, void* to, const void* from, size_t size,
                                                 ze_event_handle_t signal, uint32_t, ze_event_handle_t*) {
  let_pass(list, to);
  let_pass(list, from);
  if (ze_result_t r = check_write(list, to, size, signal)) return r;
  return check_span(list, from, size, "reads");
}

ze_result_t before_zeCommandListAppendMemoryCopyFromContext(ze_command_list_handle_t list, void* to, ze_context_handle_t,
                                                            const void* from, size_t size, ze_event_handle_t signal, uint32_t,
                                                            ze_event_handle_t*) {
  if (ze_result_t r = check_write(list, to, size, signal)) return r;
  return check_span(nullptr, from, size, "reads");
}

ze_result_t before_zeCommandListAppendMemoryFill(ze_command_list_handle_t list, void* to, const void*, size_t, size_t size,
                                                 ze_event_handle_t signal, uint32_t, ze_event_handle_t*) {
  let_pass(list, to);
  return check_write(list, to, size, signal);
}

ze_result_t before_zeCommandListAppendMemoryCopyRegion(ze_command_list_handle_t list, void* to, const ze_copy_region_t* to_region,
                                                       uint32_t to_pitch, uint32_t to_slice_pitch, const void* from,
                                                       const ze_copy_region_t* from_region, uint32_t from_pitch,
                                                       uint32_t from_slice_pitch, ze_event_handle_t signal, uint32_t,
                                                       ze_event_handle_t*) {
  if (!to_region || !from_region) return ZE_RESULT_SUCCESS;  // an error of the call
  if (ze_result_t r = check_write(list, to, span_of(*to_region, to_pitch, to_slice_pitch), signal)) return r;
  return check_span(list, from, span_of(*from_region, from_pitch, from_slice_pitch), "reads");
}

ze_result_t before_zeCommandListAppendWriteGlobalTimestamp(ze_command_list_handle_t list, uint64_t* to, ze_event_handle_t signal,
                                                           uint32_t, ze_event_handle_t*) {
  check_alignment(to, alignof(uint64_t), "a timestamp");
  return check_write(list, to, sizeof *to, signal);
}

ze_result_t before_zeCommandListAppendMemoryCopyWithParameters(ze_command_list_handle_t list, void* to, const void* from,
                                                               size_t size, const void*, ze_event_handle_t signal, uint32_t n,
                                                               ze_event_handle_t* waits) {
  return before_zeCommandListAppendMemoryCopy(list, to, from, size, signal, n, waits);
}

ze_result_t before_zeCommandListAppendMemoryFillWithParameters(ze_command_list_handle_t list, void* to, const void* pattern,
                                                               size_t pattern_size, size_t size, const void*,
                                                               ze_event_handle_t signal, uint32_t n, ze_event_handle_t* waits) {
  return before_zeCommandListAppendMemoryFill(list, to, pattern, pattern_size, size, signal, n, waits);
}

ze_result_t before_zeCommandListAppendMemAdvise(ze_command_list_handle_t, ze_device_handle_t, const void* pointer, size_t size,
                                                ze_memory_advice_t) {
  return check_span(nullptr, pointer, size, "advises about");
}

ze_result_t before_zeCommandListAppendMemoryPrefetch(ze_command_list_handle_t, const void* pointer, size_t size) {
  return check_span(nullptr, pointer, size, "prefetches");
}

}  // namespace anyzero
