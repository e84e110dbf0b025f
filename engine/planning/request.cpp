#include "request.h"

#include <vector>

#include "../layouts/gen/planner.h"
#include "../system/mutex.h"
#include "../trace/recording.h"
#include "planner.h"
#include "process.h"

namespace anyzero {

namespace {

// Plans of destroyed modules, for the next request to the planner.
Guarded<std::vector<uint64_t>>& released() {
  static auto* released = new Guarded<std::vector<uint64_t>>;  // leaked: modules are destroyed from exit handlers
  return *released;
}

struct Facts {
  uint64_t start, asked, answered, origin;
};

void record_request(const char* function, std::string_view kernel, const Facts& facts) {
  const uint64_t subject = kernel.empty() ? 0 : 1 + place_of_text(kernel);
  Recorder* of = recorder();
  if (!of) return;
  TraceRecord* record = &of->next();
  *record = {};
  record->kind = static_cast<uint8_t>(TraceKind::Planning);
  record->what = static_cast<uint32_t>(place_of_text(function));
  record->start = facts.start;
  record->end = ticks();
  const auto set = [&](TraceRequestValue value, uint64_t to) { record->values[static_cast<uint32_t>(value)] = to; };
  set(TraceRequestValue::Asked, facts.asked);
  set(TraceRequestValue::Answered, facts.answered);
  set(TraceRequestValue::Origin, facts.origin);
  set(TraceRequestValue::Subject, subject);
  of->complete();
}

}  // namespace

void Reply::read_head() {
  rest_ = bytes_;
  ReplyHead found;
  if (read(&found)) {
    status = static_cast<ze_result_t>(found.status);
    origin = found.origin;
    log = found.log;
  } else {
    status = ZE_RESULT_ERROR_UNKNOWN;
    log = "the planner's reply is damaged";
  }
}

void release_plan(uint64_t plan) { released().open()->push_back(plan); }

void ask_planner(const char* function, std::string_view request, Reply* reply, std::string_view kernel) {
  RequestHead head;
  head.released.swap(*released().open());
  ByteWriter bytes;
  encode(bytes, head);
  bytes.raw(request);
  const uint64_t start = is_recording() ? ticks() : 0;
  const bool answered = call_planner(function, bytes.bytes(), &reply->bytes_, &reply->log);
  if (answered) reply->read_head();
  if (start) record_request(function, kernel, {start, request.size(), reply->bytes_.size(), reply->origin});
  if (!answered) {
    auto open = released().open();
    open->insert(open->end(), head.released.begin(), head.released.end());
    reply->status = ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
  }
}

bool ask_for_better_code(std::string_view request, Reply* reply, std::string_view kernel) {
  ByteWriter bytes;
  encode(bytes, RequestHead{});
  bytes.raw(request);
  const uint64_t start = is_recording() ? ticks() : 0;
  const bool answered = ask_second_process(bytes.bytes(), &reply->bytes_, &reply->log) == Connection::Outcome::Answered;
  if (answered) reply->read_head();
  if (start) record_request("improve", kernel, {start, request.size(), reply->bytes_.size(), reply->origin});
  return answered;
}

}  // namespace anyzero
