#include "request.h"

#include <vector>

#include "../layouts/gen/planner.h"
#include "../system/mutex.h"
#include "../trace/recording.h"
#include "planner.h"
#include "process.h"

namespace anyzero {

namespace {

// Plans of modules that were destroyed, until the planner can be told.
Guarded<std::vector<uint64_t>>& released() {
  static auto* released = new Guarded<std::vector<uint64_t>>;  // leaked: modules are destroyed from exit handlers
  return *released;
}

void record_request(const char* function, uint64_t start, uint64_t asked, uint64_t answered) {
  TraceRecord* record = begin_record();
  if (!record) return;
  *record = {};
  record->kind = static_cast<uint32_t>(TraceKind::Planning);
  record->what = static_cast<uint32_t>(place_of_text(function));
  record->start = start;
  record->end = ticks();
  record->values[0] = asked;
  record->values[1] = answered;
  complete_record();
}

}  // namespace

void Reply::read_head() {
  rest_ = bytes_;
  ReplyHead found;
  if (read(&found)) {
    status = static_cast<ze_result_t>(found.status);
    log = found.log;
  } else {
    status = ZE_RESULT_ERROR_UNKNOWN;
    log = "the planner's reply is damaged";
  }
}

void release_plan(uint64_t plan) { released().open()->push_back(plan); }

void ask_planner(const char* function, std::string_view request, Reply* reply) {
  RequestHead head;
  head.released.swap(*released().open());
  ByteWriter bytes;
  encode(bytes, head);
  bytes.raw(request);
  const uint64_t start = is_recording() ? ticks() : 0;
  const bool answered = call_planner(function, bytes.bytes(), &reply->bytes_, &reply->log);
  if (start) record_request(function, start, request.size(), reply->bytes_.size());
  if (!answered) {
    auto open = released().open();
    open->insert(open->end(), head.released.begin(), head.released.end());
    reply->status = ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
    return;
  }
  reply->read_head();
}

bool ask_for_better_code(std::string_view request, Reply* reply) {
  ByteWriter bytes;
  encode(bytes, RequestHead{});
  bytes.raw(request);
  if (ask_second_process(bytes.bytes(), &reply->bytes_, &reply->log) != Connection::Outcome::Answered) return false;
  reply->read_head();
  return true;
}

}  // namespace anyzero
