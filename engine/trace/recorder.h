// A thread's part of a recording: a ring of records that this thread alone writes.
//
// Inline throughout: a record costs about twice as much as its two reads of the counter, and function calls would add to that.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

#include "../layouts/gen/trace.h"
#include "../system/thread.h"

namespace anyzero {

struct RecordingFile;

// The recording in progress, or nullptr.
inline constinit std::atomic<const RecordingFile*> current_recording{nullptr};

// A thread's last submission: the queue, and the command's position in it.
struct Submission {
  uint64_t queue = 0;
  uint64_t position = 0;
};

// Explicit stores: the compiler turns an assignment into `rep stos`, which takes 20 ns to start.
inline void clear(TraceRecord& record) {
  typedef uint64_t Pair __attribute__((vector_size(16), may_alias));
  Pair* pairs = reinterpret_cast<Pair*>(&record);
  [&]<size_t... I>(std::index_sequence<I...>) {
    ((pairs[I] = Pair{}), ...);
  }(std::make_index_sequence<sizeof record / sizeof(Pair)>{});
}

class Recorder {
 public:
  // The next record; it still has the contents of an older one. It counts after complete().
  TraceRecord& next() { return ring_[written_ & mask_]; }
  void complete() {
    std::atomic_ref(thread_->records).store(++written_, std::memory_order_release);
    // The ring is larger than the caches: prefetch the cache lines of later records.
    const char* ahead = reinterpret_cast<const char*>(&ring_[(written_ + kAhead) & mask_]);
    __builtin_prefetch(ahead, 1);
    __builtin_prefetch(ahead + 64, 1);
    if (written_ % kPart == 0) [[unlikely]]
      next_part();
  }

  // A forked child has its parent's recorders, and must not write into its parent's recording.
  bool is_of_this_process() const { return generation_ == fork_generation.load(std::memory_order_relaxed); }
  bool writes_to(const RecordingFile* file) const { return file_ == file; }

  // Sets the submission of the thread's current call, and returns the previous one.
  Submission exchange(Submission submission) {
    // Word by word: the processor waits for stores of two words before a load of both.
    return {std::exchange(submission_.queue, submission.queue), std::exchange(submission_.position, submission.position)};
  }

  // Records that the thread's next calls come from this line, encoded as in recording.h, unless the last such record says the same.
  void record_line(uint64_t line) {
    constexpr uint64_t kAgain = 1024;  // newer records may have replaced the last one
    if (line != line_ || (line && written_ - line_said_ >= kAgain)) [[unlikely]]
      add_line(line);
  }
  // The offset of `name` among the recording's texts; a new text is added. Cached by `object`, which has the name.
  uint64_t place_of_name(const void* object, std::string_view name);
  // The same for a literal.
  uint64_t place_of_literal(const char* text) {
    const Known& known = known_[slot_of(text)];
    return known.object == text ? known.at : remember(text, text);
  }
  // The same for an object that has a number which no other ever gets; from 1.
  uint64_t place_of_name(uint64_t number, std::string_view name) {
    const Numbered& known = numbered_[number % kKnown];
    return known.number == number ? known.at : remember(number, name);
  }

 private:
  friend struct RecordingFile;

  struct Known {
    const void* object;
    uint64_t at;
  };
  struct Numbered {
    uint64_t number, at;
  };
  static constexpr uint64_t kPart = 1 << 11;  // records between two calibrations
  static constexpr uint64_t kAhead = 2;       // records, for the prefetch
  static constexpr size_t kKnown = 64;

  static size_t slot_of(const void* object) {
    const auto address = reinterpret_cast<uintptr_t>(object);
    return (address / 64 ^ address / 8) % kKnown;
  }
  void add_line(uint64_t line);
  uint64_t remember(const void* object, std::string_view text);
  uint64_t remember(uint64_t number, std::string_view text);
  void next_part() const;

  const RecordingFile* file_;
  TraceThread* thread_;
  TraceRecord* ring_;
  uint64_t mask_;
  uint64_t written_;
  uint32_t generation_;  // of the process that the recording belongs to
  Submission submission_;
  uint64_t line_;       // of the last line record
  uint64_t line_said_;  // index of that record
  Known known_[kKnown];
  Numbered numbered_[kKnown];
};

// The calling thread's. A pointer only: a library that is loaded late gets little static thread-local memory.
extern constinit thread_local Recorder* own_recorder __attribute__((tls_model("initial-exec"), visibility("hidden")));

Recorder* join_recording();

// The calling thread's recorder; nullptr if no recording is in progress, or it has no room for another thread.
inline Recorder* recorder() {
  Recorder* mine = own_recorder;
  if (mine && mine->writes_to(current_recording.load(std::memory_order_acquire)) && mine->is_of_this_process()) [[likely]]
    return mine;
  return join_recording();
}

}  // namespace anyzero
