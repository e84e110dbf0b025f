#include "made.h"

#include <algorithm>

#include "finding.h"

namespace anyzero {

namespace {

// A program that frees more keeps the newest ones, roughly.
constexpr size_t kMostFreed = 4096;

}  // namespace

Guarded<MadeObjects>& made_objects() {
  static auto* all = new Guarded<MadeObjects>;  // leaked: objects are destroyed from exit handlers
  return *all;
}

void note_made(const void* context, const void* parent, const void* object, size_t size, std::string what) {
  if (!object) return;
  CallPlace place;
  const auto begin = reinterpret_cast<uintptr_t>(object);
  auto all = made_objects().open();
  // Freed memory whose addresses are given out again.
  for (auto at = all->objects.lower_bound(begin); at != all->objects.end() && at->first < begin + std::max<size_t>(size, 1);)
    at = all->erase(at);
  all->objects[begin] = {context,       parent,        size, std::move(what), std::move(place.text), place.number,
                         place.managed, place.library, {}};
}

void note_freed(const void* memory) {
  CallPlace place;
  auto all = made_objects().open();
  if (all->freed >= kMostFreed) {
    std::erase_if(all->objects, [](const auto& each) { return !each.second.freed_where.empty(); });
    all->freed = 0;
  }
  const auto found = all->objects.find(reinterpret_cast<uintptr_t>(memory));
  if (found == all->objects.end()) return;
  found->second.freed_where = std::move(place.text);
  ++all->freed;
}

void forget_made(const void* object) { made_objects().open()->objects.erase(reinterpret_cast<uintptr_t>(object)); }

std::string where_made(const void* object) {
  auto all = made_objects().open();
  auto found = all->objects.upper_bound(reinterpret_cast<uintptr_t>(object));
  if (found == all->objects.begin()) return "";
  --found;
  const Made& made = found->second;
  const uintptr_t offset = reinterpret_cast<uintptr_t>(object) - found->first;
  if (offset >= std::max<size_t>(made.size, 1)) return "";
  return "; made by " + made.where + (made.freed_where.empty() ? "" : "; freed by " + made.freed_where);
}

}  // namespace anyzero
