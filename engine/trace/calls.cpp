#include "calls.h"

#include <algorithm>

namespace anyzero {

void CallRecord::begin(const void* caller) {
  recorder_ = recorder();
  if (!recorder_) return;
  outer_ = recorder_->exchange_submitted(0);
  start_ = lines_are_read() ? start_of_call(caller) : CallStart{0, ticks()};
}

TraceRecord* CallRecord::take(TraceKind kind, uint32_t what) {
  if (recorder_ != own_recorder) return nullptr;  // the process has been forked during the call
  const uint64_t end = ticks();
  if (lines_are_read()) recorder_->record_line(start_.line);
  TraceRecord& record = recorder_->next();
  record = {};
  record.start = start_.tick;
  record.end = end;
  record.kind = static_cast<uint8_t>(kind);
  record.which = function_;
  record.what = what;
  record.command = recorder_->exchange_submitted(outer_);
  return &record;
}

void CallRecord::end(uint32_t result, TraceHolds holds, const CallWords& words) {
  if (recorder_ != own_recorder) return;
  const uint64_t* more = words.at + kValues;
  if (std::any_of(more, more + kMoreValues, [](uint64_t word) { return word != 0; })) recorder_->add_more(more);
  TraceRecord* record = take(TraceKind::Call, result);
  if (!record) return;
  record->holds = static_cast<uint8_t>(holds);
  std::copy_n(words.at, kValues, record->values);
  recorder_->complete();
}

void CallRecord::returned_from(std::string_view function, ze_result_t result) {
  if (!recorder_) return;
  const auto name = static_cast<uint32_t>(place_of_text(function));
  TraceRecord* record = take(TraceKind::Extension, name);
  if (!record) return;
  record->values[0] = static_cast<uint32_t>(result);
  recorder_->complete();
}

}  // namespace anyzero
