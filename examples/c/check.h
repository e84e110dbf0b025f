// Shared code of the examples: checked calls, assertions, and the first device with its context.
#pragma once

#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "ze_api.h"

constexpr uint64_t kForever = UINT64_MAX;

// Headers before 1.5 lack the function; then there is no text.
template <class Driver>
const char* description_of_error(Driver driver) {
  const char* text = "";
  if constexpr (requires { zeDriverGetLastErrorDescription(driver, &text); }) zeDriverGetLastErrorDescription(driver, &text);
  return text;
}

// The driver's description of the last error on this thread.
inline const char* last_error() {
  uint32_t one = 1;
  ze_driver_handle_t driver = nullptr;
  if (zeDriverGet(&one, &driver) != ZE_RESULT_SUCCESS || !driver) return "the driver did not start; see examples/README.md";
  return description_of_error(driver);
}

inline void check(ze_result_t result, const char* call, const char* file, int line) {
  if (result == ZE_RESULT_SUCCESS) return;
  std::fprintf(stderr, "%s:%d: %s returned %#x: %s\n", file, line, call, static_cast<unsigned>(result), last_error());
  std::exit(1);
}
#define CHECK(call) check((call), #call, __FILE__, __LINE__)

// Prints a fact that holds, or exits with an error.
__attribute__((format(printf, 2, 3))) inline void prove(bool holds, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::printf(holds ? "ok: " : "FAILED: ");
  std::vprintf(format, arguments);
  std::printf("\n");
  std::fflush(stdout);
  va_end(arguments);
  if (!holds) std::exit(1);
}

// Another thread signals the event a little later: work that depends on it is not done before, so a program that does not wait
// for the work fails.
inline std::jthread signal_later(ze_event_handle_t event) {
  return std::jthread([event] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK(zeEventHostSignal(event));
  });
}

// examples/c/discovery.cpp does this at length.
struct Setup {
  ze_driver_handle_t driver = nullptr;
  ze_context_handle_t context = nullptr;
  std::vector<ze_device_handle_t> devices;
  ze_device_handle_t device = nullptr;  // the first one

  explicit Setup(ze_init_flags_t kind = ZE_INIT_FLAG_GPU_ONLY) {
    CHECK(zeInit(kind));
    uint32_t count = 1;
    CHECK(zeDriverGet(&count, &driver));
    count = 0;
    CHECK(zeDeviceGet(driver, &count, nullptr));
    devices.resize(count);
    CHECK(zeDeviceGet(driver, &count, devices.data()));
    device = devices.at(0);
    ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    CHECK(zeContextCreate(driver, &desc, &context));
  }
  ~Setup() { CHECK(zeContextDestroy(context)); }

  // `count` elements that host and device can access.
  template <class T>
  T* host(size_t count) const {
    ze_host_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void* memory = nullptr;
    CHECK(zeMemAllocHost(context, &desc, count * sizeof(T), alignof(T), &memory));
    return static_cast<T*>(memory);
  }

  // `count` elements in the memory of `where`, by default the first device.
  template <class T>
  T* local(size_t count, ze_device_handle_t where = nullptr) const {
    ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void* memory = nullptr;
    CHECK(zeMemAllocDevice(context, &desc, count * sizeof(T), alignof(T), where ? where : device, &memory));
    return static_cast<T*>(memory);
  }

  ze_command_queue_handle_t queue() const {
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_queue_handle_t made = nullptr;
    CHECK(zeCommandQueueCreate(context, device, &desc, &made));
    return made;
  }

  // examples/c/events.cpp shows what a pool is.
  ze_event_pool_handle_t pool(uint32_t count) const {
    ze_event_pool_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = count};
    ze_event_pool_handle_t made = nullptr;
    CHECK(zeEventPoolCreate(context, &desc, 0, nullptr, &made));
    return made;
  }

  // An event of the pool, for host and device.
  ze_event_handle_t event(ze_event_pool_handle_t pool, uint32_t index) const {
    ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
                            .index = index,
                            .signal = ZE_EVENT_SCOPE_FLAG_HOST,
                            .wait = ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t made = nullptr;
    CHECK(zeEventCreate(pool, &desc, &made));
    return made;
  }

  ze_command_list_handle_t list() const {
    ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_list_handle_t made = nullptr;
    CHECK(zeCommandListCreate(context, device, &desc, &made));
    return made;
  }

  // Closes the list, runs it once and waits.
  void run(ze_command_queue_handle_t queue, ze_command_list_handle_t list) const {
    CHECK(zeCommandListClose(list));
    CHECK(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr));
    CHECK(zeCommandQueueSynchronize(queue, kForever));
  }
};
