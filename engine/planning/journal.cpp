#include "journal.h"

#include <algorithm>

#include "../layouts/gen/module_requests.h"
#include "../layouts/gen/planner.h"

namespace anyzero {

void Journal::note(std::string_view function, std::string_view request, std::string_view answer) {
  ByteReader asked(request), told(answer);
  RequestHead request_head;
  decode(asked, request_head);
  for (uint64_t gone : request_head.released) {
    builds_.erase(gone);
    for (auto& plans : links_) std::erase(plans, gone);
  }
  std::erase_if(links_, [](const auto& plans) { return plans.empty(); });
  ReplyHead reply_head;
  decode(told, reply_head);
  if (!told.good() || reply_head.status != 0) return;
  if (function == "link") {
    LinkRequest link;
    decode(asked, link);
    links_.push_back(std::move(link.plans));
  }
  if (function != "build") return;
  BuildReply built;
  decode(told, built);
  if (told.good()) builds_[built.plan] = asked.rest();
}

bool Journal::repeat(Connection& connection) const {
  for (const auto& [plan, build] : builds_) {
    ByteWriter request;
    encode(request, RequestHead{});
    encode(request, PlanRequest{plan});
    request.raw(build);
    if (!connection.tell("restore", request.bytes())) return false;
  }
  for (const auto& plans : links_) {
    ByteWriter request;
    encode(request, RequestHead{});
    encode(request, LinkRequest{plans});
    if (!connection.tell("link", request.bytes())) return false;
  }
  return true;
}

}  // namespace anyzero
