// Statistical profiling of kernels: a clock interrupts each thread that runs kernels, and a signal handler stores the position in
// the kernel's code.
//
// The clock is perf_event_open's if the system permits it, else a timer of the thread's processor time. The handler writes to the
// thread's own ring in a mapped file: no lock, no allocation. Without a profile, a run of work-groups reads one number.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace anyzero {

// Number of the current profile; 0 for none.
inline constinit std::atomic<uint32_t> profile_number{0};
inline bool is_profiled() { return profile_number.load(std::memory_order_relaxed); }

// Kernel code as stored in a profile.
struct SampledCode {
  std::string_view name, lines;
  std::string_view text;  // the machine code at its run-time address
  uint32_t lanes;
};

// The number of a code in the given profile; 0 if there is no room, or if another profile has started.
uint32_t add_sampled_code(uint32_t profile, const SampledCode& code);

// The calling thread starts to run this code, or has left it. A thread's clock starts with its first code.
void enter_sampled_code(uint32_t number, std::string_view text);
void leave_sampled_code();

enum class SampleClock { Any, Timer };
// Starts a profile of this process into a new file, with `rate` samples per second of processor time. False with errno set.
bool start_profile(const char* path, uint64_t rate, SampleClock clock);
void stop_profile();

}  // namespace anyzero
