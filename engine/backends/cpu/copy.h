// Moving and filling memory at the speed of the memory itself.
#pragma once

#include <cstddef>

#include "../backend.h"

namespace anyzero {

// All of these may leave by a jump when user memory faults, so nothing in them owns anything. Threading: any thread.

// As memmove. Large copies are shared out over the worker pool and, beyond the caches, written past them.
void copy_memory(void* to, const void* from, size_t size, Caching caching = Caching::Usual);

// Repeats a pattern of any length; the last repetition may be cut off.
void fill_memory(void* to, const void* pattern, size_t pattern_size, size_t size, Caching caching = Caching::Usual);

// Whether a run of so many bytes is written past the caches.
bool written_past_caches(size_t size, Caching caching);

// `slices` × `rows` runs of `row` bytes. Regions that share bytes are not supported.
void copy_rows(const Box& to, const Box& from, size_t row, size_t rows, size_t slices);

}  // namespace anyzero
