// Cache properties of a device, and cache hints for allocations of memory and images.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "check.h"

namespace {

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

// Number of resident pages.
size_t present(void* memory, size_t size) {
  std::vector<unsigned char> pages(size / page_size());
  prove(mincore(memory, size, pages.data()) == 0, "%zu pages are queried", pages.size());
  return static_cast<size_t>(std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; }));
}

}  // namespace

int main() {
  Setup s;

  uint32_t count = 0;
  CHECK(zeDeviceGetCacheProperties(s.device, &count, nullptr));
  std::vector<ze_device_cache_properties_t> caches(count, {.stype = ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES});
  CHECK(zeDeviceGetCacheProperties(s.device, &count, caches.data()));
  for (const auto& cache : caches) std::printf("cache: %zu KiB\n", cache.cacheSize / 1024);
  prove(count > 0, "the device describes %u cache(s)", count);

  // Shared memory is placed on first touch, unless a flag names its initial location.
  constexpr size_t kSize = 16 << 20;
  auto shared = [&](ze_host_mem_alloc_flags_t hint) {
    ze_device_mem_alloc_desc_t on_device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t on_host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, .flags = hint};
    void* memory = nullptr;
    CHECK(zeMemAllocShared(s.context, &on_device, &on_host, kSize, page_size(), s.device, &memory));
    return memory;
  };
  void* somewhere = shared(0);
  void* here = shared(ZE_HOST_MEM_ALLOC_FLAG_BIAS_INITIAL_PLACEMENT);
  prove(present(somewhere, kSize) == 0, "untouched memory has no resident page");
  prove(present(here, kSize) == kSize / page_size(), "and memory with an initial location has all of them");
  for (void* memory : {somewhere, here}) CHECK(zeMemFree(s.context, memory));

  // Hints affect speed, never contents.
  for (ze_device_mem_alloc_flags_t hint : {ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_CACHED, ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_UNCACHED}) {
    ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, .flags = hint};
    void* memory = nullptr;
    CHECK(zeMemAllocDevice(s.context, &desc, 4096, 64, s.device, &memory));
    CHECK(zeMemFree(s.context, memory));
  }
  ze_image_desc_t image_desc = {.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
                                .flags = ZE_IMAGE_FLAG_BIAS_UNCACHED,
                                .type = ZE_IMAGE_TYPE_1D,
                                .format = {.layout = ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, .type = ZE_IMAGE_FORMAT_TYPE_UNORM},
                                .width = 64,
                                .height = 1,
                                .depth = 1};
  ze_image_handle_t image = nullptr;
  CHECK(zeImageCreate(s.context, s.device, &image_desc, &image));
  CHECK(zeImageDestroy(image));
  prove(true, "memory and an image were allocated with cache hints");

  // Reserving cache for local memory needs caches that software can partition; a CPU's cannot be.
  ze_cache_reservation_ext_desc_t most = {.stype = ZE_STRUCTURE_TYPE_CACHE_RESERVATION_EXT_DESC, .maxCacheReservationSize = 1};
  caches[0].pNext = &most;
  CHECK(zeDeviceGetCacheProperties(s.device, &count, caches.data()));
  prove(most.maxCacheReservationSize == 0, "no part of its caches can be reserved");
  ze_result_t reserved = zeDeviceReserveCacheExt(s.device, 3, 1 << 20);
  prove(reserved == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "reserving a part of a cache is refused: %s", last_error());
}
