#include "written_memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <map>
#include <utility>

#include "../check/finding.h"
#include "../system/mutex.h"

namespace anyzero {

namespace {

using ByBegin = std::map<uintptr_t, std::pair<size_t, std::shared_ptr<WrittenMemory>>>;

struct Tracked {
  uint64_t session = 0;
  ByBegin memory;
};

Guarded<Tracked>& tracked() {
  static auto* all = new Guarded<Tracked>;  // leaked: kernels may run while the process exits
  return *all;
}

// Between two sessions of checks, memory is written and freed unseen.
ByBegin& of_this_session(Tracked& all) {
  const uint64_t session = check_sessions.load(std::memory_order_relaxed);
  if (all.session != session) all.memory.clear();
  all.session = session;
  return all.memory;
}

ByBegin::iterator around(ByBegin& memory, uintptr_t address) {
  auto found = memory.upper_bound(address);
  if (found == memory.begin()) return memory.end();
  --found;
  return address - found->first < found->second.first ? found : memory.end();
}

}  // namespace

WrittenMemory::WrittenMemory(uintptr_t begin, size_t size, std::string made)
    : begin_(begin),
      size_(size),
      made_(std::move(made)),
      bits_(static_cast<std::atomic<uint64_t>*>(std::calloc((size + 63) / 64, sizeof(uint64_t)))),
      left_(bits_ ? size : 0) {}

WrittenMemory::~WrittenMemory() { std::free(static_cast<void*>(bits_)); }

template <class F>
void WrittenMemory::each_word(uintptr_t address, size_t size, F&& visit) const {
  const uintptr_t end = begin_ + size_, from = std::clamp(address, begin_, end);
  const uintptr_t to = address + size < address ? end : std::clamp(address + size, begin_, end);
  for (size_t at = from - begin_; at < to - begin_;) {
    const size_t first = at % 64, count = std::min<size_t>(64 - first, to - begin_ - at);
    const uint64_t bits = (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << first;
    if (!visit(bits_[at / 64], bits)) return;
    at += count;
  }
}

void WrittenMemory::write(uintptr_t address, size_t size) {
  if (complete()) return;
  uint64_t fresh = 0;
  each_word(address, size, [&](std::atomic<uint64_t>& word, uint64_t bits) {
    if ((word.load(std::memory_order_relaxed) & bits) != bits)
      fresh += static_cast<uint64_t>(std::popcount(bits & ~word.fetch_or(bits, std::memory_order_relaxed)));
    return true;
  });
  if (fresh) left_.fetch_sub(fresh, std::memory_order_relaxed);
}

bool WrittenMemory::all_written(uintptr_t address, size_t size) const {
  if (complete()) return true;
  bool all = true;
  each_word(address, size, [&](const std::atomic<uint64_t>& word, uint64_t bits) {
    all = (word.load(std::memory_order_relaxed) & bits) == bits;
    return all;
  });
  return all;
}

bool WrittenMemory::any_written(uintptr_t address, size_t size) const {
  if (complete()) return true;
  bool any = false;
  each_word(address, size, [&](const std::atomic<uint64_t>& word, uint64_t bits) {
    any = word.load(std::memory_order_relaxed) & bits;
    return !any;
  });
  return any;
}

void track_written(uintptr_t begin, size_t size, std::string made) {
  auto record = std::make_shared<WrittenMemory>(begin, size, std::move(made));
  auto all = tracked().open();
  of_this_session(*all).insert_or_assign(begin, std::pair(size, std::move(record)));
}

void forget_written(uintptr_t inside) {
  auto all = tracked().open();
  ByBegin& memory = of_this_session(*all);
  if (const auto found = around(memory, inside); found != memory.end()) memory.erase(found);
}

std::shared_ptr<WrittenMemory> written_memory(uintptr_t address) {
  auto all = tracked().open();
  ByBegin& memory = of_this_session(*all);
  const auto found = around(memory, address);
  if (found == memory.end()) return nullptr;
  if (found->second.second->complete()) {
    memory.erase(found);
    return nullptr;
  }
  return found->second.second;
}

void note_written(const void* begin, size_t size) {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  if (const auto found = written_memory(address)) found->write(address, size);
}

void note_all_written(const void* inside) {
  if (const auto found = written_memory(reinterpret_cast<uintptr_t>(inside))) found->write(0, SIZE_MAX);
}

}  // namespace anyzero
