// Notes of a thread about the group that it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../backends/image_view.h"
#include "access_shadow.h"
#include "launch_notes.h"
#include "offered.h"

namespace anyzero {

// Work-items of the group that have reached a barrier, or that are missing there.
struct MeetingNotes {
  const NoteSite* site = nullptr;  // nullptr while none has
  uintptr_t instruction = 0;
  uint64_t count = 0;
  std::vector<uint64_t> items;  // a bit each
};

struct ThreadNotes {
  const RunningLaunch* running = nullptr;
  LaunchNotes* launch = nullptr;
  uint64_t serial = 0;  // of the launch
  uint64_t group = 0;
  uint64_t group_at[3] = {};
  LocalMoment local{1, 1};
  GlobalMoment global{};
  uint32_t group_began = 1;  // the count of `local` when the group began
  NotedRegion* region = nullptr;

  // The records of the images that it has accessed last.
  struct KnownImage {
    const ImageView* image = nullptr;
    std::shared_ptr<WrittenMemory> written;
  };
  KnownImage images[4];
  unsigned next_image = 0;

  std::vector<uint64_t> local_notes[kAccessClasses];
  Notes local_cells{};  // of those that were made for so many granules
  size_t local_granules = 0;
  std::vector<uint32_t> local_written;   // the count of `local` when the group began that wrote the granule
  std::vector<AddressRange> filled;      // offsets in local memory that were initialized when the group began
  std::vector<MeetingNotes> meetings;    // by the number of the site
  std::vector<uint32_t> begun_meetings;  // the numbers of those that have a site

  void begin(const RunningLaunch& now);
  // nullptr once all of the image was written, or where that is not known.
  WrittenMemory* written_image(const ImageView& image);
  void drop_meetings() {
    for (const uint32_t number : begun_meetings) meetings[number].site = nullptr;
    begun_meetings.clear();
  }
  bool is_filled(uint64_t offset) const {
    for (const AddressRange& range : filled)
      if (range.contains(offset)) return true;
    return false;
  }
  // The notes of local memory, with arrays of so many granules for this class.
  const Notes& local_arrays(AccessClass wanted, size_t granules) {
    if (!local_cells.of[static_cast<unsigned>(wanted)] || granules != local_granules) make_local_arrays(wanted, granules);
    return local_cells;
  }
  void make_local_arrays(AccessClass wanted, size_t granules);
  void make_written(size_t granules) {
    if (local_written.size() < granules) local_written.resize(granules);
  }
  // The global id of a work-item by its number in the current group, or in the launch; `across` where the number has the group,
  // too.
  void global_id(uint64_t item, bool across, uint64_t* id) const;
};

// Of the calling thread, for the launch that it runs.
ThreadNotes* thread_notes(const RunningWorker& worker);

}  // namespace anyzero
