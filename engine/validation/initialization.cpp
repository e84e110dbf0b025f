// Commands and calls after which the contents of device memory are defined, though no kernel wrote them.
#include "../check/finding.h"
#include "../exec/written_memory.h"
#include "hooks.h"

namespace anyzero {

namespace {

ze_result_t defined(const void* pointer) {
  if (is_checked(kCheckInit)) note_all_written(pointer);
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t before_zeCommandListAppendImageCopyToMemory(ze_command_list_handle_t, void* to, ze_image_handle_t,
                                                        const ze_image_region_t*, ze_event_handle_t, uint32_t, ze_event_handle_t*) {
  return defined(to);
}

ze_result_t before_zeCommandListAppendImageCopyToMemoryExt(ze_command_list_handle_t, void* to, ze_image_handle_t,
                                                           const ze_image_region_t*, uint32_t, uint32_t, ze_event_handle_t,
                                                           uint32_t, ze_event_handle_t*) {
  return defined(to);
}

ze_result_t before_zeCommandListAppendQueryKernelTimestamps(ze_command_list_handle_t, uint32_t, ze_event_handle_t*, void* to,
                                                            const size_t*, ze_event_handle_t, uint32_t, ze_event_handle_t*) {
  return defined(to);
}

// Another process may write it.
ze_result_t before_zeMemGetIpcHandle(ze_context_handle_t, const void* pointer, ze_ipc_mem_handle_t*) { return defined(pointer); }

}  // namespace anyzero
