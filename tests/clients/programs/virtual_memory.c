// Address space and memory apart: two pieces of physical memory behind one range of addresses, used as one buffer.
#include "check.h"

int main(void) {
  setup_t s = set_up();
  size_t page = 0;
  CHECK(zeVirtualMemQueryPageSize(s.context, s.device, 1 << 16, &page));
  prove(page > 0 && (page & (page - 1)) == 0, "pages of %zu bytes", page);
  void* range = NULL;
  CHECK(zeVirtualMemReserve(s.context, NULL, 2 * page, &range));
  ze_physical_mem_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, .size = page};
  ze_physical_mem_handle_t halves[2];
  for (size_t i = 0; i < 2; ++i) {
    CHECK(zePhysicalMemCreate(s.context, s.device, &desc, &halves[i]));
    CHECK(zeVirtualMemMap(s.context, (char*)range + i * page, page, halves[i], 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
  }
  uint32_t pattern = 77, *seen = host_memory(s, 2 * page);
  ze_command_list_handle_t list = make_immediate(s, 0, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  CHECK(zeCommandListAppendMemoryFill(list, range, &pattern, sizeof pattern, 2 * page, NULL, 0, NULL));
  CHECK(zeCommandListAppendMemoryCopy(list, seen, range, 2 * page, NULL, 0, NULL));
  prove(seen[0] == 77 && seen[2 * page / sizeof *seen - 1] == 77, "a fill went across both pieces");

  // The second piece also appears at the beginning of another range: one memory, two addresses.
  void* other = NULL;
  CHECK(zeVirtualMemReserve(s.context, NULL, page, &other));
  CHECK(zeVirtualMemMap(s.context, other, page, halves[1], 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
  pattern = 78;
  CHECK(zeCommandListAppendMemoryFill(list, other, &pattern, sizeof pattern, page, NULL, 0, NULL));
  CHECK(zeCommandListAppendMemoryCopy(list, seen, range, 2 * page, NULL, 0, NULL));
  prove(seen[0] == 77 && seen[2 * page / sizeof *seen - 1] == 78, "what is written at one address is read at the other");

  CHECK(zeCommandListDestroy(list));
  CHECK(zeVirtualMemUnmap(s.context, other, page));
  CHECK(zeVirtualMemFree(s.context, other, page));
  for (size_t i = 0; i < 2; ++i) CHECK(zeVirtualMemUnmap(s.context, (char*)range + i * page, page));
  CHECK(zeVirtualMemFree(s.context, range, 2 * page));
  for (size_t i = 0; i < 2; ++i) CHECK(zePhysicalMemDestroy(s.context, halves[i]));
  CHECK(zeMemFree(s.context, seen));
  CHECK(zeContextDestroy(s.context));
}
