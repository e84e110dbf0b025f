// Records of API calls.
#pragma once

#include <cstring>
#include <iterator>
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

// Of a call's words, a record holds so many, and another record in front of it kMoreValues.
inline constexpr size_t kValues = sizeof TraceRecord::values / sizeof *TraceRecord::values;
struct CallWords {
  uint64_t at[kValues + kMoreValues] = {};

  template <class... Words>
  [[gnu::always_inline]] explicit CallWords(Words... words) {
    size_t next = 0;
    (static_cast<void>(next < std::size(at) && (at[next++] = words, true)), ...);
  }
};

// The record of one call. A nested call, as from a callback, has a record of its own.
class CallRecord {
 public:
  // `caller` is the return address in the program.
  [[gnu::always_inline]] explicit CallRecord(uint16_t function, const void* caller = nullptr) : function_(function) {
    if (is_recording()) begin(caller);
  }
  CallRecord(const CallRecord&) = delete;
  CallRecord& operator=(const CallRecord&) = delete;

  template <class Result, class... Words>
  [[gnu::always_inline]] void returned(Result result, Words... words) {
    if (!recorder_) return;
    // A result that is no ze_result_t is the last value.
    constexpr bool wide = !std::is_same_v<Result, ze_result_t>;
    static_assert(!wide || sizeof...(words) < kValues);
    CallWords all(words...);
    if (wide) all.at[kValues - 1] = as_word(result);
    end(static_cast<uint32_t>(as_word(result)), wide ? TraceHolds::Result : TraceHolds::Nothing, all);
  }

  // The same for a function of an extension, which has a name instead of a number.
  void returned_from(std::string_view function, ze_result_t result);

 private:
  void begin(const void* caller);
  // The next record with all but its values, or nullptr.
  TraceRecord* take(TraceKind kind, uint32_t what);
  void end(uint32_t result, TraceHolds holds, const CallWords& words);

  const uint16_t function_;
  Recorder* recorder_ = nullptr;
  uint64_t outer_ = 0;
  CallStart start_{};
};

// The calling thread's recorder if nothing but a recording looks at calls, and it needs no source lines; else nullptr.
[[gnu::always_inline]] inline Recorder* recorder_alone() {
  Recorder* mine = own_recorder;
  const bool alone = watched.load(std::memory_order_relaxed) == kRecorded && !lines_are_read();
  return alone && is_ready(mine) ? mine : nullptr;
}

// The same in few instructions, for entry points that have asked recorder_alone().
class QuickCallRecord {
 public:
  [[gnu::always_inline]] QuickCallRecord(uint16_t function, Recorder& recorder)
      : function_(function),
        recorder_(recorder),
        outer_(recorder.exchange_submitted(0)),
        start_(ticks()),
        long_steps_(long_steps) {}
  QuickCallRecord(const QuickCallRecord&) = delete;
  QuickCallRecord& operator=(const QuickCallRecord&) = delete;

  template <class... Words>
  [[gnu::always_inline]] void returned(ze_result_t result, Words... words) {
    if (is_recorded()) end(ticks(), result, words...);
  }

  // Of a call that returns at once where nothing is to be waited for: then it takes less time than a reading of the counter, and
  // is recorded as an instant.
  template <class... Words>
  [[gnu::always_inline]] void returned_from_wait(ze_result_t result, Words... words) {
    if (!is_recorded()) return;
    const bool at_once = long_steps == long_steps_ && (result == ZE_RESULT_SUCCESS || result == ZE_RESULT_NOT_READY);
    end(at_once ? start_ : ticks(), result, words...);
  }

 private:
  // False where the process has been forked during the call.
  [[gnu::always_inline]] bool is_recorded() const { return &recorder_ == own_recorder; }

  // The words go to the record from where the caller has them: as arguments of a function they would be moved twice.
  template <class... Words>
  [[gnu::always_inline]] void end(uint64_t tick, ze_result_t result, Words... words) {
    if constexpr (sizeof...(words) > kValues) {
      // Of most appends, these are events that are not there.
      size_t place = 0;
      uint64_t rest = 0;
      (static_cast<void>(place++ < kValues || (rest |= words)), ...);
      if (rest) [[unlikely]]
        add_more(words...);
    }
    TraceRecord& record = recorder_.next();
    record.start = start_;
    record.end = tick;
    record.kind = static_cast<uint8_t>(TraceKind::Call);
    record.holds = static_cast<uint8_t>(TraceHolds::Nothing);
    record.which = function_;
    record.what = static_cast<uint32_t>(result);
    record.command = recorder_.exchange_submitted(outer_);
    size_t next = 0;
    (static_cast<void>(next < kValues && (record.values[next] = words, ++next)), ...);
    recorder_.complete();
  }

  template <class... Words>
  [[gnu::noinline]] void add_more(Words... words) const {
    recorder_.add_more(CallWords(words...).at + kValues);
  }

  const uint16_t function_;
  Recorder& recorder_;
  const uint64_t outer_;
  const uint64_t start_;
  const uint32_t long_steps_;  // when the call began
};

}  // namespace anyzero
