#include "race_report.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "../check/finding.h"
#include "bounds.h"
#include "code.h"
#include "explain_place.h"
#include "packet.h"
#include "running.h"
#include "trap.h"

namespace anyzero {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kStoreFollows{20};

std::string bytes_text(uint64_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

const char* verb(CheckedAccess kind) {
  return kind == CheckedAccess::Load ? "reads" : kind == CheckedAccess::Store ? "writes" : "has an atomic operation on";
}

const char* done(AccessClass by) {
  if (by == AccessClass::Write) return "written";
  return by == AccessClass::Read || by == AccessClass::OtherRead ? "read" : "used by an atomic operation";
}

const char* does(AccessClass by) {
  if (by == AccessClass::Write) return "writes";
  return by == AccessClass::Read || by == AccessClass::OtherRead ? "reads" : "changes atomically";
}

std::string item_text(const ThreadNotes& thread, uint64_t item, bool across) {
  uint64_t id[3];
  thread.global_id(item, across, id);
  return work_item_text(*thread.running->launch, id);
}

// Text: the memory and the place in it.
std::string memory_text(const NotedLanes& lanes, const NotedRegion* region, uint64_t address) {
  const std::string name = *lanes.name() ? " \"" + std::string(lanes.name()) + "\"" : "";
  char text[64];
  if (!region) return lanes.memory() == CheckedMemory::LocalArgument ? "a local argument" : "the local variable" + name;
  if (lanes.memory() == CheckedMemory::Variable) return "the program-scope variable" + name;
  std::snprintf(text, sizeof text, "%#" PRIx64, static_cast<uint64_t>(address));
  if (!region->allocated()) return std::string("memory at ") + text;
  const std::string kind = allocation_kind(region->begin());
  return "the " + (kind.empty() ? "memory" : kind) + " at offset " + std::to_string(address - region->begin());
}

uint64_t mixed(uint64_t a, uint64_t b) { return (a ^ (b + 0x9E3779B97F4A7C15)) * 0xFF51AFD7ED558CCD; }

uint64_t place_of(const ThreadNotes& thread, uint32_t word, uint32_t other_word) {
  const auto [low, high] = std::minmax(word, other_word);
  return mixed(mixed(std::hash<std::string>{}(thread.running->code->facts().name), low), high);
}

// May atomic operations order them: was there a release after the first access and an acquire before the second?
bool may_be_ordered(const NoteSite& one, const NoteSite& other) {
  const auto both = [](const NoteSite& first, const NoteSite& then) {
    return first.flags & NoteFlag::kBeforeRelease && then.flags & NoteFlag::kAfterAcquire;
  };
  return both(one, other) || both(other, one);
}

// Do two overlapping stores agree, of which the second begins `apart` bytes behind the first?
bool same_bytes(const NotedLanes& lanes, unsigned low, unsigned high, uint64_t apart) {
  if (apart == 0) return same_values(lanes, low, high);
  const unsigned element = lanes.site.element;
  const auto byte = [&](unsigned lane, uint64_t at) {
    return lanes.value(lane, static_cast<unsigned>(at / element))[at % element];
  };
  for (uint64_t at = apart; at < lanes.reach(); ++at)
    if (byte(low, at) != byte(high, at - apart)) return false;
  return true;
}

bool memory_has(const NotedLanes& lanes, unsigned lane) {
  const auto* there = reinterpret_cast<const unsigned char*>(lanes.address(lane));
  for (uint32_t i = 0; i < lanes.site.components; ++i)
    if (std::memcmp(there + i * lanes.site.element, lanes.value(lane, i), lanes.site.element) != 0) return false;
  return true;
}

// Two stores of the same value: memory is the same in either order. `in_group` is the other one's number in this work-item's group,
// or UINT64_MAX.
bool stores_same(const NotedLanes& lanes, unsigned lane, uint64_t in_group, const NoteSite& other, const NotedRegion* region,
                 bool may_wait) {
  if (!lanes.is(NoteFlag::kValues) || (region && !region->allocated())) return false;
  // Lanes are noted in their order: of this very store, there are notes of the lower ones.
  const uint64_t distance = in_group - lanes.item;
  if (&other == &lanes.site && distance < lane && lanes.mask >> distance & 1) {
    const auto there = static_cast<unsigned>(distance);
    const auto [low, high] = lanes.address(lane) < lanes.address(there) ? std::pair{lane, there} : std::pair{there, lane};
    const uint64_t apart = lanes.address(high) - lanes.address(low);
    if (apart < lanes.reach()) return same_bytes(lanes, low, high, apart);
  }
  if (memory_has(lanes, lane)) return true;
  // A note precedes its store, which another thread may still be about to do.
  if (region && may_wait)
    for (const auto start = Clock::now(); Clock::now() - start < kStoreFollows; sched_yield())
      if (memory_has(lanes, lane)) return true;
  return false;
}

void end_if_told(uintptr_t instruction) {
  if (is_checked(kCheckStop)) raise({Fault::kMistake, 0, 0, instruction, 0});
}

}  // namespace

std::string stack_of(const RunningLaunch& running, uintptr_t instruction) {
  size_t offset;
  const Code* code;
  return running.code->offset_of(instruction - 1, &offset, &code) ? source_stack(*code, offset) : "";
}

std::string line_of(const RunningLaunch& running, uintptr_t instruction) {
  std::string stack = stack_of(running, instruction);
  const size_t last = stack.rfind("\n  File ");
  if (last == std::string::npos) return "";
  stack.erase(0, last + 3);
  if (const size_t text = stack.find("\n    "); text != std::string::npos) stack.replace(text, 5, ": ");
  return stack;
}

bool same_values(const NotedLanes& lanes, unsigned one, unsigned other) {
  for (uint32_t i = 0; i < lanes.site.components; ++i)
    if (std::memcmp(lanes.value(one, i), lanes.value(other, i), lanes.site.element) != 0) return false;
  return true;
}

bool report_race(const ThreadNotes& thread, const NotedLanes& lanes, unsigned lane, const Conflict& with, const NotedRegion* region,
                 bool behind_barrier) {
  const NotedPlace& place = thread.launch->places[site_of(with.note)];
  const NoteSite* other = place.site.load(std::memory_order_acquire);
  if (!other || !is_checked(kCheckRaces)) return false;
  const bool across = region && !thread.running->code->flat();
  const uint64_t other_item = region ? GlobalMoment::item_of(with.note) : LocalMoment::item_of(with.note);
  const uint64_t in_group = across ? other_item & ((uint64_t{1} << thread.launch->shift) - 1) : other_item;
  const bool same_group = !region || !thread.global.elsewhere(with.note);
  const bool read_by_other =
      with.by == AccessClass::Read || with.by == AccessClass::OtherRead || other->flags & NoteFlag::kOnlyLoads;
  if (read_by_other && (lanes.kind() == CheckedAccess::Load || lanes.is(NoteFlag::kOnlyLoads))) return false;
  if (may_be_ordered(lanes.site, *other)) return false;
  if (lanes.site.sub_group && same_group && in_group / lanes.site.sub_group == (lanes.item + lane) / lanes.site.sub_group)
    return false;
  const Rule rule = behind_barrier ? Rule::MissingFence : region ? Rule::GlobalRace : Rule::LocalRace;
  const uint64_t number = place_of(thread, lanes.site.word, other->word);
  const bool both_store = with.by == AccessClass::Write && lanes.kind() == CheckedAccess::Store;
  if (both_store && stores_same(lanes, lane, same_group ? in_group : UINT64_MAX, *other, region, !is_known(rule, number)))
    return false;
  if (!seen(rule, number)) {
    const uint64_t address = lanes.address(lane);
    Finding finding{rule, number, {}, {}, {}, {}, {}, {}};
    finding.kernel = thread.running->code->facts().name;
    finding.message = "kernel " + finding.kernel + " " + verb(lanes.kind()) + " " + bytes_text(lanes.reach()) + " of " +
                      memory_text(lanes, region, address) + ", which another work-item " + does(with.by) +
                      (behind_barrier ? ", and the barrier between them has no fence for this memory"
                       : same_group   ? ", with no barrier between them"
                                      : " in another group");
    finding.work_item = item_text(thread, lanes.item + lane, false);
    if (across) finding.work_item = item_text(thread, thread.group << thread.launch->shift | (lanes.item + lane), true);
    finding.stack = stack_of(*thread.running, lanes.instruction);
    if (region) finding.memory = memory_at(address);
    finding.other = std::string(done(with.by)) + " by work-item " + item_text(thread, other_item, across);
    if (site_of(with.note) != kLastSite)
      if (const std::string line = line_of(*thread.running, place.instruction.load(std::memory_order_relaxed)); !line.empty())
        finding.other += ", at " + line;
    report(std::move(finding));
  }
  end_if_told(lanes.instruction);
  return true;
}

void report_uninitialized(const ThreadNotes& thread, const NotedLanes& lanes, unsigned lane, const NotedRegion* region) {
  if (!is_checked(kCheckInit)) return;
  const Rule rule = region ? Rule::UninitializedRead : Rule::UninitializedLocal;
  const uint64_t number = place_of(thread, lanes.site.word, lanes.site.word);
  if (!seen(rule, number)) {
    const uint64_t address = lanes.address(lane);
    Finding finding{rule, number, {}, {}, {}, {}, {}, {}};
    finding.kernel = thread.running->code->facts().name;
    finding.message =
        "kernel " + finding.kernel + " " + verb(lanes.kind()) + " " + bytes_text(lanes.reach()) + " of " +
        memory_text(lanes, region, address) +
        (region ? ", which nothing has written since it was allocated" : ", which no work-item of the group has written");
    finding.work_item = item_text(thread, lanes.item + lane, false);
    finding.stack = stack_of(*thread.running, lanes.instruction);
    if (region) finding.memory = memory_at(address);
    report(std::move(finding));
  }
  end_if_told(lanes.instruction);
}

}  // namespace anyzero
