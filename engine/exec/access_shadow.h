// Shadow memory of races between work-items: the last accesses of each granule of memory.
//
// A note is one word: the work-item, a count of barriers, and the place in the kernel. Each granule has five: the last write, two
// reads and two atomic operations. Two notes are enough for reads. One is the latest read, the other one a read of another group,
// or of another work-item since the same barrier; if any read conflicts with a write, one of the two does.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace anyzero {

enum class AccessClass : uint8_t { Write, Read, OtherRead, Atomic, OtherAtomic };
inline constexpr unsigned kAccessClasses = 5;

inline constexpr unsigned kSiteBits = 12;
inline constexpr uint32_t kLastSite = (1u << kSiteBits) - 1;  // stands for itself and all later ones
inline constexpr uint32_t site_of(uint64_t note) { return static_cast<uint32_t>(note & kLastSite); }

inline uint64_t load_note(const uint64_t& note) {
  return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(note)).load(std::memory_order_relaxed);
}
inline void store_note(uint64_t& note, uint64_t value) { std::atomic_ref<uint64_t>(note).store(value, std::memory_order_relaxed); }

// Notes of local memory: 32 bits count the barriers and groups of the thread, 20 bits are the work-item in its group. Notes from
// before the last barrier with a local fence do not count.
struct LocalMoment {
  static constexpr bool kAcrossGroups = false;
  uint32_t now;
  uint32_t fence;  // the count when the last barrier with a fence was passed

  uint64_t note(uint64_t item, uint32_t site) const { return uint64_t{now} << 32 | (item & 0xFFFFF) << kSiteBits | site; }
  static uint64_t item_of(uint64_t note) { return note >> kSiteBits & 0xFFFFF; }
  bool counts(uint64_t note) const { return note >> 32 >= fence; }
  bool concurrent(uint64_t note, uint64_t item) const { return counts(note) && item_of(note) != (item & 0xFFFFF); }
  bool elsewhere(uint64_t) const { return false; }
  bool behind_barrier(uint64_t note) const { return note >> 32 != now; }
  // Smaller notes do not count.
  uint64_t limit() const { return uint64_t{fence} << 32; }
  static constexpr uint64_t kNextItem = uint64_t{1} << kSiteBits;
};

// Notes of global memory: 36 bits are the group and the work-item in it, 16 bits count the barriers of the group, from 1 on. With
// more barriers than that, work-items of a group are assumed to be ordered.
struct GlobalMoment {
  static constexpr bool kAcrossGroups = true;
  static constexpr uint32_t kMost = 0xFFFF;
  uint64_t group;
  unsigned shift;  // bits of the work-item in its group
  uint32_t now;
  uint32_t fence;

  static constexpr uint64_t kItems = (uint64_t{1} << 36) - 1;
  uint64_t note(uint64_t item, uint32_t site) const { return (item & kItems) << 28 | uint64_t{now} << kSiteBits | site; }
  static uint64_t item_of(uint64_t note) { return note >> 28; }
  static uint32_t count_of(uint64_t note) { return static_cast<uint32_t>(note >> kSiteBits & 0xFFFF); }
  bool elsewhere(uint64_t note) const { return note && item_of(note) >> shift != (group & kItems >> shift); }
  bool counts(uint64_t note) const { return note && (elsewhere(note) || (count_of(note) >= fence && now < kMost)); }
  bool concurrent(uint64_t note, uint64_t item) const { return counts(note) && item_of(note) != (item & kItems); }
  bool behind_barrier(uint64_t note) const { return !elsewhere(note) && count_of(note) != now; }
  uint64_t limit() const { return 1; }
  static constexpr uint64_t kNextItem = uint64_t{1} << 28;
};

// The notes of neighbouring granules, an array for each class; nullptr for a class without notes.
struct Notes {
  uint64_t* of[kAccessClasses];
};

struct Conflict {
  uint64_t note = 0;
  AccessClass by{};
  explicit operator bool() const { return note != 0; }
};

namespace shadow {

template <class Moment>
inline void look(const Moment& moment, const Notes& notes, AccessClass by, size_t at, uint64_t item, Conflict* found) {
  const uint64_t* array = notes.of[static_cast<unsigned>(by)];
  if (!array) return;
  const uint64_t note = load_note(array[at]);
  if (moment.concurrent(note, item)) *found = {note, by};
}

// The latest of the reads, or of the atomic operations, and another one.
template <class Moment>
inline void keep_two(const Moment& moment, uint64_t* latest, uint64_t* other, size_t at, uint64_t item, uint64_t mine) {
  const uint64_t before = load_note(latest[at]);
  if (before >> kSiteBits == mine >> kSiteBits) return;
  if (moment.concurrent(before, item)) {
    if (moment.elsewhere(before)) {
      store_note(other[at], before);
    } else {
      const uint64_t second = load_note(other[at]);
      if (!moment.counts(second) || !moment.elsewhere(second)) {
        // Two work-items are noted since the last barrier: a third one changes nothing.
        if (moment.concurrent(second, item) && moment.item_of(second) != moment.item_of(before)) return;
        store_note(other[at], before);
      }
    }
  }
  store_note(latest[at], mine);
}

// Does each granule of a run have no note that counts, or one of the same work-item since the last barrier? `mine` is the note of
// the first granule's work-item; each of the others belongs to the next one.
template <class Moment>
inline bool quiet(const Moment& moment, const uint64_t* notes, size_t count, uint64_t mine) {
  if (!notes) return true;
  const uint64_t limit = moment.limit();
  uint64_t bad = 0;
  for (size_t i = 0; i < count; ++i, mine += Moment::kNextItem) {
    const uint64_t note = load_note(notes[i]);
    bad |= static_cast<uint64_t>(note >= limit) & static_cast<uint64_t>((note ^ mine) >> kSiteBits != 0);
  }
  return !bad;
}

template <class Moment>
inline bool all_count(const Moment& moment, const uint64_t* notes, size_t count) {
  const uint64_t limit = moment.limit();
  bool all = true;
  for (size_t i = 0; i < count; ++i) all &= load_note(notes[i]) >= limit;
  return all;
}

template <class Moment>
inline bool none_counts(const Moment& moment, const uint64_t* notes, size_t count) {
  const uint64_t limit = moment.limit();
  bool none = true;
  for (size_t i = 0; i < count; ++i) none &= load_note(notes[i]) < limit;
  return none;
}

template <class Moment>
inline void fill(uint64_t* notes, size_t count, uint64_t mine) {
  for (size_t i = 0; i < count; ++i, mine += Moment::kNextItem) store_note(notes[i], mine);
}

}  // namespace shadow

// Fast path: notes reads or writes of a run of granules by consecutive work-items if there is clearly no conflict. Returns false,
// without a note, if each granule has to be checked.
template <class Moment>
inline bool note_quiet_reads(const Moment& moment, const Notes& notes, size_t at, size_t count, uint64_t mine) {
  const auto of = [&](unsigned which) { return notes.of[which] ? notes.of[which] + at : nullptr; };
  if (!shadow::quiet(moment, of(0), count, mine) || !shadow::quiet(moment, of(3), count, mine)) return false;
  if (of(4) && !shadow::none_counts(moment, of(4), count)) return false;
  if (shadow::quiet(moment, of(1), count, mine)) {
    shadow::fill<Moment>(of(1), count, mine);
    return true;
  }
  // Within a group, two readers since the last barrier stand for all.
  return !Moment::kAcrossGroups && shadow::all_count(moment, of(2), count);
}

template <class Moment>
inline bool note_quiet_writes(const Moment& moment, const Notes& notes, size_t at, size_t count, uint64_t mine) {
  const auto of = [&](unsigned which) { return notes.of[which] ? notes.of[which] + at : nullptr; };
  if (!shadow::quiet(moment, of(0), count, mine) || !shadow::quiet(moment, of(1), count, mine)) return false;
  if (of(2) && !shadow::none_counts(moment, of(2), count)) return false;
  if (!shadow::quiet(moment, of(3), count, mine) || (of(4) && !shadow::none_counts(moment, of(4), count))) return false;
  shadow::fill<Moment>(of(0), count, mine);
  return true;
}

// Notes an access of one granule, whose arrays for its class exist. Returns a note that conflicts with it.
template <class Moment>
inline Conflict note_read(const Moment& moment, const Notes& notes, size_t at, uint64_t item, uint64_t mine) {
  Conflict found;
  shadow::keep_two(moment, notes.of[1], notes.of[2], at, item, mine);
  shadow::look(moment, notes, AccessClass::Atomic, at, item, &found);
  shadow::look(moment, notes, AccessClass::OtherAtomic, at, item, &found);
  shadow::look(moment, notes, AccessClass::Write, at, item, &found);
  return found;
}

template <class Moment>
inline Conflict note_write(const Moment& moment, const Notes& notes, size_t at, uint64_t item, uint64_t mine) {
  Conflict found;
  shadow::look(moment, notes, AccessClass::Write, at, item, &found);
  store_note(notes.of[0][at], mine);
  if (notes.of[1]) {
    shadow::look(moment, notes, AccessClass::OtherRead, at, item, &found);
    shadow::look(moment, notes, AccessClass::Read, at, item, &found);
  }
  if (notes.of[3]) {
    shadow::look(moment, notes, AccessClass::OtherAtomic, at, item, &found);
    shadow::look(moment, notes, AccessClass::Atomic, at, item, &found);
  }
  return found;
}

template <class Moment>
inline Conflict note_atomic(const Moment& moment, const Notes& notes, size_t at, uint64_t item, uint64_t mine) {
  Conflict found;
  shadow::keep_two(moment, notes.of[3], notes.of[4], at, item, mine);
  shadow::look(moment, notes, AccessClass::OtherRead, at, item, &found);
  shadow::look(moment, notes, AccessClass::Read, at, item, &found);
  shadow::look(moment, notes, AccessClass::Write, at, item, &found);
  return found;
}

}  // namespace anyzero
