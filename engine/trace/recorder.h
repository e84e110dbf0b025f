// A thread's part of a recording: a ring of records that this thread alone writes.
//
// All of it is inline: a record costs about as much as the two reads of the counter that it holds, and calls would double that.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

#include "../layouts/gen/trace.h"
#include "../system/thread.h"

namespace anyzero {

struct RecordingFile;

// The recording that is made, or nullptr.
inline constinit std::atomic<const RecordingFile*> current_recording{nullptr};

// The queue and the place in it that a thread gave a command to last.
struct Submission {
  uint64_t queue = 0;
  uint64_t position = 0;
};

// Store by store: the compiler makes `rep stos` of an assignment, which takes 20 ns to begin.
inline void clear(TraceRecord& record) {
  typedef uint64_t Pair __attribute__((vector_size(16), may_alias));
  Pair* pairs = reinterpret_cast<Pair*>(&record);
  [&]<size_t... I>(std::index_sequence<I...>) {
    ((pairs[I] = Pair{}), ...);
  }(std::make_index_sequence<sizeof record / sizeof(Pair)>{});
}

class Recorder {
 public:
  // The next record, to be filled from whatever it holds. It counts once it is complete.
  TraceRecord& next() { return ring_[written_ & mask_]; }
  void complete() {
    std::atomic_ref(thread_->records).store(++written_, std::memory_order_release);
    // The ring is larger than the caches: fetch the lines for the records to come while the program does something else.
    const char* ahead = reinterpret_cast<const char*>(&ring_[(written_ + kAhead) & mask_]);
    __builtin_prefetch(ahead, 1);
    __builtin_prefetch(ahead + 64, 1);
    if (written_ % kPart == 0) [[unlikely]]
      calibrate();
  }

  // A forked child has its parent's recorders, and must not write into its parent's recording.
  bool is_of_this_process() const { return generation_ == fork_generation.load(std::memory_order_relaxed); }
  bool writes_to(const RecordingFile* file) const { return file_ == file; }

  // Of the call that the thread is in.
  Submission exchange(Submission submission) { return std::exchange(submission_, submission); }

  // Says that the thread's next calls come from this line, as source_lines.h encodes it, unless it was said already.
  void record_line(uint64_t line);
  // Where a text is among those of the recording; it is added if it is new. `object` has the name, and the answer is remembered.
  uint64_t place_of_name(const void* object, std::string_view name);
  // The same for a literal.
  uint64_t place_of_literal(const char* text) {
    const Known& known = known_[slot_of(text)];
    return known.object == text ? known.at : remember(text, text);
  }

 private:
  friend struct RecordingFile;

  struct Known {
    const void* object;
    uint64_t at;
  };
  static constexpr uint64_t kPart = 1 << 10;  // records between two looks at the clock
  static constexpr uint64_t kAhead = 2;       // records
  static constexpr size_t kKnown = 64;

  static size_t slot_of(const void* object) {
    const auto address = reinterpret_cast<uintptr_t>(object);
    return (address / 64 ^ address / 8) % kKnown;
  }
  uint64_t remember(const void* object, std::string_view text);
  void calibrate() const;

  const RecordingFile* file_;
  TraceThread* thread_;
  TraceRecord* ring_;
  uint64_t mask_;
  uint64_t written_;
  uint32_t generation_;  // of the process that the recording belongs to
  Submission submission_;
  uint64_t line_;       // that was recorded last
  uint64_t line_said_;  // the number of its record
  Known known_[kKnown];
};

// Of the calling thread. Room for a pointer is all that a library which is loaded late may ask for in each thread.
extern constinit thread_local Recorder* own_recorder __attribute__((tls_model("initial-exec"), visibility("hidden")));

Recorder* join_recording();

// The calling thread's; nullptr where there is no recording any more, or no room for another thread in it.
inline Recorder* recorder() {
  Recorder* mine = own_recorder;
  if (mine && mine->writes_to(current_recording.load(std::memory_order_acquire)) && mine->is_of_this_process()) [[likely]]
    return mine;
  return join_recording();
}

}  // namespace anyzero
