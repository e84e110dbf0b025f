#include "meetings.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <utility>

#include "../check/finding.h"
#include "code.h"
#include "explain_place.h"
#include "packet.h"
#include "race_report.h"
#include "running.h"
#include "trap.h"

namespace anyzero {

namespace {

const char* name_of(const NoteSite& site) { return reinterpret_cast<const char*>(&site + 1); }

std::string item_text(const ThreadNotes& thread, uint64_t item) {
  uint64_t id[3];
  thread.global_id(item, false, id);
  return work_item_text(*thread.running->launch, id);
}

void report_missing(const ThreadNotes& thread, Rule rule, const NoteSite& site, uintptr_t instruction, uint64_t arrived,
                    uint64_t all, uint64_t one, uint64_t missing) {
  const std::string& kernel = thread.running->code->facts().name;
  const uint64_t place = std::hash<std::string>{}(kernel) * 31 + site.word;
  if (!is_checked(kCheckSync)) return;
  if (!seen(rule, place)) {
    Finding finding{rule, place, {}, {}, {}, {}, {}, {}};
    finding.kernel = kernel;
    finding.message = "kernel " + kernel + ": " + std::to_string(arrived) + " of " + std::to_string(all) + " work-items of the " +
                      (rule == Rule::DivergentBarrier ? "group" : "sub-group") + (arrived == 1 ? " reaches " : " reach ") +
                      name_of(site);
    finding.work_item = item_text(thread, one);
    finding.stack = stack_of(*thread.running, instruction);
    finding.other = "missing is work-item " + item_text(thread, missing);
    report(std::move(finding));
  }
  if (is_checked(kCheckStop)) raise({Fault::kMistake, 0, 0, instruction, 0});
}

uint64_t first_item(const std::vector<uint64_t>& words, uint64_t flip) {
  for (size_t i = 0; i < words.size(); ++i)
    if (const uint64_t bits = words[i] ^ flip) return i * 64 + static_cast<unsigned>(std::countr_zero(bits));
  return 0;
}

}  // namespace

void add_meeting(ThreadNotes& thread, const NoteSite& site, uint64_t there, uint64_t here, uint64_t item, uintptr_t instruction) {
  const auto kind = static_cast<Meeting>(site.kind);
  if (kind == Meeting::SubGroup) {
    if (const uint64_t missing = there & ~here; missing && here) {
      const auto lane = [&](uint64_t bits) { return item + static_cast<unsigned>(std::countr_zero(bits)); };
      report_missing(thread, Rule::DivergentSubGroup, site, instruction, static_cast<uint64_t>(std::popcount(here)),
                     static_cast<uint64_t>(std::popcount(there)), lane(here), lane(missing));
    }
    return;
  }
  const uint64_t told = kind == Meeting::Missing ? there & ~here : here;
  if (!told) return;
  if (site.number >= thread.meetings.size()) thread.meetings.resize(site.number + 1);
  MeetingNotes& notes = thread.meetings[site.number];
  if (!notes.site) {
    thread.begun_meetings.push_back(site.number);
    notes.site = &site;
    notes.instruction = instruction;
    notes.count = 0;
    notes.items.assign((thread.launch->group_items + 63) / 64, 0);
  }
  notes.count += static_cast<uint64_t>(std::popcount(told));
  for (uint64_t left = told; left; left &= left - 1) {
    const uint64_t each = item + static_cast<unsigned>(std::countr_zero(left));
    if (each < thread.launch->group_items) notes.items[each / 64] |= uint64_t{1} << each % 64;
  }
}

void finish_meetings(ThreadNotes& thread) {
  const uint64_t all = thread.launch->group_items;
  for (const uint32_t number : thread.begun_meetings) {
    MeetingNotes& each = thread.meetings[number];
    if (!each.site) continue;
    const NoteSite& site = *std::exchange(each.site, nullptr);
    const bool missing = static_cast<Meeting>(site.kind) == Meeting::Missing;
    const uint64_t arrived = missing ? all - std::min(each.count, all) : each.count, flip = missing ? ~uint64_t{0} : 0;
    // No work-item has reached this barrier: the group branched around it.
    if (arrived && arrived < all)
      report_missing(thread, Rule::DivergentBarrier, site, each.instruction, arrived, all, first_item(each.items, flip),
                     first_item(each.items, ~flip));
  }
  thread.begun_meetings.clear();
}

}  // namespace anyzero
