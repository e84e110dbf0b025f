// Notes of accesses: which pairs of work-items are in conflict, by group and barrier, in whatever order they come.
#include "exec/access_shadow.h"

#include <cassert>
#include <cstdio>

#include "check/finding.h"
#include "exec/written_memory.h"

namespace {

using namespace anyzero;

constexpr unsigned kShift = 4;  // groups of 16

struct Cells {
  uint64_t words[kAccessClasses][64] = {};
  Notes notes() { return {{words[0], words[1], words[2], words[3], words[4]}}; }
};

struct Item {
  uint64_t group, local;
  uint32_t now = 1, fence = 1;
  GlobalMoment moment() const { return {group, kShift, now, fence}; }
  uint64_t id() const { return group << kShift | local; }
  uint64_t note() const { return moment().note(id(), 7); }
  bool reads(Cells& cells) const { return bool(note_read(moment(), cells.notes(), 0, id(), note())); }
  bool writes(Cells& cells) const { return bool(note_write(moment(), cells.notes(), 0, id(), note())); }
  bool adds(Cells& cells) const { return bool(note_atomic(moment(), cells.notes(), 0, id(), note())); }
};

void test_pairs() {
  {
    Cells cells;  // one work-item alone
    const Item one{0, 3};
    assert(!one.writes(cells) && !one.reads(cells) && !one.writes(cells) && !one.adds(cells) && !one.reads(cells));
  }
  {
    Cells cells;  // readers only, of several groups
    for (uint64_t group = 0; group < 3; ++group)
      for (uint64_t local = 0; local < 16; ++local) assert(!(Item{group, local}.reads(cells)));
    assert((Item{1, 5}.writes(cells)));
  }
  {
    Cells cells;  // the writer itself read last: the other reader is not forgotten
    assert(!(Item{0, 2}.reads(cells)) && !(Item{0, 1}.reads(cells)));
    assert((Item{0, 1}.writes(cells)));
  }
  {
    Cells cells;  // a barrier with a fence orders work-items of a group, and those alone
    assert(!(Item{0, 2}.writes(cells)));
    assert(!(Item{0, 1, 2, 2}.reads(cells)) && !(Item{0, 1, 3, 3}.writes(cells)));
    assert((Item{1, 1, 2, 2}.reads(cells)));
  }
  {
    Cells cells;  // a barrier without one does not
    assert(!(Item{0, 2}.writes(cells)));
    const Item other{0, 1, 2, 1};
    const Conflict found = note_read(other.moment(), cells.notes(), 0, other.id(), other.note());
    assert(found && other.moment().behind_barrier(found.note));
  }
  {
    Cells cells;  // a reader of another group is remembered over the barriers of this one
    assert(!(Item{1, 4}.reads(cells)));
    for (uint32_t now = 1; now < 5; ++now) assert(!(Item{0, now, now, now}.reads(cells)));
    assert((Item{0, 1, 5, 5}.writes(cells)));
  }
  {
    Cells cells;  // atomic operations among themselves
    assert(!(Item{0, 1}.adds(cells)) && !(Item{0, 2}.adds(cells)) && !(Item{1, 2}.adds(cells)));
    assert((Item{1, 2}.reads(cells)) && (Item{1, 2}.writes(cells)));
  }
}

void test_runs() {
  Cells cells;
  const GlobalMoment moment{0, kShift, 1, 1};
  const auto mine = [&](uint64_t item, uint32_t site) { return moment.note(item, site); };
  assert(note_quiet_reads(moment, cells.notes(), 8, 8, mine(0, 1)));
  assert(note_quiet_writes(moment, cells.notes(), 8, 8, mine(0, 2)));
  assert(note_quiet_reads(moment, cells.notes(), 8, 8, mine(0, 3)));
  for (unsigned i = 0; i < 8; ++i) assert(cells.words[0][8 + i] == mine(i, 2));
  // The neighbour's granule.
  assert(!note_quiet_reads(moment, cells.notes(), 9, 4, mine(0, 4)));
  assert(!note_quiet_writes(moment, cells.notes(), 7, 4, mine(0, 4)));

  Cells local;
  LocalMoment before{5, 5}, after{6, 6};
  assert(note_quiet_writes(before, local.notes(), 0, 16, before.note(0, 1)));
  assert(!note_quiet_reads(before, local.notes(), 1, 15, before.note(0, 2)));
  assert(note_quiet_reads(after, local.notes(), 1, 15, after.note(0, 2)));
  assert(!note_quiet_reads(after, local.notes(), 0, 15, after.note(0, 2)));  // others read them already
  for (size_t at = 0; at < 16; ++at) assert(!note_read(after, local.notes(), at, 15 - at, after.note(15 - at, 2)));
  assert(note_write(after, local.notes(), 3, 3, after.note(3, 3)));
}

void test_written_memory() {
  WrittenMemory memory(1000, 200, "a call");
  assert(memory.made() == "a call" && !memory.any_written(1000, 200));
  assert(!memory.all_written(1000, 4) && !memory.complete());
  memory.write(1000, 100);
  assert(memory.any_written(1099, 8) && !memory.any_written(1100, 8));
  assert(memory.all_written(1000, 100) && !memory.all_written(1096, 8) && memory.all_written(900, 50));
  memory.write(0, SIZE_MAX);
  assert(memory.complete() && memory.all_written(1000, 200));

  track_written(4096, 64);
  assert(written_memory(4100) && !written_memory(4160) && !written_memory(4095));
  note_written(reinterpret_cast<void*>(uintptr_t{4096}), 60);
  assert(!written_memory(4100)->all_written(4096, 64));
  note_all_written(reinterpret_cast<void*>(uintptr_t{4100}));
  assert(!written_memory(4100));

  track_written(4096, 64);
  forget_written(4160);
  assert(written_memory(4100));
  forget_written(4159);
  assert(!written_memory(4100));
  // Other checks know nothing of it.
  track_written(4096, 64);
  check_sessions.fetch_add(1);
  assert(!written_memory(4100));
}

}  // namespace

int main() {
  test_pairs();
  test_runs();
  test_written_memory();
  std::puts("access_shadow_test: ok");
  return 0;
}
