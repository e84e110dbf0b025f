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

// Number of the current profile; 0 for none. In a forked child whose profile begins with its first kernel, kProfileAwaited until
// then.
inline constinit std::atomic<uint32_t> profile_number{0};
inline constexpr uint32_t kProfileAwaited = UINT32_MAX;
inline bool is_profiled() { return profile_number.load(std::memory_order_relaxed); }

// Kernel code as stored in a profile.
struct SampledCode {
  std::string_view name, lines, counter_places;
  std::string_view text;  // the machine code at its run-time address
  uint32_t lanes;
};

// The number of a code in the given profile; 0 if there is no room, or if another profile has started.
uint32_t add_sampled_code(uint32_t profile, const SampledCode& code);

// The calling thread starts to run this code, or has left it. A thread's clock starts with its first code.
void enter_sampled_code(uint32_t number, std::string_view text);
void leave_sampled_code();

// The counters of the calling thread for a code of the current profile, in the profile's file; nullptr if there is no room. The
// code has been entered.
unsigned char* thread_counters(uint32_t number, uint32_t counters);
// What kernels add to whose counts nobody reads: modules that were built during a profile may run after it.
extern unsigned char ignored_counters[];

// True if kernels that are built now are to count their lanes.
inline constinit std::atomic<bool> lanes_are_counted{false};
// The build flag for that; empty otherwise.
inline std::string_view profile_flags() { return lanes_are_counted.load(std::memory_order_relaxed) ? " -anyzero-count-lanes" : ""; }

enum class SampleClock { Any, Timer };
struct ProfileOptions {
  uint64_t rate;  // samples per second of processor time
  SampleClock clock = SampleClock::Any;
  bool lanes = false;  // kernels that are built meanwhile count their active lanes
};
// Starts a profile of this process into a new file. False with errno set.
bool start_profile(const char* path, const ProfileOptions& options);
void stop_profile();
// Begins the profile that ANYZERO_SAMPLES asks for.
void sample_as_told();

}  // namespace anyzero
