// Tracers: callbacks before and after calls of the API, as zelTracerCreate makes them.
#pragma once

#include <array>
#include <bitset>
#include <memory>
#include <vector>

#include "function_index.h"
#include "loader_api.h"

namespace anyzero::loader {

struct Callbacks {
  std::array<zel_callback_t, kFunctions> before{}, after{};
  zel_tracer_handle_t owner = nullptr;
  void* user = nullptr;
};

// The callbacks of all enabled tracers. Immutable: enabling or disabling a tracer creates another one.
struct ActiveTracers {
  std::vector<std::shared_ptr<const Callbacks>> tracers;  // in the order in which they were enabled
  std::bitset<kFunctions> called;                         // the functions that any of them has a callback for
};

// Holds the callbacks of the active tracers during a call. Empty inside of a traced call, so that callbacks may call the API.
// Threading: each thread has its own; tracers may be enabled or disabled meanwhile.
class HeldTracers {
 public:
  explicit HeldTracers(FunctionIndex function);
  ~HeldTracers() {
    if (held_) release();
  }
  HeldTracers(const HeldTracers&) = delete;
  HeldTracers& operator=(const HeldTracers&) = delete;

  explicit operator bool() const { return held_; }
  const ActiveTracers* operator->() const { return held_; }

 private:
  void release();

  const ActiveTracers* held_ = nullptr;
};

// The implementation of zelTracer... and zetTracerExp.... Threading: any thread.
ze_result_t create_tracer(void* user, zel_tracer_handle_t* created);
// Waits for calls that will still call the tracer's callbacks.
ze_result_t destroy_tracer(zel_tracer_handle_t tracer);
ze_result_t set_callbacks(zel_tracer_handle_t tracer, zel_tracer_reg_t when, const ze_callbacks_t* callbacks);
ze_result_t register_callback(zel_tracer_handle_t tracer, zel_tracer_reg_t when, FunctionIndex function, zel_callback_t callback);
ze_result_t reset_callbacks(zel_tracer_handle_t tracer);
ze_result_t enable_tracer(zel_tracer_handle_t tracer, bool enabled);

}  // namespace anyzero::loader
