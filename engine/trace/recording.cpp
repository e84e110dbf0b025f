#include "recording.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "../abi/gen/traced.h"
#include "../system/clock.h"
#include "../system/mutex.h"
#include "../system/new_file.h"
#include "ring_pages.h"

namespace anyzero {

namespace {

constexpr uint64_t kThreads = 256;
constexpr uint32_t kQueues = 1 << 16;
constexpr uint64_t kRecords = 1 << 17;  // 8 MiB for each thread that records
constexpr uint64_t kTextBytes = 1 << kFunctionBits;
constexpr uint64_t kThreadsAt = kTraceHeadRoom;
constexpr uint64_t kQueuesAt = kThreadsAt + kThreads * sizeof(TraceThread);
constexpr uint64_t kTextsAt = kQueuesAt + kQueues * sizeof(TraceQueue);
constexpr uint64_t kRecordsAt = kTextsAt + kTextBytes;

// For records that the file system has no room for. Threads write here at the same time; nobody reads it.
alignas(64) TraceRecord nowhere[4096];

// A point in time, by the counter and by the clock.
struct Moment {
  uint64_t tick, ns;
};

// The closest of five pairs of reads: a thread that is preempted between the two would distort the rate.
Moment moment() {
  Moment best{};
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const uint64_t before = ticks(), ns = now_ns(), after = ticks();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + least / 2, ns};
  }
  return best;
}

}  // namespace

// One recording. Neither it nor its mapping is ever freed: a thread may be writing a record when the recording ends.
struct RecordingFile {
  unsigned char* bytes;
  uint64_t records;     // of a ring
  uint32_t generation;  // of the process that it belongs to: a forked child does not write into it
  Recorder* recorders;  // one for each thread, never freed either
  uint64_t began;       // by the clock, at the head's first tick

  uint64_t bytes_in_all() const { return kRecordsAt + kThreads * records * sizeof(TraceRecord); }
  TraceHead& head() const { return *reinterpret_cast<TraceHead*>(bytes); }
  TraceThread& thread(uint64_t index) const { return reinterpret_cast<TraceThread*>(bytes + kThreadsAt)[index]; }
  TraceQueue& queue(uint64_t number) const { return reinterpret_cast<TraceQueue*>(bytes + kQueuesAt)[number % kQueues]; }
  TraceRecord* ring(uint64_t index) const { return reinterpret_cast<TraceRecord*>(bytes + kRecordsAt) + index * records; }
  // Stores the current counter and clock, from which a reader computes the rate.
  void calibrate() const {
    const Moment now = moment();
    std::atomic_ref(head().last_tick).store(now.tick, std::memory_order_relaxed);
    std::atomic_ref(head().nanoseconds).store(now.ns - began, std::memory_order_relaxed);
  }
  Recorder* add_thread() const;
  const char* text(uint64_t place) const { return reinterpret_cast<const char*>(bytes + kTextsAt) + place; }
};

namespace {

uint32_t generation() { return fork_generation.load(std::memory_order_relaxed); }

struct Texts {
  std::map<std::string, uint64_t, std::less<>> places;
};
Guarded<Texts>& texts() {
  static auto* texts = new Guarded<Texts>;
  return *texts;
}

void add_text(const RecordingFile& file, Texts& open, std::string_view text, uint64_t* found) {
  TraceHead& head = file.head();
  const uint64_t at = head.texts;
  *found = 0;  // the first text stands for those that find no room
  if (text.size() + 1 > kTextBytes - at) return;
  char* to = const_cast<char*>(file.text(at));
  if (!has_room(to, text.size() + 1)) return;
  std::memcpy(to, text.data(), text.size());
  to[text.size()] = 0;
  head.texts = at + text.size() + 1;
  open.places.emplace(text, at);
  *found = at;
}

uint64_t wall_clock_ns() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

}  // namespace

constinit thread_local Recorder* own_recorder = nullptr;

Recorder* RecordingFile::add_thread() const {
  const uint64_t index = std::atomic_ref(head().threads).fetch_add(1, std::memory_order_relaxed);
  if (index >= kThreads) return nullptr;
  Recorder& added = recorders[index];
  added.file_ = this;
  added.thread_ = &thread(index);
  added.ring_ = added.next_ = ring(index);
  added.capacity_ = records;
  added.thread_->id = static_cast<uint64_t>(syscall(SYS_gettid));
  prctl(PR_GET_NAME, added.thread_->name);
  added.begin_part();
  return &added;
}

Recorder* join_recording() {
  const RecordingFile* file = current_recording.load(std::memory_order_acquire);
  if (!file) return nullptr;
  if (file->generation != generation()) {
    stop_recording();
    record_as_told();
    return nullptr;
  }
  Recorder* added = file->add_thread();
  if (added) own_recorder = added;
  return added;
}

// Calibrates, and has memory provided for the part behind the one that begins.
void Recorder::next_part() {
  file_->calibrate();
  if (next_ == ring_ + capacity_) next_ = ring_;
  begin_part();
}

void Recorder::begin_part() {
  static_assert(std::size(nowhere) == kPart);
  stop_ = std::min(next_ + kPart, ring_ + capacity_);
  if (full_) {
    std::atomic_ref(full_->dropped).store(thread_->records, std::memory_order_relaxed);
  } else if (thread_->records < capacity_ && !has_room(next_, static_cast<size_t>(stop_ - next_) * sizeof *next_)) {
    full_ = std::exchange(thread_, &nowhere_);
    std::atomic_ref(full_->dropped).store(1, std::memory_order_relaxed);
    ring_ = next_ = nowhere;
    capacity_ = kPart;
    stop_ = ring_ + capacity_;
  } else if (thread_->records + kPart < capacity_) {
    provide_pages(stop_, kPart * sizeof *ring_);
  }
}

void Recorder::describe_queue(const RecordingFile*& known_in, uint64_t number, uint64_t engine, const void* device) const {
  known_in = file_;
  TraceQueue& queue = file_->queue(number);
  if (!has_room(&queue, sizeof queue)) return;
  queue = {0, engine, reinterpret_cast<uintptr_t>(device), 0};
  std::atomic_ref(queue.number).store(number, std::memory_order_release);
}

void Recorder::add_line(uint64_t line) {
  line_ = line;
  line_said_ = thread_->records;
  TraceRecord& record = next();
  record = {};
  record.start = record.end = ticks();
  record.kind = static_cast<uint8_t>(TraceKind::Line);
  record.what = static_cast<uint32_t>(line >> (kFunctionBits + kLineBits));
  record.values[static_cast<uint32_t>(TraceLineValue::Line)] = line & ((1u << kLineBits) - 1);
  record.values[static_cast<uint32_t>(TraceLineValue::Function)] = line >> kLineBits & ((1u << kFunctionBits) - 1);
  complete();
}

uint64_t Recorder::place_of_name(const void* object, std::string_view name) {
  Known& known = known_[slot_of(object)];
  // Another object may have the same address by now.
  if (known.object != object || name != file_->text(known.at)) known = {object, place_of_text(name)};
  return known.at;
}

uint64_t Recorder::place_of_name(uint64_t number, std::string_view name) {
  Numbered& known = numbered_[number % kKnown];
  if (known.number != number) known = {number, place_of_text(name)};
  return known.at;
}

uint64_t place_of_text(std::string_view text) {
  const RecordingFile* file = current_recording.load(std::memory_order_acquire);
  if (!file) return 0;
  auto open = texts().open();
  if (auto found = open->places.find(text); found != open->places.end()) return found->second;
  uint64_t added;
  add_text(*file, *open, text, &added);
  return added;
}

bool start_recording(const char* path, uint64_t records) {
  static Mutex starting;
  std::lock_guard lock(starting);
  static const RecordingFile* last = nullptr;
  if (is_recording()) {
    errno = EBUSY;
    return false;
  }
  // A recorder belongs to its process. Forks of this thread are enough: a child has no other.
  static const bool forgotten = (at_fork_child([] { own_recorder = nullptr; }), true);
  static_cast<void>(forgotten);
  const uint64_t bytes = kRecordsAt + kThreads * records * sizeof(TraceRecord);
  unsigned char* mapped = map_new_file(path, bytes);
  if (!mapped) return false;
  size_t signatures = 0;
  for (const TracedFunction& function : traced_functions) signatures += std::strlen(function.signature) + 1;
  if (!has_room(mapped, kQueuesAt) || !has_room(mapped + kTextsAt, signatures)) {
    const int why = errno;
    unlink(path);
    munmap(mapped, bytes);
    errno = why;
    return false;
  }
  // The previous recording has no reader left, unless it is the parent's; a late writer may still write to it.
  if (last && last->generation == generation()) madvise(last->bytes, last->bytes_in_all(), MADV_REMOVE);
  auto* file = new RecordingFile{mapped, records, generation(), new Recorder[kThreads](), 0};
  TraceHead& head = file->head();
  head.process = static_cast<uint64_t>(getpid());
  head.record_capacity = records;
  head.thread_capacity = kThreads;
  head.queue_capacity = kQueues;
  head.text_bytes = kTextBytes;
  {
    auto open = texts().open();
    open->places.clear();
    uint64_t at;
    for (const TracedFunction& function : traced_functions) add_text(*file, *open, function.signature, &at);
    head.functions = static_cast<uint32_t>(traced_functions.size());
  }
  const Moment now = moment();
  head.first_tick = now.tick;
  head.wall_clock = wall_clock_ns();
  file->began = now.ns;
  constexpr uint64_t kFirstLook = 100'000;  // long enough for the rate to be known to a thousandth, should the process end soon
  while (now_ns() - file->began < kFirstLook) continue;
  file->calibrate();
  std::memcpy(head.magic, kTraceMagic.data(), sizeof head.magic);
  last = file;
  current_recording.store(file, std::memory_order_release);
  watch(kRecorded);
  return true;
}

void record_as_told() {
  // The variable of a program with more rights than its caller is not obeyed.
  const char* folder = secure_getenv("ANYZERO_TRACE");
  if (!folder || !*folder) return;
  const bool began =
      make_own_file(folder, "aztrace", [](const char* path) { return start_recording(path, kRecords); }) || errno == EBUSY;
  if (!began) std::fprintf(stderr, "anyzero: no recording in %s: %s\n", folder, std::strerror(errno));
}

void stop_recording() {
  unwatch(kRecorded);
  const RecordingFile* file = current_recording.exchange(nullptr);
  if (file && file->generation == generation()) file->calibrate();
}

}  // namespace anyzero
