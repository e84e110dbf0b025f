// Memory on the accounts of a device and the host, moved by many threads at once; and how advice treats the caches.
#include "objects/memory/memory_account.h"

#include "abi/handle.h"
#include "objects/devices/device.h"
#include "objects/memory/memory_advice.h"
#include "scene.h"

using namespace scene;
using anyzero::Caching;
using anyzero::caching_of;

namespace {

constexpr size_t kBytes = 64 << 10;

// nullptr when the machine is full.
void* shared_memory(const Scene& scene, uint32_t device_flags = 0, uint32_t host_flags = 0) {
  ze_device_mem_alloc_desc_t on_device = {};
  on_device.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
  on_device.flags = device_flags;
  ze_host_mem_alloc_desc_t on_host = {};
  on_host.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
  on_host.flags = host_flags;
  void* memory = nullptr;
  const ze_result_t result = zeMemAllocShared(scene.context, &on_device, &on_host, kBytes, 0, scene.device, &memory);
  assert(result == ZE_RESULT_SUCCESS || result == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  return memory;
}

// A hint is done when the list is.
void hint(const Scene& scene, ze_command_list_handle_t list, const void* memory, ze_memory_advice_t advice) {
  OK(zeCommandListAppendMemAdvise(list, scene.device, memory, kBytes, advice));
  OK(zeCommandListHostSynchronize(list, kSoon));
}

void advice_decides_about_the_caches(Scene& scene) {
  ze_command_list_handle_t list = scene.immediate(kCompute);
  void* memory = shared_memory(scene);
  assert(caching_of(memory, kBytes) == Caching::Usual);
  hint(scene, list, memory, ZE_MEMORY_ADVICE_BIAS_UNCACHED);
  assert(caching_of(static_cast<char*>(memory) + 100, 4096) == Caching::Bypass);
  assert(caching_of(memory, 64) == Caching::Usual);
  hint(scene, list, memory, ZE_MEMORY_ADVICE_BIAS_CACHED);
  assert(caching_of(memory, kBytes) == Caching::Keep);
  void* uncached = shared_memory(scene, ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_UNCACHED);
  void* combined = shared_memory(scene, 0, ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED);
  void* cached = shared_memory(scene, ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_CACHED);
  assert(caching_of(uncached, kBytes) == Caching::Bypass && caching_of(combined, kBytes) == Caching::Bypass);
  assert(caching_of(cached, kBytes) == Caching::Keep);
  for (void* each : {memory, uncached, combined, cached}) OK(zeMemFree(scene.context, each));
  OK(zeCommandListDestroy(list));
}

void move_about(const Scene& scene, unsigned seed) {
  std::mt19937 random(seed);
  ze_command_list_handle_t list = scene.immediate(seed % 2);
  std::vector<void*> mine;
  for (int round = 0; round < 300; ++round) {
    if (mine.size() < 6)
      if (void* made = shared_memory(scene)) mine.push_back(made);
    if (mine.empty()) continue;
    void* one = mine[random() % mine.size()];
    ze_result_t result = ZE_RESULT_SUCCESS;
    switch (random() % 6) {
      case 0:
        result = zeContextMakeMemoryResident(scene.context, scene.device, one, kBytes);
        assert(result == ZE_RESULT_SUCCESS || result == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
        break;
      case 1:
        OK(zeContextEvictMemory(scene.context, scene.device, one, kBytes));
        break;
      case 2:
        hint(scene, list, one, ZE_MEMORY_ADVICE_SET_PREFERRED_LOCATION);
        break;
      case 3:
        hint(scene, list, one, ZE_MEMORY_ADVICE_SET_SYSTEM_MEMORY_PREFERRED_LOCATION);
        break;
      case 4:
        OK(zeCommandListAppendMemoryPrefetch(list, one, kBytes));
        break;
      default:
        OK(zeCommandListHostSynchronize(list, kSoon));
        OK(zeMemFree(scene.context, one));
        std::erase(mine, one);
    }
    if (void* device = nullptr; round % 8 == 0) {
      ze_device_mem_alloc_desc_t desc = {};
      desc.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
      result = zeMemAllocDevice(scene.context, &desc, 2 * kBytes, 0, scene.device, &device);
      if (result == ZE_RESULT_SUCCESS) OK(zeMemFree(scene.context, device));
    }
  }
  OK(zeCommandListHostSynchronize(list, kSoon));
  for (void* each : mine) OK(zeMemFree(scene.context, each));
  OK(zeCommandListDestroy(list));
}

// Room for eight pieces, four threads with up to six each, and a machine that is full once the device is: memory has to move to the
// host's account before there is more.
void accounts_stay_balanced(Scene& scene) {
  auto* device = anyzero::checked<anyzero::Device>(scene.device);
  assert(device);
  const uint64_t before = device->memory_used(), host_before = anyzero::host_memory_used();
  const uint64_t taken = device->memory_free() - 8 * kBytes;
  const bool charged = device->charge(taken);
  assert(charged);
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) threads.emplace_back([&scene, seed] { move_about(scene, seed); });
  for (std::thread& thread : threads) thread.join();
  device->refund(taken);
  assert(device->memory_used() == before && anyzero::host_memory_used() == host_before);
}

}  // namespace

int main() {
  Scene scene;
  advice_decides_about_the_caches(scene);
  accounts_stay_balanced(scene);
  std::puts("memory_account_test: ok");
  std::fflush(stdout);
  std::_Exit(0);  // engine threads are never joined
  return 0;
}
