// Samples of where kernels spend their time: a clock for each thread that runs kernels interrupts it now and then, and a signal
// handler stores where in the kernel's code it was.
//
// The clock is perf_event_open's where the system permits it, else a timer of the thread's processor time. The handler writes into
// a ring of the thread's own in a mapped file: no lock, no allocation. Where nothing is profiled, a run of groups reads one number.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace anyzero {

// Of the profile that is made; 0 for none.
inline constinit std::atomic<uint32_t> profile_number{0};
inline bool is_profiled() { return profile_number.load(std::memory_order_relaxed); }

// What a profile keeps of the code of a kernel.
struct SampledCode {
  std::string_view name, lines;
  std::string_view text;  // the machine code, where it lies
  uint32_t lanes;
};

// The number of a code in the profile of this number; 0 where there is no room, or another profile is made by now.
uint32_t add_sampled_code(uint32_t profile, const SampledCode& code);

// The calling thread begins to run this code, or has left it. A thread's clock starts with its first code.
void enter_sampled_code(uint32_t number, std::string_view text);
void leave_sampled_code();

enum class SampleClock { Any, Timer };
// A profile of this process into a new file, with so many samples for each second that a thread works. False with errno set.
bool start_profile(const char* path, uint64_t rate, SampleClock clock);
void stop_profile();

}  // namespace anyzero
