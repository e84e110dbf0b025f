// A thread's part of a recording: a ring of records that this thread alone writes.
//
// Inline throughout, and few instructions: a program that launches tiny kernels runs some hundred between two records.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

#include "../layouts/gen/trace.h"

namespace anyzero {

struct RecordingFile;

// The recording in progress, or nullptr.
inline constinit std::atomic<const RecordingFile*> current_recording{nullptr};

// A command as records name it: the queue's number and the position in the queue.
inline uint64_t command_number(uint64_t queue, uint64_t position) { return queue << kTracePositionBits | position; }

// Words of a TraceKind::More.
inline constexpr size_t kMoreValues = 3 + sizeof TraceRecord::values / sizeof *TraceRecord::values;

class Recorder {
 public:
  // The next record; it still has the contents of an older one. It counts after complete().
  TraceRecord& next() { return *next_; }
  void complete() {
    TraceRecord* next = ++next_;
    // This thread alone writes the count.
    std::atomic_ref(thread_->records).store(thread_->records + 1, std::memory_order_release);
    // The ring is larger than the caches.
    __builtin_prefetch(next + kAhead, 1);
    if (next == stop_) [[unlikely]]
      next_part();
  }

  bool writes_to(const RecordingFile* file) const { return file_ == file; }

  // Sets the first command that the thread's current call has submitted, and returns the previous one.
  uint64_t exchange_submitted(uint64_t command) { return std::exchange(submitted_, command); }

  // Records that the thread's next calls come from this line, encoded as in recording.h, unless the last such record says the same.
  void record_line(uint64_t line) {
    constexpr uint64_t kAgain = 1024;  // newer records may have replaced the last one
    if (line != line_ || (line && thread_->records - line_said_ >= kAgain)) [[unlikely]]
      add_line(line);
  }
  // Records kMoreValues words of the thread's next call that its own record has no room for.
  void add_more(const uint64_t* words) {
    TraceRecord& record = next();
    record.start = words[0];
    record.end = words[1];
    record.kind = static_cast<uint8_t>(TraceKind::More);
    record.command = words[2];
    for (size_t i = 3; i < kMoreValues; ++i) record.values[i - 3] = words[i];
    complete();
  }
  // Whether the recording has the engine and device of a queue. `known_in`: the last recording that got them.
  bool knows(const RecordingFile* known_in) const { return known_in == file_; }
  void describe_queue(const RecordingFile*& known_in, uint64_t number, uint64_t engine, const void* device) const;

  // The offset of `name` among the recording's texts; a new text is added. Cached by `object`, which has the name.
  uint64_t place_of_name(const void* object, std::string_view name);
  // The same for an object that has a number which no other ever gets; from 1.
  uint64_t place_of_name(uint64_t number, std::string_view name);
  // The same, or 0 if that is not cached.
  uint64_t known_place(uint64_t number) const {
    const Numbered& known = numbered_[number % kKnown];
    return known.number == number ? known.at : 0;
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
  static constexpr uint64_t kPart = 1 << 12;  // records between two calibrations
  static constexpr uint64_t kAhead = 4;       // records, for the prefetch
  static constexpr size_t kKnown = 64;

  static size_t slot_of(const void* object) {
    const auto address = reinterpret_cast<uintptr_t>(object);
    return (address / 64 ^ address / 8) % kKnown;
  }
  void add_line(uint64_t line);
  void next_part();
  void begin_part();

  const RecordingFile* file_;
  TraceThread* thread_;
  TraceRecord* next_;
  TraceRecord* stop_;  // the end of the ring's part that is being written
  uint64_t submitted_;
  uint64_t line_;       // of the last line record
  uint64_t line_said_;  // records before it
  TraceRecord* ring_;
  uint64_t capacity_;
  TraceThread* full_;    // the thread in the file, if that has no room for more: records are written to where nobody reads them
  TraceThread nowhere_;  // and counted here
  Known known_[kKnown];
  Numbered numbered_[kKnown];
};

// The calling thread's. A pointer only: a library that is loaded late gets little static thread-local memory.
extern constinit thread_local Recorder* own_recorder __attribute__((tls_model("initial-exec"), visibility("hidden")));

Recorder* join_recording();

// True if that is the calling thread's recorder of the recording in progress.
inline bool is_ready(const Recorder* mine) { return mine && mine->writes_to(current_recording.load(std::memory_order_acquire)); }

// The calling thread's recorder; nullptr if no recording is in progress, or it has no room for another thread.
inline Recorder* recorder() {
  Recorder* mine = own_recorder;
  if (is_ready(mine)) [[likely]]
    return mine;
  return join_recording();
}

}  // namespace anyzero
