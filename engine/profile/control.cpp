// Start and end of profiles: by ANYZERO_SAMPLES from the start of a process, or by the Python API.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../abi/gen/ze_api.h"
#include "../system/new_file.h"
#include "../system/thread.h"
#include "sampler.h"

namespace anyzero {

namespace {

constexpr uint64_t kMostSamples = 20'000;

// "RATE:CLOCK:LANES:FOLDER", as `anyzero profile` writes it; the folder, or nullptr.
const char* read_options(ProfileOptions& to) {
  // Ignored in programs with more privileges than their caller.
  const char* wanted = secure_getenv("ANYZERO_SAMPLES");
  if (!wanted || !*wanted) return nullptr;
  unsigned rate = 0;
  char clock[8] = "", lanes[8] = "";
  int at = 0;
  if (std::sscanf(wanted, "%u:%7[a-z]:%7[a-z]:%n", &rate, clock, lanes, &at) != 3 || !at || rate < 1 || rate > kMostSamples)
    return nullptr;
  to = {.rate = rate,
        .clock = std::string_view(clock) == "timer" ? SampleClock::Timer : SampleClock::Any,
        .lanes = std::string_view(lanes) == "lanes"};
  return wanted + at;
}

// A forked child has a profile of its own. It begins with the first kernel: most children run none.
void await_kernels() {
  ProfileOptions options{};
  if (!read_options(options)) return;
  lanes_are_counted.store(options.lanes);
  profile_number.store(kProfileAwaited);
}

[[gnu::constructor]] void begin_sampling() {
  sample_as_told();
  // This handler comes behind the sampler's, which ends the parent's profile there.
  if (is_profiled()) at_fork_child(await_kernels);
}

}  // namespace

void sample_as_told() {
  ProfileOptions options{};
  const char* folder = read_options(options);
  if (!folder) return;
  if (make_own_file(folder, "azprofile", [&](const char* path) { return start_profile(path, options); })) return;
  if (errno == EBUSY) return;  // another thread has begun it
  std::fprintf(stderr, "anyzero: no profile in %s: %s\n", folder, std::strerror(errno));
  lanes_are_counted.store(false);
  uint32_t awaited = kProfileAwaited;
  profile_number.compare_exchange_strong(awaited, 0);
}

extern "C" {

// Starts a profile into a new file. Returns 0 or errno.
ZE_APIEXPORT int zexProfileStart(const char* path, uint64_t rate, int only_timer, int lanes) {
  if (!path || rate < 1 || rate > kMostSamples) return EINVAL;
  if (is_profiled()) return EBUSY;
  const ProfileOptions options{
      .rate = rate, .clock = only_timer ? SampleClock::Timer : SampleClock::Any, .lanes = static_cast<bool>(lanes)};
  return start_profile(path, options) ? 0 : errno;
}

ZE_APIEXPORT void zexProfileStop() { stop_profile(); }

}  // extern "C"

}  // namespace anyzero
