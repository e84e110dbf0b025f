#include "call_site.h"

#include <memory>
#include <unordered_map>

#include "../check/finding.h"
#include "../system/mutex.h"

namespace anyzero {

namespace {

using Sites = std::unordered_map<uint64_t, std::unique_ptr<CallSite>>;

Guarded<Sites>& sites() {
  static auto* all = new Guarded<Sites>;  // leaked: findings name them until the process ends
  return *all;
}

const CallSite* kept() {
  CallPlace place;
  auto all = sites().open();
  std::unique_ptr<CallSite>& site = (*all)[place.number];
  if (!site)
    site = std::make_unique<CallSite>(CallSite{host_place.function ? host_place.function : "?", place.caller, place.number});
  return site.get();
}

}  // namespace

const CallSite* current_call_site() {
  if (has_source_lines()) return kept();
  // Without lines, a place is the address of the code, and threads often call from the same one again.
  struct Recent {
    HostPlace place;
    const CallSite* site = nullptr;
  };
  // Few: a library that is loaded late gets few bytes of every thread's static storage.
  thread_local Recent recent[8];
  Recent& last = recent[(reinterpret_cast<uintptr_t>(host_place.caller) >> 3) % std::size(recent)];
  if (!last.site || last.place.caller != host_place.caller || last.place.function != host_place.function)
    last = {host_place, kept()};
  return last.site;
}

}  // namespace anyzero
