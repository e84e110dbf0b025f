// Appends of copies, fills and memory hints.
#include <cstring>

#include "../images/image.h"
#include "../memory/allocation.h"
#include "command_list_append.h"

namespace anyzero {

// On a device without on-demand paging, a command makes the memory it names resident; a later eviction is found at execution.
void CommandList::note_use(const void* pointer) {
  if (!device_.pages_on_demand()) residency_note(device_, pointer);
}

namespace {

// No memory is that large, and the end of the range would wrap around.
constexpr size_t kAbsurd = size_t{1} << 47;

ze_result_t refuse_size(size_t size) { return fail(ZE_RESULT_ERROR_INVALID_SIZE, "%zu bytes are more than any memory has", size); }

}  // namespace

ze_result_t CommandList::appendMemoryCopy(void* to, const void* from, size_t size, Event* signal, uint32_t n, Event* const* waits) {
  if (size > kAbsurd) return refuse_size(size);
  note_use(to);
  note_use(from);
  return append<CopyPacket>(cost_of_bytes(size), 0, signal, n, waits, [&](CopyPacket& packet) {
    packet.to = to;
    packet.from = from;
    packet.bytes = size;
  });
}

ze_result_t CommandList::appendMemoryCopyWithParameters(void* to, const void* from, size_t size, const void* next, Event* signal,
                                                        uint32_t n, Event* const* waits) {
  if (next) return refuse_parameters();
  return appendMemoryCopy(to, from, size, signal, n, waits);
}

ze_result_t CommandList::appendMemoryCopyFromContext(void* to, Context&, const void* from, size_t size, Event* signal, uint32_t n,
                                                     Event* const* waits) {
  return appendMemoryCopy(to, from, size, signal, n, waits);
}

ze_result_t CommandList::appendMemoryFill(void* to, const void* pattern, size_t pattern_size, size_t size, Event* signal,
                                          uint32_t n, Event* const* waits) {
  size_t most = device_.groups()[ordinal_].max_fill_pattern;
  if (pattern_size > most || (pattern_size & (pattern_size - 1)))
    return fail(ZE_RESULT_ERROR_INVALID_SIZE, "fill pattern of %zu bytes: must be a power of two of at most %zu", pattern_size,
                most);
  if (size > kAbsurd) return refuse_size(size);
  note_use(to);
  return append<FillPacket>(cost_of_bytes(size), pattern_size, signal, n, waits, [&](FillPacket& packet) {
    packet.to = to;
    packet.bytes = size;
    packet.pattern_size = pattern_size;
    std::memcpy(packet.pattern(), pattern, pattern_size);
  });
}

ze_result_t CommandList::appendMemoryFillWithParameters(void* to, const void* pattern, size_t pattern_size, size_t size,
                                                        const void* next, Event* signal, uint32_t n, Event* const* waits) {
  if (next) return refuse_parameters();
  return appendMemoryFill(to, pattern, pattern_size, size, signal, n, waits);
}

namespace {

// The range from the first to the last byte of a region.
struct ByteSpan {
  uintptr_t begin, end;
  bool meets(const ByteSpan& other) const { return begin < other.end && other.begin < end; }
};

ByteSpan span_of(const Box& box, size_t row, size_t rows, size_t slices) {
  uintptr_t begin = reinterpret_cast<uintptr_t>(box.base);
  return {begin, begin + (slices - 1) * box.slice_pitch + (rows - 1) * box.row_pitch + row};
}

// The multiples of `pitch` nearest to `distance`, below and above: only these can make two runs overlap.
struct Steps {
  ptrdiff_t first, last;
  Steps(ptrdiff_t distance, size_t pitch, size_t count) : first(0), last(0) {
    if (count == 1) return;
    ptrdiff_t step = distance / static_cast<ptrdiff_t>(pitch) - (distance % static_cast<ptrdiff_t>(pitch) < 0);
    first = std::max(step, 1 - static_cast<ptrdiff_t>(count));
    last = std::min(step + 1, static_cast<ptrdiff_t>(count) - 1);
  }
};

// True if the regions share a byte; their ranges may interleave without doing so. Regions of different pitches whose ranges overlap
// count as overlapping.
bool overlap(const Box& a, const Box& b, size_t row, size_t rows, size_t slices) {
  if (!span_of(a, row, rows, slices).meets(span_of(b, row, rows, slices))) return false;
  if ((rows > 1 && a.row_pitch != b.row_pitch) || (slices > 1 && a.slice_pitch != b.slice_pitch)) return true;
  const ptrdiff_t distance = b.base - a.base;
  const Steps by_slice(distance, a.slice_pitch, slices);
  for (ptrdiff_t slice = by_slice.first; slice <= by_slice.last; ++slice) {
    const ptrdiff_t in_slice = distance - slice * static_cast<ptrdiff_t>(a.slice_pitch);
    const Steps by_row(in_slice, a.row_pitch, rows);
    for (ptrdiff_t line = by_row.first; line <= by_row.last; ++line) {
      const ptrdiff_t in_row = in_slice - line * static_cast<ptrdiff_t>(a.row_pitch);
      if (in_row < static_cast<ptrdiff_t>(row) && -in_row < static_cast<ptrdiff_t>(row)) return true;
    }
  }
  return false;
}

}  // namespace

ze_result_t CommandList::appendMemoryCopyRegion(void* to, const ze_copy_region_t* to_region, uint32_t to_pitch,
                                                uint32_t to_slice_pitch, const void* from, const ze_copy_region_t* from_region,
                                                uint32_t from_pitch, uint32_t from_slice_pitch, Event* signal, uint32_t n,
                                                Event* const* waits) {
  const ze_copy_region_t &t = *to_region, &f = *from_region;
  if (t.width != f.width || t.height != f.height || t.depth != f.depth)
    return fail(ZE_RESULT_ERROR_INVALID_SIZE, "regions differ: %u x %u x %u and %u x %u x %u", t.width, t.height, t.depth, f.width,
                f.height, f.depth);
  // Depth 0 and 1 both mean a plane; a region without width or height is empty.
  const size_t row = t.width, rows = t.height, slices = t.depth ? t.depth : 1;
  auto box = [&](const void* base, const ze_copy_region_t& region, uint32_t pitch, uint32_t slice_pitch) {
    size_t rp = pitch ? pitch : row;
    size_t sp = slice_pitch ? slice_pitch : rp * rows;
    auto* first = static_cast<unsigned char*>(const_cast<void*>(base));
    return Box{first + region.originX + region.originY * rp + region.originZ * sp, rp, sp};
  };
  BoxCopy copy{box(to, t, to_pitch, to_slice_pitch), box(from, f, from_pitch, from_slice_pitch), row, rows, slices};
  if ((rows > 1 && (copy.to.row_pitch < row || copy.from.row_pitch < row)) ||
      (slices > 1 && (copy.to.slice_pitch < copy.to.row_pitch * (rows - 1) + row ||
                      copy.from.slice_pitch < copy.from.row_pitch * (rows - 1) + row)))
    return fail(ZE_RESULT_ERROR_INVALID_SIZE, "a pitch is smaller than the region's rows or slices");
  if (row == 0 || rows == 0) return appendBarrier(signal, n, waits);
  if (overlap(copy.to, copy.from, row, rows, slices))
    return fail(ZE_RESULT_ERROR_OVERLAPPING_REGIONS, "source and destination regions share memory");
  return append_boxes(&copy, 1, nullptr, nullptr, signal, n, waits);
}

ze_result_t CommandList::append_boxes(const BoxCopy* boxes, uint32_t count, Image* a, Image* b, Event* signal, uint32_t n,
                                      Event* const* waits) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < count; ++i) {
    bytes += boxes[i].row * boxes[i].rows * boxes[i].slices;
    note_use(boxes[i].to.base);
    note_use(boxes[i].from.base);
  }
  for (Image* image : {a, b})
    if (image && !device_.pages_on_demand()) image->set_resident(device_, true);
  return append<CopyBoxesPacket>(cost_of_bytes(bytes), count * sizeof(BoxCopy), signal, n, waits, [&](CopyBoxesPacket& packet) {
    packet.images[0] = a;
    packet.images[1] = b;
    packet.count = count;
    std::memcpy(static_cast<void*>(packet.boxes()), boxes, count * sizeof(BoxCopy));
  });
}

namespace {

// A hint must be about memory that the device can access, and must not extend beyond an allocation.
ze_result_t check_hint(const Device& device, const void* pointer, size_t size) {
  uintptr_t end = 0;
  const bool known = with_allocation(pointer, [&](Allocation& allocation) { end = allocation.base + allocation.size; });
  if (!known && !device.pages_on_demand())
    return fail(
        ZE_RESULT_ERROR_INVALID_ARGUMENT,
        "%p does not lie in an allocation, and memory of the system's allocator is not accessible to a device without on-demand "
        "paging",
        pointer);
  const size_t left = end - reinterpret_cast<uintptr_t>(pointer);
  if (!known || size <= left) return ZE_RESULT_SUCCESS;
  return fail(ZE_RESULT_ERROR_INVALID_SIZE, "%zu bytes at %p go beyond the end of their allocation, which has %zu left", size,
              pointer, left);
}

}  // namespace

ze_result_t CommandList::appendMemoryPrefetch(const void* pointer, size_t size) {
  if (ze_result_t r = check_hint(device_, pointer, size)) return r;
  return append<PrefetchPacket>(cost_of_bytes(size), 0, nullptr, 0, nullptr, [&](PrefetchPacket& packet) {
    packet.at = pointer;
    packet.bytes = size;
  });
}

ze_result_t CommandList::appendMemAdvise(Device& device, const void* pointer, size_t size, ze_memory_advice_t advice) {
  if (ze_result_t r = context_->require(device)) return r;
  if (ze_result_t r = check_hint(device, pointer, size)) return r;
  return append<AdvisePacket>(kTiny, 0, nullptr, 0, nullptr, [&](AdvisePacket& packet) {
    packet.at = pointer;
    packet.bytes = size;
    packet.device = &device;
    packet.advice = advice;
  });
}

}  // namespace anyzero
