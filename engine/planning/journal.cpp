#include "journal.h"

#include <algorithm>
#include <cstring>

namespace anyzero {

namespace {

template <class T>
T take(std::string_view& bytes) {
  T value = 0;
  if (bytes.size() < sizeof value) {
    bytes = {};
    return 0;
  }
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

std::vector<uint64_t> take_plans(std::string_view& bytes) {
  const uint32_t count = take<uint32_t>(bytes);
  std::vector<uint64_t> plans;
  for (uint32_t i = 0; i < count && bytes.size() >= sizeof(uint64_t); ++i) plans.push_back(take<uint64_t>(bytes));
  return plans;
}

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

void Journal::note(std::string_view function, std::string_view request, std::string_view answer) {
  for (uint64_t gone : take_plans(request)) {
    builds_.erase(gone);
    for (auto& plans : links_) std::erase(plans, gone);
  }
  std::erase_if(links_, [](const auto& plans) { return plans.empty(); });
  const auto status = take<uint32_t>(answer);
  if (status != 0) return;
  if (function == "link") links_.push_back(take_plans(request));
  if (function != "build") return;
  take<uint32_t>(answer);
  const auto log = take<uint64_t>(answer);
  if (log > answer.size()) return;
  answer.remove_prefix(log);
  if (answer.size() >= sizeof(uint64_t)) builds_[take<uint64_t>(answer)] = request;
}

bool Journal::repeat(Connection& connection) const {
  for (const auto& [plan, build] : builds_) {
    std::string request;
    put<uint32_t>(request, 0);
    put(request, plan);
    request += build;
    if (!connection.tell("restore", request)) return false;
  }
  for (const auto& plans : links_) {
    std::string request;
    put<uint32_t>(request, 0);
    put(request, static_cast<uint32_t>(plans.size()));
    for (uint64_t plan : plans) put(request, plan);
    if (!connection.tell("link", request)) return false;
  }
  return true;
}

}  // namespace anyzero
