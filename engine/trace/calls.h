// Records of API calls.
#pragma once

#include <cstring>
#include <string_view>
#include <type_traits>

#include "../abi/gen/ze_api.h"
#include "../system/long_steps.h"
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

// The calling thread's recorder if nothing but a recording looks at calls, and it needs no source lines; else nullptr.
[[gnu::always_inline]] inline Recorder* recorder_alone() {
  Recorder* mine = own_recorder;
  const bool alone = watched.load(std::memory_order_relaxed) == kRecorded && !lines_are_read();
  return alone && is_ready(mine) ? mine : nullptr;
}

// The record of one call. A nested call, as from a callback, has a record of its own.
class CallRecord {
 public:
  // `caller` is the return address in the program.
  [[gnu::always_inline]] explicit CallRecord(uint16_t function, const void* caller = nullptr)
      : alone_(false),
        function_(function),
        recorder_(is_recording() ? recorder() : nullptr),
        outer_(recorder_ ? recorder_->exchange_submitted(0) : 0),
        start_(!recorder_         ? CallStart{}
               : lines_are_read() ? start_of_call(caller)
                                  : CallStart{0, ticks()}) {}
  // In the entry points that asked recorder_alone().
  [[gnu::always_inline]] CallRecord(uint16_t function, Recorder& alone)
      : alone_(true),
        function_(function),
        recorder_(&alone),
        outer_(alone.exchange_submitted(0)),
        start_{0, ticks()},
        long_steps_(long_steps) {}
  CallRecord(const CallRecord&) = delete;
  CallRecord& operator=(const CallRecord&) = delete;

  template <class Result, class... Words>
  [[gnu::always_inline]] void returned(Result result, Words... words) {
    if (is_recorded()) returned_at(ticks(), result, words...);
  }

  // Of a call that returns at once where nothing is to be waited for: then it takes less time than a reading of the counter, and
  // is recorded as an instant.
  template <class... Words>
  [[gnu::always_inline]] void returned_from_wait(ze_result_t result, Words... words) {
    if (!is_recorded()) return;
    const bool at_once = long_steps == long_steps_ && (result == ZE_RESULT_SUCCESS || result == ZE_RESULT_NOT_READY);
    returned_at(at_once ? start_.tick : ticks(), result, words...);
  }

  // The same for a function of an extension, which has a name instead of a number.
  void returned_from(std::string_view function, ze_result_t result) {
    if (!is_recorded()) return;
    const uint64_t end = ticks();
    if (lines_are_read()) recorder_->record_line(start_.line);
    TraceRecord& record = begin(TraceKind::Extension, 0, static_cast<uint32_t>(place_of_text(function)), end);
    record.values[0] = static_cast<uint32_t>(result);
    recorder_->complete();
  }

 private:
  template <class Result, class... Words>
  [[gnu::always_inline]] void returned_at(uint64_t end, Result result, Words... words) {
    if (!alone_ && lines_are_read()) [[unlikely]]
      recorder_->record_line(start_.line);
    if constexpr (sizeof...(words) > kRoom) {
      // Of most appends, these are events that are not there.
      size_t place = 0;
      uint64_t rest = 0;
      (static_cast<void>(place++ < kRoom || (rest |= words)), ...);
      if (rest) [[unlikely]]
        add_more(words...);
    }
    TraceRecord& record = begin(TraceKind::Call, function_, static_cast<uint32_t>(as_word(result)), end);
    if constexpr (!std::is_same_v<Result, ze_result_t>) {
      static_assert(sizeof...(words) < kRoom);
      record.holds = static_cast<uint8_t>(TraceHolds::Result);
      record.values[kRoom - 1] = as_word(result);
    }
    size_t next = 0;
    (static_cast<void>(next < kRoom && (record.values[next] = words, ++next)), ...);
    recorder_->complete();
  }

  static constexpr size_t kRoom = sizeof TraceRecord::values / sizeof *TraceRecord::values;

  // False, too, where the process has been forked during the call.
  [[gnu::always_inline]] bool is_recorded() const { return recorder_ && recorder_ == own_recorder; }

  [[gnu::always_inline]] TraceRecord& begin(TraceKind kind, uint16_t which, uint32_t what, uint64_t end) const {
    TraceRecord& record = recorder_->next();
    record.start = start_.tick;
    record.end = end;
    record.kind = static_cast<uint8_t>(kind);
    record.holds = static_cast<uint8_t>(TraceHolds::Nothing);
    record.which = which;
    record.what = what;
    record.command = recorder_->exchange_submitted(outer_);
    return record;
  }

  template <class... Words>
  [[gnu::noinline, gnu::cold]] void add_more(Words... words) const {
    const uint64_t all[] = {words...};
    recorder_->add_more(all + kRoom, sizeof...(words) - kRoom);
  }

  const bool alone_;
  const uint16_t function_;
  Recorder* const recorder_;
  const uint64_t outer_;
  const CallStart start_;
  const uint32_t long_steps_ = 0;  // when the call began
};

}  // namespace anyzero
