#include "thread_notes.h"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <new>

#include "code.h"
#include "packet.h"
#include "running.h"

namespace anyzero {

namespace {

// A library loaded by dlopen has little static thread-local storage, so only the address is kept there.
thread_local ThreadNotes* mine __attribute__((tls_model("initial-exec"))) = nullptr;

ThreadNotes* furnish() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, [](void* notes) {
      mine = nullptr;
      delete static_cast<ThreadNotes*>(notes);
    });
    return made;
  }();
  mine = new (std::nothrow) ThreadNotes;
  if (mine) pthread_setspecific(key, mine);
  return mine;
}

}  // namespace

void ThreadNotes::begin(const RunningLaunch& now) {
  running = &now;
  launch = now.notes;
  serial = launch->serial;
  region = nullptr;
  group = 0;
  global = {0, launch->shift, 1, 1};
  drop_meetings();
  for (KnownImage& each : images) each = {};
}

WrittenMemory* ThreadNotes::written_image(const ImageView& image) {
  for (const KnownImage& each : images)
    if (each.image == &image) return each.written.get();
  KnownImage& known = images[next_image++ % std::size(images)];
  known = {&image, written_memory(reinterpret_cast<uintptr_t>(image.planes[0].base))};
  return known.written.get();
}

void ThreadNotes::make_local_arrays(AccessClass wanted, size_t granules) {
  const auto which = static_cast<unsigned>(wanted);
  for (unsigned i = which; i <= which + (wanted != AccessClass::Write); ++i)
    if (local_notes[i].size() < granules) local_notes[i].resize(granules);
  local_granules = granules;
  // An array that is too short belongs to a class without notes in this launch.
  for (unsigned i = 0; i < kAccessClasses; ++i)
    local_cells.of[i] = local_notes[i].size() < granules ? nullptr : local_notes[i].data();
}

void ThreadNotes::global_id(uint64_t item, bool across, uint64_t* id) const {
  const Grid& grid = running->grid;
  const uint32_t* size = running->launch->group_size;
  if (running->code->flat()) {
    const uint64_t x = grid.global_size[0], y = grid.global_size[1];
    const uint64_t at[3] = {item % x, item / x % y, item / x / y};
    for (unsigned i = 0; i < 3; ++i) id[i] = at[i] + grid.global_offset[i];
    return;
  }
  uint64_t at[3] = {group_at[0], group_at[1], group_at[2]};
  if (across) {
    const uint64_t number = item >> launch->shift, x = grid.group_count[0], y = grid.group_count[1];
    at[0] = number % x, at[1] = number / x % y, at[2] = number / x / y;
    item &= (uint64_t{1} << launch->shift) - 1;
  }
  const uint64_t in[3] = {item % size[0], item / size[0] % size[1], item / size[0] / size[1]};
  for (unsigned i = 0; i < 3; ++i) id[i] = at[i] * size[i] + in[i] + grid.global_offset[i];
}

ThreadNotes* thread_notes(const RunningWorker& worker) {
  const auto& running = *static_cast<const RunningLaunch*>(worker.launch);
  if (!running.notes) return nullptr;
  ThreadNotes* notes = mine ? mine : furnish();
  if (notes && (notes->serial != running.notes->serial || notes->running != &running)) notes->begin(running);
  return notes;
}

}  // namespace anyzero
