// Links between events of OpenCL and of Level Zero: the completion of one completes the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#define EXPORTED extern "C" __attribute__((visibility("default")))

// The functions that links need, filled by Python.
struct LinkFunctions {
  uint32_t (*signal)(void* event);
  uint32_t (*synchronize)(void* event, uint64_t timeout);
  int32_t (*wait_for_events)(uint32_t count, void* const* events);
  int32_t (*event_info)(void* event, uint32_t name, size_t size, void* value, size_t* size_needed);
  int32_t (*set_status)(void* event, int32_t status);
  int32_t (*release)(void* event);
};

struct Link;

// A queue of links that end in the order in which they were made, so that one thread serves all of them.
struct Line {
  std::deque<Link*> waiting;
  bool taken = false;  // a thread serves it
};

// Owned by its creator and by the thread that waits.
struct Link {
  static constexpr int32_t kPending = 1;  // OpenCL's own: complete is 0, and a failure is negative

  LinkFunctions call;
  std::shared_ptr<Line> line;
  void* opencl;
  void* level_zero;
  bool to_opencl;
  int32_t failure;
  std::function<void()> ended = {};  // called when neither event is used any more
  std::atomic<int32_t> status{kPending};
  std::atomic<bool> done{false};
  std::atomic<int> owners{2};

  void drop() {
    if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  void wait_and_pass_on();

 private:
  int32_t outcome_of_level_zero();
  int32_t outcome_of_opencl();
};

// Lets a thread serve the link, with the second reference; false if the system grants no thread.
bool see_to(Link* link);
