#include "launch_notes.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "../backends/image_view.h"
#include "../check/finding.h"
#include "bounds.h"
#include "code.h"
#include "packet.h"
#include "running.h"

namespace anyzero {

namespace {

// Bytes of a region for memory that is no allocation of the driver's.
constexpr uintptr_t kForeign = uintptr_t{1} << 20;
constexpr size_t kWord = sizeof(uint64_t);

// Objects that launches have given back, for reuse.
template <class T>
class Reused {
 public:
  // nullptr if there is none.
  T* take() {
    auto free = free_.open();
    if (free->empty()) return nullptr;
    T* last = free->back();
    free->pop_back();
    return last;
  }
  void give(T* object) { free_.open()->push_back(object); }

 private:
  Guarded<std::vector<T*>> free_;
};

// Free arrays of notes, by the number of granules of a page: returning them to the system costs more than clearing them.
struct Arrays {
  static constexpr size_t kKept = size_t{256} << 20;
  std::atomic<size_t> bytes_in_use{0}, bytes_kept{0};
  Reused<uint64_t> of[NotedRegion::kPageBits + 1];  // by the number's logarithm

  Reused<uint64_t>& with(size_t granules) { return of[std::countr_zero(granules)]; }
};

// Both are leaked: kernels may run while the process exits.
Arrays& arrays() {
  static auto* all = new Arrays;
  return *all;
}

Reused<LaunchNotes>& ended_launches() {
  static auto* all = new Reused<LaunchNotes>;
  return *all;
}

// A quarter of the machine's memory; accesses that would take more are not noted.
size_t most_bytes() {
  static const size_t most = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) / 4 * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return most;
}

uint64_t* take_array(size_t granules) {
  Arrays& all = arrays();
  const size_t bytes = granules * sizeof(uint64_t);
  if (all.bytes_in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes > most_bytes()) {
    all.bytes_in_use.fetch_sub(bytes, std::memory_order_relaxed);
    return nullptr;
  }
  if (uint64_t* array = all.with(granules).take()) {
    all.bytes_kept.fetch_sub(bytes, std::memory_order_relaxed);
    std::memset(array, 0, bytes);
    return array;
  }
  auto* array = static_cast<uint64_t*>(std::calloc(granules, sizeof(uint64_t)));
  if (!array) all.bytes_in_use.fetch_sub(bytes, std::memory_order_relaxed);
  return array;
}

void give_array(uint64_t* array, size_t granules) {
  if (!array) return;
  Arrays& all = arrays();
  const size_t bytes = granules * sizeof(uint64_t);
  all.bytes_in_use.fetch_sub(bytes, std::memory_order_relaxed);
  if (all.bytes_kept.load(std::memory_order_relaxed) >= Arrays::kKept) return std::free(array);
  all.bytes_kept.fetch_add(bytes, std::memory_order_relaxed);
  all.with(granules).give(array);
}

thread_local std::vector<LaunchNotes*>* under_way __attribute__((tls_model("initial-exec"))) = nullptr;

void give_back(LaunchNotes* notes) {
  notes->clear();
  ended_launches().give(notes);
}

LaunchNotes* acquire(const void* frame) {
  if (!under_way) under_way = new std::vector<LaunchNotes*>;  // one for each thread of an engine
  // Stacks grow downwards: a launch whose frame is below this one was abandoned by a fault.
  while (!under_way->empty() && under_way->back()->frame <= frame) {
    give_back(under_way->back());
    under_way->pop_back();
  }
  LaunchNotes* notes = ended_launches().take();
  if (!notes) notes = new LaunchNotes;
  notes->frame = frame;
  under_way->push_back(notes);
  return notes;
}

template <class F>
void each_pointer(const Launch& launch, F&& visit) {
  for (const Argument& argument : launch.code->facts().arguments) {
    if (!argument.pointer() && !(argument.kind == ArgumentKind::Value && argument.size >= kWord)) continue;
    const size_t last = std::min<size_t>((argument.offset + argument.size) / kWord, kCheckedWords);
    for (size_t word = (argument.offset + kWord - 1) / kWord; word < last; ++word) {
      uintptr_t address;
      std::memcpy(&address, launch.args() + word * kWord, sizeof address);
      visit(argument, word, address);
    }
  }
}

uint8_t noted_argument(const LaunchNotes& notes, const std::vector<uintptr_t>& written, uintptr_t address) {
  const Bounds bounds = bounds_around(address);
  if (bounds.size == UINT64_MAX) return notes.races ? NotedArgument::kLoads | NotedArgument::kStores : 0;
  if (bounds.size == 0) return 0;
  if (notes.races && std::find(written.begin(), written.end(), bounds.begin) != written.end())
    return NotedArgument::kLoads | NotedArgument::kStores;
  return notes.init && written_memory(address) ? NotedArgument::kLoads | NotedArgument::kStores : 0;
}

}  // namespace

NotedRegion::NotedRegion(uintptr_t begin, uintptr_t size, bool allocated)
    : begin_(begin), size_(size), first_page_(begin >> kPageBits), allocated_(allocated) {
  page_count_ = ((begin + size - 1) >> kPageBits) - first_page_ + 1;
  pages_ = static_cast<Page*>(std::calloc(page_count_, sizeof(Page)));
}

NotedRegion::~NotedRegion() {
  for (size_t i = 0; pages_ && i < page_count_; ++i)
    for (auto& array : pages_[i].of) give_array(array.load(std::memory_order_relaxed), granules_.load(std::memory_order_relaxed));
  std::free(static_cast<void*>(pages_));
}

bool NotedRegion::page(uintptr_t address, AccessClass wanted, size_t granules, Notes* found) {
  if (!pages_) return false;
  Page& page = pages_[(address >> kPageBits) - first_page_];
  const auto make = [&](unsigned which) {
    if (page.of[which].load(std::memory_order_acquire)) return true;
    granules_.store(granules, std::memory_order_relaxed);
    uint64_t* made = take_array(granules);
    uint64_t* none = nullptr;
    if (!made || !page.of[which].compare_exchange_strong(none, made, std::memory_order_acq_rel)) give_array(made, granules);
    return page.of[which].load(std::memory_order_acquire) != nullptr;
  };
  // The array of the other reader is published first: a thread that sees the latest reader finds both.
  const auto which = static_cast<unsigned>(wanted);
  if (wanted != AccessClass::Write && !make(which + 1)) return false;
  if (!make(which)) return false;
  for (unsigned i = 0; i < kAccessClasses; ++i) found->of[i] = page.of[i].load(std::memory_order_acquire);
  return true;
}

NotedRegion* LaunchNotes::region(uintptr_t address) {
  const auto find = [&]() -> NotedRegion* {
    const uint32_t count = count_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < count; ++i)
      if (NotedRegion* each = regions_[i].load(std::memory_order_relaxed); each->contains(address)) return each;
    return nullptr;
  };
  if (NotedRegion* found = find()) return found;
  Bounds bounds = bounds_around(address);
  if (bounds.size == 0) return nullptr;
  const bool allocated = bounds.size != UINT64_MAX;
  if (!allocated) bounds = {address & ~(kForeign - 1), kForeign};
  std::lock_guard lock(mutex_);
  if (NotedRegion* found = find()) return found;
  const uint32_t count = count_.load(std::memory_order_relaxed);
  if (count == kMostRegions) return nullptr;
  auto* made = new NotedRegion(bounds.begin, bounds.size, allocated);
  if (init) made->written = written_memory(address);
  regions_[count].store(made, std::memory_order_relaxed);
  count_.store(count + 1, std::memory_order_release);
  return made;
}

void LaunchNotes::clear() {
  granule.store(0, std::memory_order_relaxed);
  for (uint32_t i = count_.exchange(0); i-- > 0;) delete regions_[i].load(std::memory_order_relaxed);
  for (uint32_t i = used_places.exchange(0); i-- > 0;) {
    places[i].site.store(nullptr, std::memory_order_relaxed);
    places[i].instruction.store(0, std::memory_order_relaxed);
  }
}

void prepare_notes(RunningLaunch& running, const Launch& launch) {
  static std::atomic<uint64_t> serials{0};
  running.launch = &launch;
  std::memset(running.noted, 0, sizeof running.noted);
  LaunchNotes& notes = *acquire(&running);
  running.notes = &notes;
  notes.serial = serials.fetch_add(1, std::memory_order_relaxed) + 1;
  notes.races = is_checked(kCheckRaces);
  notes.init = is_checked(kCheckInit);
  notes.sync = is_checked(kCheckSync);
  notes.group_items = uint64_t{launch.group_size[0]} * launch.group_size[1] * launch.group_size[2];
  // If the kernel does not use its groups, the whole launch counts as one group.
  notes.shift = launch.code->flat() ? 40 : static_cast<unsigned>(std::bit_width(notes.group_items - 1));
  if (!notes.races && !notes.init) return;
  std::vector<uintptr_t> written;
  each_pointer(launch, [&](const Argument& argument, size_t, uintptr_t address) {
    if (argument.written()) written.push_back(bounds_around(address).begin);
  });
  each_pointer(launch, [&](const Argument&, size_t word, uintptr_t address) {
    running.noted[word] = noted_argument(notes, written, address);
  });
}

void finish_notes(RunningLaunch& running) {
  // The launches behind it were abandoned by faults.
  for (LaunchNotes* last = nullptr; last != running.notes && !under_way->empty();) {
    last = under_way->back();
    under_way->pop_back();
    give_back(last);
  }
  running.notes = nullptr;
}

void note_unchecked_launch(const Launch& launch) {
  each_pointer(launch,
               [](const Argument&, size_t, uintptr_t address) { note_all_written(reinterpret_cast<const void*>(address)); });
  for (const Argument& argument : launch.code->facts().arguments) {
    if (argument.kind != ArgumentKind::Image) continue;
    const ImageView* image;
    std::memcpy(&image, launch.args() + argument.offset, sizeof image);
    if (image) note_all_written(image->planes[0].base);
  }
}

}  // namespace anyzero
