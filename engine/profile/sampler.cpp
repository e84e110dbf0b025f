#include "sampler.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "../layouts/gen/kernel.h"
#include "../layouts/gen/profile.h"
#include "../system/mutex.h"
#include "../system/new_file.h"
#include "../system/thread.h"
#include "thread_clock.h"

namespace anyzero {

alignas(64) unsigned char ignored_counters[kMostCounters * kCounterBytes];

namespace {

constexpr uint64_t kThreads = 256;
constexpr uint64_t kSamples = 1 << 17;  // 1 MiB per thread, two minutes at the default rate
constexpr uint64_t kCodeBytes = 64 << 20;
constexpr uint64_t kThreadsAt = kProfileHeadRoom;
constexpr uint64_t kCodesAt = kThreadsAt + kThreads * sizeof(ProfileThread);
constexpr uint64_t kCountsAt = kCodesAt + kCodeBytes;
constexpr uint64_t kCountBytes = 256 << 20;
constexpr uint64_t kSamplesAt = kCountsAt + kCountBytes;
constexpr uint64_t kBytes = kSamplesAt + kThreads * kSamples * sizeof(uint64_t);

// The signal handler may read it at any time, so the shared members are atomic. Never freed: a late signal may still arrive.
struct SampledThread {
  uint32_t profile;
  ProfileThread* head;
  uint64_t* ring;
  uint64_t written;
  std::atomic<uint64_t> code{0};
  std::atomic<uintptr_t> text{0};
  std::atomic<uint64_t> text_bytes{0};
  ThreadClock clock;
  std::vector<unsigned char*> counters;  // by the number of a code; the handler does not use them
};

thread_local constinit SampledThread* own __attribute__((tls_model("initial-exec"))) = nullptr;

struct Profile {
  Mutex mutex;
  uint32_t started = 0;
  uint32_t codes = 0;
  unsigned char* bytes = nullptr;
  bool full = false;  // the file system has no room for another thread
  ProfileOptions options{};
  SampledThread* threads = nullptr;

  ProfileHead& head() const { return *reinterpret_cast<ProfileHead*>(bytes); }
};

Profile& profile() {
  static Profile* made = [] {
    // A child inherits neither its parent's clocks nor its file.
    at_fork_child([] {
      profile_number.store(0);
      profile().bytes = nullptr;
      lanes_are_counted.store(false);
      own = nullptr;
    });
    return new Profile;
  }();
  return *made;
}

void take_sample(void* context) {
  SampledThread* of = own;
  if (!of || of->profile != profile_number.load(std::memory_order_relaxed)) return;
  const auto at = static_cast<uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  const uint64_t code = of->code.load(std::memory_order_relaxed);
  const uint64_t offset = at - of->text.load(std::memory_order_relaxed);
  const bool inside = offset < of->text_bytes.load(std::memory_order_relaxed);
  of->ring[of->written % kSamples] = code ? code << 32 | (inside ? offset : kProfileCalled) : 0;
  std::atomic_ref(of->head->samples).store(++of->written, std::memory_order_release);
  of->head->last_ns = thread_time_ns();
}

// Adds the calling thread to the profile; false if there is no room.
bool join_profile() {
  Profile& p = profile();
  std::lock_guard lock(p.mutex);
  const uint32_t number = profile_number.load();
  if (!number || p.full || p.head().threads >= kThreads) return false;
  const uint64_t index = p.head().threads;
  SampledThread& added = p.threads[index];
  added.head = reinterpret_cast<ProfileThread*>(p.bytes + kThreadsAt) + index;
  added.ring = reinterpret_cast<uint64_t*>(p.bytes + kSamplesAt) + index * kSamples;
  // The signal's handler cannot do anything about a page that is not there.
  p.full = !has_room(added.ring, kSamples * sizeof *added.ring);
  if (p.full) {
    std::fprintf(stderr, "anyzero: the profile lacks threads: %s\n", std::strerror(errno));
    return false;
  }
  added.head->id = static_cast<uint64_t>(syscall(SYS_gettid));
  added.head->first_ns = added.head->last_ns = thread_time_ns();
  prctl(PR_GET_NAME, added.head->name);
  added.profile = number;
  own = &added;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const bool perf = p.options.clock == SampleClock::Any && added.clock.start_perf(p.options.rate);
  if (!perf && !added.clock.start_timer(p.options.rate)) {
    own = nullptr;
    return false;
  }
  p.head().clock = static_cast<uint64_t>(perf ? ProfileClock::Perf : ProfileClock::Timer);
  p.head().threads = index + 1;
  return true;
}

}  // namespace

uint32_t add_sampled_code(uint32_t number, const SampledCode& code) {
  Profile& p = profile();
  std::lock_guard lock(p.mutex);
  if (number != profile_number.load()) return 0;
  ProfileHead& head = p.head();
  const std::string_view parts[] = {code.name, code.lines, code.counter_places, code.text};
  uint64_t bytes = sizeof(ProfileCode);
  for (std::string_view part : parts) bytes += part.size();
  bytes = (bytes + 7) / 8 * 8;
  if (bytes > kCodeBytes - head.code_bytes || code.text.size() >= kProfileCalled ||
      !has_room(p.bytes + kCodesAt + head.code_bytes, bytes)) {
    ++head.lost_codes;
    return 0;
  }
  const ProfileCode facts{code.name.size(), code.lines.size(), code.counter_places.size(), code.text.size(), code.lanes};
  unsigned char* at = p.bytes + kCodesAt + head.code_bytes;
  std::memcpy(at, &facts, sizeof facts);
  at += sizeof facts;
  for (std::string_view part : parts) {
    std::memcpy(at, part.data(), part.size());
    at += part.size();
  }
  std::atomic_ref(head.code_bytes).store(head.code_bytes + bytes, std::memory_order_release);
  return ++p.codes;
}

void enter_sampled_code(uint32_t number, std::string_view text) {
  const uint32_t made = profile_number.load(std::memory_order_relaxed);
  if ((!own || own->profile != made) && !join_profile()) return;
  // The handler must not pair one code's number with the address of another.
  own->code.store(0, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  own->text.store(reinterpret_cast<uintptr_t>(text.data()), std::memory_order_relaxed);
  own->text_bytes.store(text.size(), std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  own->code.store(number, std::memory_order_relaxed);
}

void leave_sampled_code() {
  if (own) own->code.store(0, std::memory_order_relaxed);
}

unsigned char* thread_counters(uint32_t number, uint32_t counters) {
  if (!own || !number || own->profile != profile_number.load(std::memory_order_relaxed)) return nullptr;
  if (number < own->counters.size() && own->counters[number]) return own->counters[number];
  Profile& p = profile();
  std::lock_guard lock(p.mutex);
  if (own->profile != profile_number.load()) return nullptr;
  ProfileHead& head = p.head();
  const uint64_t bytes = sizeof(ProfileCounts) + uint64_t{counters} * kCounterBytes;
  if (bytes > kCountBytes - head.count_bytes || !has_room(p.bytes + kCountsAt + head.count_bytes, bytes)) {
    ++head.lost_counts;
    return nullptr;
  }
  unsigned char* at = p.bytes + kCountsAt + head.count_bytes;
  const ProfileCounts counted{number, counters};
  std::memcpy(at, &counted, sizeof counted);
  std::atomic_ref(head.count_bytes).store(head.count_bytes + bytes, std::memory_order_release);
  if (own->counters.size() <= number) own->counters.resize(number + 1);
  return own->counters[number] = at + sizeof counted;
}

bool start_profile(const char* path, const ProfileOptions& options) {
  Profile& p = profile();
  std::lock_guard lock(p.mutex);
  if (const uint32_t number = profile_number.load(); number && number != kProfileAwaited) {
    errno = EBUSY;
    return false;
  }
  if (!install_sample_handler(take_sample)) {
    errno = EAGAIN;
    return false;
  }
  unsigned char* mapped = map_new_file(path, kBytes);
  if (!mapped) return false;
  if (!has_room(mapped, kCodesAt)) {
    const int why = errno;
    unlink(path);
    munmap(mapped, kBytes);
    errno = why;
    return false;
  }
  // A late signal may still write there, but the data is no longer read.
  if (p.bytes) madvise(p.bytes, kBytes, MADV_REMOVE);
  p.bytes = mapped;
  p.threads = new SampledThread[kThreads]();
  p.options = options;
  p.codes = 0;
  p.full = false;
  ProfileHead& head = p.head();
  head.process = static_cast<uint64_t>(getpid());
  head.rate = options.rate;
  head.sample_capacity = kSamples;
  head.thread_capacity = kThreads;
  head.code_capacity = kCodeBytes;
  head.count_capacity = kCountBytes;
  std::memcpy(head.magic, kProfileMagic.data(), sizeof head.magic);
  lanes_are_counted.store(options.lanes, std::memory_order_relaxed);
  profile_number.store(++p.started, std::memory_order_release);
  return true;
}

void stop_profile() {
  Profile& p = profile();
  std::lock_guard lock(p.mutex);
  if (const uint32_t number = profile_number.exchange(0); !number || number == kProfileAwaited) return;
  lanes_are_counted.store(false, std::memory_order_relaxed);
  for (uint64_t i = 0; i < p.head().threads; ++i) p.threads[i].clock.stop();
}

}  // namespace anyzero
