// An access of a vector of work-items, as compiled code describes it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "../layouts/gen/kernel.h"

namespace anyzero {

struct NotedLanes {
  const NoteSite& site;
  uint64_t where;  // see note_access
  uint64_t mask;
  uint64_t item;
  uintptr_t instruction;

  bool is(uint32_t flag) const { return site.flags & flag; }
  CheckedAccess kind() const { return static_cast<CheckedAccess>(site.kind); }
  bool writes() const { return kind() != CheckedAccess::Load && !is(NoteFlag::kOnlyLoads); }
  CheckedMemory memory() const { return static_cast<CheckedMemory>(site.memory); }
  const char* name() const { return reinterpret_cast<const char*>(&site + 1); }
  const uint64_t* block() const { return reinterpret_cast<const uint64_t*>(where); }

  uint64_t address(unsigned lane) const {
    if (is(NoteFlag::kUniform)) return is(NoteFlag::kBlock) ? block()[0] : where;
    if (is(NoteFlag::kStrided)) {
      const uint64_t first = is(NoteFlag::kBlock) ? block()[0] : where;
      return first + lane * static_cast<uint64_t>(int64_t{static_cast<int32_t>(site.stride)});
    }
    return block()[lane];
  }
  uint64_t reach() const { return is(NoteFlag::kSized) ? block()[1] : uint64_t{site.element} * site.components; }

  // The number of lanes if they are the first ones, are all of `some`, and access consecutive granules; otherwise 0.
  size_t run(uint64_t some, unsigned shift) const {
    const uint64_t granule = uint64_t{1} << shift;
    if (!is(NoteFlag::kStrided) || some & (some + 1) || site.stride != granule || reach() != granule) return 0;
    return static_cast<size_t>(std::countr_one(some));
  }

  // The stored bytes of a component.
  const unsigned char* value(unsigned lane, unsigned component) const {
    const uint64_t addresses = is(NoteFlag::kUniform | NoteFlag::kStrided) ? 1 : site.lanes;
    const uint64_t room = (uint64_t{site.element} * site.lanes + 7) / 8 * 8;
    const auto* values = reinterpret_cast<const unsigned char*>(block() + addresses);
    return values + component * room + uint64_t{lane} * site.element;
  }
};

}  // namespace anyzero
