// Copies and fills at memory bandwidth.
#pragma once

#include <cstddef>

#include "../backend.h"

namespace anyzero {

// All of these may be left by a longjmp if user memory faults, so they own no resources. Threading: any thread.

// Same as memmove. Large copies are split over the worker pool and, if larger than the caches, written past them.
void copy_memory(void* to, const void* from, size_t size, Caching caching = Caching::Usual);

// Repeats a pattern of any length; the last repetition may be truncated.
void fill_memory(void* to, const void* pattern, size_t pattern_size, size_t size, Caching caching = Caching::Usual);

// Whether a run of this size is written past the caches.
bool written_past_caches(size_t size, Caching caching);

// `slices` × `rows` runs of `row` bytes. Overlapping regions are not supported.
void copy_rows(const Box& to, const Box& from, size_t row, size_t rows, size_t slices);

}  // namespace anyzero
