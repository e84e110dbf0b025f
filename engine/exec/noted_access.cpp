#include "noted_access.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "../check/finding.h"
#include "kernel_memory.h"
#include "meetings.h"
#include "noted_lanes.h"
#include "race_report.h"
#include "thread_notes.h"

namespace anyzero {

namespace {

AccessClass class_of(CheckedAccess kind) {
  return kind == CheckedAccess::Load ? AccessClass::Read : kind == CheckedAccess::Store ? AccessClass::Write : AccessClass::Atomic;
}

template <CheckedAccess kKind, class Moment>
inline Conflict note_granule(const Moment& moment, const Notes& notes, size_t at, uint64_t item, uint64_t mine) {
  if constexpr (kKind == CheckedAccess::Load) return note_read(moment, notes, at, item, mine);
  if constexpr (kKind == CheckedAccess::Store) return note_write(moment, notes, at, item, mine);
  return note_atomic(moment, notes, at, item, mine);
}

template <CheckedAccess kKind, class Moment>
inline bool note_run(const Moment& moment, const Notes& notes, size_t at, size_t count, uint64_t mine) {
  if constexpr (kKind == CheckedAccess::Load) return note_quiet_reads(moment, notes, at, count, mine);
  if constexpr (kKind == CheckedAccess::Store) return note_quiet_writes(moment, notes, at, count, mine);
  return false;
}

// All lanes of an access of local memory. The granules are numbered from the begin of the group's memory.
struct LocalWalk {
  ThreadNotes& thread;
  const RunningWorker& worker;
  const NotedLanes& lanes;
  uint32_t number;  // of the site
  unsigned shift;   // of a granule

  template <CheckedAccess kKind>
  void race(uint64_t mask) const {
    const auto begin = reinterpret_cast<uintptr_t>(worker.local);
    const Notes& notes = thread.local_arrays(class_of(kKind), (worker.local_bytes >> shift) + 1);
    const uint64_t reach = lanes.reach(), base = thread.local.note(0, number);
    if (const size_t count = lanes.run(mask, shift)) {
      const uint64_t offset = lanes.address(0) - begin, mine = base | (lanes.item & 0xFFFFF) << kSiteBits;
      if (inside(offset, reach * count) && note_run<kKind>(thread.local, notes, offset >> shift, count, mine)) return;
    }
    for (uint64_t left = mask; left; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      const uint64_t item = lanes.item + lane, address = lanes.address(lane), offset = address - begin;
      if (!inside(offset, reach)) continue;
      const uint64_t mine = base | (item & 0xFFFFF) << kSiteBits;
      for (size_t at = offset >> shift, last = (offset + reach - 1) >> shift; at <= last; ++at)
        if (const Conflict found = note_granule<kKind>(thread.local, notes, at, item, mine)) [[unlikely]]
          if (report_race(thread, lanes, lane, found, nullptr, thread.local.behind_barrier(found.note))) break;
    }
  }

  void written(uint64_t mask) const {
    const auto begin = reinterpret_cast<uintptr_t>(worker.local);
    const uint64_t reach = lanes.reach();
    thread.make_written((worker.local_bytes >> shift) + 1);
    const bool reads = lanes.kind() != CheckedAccess::Store, writes = lanes.writes();
    for (uint64_t left = mask; left; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      const uint64_t address = lanes.address(lane), offset = address - begin;
      if (!inside(offset, reach)) continue;
      bool all = true;
      for (size_t at = offset >> shift, last = (offset + reach - 1) >> shift; at <= last; ++at) {
        uint32_t& when = thread.local_written[at];
        all &= when == thread.group_began;
        if (writes) when = thread.group_began;
      }
      if (reads && !all && !lanes.is(NoteFlag::kMoved) && !thread.is_filled(offset))
        report_uninitialized(thread, lanes, lane, nullptr);
    }
  }

  // Another check reports accesses out of bounds.
  bool inside(uint64_t offset, uint64_t reach) const {
    return reach && offset < worker.local_bytes && worker.local_bytes - offset >= reach;
  }
};

struct GlobalWalk {
  ThreadNotes& thread;
  const NotedLanes& lanes;
  uint32_t number;
  unsigned shift;

  NotedRegion* region_of(uint64_t address) const {
    if (!thread.region || !thread.region->contains(address)) thread.region = thread.launch->region(address);
    return thread.region;
  }

  template <CheckedAccess kKind>
  void race(uint64_t mask) const {
    const uint64_t reach = lanes.reach(), group = thread.group << thread.global.shift;
    const uint64_t base = thread.global.note(group, number);
    Notes notes{};
    uint64_t page = UINT64_MAX;
    if (const size_t count = lanes.run(mask, shift)) {
      const uint64_t address = lanes.address(0), item = group | lanes.item;
      const size_t at = (address & (NotedRegion::kPage - 1)) >> shift;
      NotedRegion* region = region_of(address);
      if (!region || !region->page(address, class_of(kKind), NotedRegion::kPage >> shift, &notes)) return;
      page = address >> NotedRegion::kPageBits;
      const bool fits = at + count <= NotedRegion::kPage >> shift && region->contains(address + reach * count - 1);
      if (fits && note_run<kKind>(thread.global, notes, at, count, base | (item & GlobalMoment::kItems) << 28)) return;
    }
    for (uint64_t left = mask; left; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      const uint64_t item = group | (lanes.item + lane), mine = base | (item & GlobalMoment::kItems) << 28;
      uint64_t address = lanes.address(lane);
      for (const uint64_t end = address + reach; address < end; address = (address >> shift << shift) + (uint64_t{1} << shift)) {
        if (address >> NotedRegion::kPageBits != page || !thread.region->contains(address)) {
          NotedRegion* region = region_of(address);
          page = UINT64_MAX;
          if (!region || !region->page(address, class_of(kKind), NotedRegion::kPage >> shift, &notes)) break;
          page = address >> NotedRegion::kPageBits;
        }
        const size_t at = (address & (NotedRegion::kPage - 1)) >> shift;
        if (const Conflict found = note_granule<kKind>(thread.global, notes, at, item, mine)) [[unlikely]]
          if (report_race(thread, lanes, lane, found, thread.region, thread.global.behind_barrier(found.note))) break;
      }
    }
  }

  void written(uint64_t mask) const {
    const uint64_t reach = lanes.reach();
    for (uint64_t left = mask; left; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      const uint64_t address = lanes.address(lane);
      NotedRegion* region = region_of(address);
      if (!region || !region->written) continue;
      const bool reads = lanes.kind() != CheckedAccess::Store && !lanes.is(NoteFlag::kMoved);
      if (reads && !region->written->all_written(address, reach)) report_uninitialized(thread, lanes, lane, region);
      if (lanes.writes()) region->written->write(address, reach);
    }
  }
};

template <class Walk>
void walk(const Walk& walk, const LaunchNotes& launch, CheckedAccess kind, uint64_t mask, uint64_t all) {
  if (launch.races) {
    if (kind == CheckedAccess::Load)
      walk.template race<CheckedAccess::Load>(mask);
    else if (kind == CheckedAccess::Store)
      walk.template race<CheckedAccess::Store>(mask);
    else
      walk.template race<CheckedAccess::Atomic>(mask);
  }
  if (launch.init) walk.written(all);
}

// Two lanes represent all lanes that access the same address: two that store different values, if there are any.
uint64_t two_lanes(const NotedLanes& lanes) {
  const unsigned first = static_cast<unsigned>(std::countr_zero(lanes.mask));
  const unsigned last = 63 - static_cast<unsigned>(std::countl_zero(lanes.mask));
  const uint64_t ends = uint64_t{1} << first | uint64_t{1} << last;
  if (!lanes.is(NoteFlag::kValues)) return ends;
  for (uint64_t left = lanes.mask & ~ends; left; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    if (!same_values(lanes, first, lane)) return uint64_t{1} << first | uint64_t{1} << lane;
  }
  return ends;
}

bool is_local(const NotedLanes& lanes) {
  return lanes.memory() == CheckedMemory::Local || lanes.memory() == CheckedMemory::LocalArgument;
}

}  // namespace

void note_access(RunningWorker& worker, const NoteSite& site, uint64_t where, uint64_t mask, uint64_t item, uintptr_t instruction) {
  ThreadNotes* thread = mask ? thread_notes(worker) : nullptr;
  if (!thread) return;
  LaunchNotes& launch = *thread->launch;
  if (!launch.agrees_on(site.granule)) return;
  const uint32_t number = std::min(site.number, kLastSite);
  NotedPlace& place = launch.places[number];
  if (!place.site.load(std::memory_order_relaxed)) {
    uint32_t used = launch.used_places.load(std::memory_order_relaxed);
    while (used <= number && !launch.used_places.compare_exchange_weak(used, number + 1)) {
    }
    place.instruction.store(instruction, std::memory_order_relaxed);
    place.site.store(&site, std::memory_order_release);
  }
  NotedLanes lanes{site, where, mask, item, instruction};
  const auto shift = static_cast<unsigned>(std::countr_zero(site.granule));
  const uint64_t some = lanes.is(NoteFlag::kUniform) ? two_lanes(lanes) : mask;
  const uint64_t one = lanes.is(NoteFlag::kUniform) ? mask & (~mask + 1) : mask;
  if (lanes.is(NoteFlag::kGeneric)) {
    // Lanes may point into different memories.
    const auto begin = reinterpret_cast<uintptr_t>(worker.local);
    uint64_t local = 0, global = 0;
    for (uint64_t left = some; left; left &= left - 1) {
      const uint64_t bit = left & (~left + 1);
      const uint64_t address = lanes.address(static_cast<unsigned>(std::countr_zero(left)));
      if (address - begin < worker.local_bytes)
        local |= bit;
      else if (!in_kernel_memory(address))
        global |= bit;
    }
    walk(LocalWalk{*thread, worker, lanes, number, shift}, launch, lanes.kind(), local, local & one);
    walk(GlobalWalk{*thread, lanes, number, shift}, launch, lanes.kind(), global, global & one);
  } else if (is_local(lanes)) {
    walk(LocalWalk{*thread, worker, lanes, number, shift}, launch, lanes.kind(), some, one);
  } else {
    walk(GlobalWalk{*thread, lanes, number, shift}, launch, lanes.kind(), some, one);
  }
}

void note_group(RunningWorker& worker, uint64_t x, uint64_t y, uint64_t z) {
  ThreadNotes* thread = thread_notes(worker);
  if (!thread) return;
  const uint64_t* count = thread->running->grid.group_count;
  thread->group = x + count[0] * (y + count[1] * z);
  thread->group_at[0] = x, thread->group_at[1] = y, thread->group_at[2] = z;
  if (thread->local.now > UINT32_MAX - GlobalMoment::kMost) {
    for (auto& array : thread->local_notes) array.clear();
    thread->local_granules = 0;
    thread->local_written.clear();
    thread->local.now = 1;
  }
  thread->group_began = thread->local.fence = ++thread->local.now;
  thread->global = {thread->group, thread->launch->shift, 1, 1};
  thread->drop_meetings();
  thread->filled.clear();
}

void note_barrier(RunningWorker& worker, uint32_t fences) {
  ThreadNotes* thread = thread_notes(worker);
  if (!thread) return;
  finish_meetings(*thread);
  if (thread->local.now < UINT32_MAX) ++thread->local.now;
  if (fences & Fences::kLocal) thread->local.fence = thread->local.now;
  GlobalMoment& global = thread->global;
  global.now = std::min(global.now + 1, GlobalMoment::kMost);
  if (fences & Fences::kGlobal) global.fence = global.now;
}

void note_filled(RunningWorker& worker, uint64_t offset, uint64_t size) {
  if (ThreadNotes* thread = thread_notes(worker)) thread->filled.push_back({offset, offset + size});
}

void note_meeting(RunningWorker& worker, const NoteSite& site, uint64_t there, uint64_t here, uint64_t item,
                  uintptr_t instruction) {
  ThreadNotes* thread = thread_notes(worker);
  if (thread && thread->launch->sync) add_meeting(*thread, site, there, here, item, instruction);
}

}  // namespace anyzero
