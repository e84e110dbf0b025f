#include "checked_access.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "../check/address_text.h"
#include "../check/finding.h"
#include "bounds.h"
#include "checked_texels.h"
#include "code.h"
#include "explain_place.h"
#include "packet.h"

namespace anyzero {

namespace {

constexpr uint64_t kNull = 4096;

// The block that compiled code hands over, see CheckFlag.
struct CheckedLanes {
  const CheckSite& site;
  uint64_t* block;

  bool is(uint32_t flag) const { return site.flags & flag; }
  uint64_t* bounds() const { return block + (is(CheckFlag::kIdsByLane) ? 3 * site.lanes : 3); }
  uint32_t bounds_count() const { return is(CheckFlag::kBoundsByLane) ? site.lanes : 1; }
  uint64_t* addresses() const { return bounds() + size_t{2} * bounds_count(); }

  Bounds bounds_of(unsigned lane) const {
    const unsigned at = is(CheckFlag::kBoundsByLane) ? lane : 0;
    return {bounds()[at], bounds()[bounds_count() + at]};
  }
  uint64_t address(unsigned lane) const {
    if (is(CheckFlag::kUniform)) return addresses()[0];
    if (is(CheckFlag::kStrided)) return addresses()[0] + lane * static_cast<int64_t>(static_cast<int32_t>(site.stride));
    return addresses()[lane];
  }
  void item(unsigned lane, uint64_t* id) const {
    for (unsigned i = 0; i < 3; ++i) id[i] = is(CheckFlag::kIdsByLane) ? block[size_t{i} * site.lanes + lane] : block[i];
    if (!is(CheckFlag::kIdsByLane)) id[0] += lane;
  }
  uint64_t reach() const { return is(CheckFlag::kSized) ? addresses()[1] : uint64_t{site.element} * site.components; }
  CheckedAccess kind() const { return static_cast<CheckedAccess>(site.kind); }
  CheckedMemory memory() const { return static_cast<CheckedMemory>(site.memory); }
  const char* name() const { return reinterpret_cast<const char*>(&site + 1); }
};

bool writes(const CheckedLanes& lanes) { return lanes.kind() != CheckedAccess::Load; }

// The rule that an access breaks; false if it breaks none.
bool broken_rule(const CheckedLanes& lanes, const Bounds& bounds, uint64_t address, Rule* rule) {
  const uint64_t offset = address - bounds.begin, reach = lanes.reach();
  if (writes(lanes) && lanes.memory() == CheckedMemory::Constant) {
    *rule = Rule::WriteToConstant;
  } else if (offset >= bounds.size || bounds.size - offset < reach) {
    if (bounds.size == 0 && bounds.begin < kNull)
      *rule = Rule::NullPointer;
    else if (bounds.size == 0 && lanes.memory() == CheckedMemory::Global)
      *rule = Rule::UseAfterFree;
    else
      *rule = writes(lanes) ? Rule::OutOfBoundsWrite : Rule::OutOfBoundsRead;
  } else if (address & (lanes.site.alignment - 1)) {
    *rule = Rule::MisalignedAccess;
  } else {
    return false;
  }
  return true;
}

std::string bytes_text(uint64_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

// The memory that the pointer was made from, with its size.
std::string memory_text(const CheckedLanes& lanes, const Bounds& bounds) {
  const std::string name = *lanes.name() ? " \"" + std::string(lanes.name()) + "\"" : "";
  const uint64_t apart = lanes.is(CheckFlag::kInterleaved) ? lanes.site.lanes : 1;
  const std::string size = " of " + bytes_text(bounds.size / apart);
  switch (lanes.memory()) {
    case CheckedMemory::Local:
      return "local variable" + name + size;
    case CheckedMemory::LocalArgument:
      return "local argument" + size;
    case CheckedMemory::Private:
      return "private variable" + name + size;
    case CheckedMemory::Variable:
      return "program-scope variable" + name + size;
    case CheckedMemory::Constant:
      return "constant" + name + size;
    case CheckedMemory::Global:
    case CheckedMemory::Image:
      break;
  }
  std::string kind = allocation_kind(bounds.begin);
  return (kind.empty() ? "memory" : kind) + size + " at " + address_text(bounds.begin);
}

// The distance of the access from the memory.
std::string distance_text(const CheckedLanes& lanes, const Bounds& bounds, uint64_t address) {
  const uint64_t apart = lanes.is(CheckFlag::kInterleaved) ? lanes.site.lanes : 1, reach = lanes.reach();
  const auto offset = static_cast<int64_t>(address - bounds.begin) / static_cast<int64_t>(apart);
  const auto size = static_cast<int64_t>(bounds.size / apart);
  if (offset < 0) return bytes_text(static_cast<uint64_t>(-offset)) + " before the beginning";
  if (offset == size) return "right behind the end";
  if (offset > size) return bytes_text(static_cast<uint64_t>(offset - size)) + " behind the end";
  return bytes_text(static_cast<uint64_t>(offset + static_cast<int64_t>(reach) - size)) + " over the end";
}

std::string message_text(Rule rule, const CheckedLanes& lanes, const Bounds& bounds, uint64_t address, const std::string& kernel) {
  const char* does = lanes.kind() == CheckedAccess::Load    ? " reads "
                     : lanes.kind() == CheckedAccess::Store ? " writes "
                                                            : " has an atomic operation on ";
  const std::string what = "kernel " + kernel + does + bytes_text(lanes.reach()) + " at " + address_text(address);
  if (rule == Rule::NullPointer) return what + " through a null pointer";
  if (rule == Rule::UseAfterFree) return what + ", in memory that has been freed";
  if (rule == Rule::WriteToConstant) return what + ", in constant memory";
  if (rule == Rule::MisalignedAccess) return what + ", which is not a multiple of " + std::to_string(lanes.site.alignment);
  return what + ", " + distance_text(lanes, bounds, address) + " of the " + memory_text(lanes, bounds);
}

void report_lane(Rule rule, uint64_t place, const RunningLaunch& running, const CheckedLanes& lanes, unsigned lane,
                 uintptr_t instruction) {
  const uint64_t address = lanes.address(lane);
  const Bounds bounds = lanes.bounds_of(lane);
  const std::string& kernel = running.code->facts().name;
  Finding finding{rule, place, {}, {}, {}, {}, {}, {}};
  finding.message = message_text(rule, lanes, bounds, address, kernel);
  finding.kernel = kernel;
  uint64_t item[3];
  lanes.item(lane, item);
  finding.work_item = work_item_text(*running.launch, item);
  size_t offset;
  const Code* code;
  if (running.code->offset_of(instruction - 1, &offset, &code)) finding.stack = source_stack(*code, offset);
  if (lanes.memory() != CheckedMemory::Global) {
    finding.memory = memory_text(lanes, bounds);
  } else if (rule == Rule::UseAfterFree) {
    finding.memory = memory_at(address);
  } else if (rule != Rule::NullPointer) {
    finding.memory = memory_text(lanes, bounds) + where_made(reinterpret_cast<const void*>(bounds.begin));
    if (Bounds other = bounds_around(address); other.size && other.size != UINT64_MAX && other.begin != bounds.begin)
      finding.other = "the address lies " + where_is(address);
  }
  report(std::move(finding));
}

// Copies an element, or zeros without a source. A call of memcpy would take most of the time.
inline void move_element(unsigned char* to, const unsigned char* from, size_t size) {
  const auto as = [&](auto value) {
    if (from) std::memcpy(&value, from, sizeof value);
    std::memcpy(to, &value, sizeof value);
  };
  if (size == 4) return as(uint32_t{});
  if (size == 8) return as(uint64_t{});
  return size == 2 ? as(uint16_t{}) : as(uint8_t{});
}

// A load or store of one lane: components lie one vector apart in `data`.
void access_lane(const CheckedLanes& lanes, unsigned lane, unsigned char* data, bool allowed) {
  const size_t element = lanes.site.element, room = (element * lanes.site.lanes + 7) / 8 * 8;
  const uint64_t address = lanes.address(lane);
  for (uint32_t i = 0; i < lanes.site.components; ++i) {
    unsigned char* here = data + i * room + lane * element;
    auto* there = reinterpret_cast<unsigned char*>(address + i * element);
    if (lanes.kind() == CheckedAccess::Load) {
      move_element(here, allowed ? there : nullptr, element);
    } else if (allowed) {
      move_element(there, here, element);
    }
  }
}

// A dummy target for atomic operations that are out of bounds.
alignas(64) thread_local unsigned char spare[64];

}  // namespace

void prepare_checks(RunningLaunch& running, const Launch& launch) {
  running.launch = &launch;
  find_bounds(launch.args(), launch.code->address_words(), running.bounds);
}

void check_access(RunningWorker& worker, const CheckSite& site, uint64_t* block, uint64_t mask, unsigned char* data,
                  uintptr_t instruction) {
  const auto& running = *static_cast<const RunningLaunch*>(worker.launch);
  const CheckedLanes lanes{site, block};
  if (lanes.memory() == CheckedMemory::Image)
    return check_texels(worker, site, block, mask, reinterpret_cast<const uint32_t*>(data), instruction);
  bool stop = false;
  for (uint64_t left = mask; left; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    Rule rule;
    const bool bad = broken_rule(lanes, lanes.bounds_of(lane), lanes.address(lane), &rule);
    if (bad && is_checked(kCheckMemory)) {
      const uint64_t place = std::hash<std::string>{}(running.code->facts().name) * 31 + site.word;
      if (!seen(rule, place)) report_lane(rule, place, running, lanes, lane, instruction);
      stop = is_checked(kCheckStop);
    }
    // Misaligned accesses work on this processor, except atomic ones.
    const bool allowed = !bad || (rule == Rule::MisalignedAccess && lanes.kind() != CheckedAccess::Atomic);
    if (lanes.kind() == CheckedAccess::Atomic) {
      if (!allowed) {
        std::memset(spare, 0, sizeof spare);
        lanes.addresses()[lanes.is(CheckFlag::kUniform) ? 0 : lane] = reinterpret_cast<uintptr_t>(spare);
      }
    } else if (lanes.is(CheckFlag::kUniform)) {
      if (!allowed) lanes.addresses()[0] = 0;
    } else if (data) {
      access_lane(lanes, lane, data, allowed);
    }
    if (stop || lanes.is(CheckFlag::kUniform)) break;
  }
  if (stop) raise({Fault::kMistake, 0, 0, instruction, 0});
}

// Memory that a kernel accesses by a pointer from memory, though it is not resident, no argument points to it and no indirect
// access flag allows it.
static void check_indirect(const Launch& launch, uintptr_t address) {
  MemoryRange range;
  if (!nonresident_allocation(address, &range) || names(launch, range)) return;
  const auto place = reinterpret_cast<uintptr_t>(launch.code);
  if (seen(Rule::MissingIndirectAccess, place)) return;
  const std::string& kernel = launch.code->facts().name;
  report({Rule::MissingIndirectAccess, place, "kernel " + kernel + " reaches memory by a pointer that it found in memory", kernel,
          "", "", memory_at(address), ""});
}

void look_bounds_up(RunningWorker& worker, const uintptr_t* addresses, uint64_t count, uint64_t mask, uint64_t* found) {
  // Without residency checks, nothing else uses these ranges, so found bounds are kept there.
  const bool keeps = !static_cast<const RunningLaunch*>(worker.launch)->reach;
  ReachedRanges& known = worker.reached;
  for (uint64_t lane = 0; lane < count; ++lane) {
    Bounds bounds = kAnywhere;
    if (mask >> lane & 1) {
      const uintptr_t address = addresses[lane];
      const auto* end = known.ranges + (keeps ? known.count : 0);
      const auto* range =
          std::find_if(known.ranges, const_cast<AddressRange*>(end), [&](auto& it) { return it.contains(address); });
      if (range != end) {
        bounds = {range->begin, range->end - range->begin};
      } else {
        bounds = bounds_around(address);
        const Launch* launch = static_cast<const RunningLaunch*>(worker.launch)->launch;
        if (launch && is_checked(kCheckStrict)) check_indirect(*launch, address);
        if (keeps && bounds.size && bounds.size != UINT64_MAX) {
          known.ranges[known.next] = {bounds.begin, bounds.begin + bounds.size};
          known.next = (known.next + 1) % ReachedRanges::kMost;
          known.count = std::min(known.count + 1, ReachedRanges::kMost);
        }
      }
    }
    found[lane] = bounds.begin;
    found[count + lane] = bounds.size;
  }
}

}  // namespace anyzero
