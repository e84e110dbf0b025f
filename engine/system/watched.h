// Observers of API calls (recordings, check mode): one flag word for all, so that a call without observers costs one test.
#pragma once

#include <atomic>
#include <cstdint>

namespace anyzero {

inline constexpr uint32_t kRecorded = 1;  // a recording is made
inline constexpr uint32_t kChecked = 2;   // check mode
inline constexpr uint32_t kNoted = 4;     // its checks that remember every command

inline constinit std::atomic<uint32_t> watched{0};

// The queue whose host function the thread runs; 0 for none. Calls of a host function are not those of a thread that the program
// could wait for.
inline constinit thread_local uint64_t host_function_queue __attribute__((tls_model("initial-exec"))) = 0;

inline bool is_watched() { return watched.load(std::memory_order_relaxed); }

inline void watch(uint32_t how) { watched.fetch_or(how); }
inline void unwatch(uint32_t how) { watched.fetch_and(~how); }

}  // namespace anyzero
