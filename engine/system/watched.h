// Whether anything looks at the calls of the API: one flag for all, so that a call that nothing looks at costs one test.
#pragma once

#include <atomic>
#include <cstdint>

namespace anyzero {

inline constexpr uint32_t kRecorded = 1;  // a recording is made
inline constexpr uint32_t kChecked = 2;   // check mode

inline constinit std::atomic<uint32_t> watched{0};

// True while a queue's thread runs a function of the program: calls from there are no calls of a thread that the program could wait
// for.
inline constinit thread_local bool in_host_function __attribute__((tls_model("initial-exec"))) = false;

inline bool is_watched() { return watched.load(std::memory_order_relaxed); }

inline void watch(uint32_t how) { watched.fetch_or(how); }
inline void unwatch(uint32_t how) { watched.fetch_and(~how); }

}  // namespace anyzero
