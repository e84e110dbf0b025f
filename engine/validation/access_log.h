// A log of memory accesses by commands that later commands may still race with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "command_use.h"

namespace anyzero {

struct LoggedAccess {
  CommandName command;
  bool writes;

  std::string text() const {
    return command.text() + (writes ? " writes" : " reads") + (command.site ? " (" + command.site->text() + ")" : "");
  }
};

class AccessLog {
 public:
  // The first access between the addresses that `wanted` accepts; nullptr for none.
  template <class F>
  const LoggedAccess* find(uintptr_t begin, uintptr_t end, F&& wanted) const {
    auto at = pieces_.upper_bound(begin);
    if (at != pieces_.begin()) --at;
    for (; at != pieces_.end() && at->first < end; ++at) {
      if (at->second.end <= begin) continue;
      for (const LoggedAccess& each : at->second.accesses)
        if (wanted(each)) return &each;
    }
    return nullptr;
  }
  // Adds what a command does to a span of memory. `ordered` says whether a command before is done when it begins; `race` is called
  // with each access that conflicts and is not, and says whether to forget it; `found` is called with each write that is before a
  // read.
  template <class Ordered, class Race, class Found>
  void add(const Span& span, const CommandName& command, Ordered&& ordered, Race&& race, Found&& found) {
    if (pieces_.size() > kMostPieces) pieces_.clear();
    cut(span.begin);
    cut(span.end);
    bool alone = true;
    uintptr_t filled = span.begin;
    const auto first = pieces_.lower_bound(span.begin);
    auto at = first;
    for (; at != pieces_.end() && at->first < span.end; ++at) {
      alone = alone && at->first == filled;
      filled = at->second.end;
      // Whoever races with an access that is gone here races with the new one, too.
      std::erase_if(at->second.accesses, [&](const LoggedAccess& each) {
        const bool done = ordered(each.command);
        if (!done && (each.writes || span.writes)) return race(each, at->first);
        if (done && each.writes && !span.writes) found(each, at->first);
        return done && (span.writes || !each.writes);
      });
      alone = alone && at->second.accesses.empty();
      if (at->second.accesses.size() == kMostAccesses) at->second.accesses.erase(at->second.accesses.begin());
      at->second.accesses.push_back({command, span.writes});
    }
    if (alone && filled == span.end && first != at) {
      // One piece instead of many that say the same.
      first->second.end = span.end;
      pieces_.erase(std::next(first), at);
      return;
    }
    fill_gaps(span, command);
  }

  void forget(uintptr_t begin, uintptr_t end) {
    cut(begin);
    cut(end);
    pieces_.erase(pieces_.lower_bound(begin), pieces_.lower_bound(end));
  }
  void clear() { pieces_.clear(); }
  bool empty() const { return pieces_.empty(); }

 private:
  static constexpr size_t kMostPieces = 100'000;
  static constexpr size_t kMostAccesses = 256;  // of one piece: those of commands that nothing orders
  struct Piece {
    uintptr_t end;
    std::vector<LoggedAccess> accesses;
  };

  // No piece has the address inside of it.
  void cut(uintptr_t address) {
    auto above = pieces_.lower_bound(address);
    if (above == pieces_.begin()) return;
    Piece& below = std::prev(above)->second;
    if (below.end <= address) return;
    pieces_.emplace_hint(above, address, Piece{below.end, below.accesses});
    below.end = address;
  }
  void fill_gaps(const Span& span, const CommandName& command) {
    uintptr_t from = span.begin;
    auto at = pieces_.lower_bound(span.begin);
    while (from < span.end) {
      const uintptr_t until = at == pieces_.end() ? span.end : std::min(at->first, span.end);
      if (from < until) pieces_.emplace_hint(at, from, Piece{until, {{command, span.writes}}});
      if (at == pieces_.end() || at->first >= span.end) return;
      from = at->second.end;
      ++at;
    }
  }

  std::map<uintptr_t, Piece> pieces_;  // by their beginnings; they do not overlap
};

}  // namespace anyzero
