// A cache of the planner's replies by request: the most recently used ones.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../system/mutex.h"

namespace anyzero {

// Limited in number and in bytes of the requests. Threading: any thread; a forked child begins with an empty cache.
template <class T>
class Recent {
 public:
  static constexpr size_t kMost = 64;
  static constexpr size_t kMostBytes = 8 << 20;

  // nullptr if it is not cached.
  std::shared_ptr<T> find(std::string_view request) {
    const size_t hash = std::hash<std::string_view>{}(request);
    Entry found{};
    {
      auto entries = entries_.open();
      auto place = std::find_if(entries->rbegin(), entries->rend(), [&](const Entry& each) { return each.hash == hash; });
      if (place == entries->rend()) return nullptr;
      found = *place;
      std::rotate(place.base() - 1, place.base(), entries->end());
    }
    // Outside of the lock: comparing bytes takes long.
    return *found.request == request ? found.reply : nullptr;
  }

  // Large requests are not kept: they would push all others out.
  void keep(std::string request, std::shared_ptr<T> reply) {
    if (request.size() > kMostBytes / 4) return;
    const size_t hash = std::hash<std::string_view>{}(request);
    Entry entry{hash, std::make_shared<const std::string>(std::move(request)), std::move(reply)};
    std::vector<Entry> gone;  // destroyed when the lock is free again
    auto entries = entries_.open();
    auto same = std::find_if(entries->begin(), entries->end(), [&](const Entry& each) { return each.hash == hash; });
    if (same != entries->end()) {
      gone.push_back(std::move(*same));
      entries->erase(same);
    }
    entries->push_back(std::move(entry));
    size_t bytes = 0;
    for (const Entry& each : *entries) bytes += each.request->size();
    while (entries->size() > kMost || bytes > kMostBytes) {
      bytes -= entries->front().request->size();
      gone.push_back(std::move(entries->front()));
      entries->erase(entries->begin());
    }
  }

 private:
  struct Entry {
    size_t hash;
    std::shared_ptr<const std::string> request;
    std::shared_ptr<T> reply;
  };

  Guarded<std::vector<Entry>> entries_;  // the one used last comes last
};

}  // namespace anyzero
