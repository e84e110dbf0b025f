// Records of API calls.
#pragma once

#include <cstring>
#include <string_view>
#include <type_traits>

#include "../abi/gen/ze_api.h"
#include "recording.h"
#include "source_lines.h"

namespace anyzero {

// An argument or a result as a 64-bit word; of a structure that is passed by value, its first 8 bytes.
template <class T>
inline uint64_t as_word(const T& value) {
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value < sizeof word ? sizeof value : sizeof word);
  return word;
}

// The handle or pointer that a successful call returned through its argument; 0 if the call failed.
template <class T>
inline uint64_t received(ze_result_t result, T* const* at) {
  return result == ZE_RESULT_SUCCESS && at ? as_word(*at) : 0;
}

// The record of one call. A nested call, as from a callback, has a record of its own.
class CallRecord {
 public:
  // `caller` is the return address in the program.
  [[gnu::always_inline]] explicit CallRecord(uint32_t function, const void* caller = nullptr)
      : function_(function),
        recorder_(is_recording() ? recorder() : nullptr),
        outer_(recorder_ ? recorder_->exchange({}) : Submission{}),
        start_(!recorder_         ? CallStart{}
               : lines_are_read() ? start_of_call(caller)
                                  : CallStart{0, ticks()}) {}
  CallRecord(const CallRecord&) = delete;
  CallRecord& operator=(const CallRecord&) = delete;

  // The words go to the record from where the caller has them: as arguments of a function they would be moved twice.
  template <class... Words>
  [[gnu::always_inline]] void returned(uint64_t result, Words... words) {
    if (!recorder_) return;
    TraceRecord* record = begin(TraceKind::Call, result);
    if (!record) return;
    record->what = function_;
    constexpr size_t most = sizeof record->values / sizeof *record->values;
    size_t next = 0;
    (static_cast<void>(next < most && (record->values[next] = words, ++next)), ...);
    recorder_->complete();
  }

  // The same for a function of an extension, which has a name instead of a number.
  void returned_from(std::string_view function, uint64_t result) {
    TraceRecord* record = begin(TraceKind::Extension, result);
    if (!record) return;
    record->what = static_cast<uint32_t>(place_of_text(function));
    recorder_->complete();
  }

 private:
  [[gnu::noinline]] TraceRecord* begin(TraceKind kind, uint64_t result) const {
    if (!recorder_ || !recorder_->is_of_this_process()) return nullptr;
    const uint64_t end = ticks();
    const Submission submission = recorder_->exchange(outer_);
    if (lines_are_read()) recorder_->record_line(start_.line);
    TraceRecord* record = &recorder_->next();
    record->start = start_.tick;
    record->end = end;
    record->kind = static_cast<uint32_t>(kind);
    record->result = result;
    record->queue = submission.queue;
    record->position = submission.position;
    return record;
  }

  const uint32_t function_;
  Recorder* const recorder_;
  const Submission outer_;
  const CallStart start_;
};

}  // namespace anyzero
