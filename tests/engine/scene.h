// What the tests of the engine share: a driver that is up, and short ways to make objects and to insist on results.
#pragma once

#undef NDEBUG
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "system/settings.h"
#include "ze_api.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace scene {

// Objects live in a range of the engine's own, where the leak detector does not look for pointers unless told.
inline void show_objects_to_leak_detector([[maybe_unused]] const void* object) {
#if defined(__SANITIZE_ADDRESS__)
  FILE* maps = std::fopen("/proc/self/maps", "r");
  assert(maps);
  unsigned long begin, end;
  char line[512];
  while (std::fgets(line, sizeof line, maps)) {
    assert(std::sscanf(line, "%lx-%lx", &begin, &end) == 2);
    auto address = reinterpret_cast<unsigned long>(object);
    if (begin <= address && address < end) __lsan_register_root_region(reinterpret_cast<void*>(begin), size_t{16} << 30);
  }
  std::fclose(maps);
#endif
}

inline void check(ze_result_t result, const char* what, int line) {
  if (result == ZE_RESULT_SUCCESS) return;
  const char* text = "";
  uint32_t one = 1;
  ze_driver_handle_t driver;
  if (zeDriverGet(&one, &driver) == ZE_RESULT_SUCCESS) zeDriverGetLastErrorDescription(driver, &text);
  std::fprintf(stderr, "line %d: %s: %#x %s\n", line, what, static_cast<unsigned>(result), text);
  std::abort();
}

#define OK(call) scene::check(call, #call, __LINE__)

inline constexpr uint64_t kSecond = 1'000'000'000;
inline constexpr uint64_t kSoon = 60 * kSecond;  // sanitizers are slow; a hang is longer

enum : uint32_t { kCompute, kCopy };

// Nothing runs on the caller's own thread and nobody spins: every command is handed over, every wait is a sleep.
inline bool hand_over_everything = false;

struct Scene {
  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t device = nullptr;
  ze_context_handle_t context = nullptr;

  Scene() {
    OK(zeInit(0));
    if (hand_over_everything) anyzero::settings.inline_bytes = anyzero::settings.spin_ns = 0;
    uint32_t one = 1;
    OK(zeDriverGet(&one, &driver));
    one = 1;
    OK(zeDeviceGet(driver, &one, &device));
    show_objects_to_leak_detector(driver);
    context = new_context();
  }

  ze_context_handle_t new_context() const {
    ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    ze_context_handle_t made;
    OK(zeContextCreate(driver, &desc, &made));
    return made;
  }

  static ze_command_queue_desc_t queue_desc(uint32_t ordinal, ze_command_queue_mode_t mode, ze_command_queue_priority_t priority) {
    ze_command_queue_desc_t desc = {};
    desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    desc.ordinal = ordinal;
    desc.mode = mode;
    desc.priority = priority;
    return desc;
  }

  ze_command_queue_handle_t queue(uint32_t ordinal, ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_DEFAULT,
                                  ze_command_queue_priority_t priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL) const {
    auto desc = queue_desc(ordinal, mode, priority);
    ze_command_queue_handle_t made;
    OK(zeCommandQueueCreate(context, device, &desc, &made));
    return made;
  }

  ze_command_list_handle_t immediate(uint32_t ordinal, ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_DEFAULT,
                                     ze_command_queue_priority_t priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL) const {
    auto desc = queue_desc(ordinal, mode, priority);
    ze_command_list_handle_t made;
    OK(zeCommandListCreateImmediate(context, device, &desc, &made));
    return made;
  }

  ze_command_list_handle_t list(uint32_t ordinal) const {
    ze_command_list_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, ordinal, 0};
    ze_command_list_handle_t made;
    OK(zeCommandListCreate(context, device, &desc, &made));
    return made;
  }

  ze_fence_handle_t fence(ze_command_queue_handle_t queue) const {
    ze_fence_desc_t desc = {ZE_STRUCTURE_TYPE_FENCE_DESC, nullptr, 0};
    ze_fence_handle_t made;
    OK(zeFenceCreate(queue, &desc, &made));
    return made;
  }

  ze_event_pool_handle_t pool(uint32_t count, uint32_t flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE) const {
    ze_event_pool_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, nullptr, flags, count};
    ze_event_pool_handle_t made;
    OK(zeEventPoolCreate(context, &desc, 0, nullptr, &made));
    return made;
  }

  static ze_event_handle_t event(ze_event_pool_handle_t pool, uint32_t index) {
    ze_event_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, index, 0, 0};
    ze_event_handle_t made;
    OK(zeEventCreate(pool, &desc, &made));
    return made;
  }

  std::vector<ze_event_handle_t> events(uint32_t count, uint32_t flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE) const {
    ze_event_pool_handle_t from = pool(count, flags);
    std::vector<ze_event_handle_t> made;
    for (uint32_t i = 0; i < count; ++i) made.push_back(event(from, i));
    OK(zeEventPoolDestroy(from));  // the events keep it
    return made;
  }

  ze_event_handle_t counter() const {
    ze_event_counter_based_desc_t desc = {};
    desc.stype = ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC;
    desc.flags = ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE |
                 ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE;
    ze_event_handle_t made;
    OK(zeEventCounterBasedCreate(context, device, &desc, &made));
    return made;
  }

  unsigned char* memory(size_t size) const {
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
    void* made;
    OK(zeMemAllocHost(context, &desc, size, 0, &made));
    return static_cast<unsigned char*>(made);
  }

  void free(void* memory) const { OK(zeMemFree(context, memory)); }
};

inline void fill(ze_command_list_handle_t list, void* to, unsigned char value, size_t size, ze_event_handle_t signal = nullptr,
                 std::initializer_list<ze_event_handle_t> waits = {}) {
  std::vector<ze_event_handle_t> array(waits);
  OK(zeCommandListAppendMemoryFill(list, to, &value, 1, size, signal, static_cast<uint32_t>(array.size()), array.data()));
}

inline void copy(ze_command_list_handle_t list, void* to, const void* from, size_t size, ze_event_handle_t signal = nullptr,
                 std::initializer_list<ze_event_handle_t> waits = {}) {
  std::vector<ze_event_handle_t> array(waits);
  OK(zeCommandListAppendMemoryCopy(list, to, from, size, signal, static_cast<uint32_t>(array.size()), array.data()));
}

inline void barrier(ze_command_list_handle_t list, ze_event_handle_t signal, std::initializer_list<ze_event_handle_t> waits = {}) {
  std::vector<ze_event_handle_t> array(waits);
  OK(zeCommandListAppendBarrier(list, signal, static_cast<uint32_t>(array.size()), array.data()));
}

inline bool all(const unsigned char* bytes, unsigned char value, size_t size) {
  for (size_t i = 0; i < size; ++i)
    if (bytes[i] != value) return false;
  return true;
}

// Runs `work(index)` on that many threads and waits for all of them.
inline void threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> running;
  for (int i = 0; i < count; ++i) running.emplace_back(work, i);
  for (std::thread& thread : running) thread.join();
}

// Runs the test once more, in a child of its own, with everything handed over.
inline void also_handed_over(void (*test)()) {
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    hand_over_everything = true;
    test();
    std::exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  assert(status == 0);
  test();
}

// Returns when no other thread of this process runs, as where engines and waiters have gone to sleep.
inline void await_sleep_of_others() {
  for (bool running = true; running;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    running = false;
    DIR* threads = opendir("/proc/self/task");
    assert(threads);
    while (const dirent* thread = readdir(threads)) {
      const int id = std::atoi(thread->d_name);
      FILE* status =
          id && id != gettid() ? std::fopen(("/proc/self/task/" + std::string(thread->d_name) + "/status").c_str(), "r") : nullptr;
      if (!status) continue;  // it may have ended
      char line[256], state = 'S';
      while (std::fgets(line, sizeof line, status) && std::sscanf(line, "State: %c", &state) != 1) {
      }
      running |= state != 'S';
      std::fclose(status);
    }
    closedir(threads);
  }
}

inline void sleep_ms(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

}  // namespace scene
