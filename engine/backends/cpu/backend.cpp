#include "../backend.h"

#include "copy.h"
#include "heap.h"

namespace anyzero {

namespace {

class CpuBackend final : public Backend {
 public:
  bool allocate(size_t size, size_t alignment, Block* block) override { return Heap::allocate(size, alignment, block); }
  void free(const Block& block) override { Heap::free(block); }
  bool share(Block* block) override { return Heap::share(block); }
  void copy(void* to, const void* from, size_t size, Caching caching) override { copy_memory(to, from, size, caching); }
  void fill(void* to, const void* pattern, size_t pattern_size, size_t size, Caching caching) override {
    fill_memory(to, pattern, pattern_size, size, caching);
  }
  void copy_box(const Box& to, const Box& from, size_t row, size_t rows, size_t slices) override {
    copy_rows(to, from, row, rows, slices);
  }
};

}  // namespace

Backend& cpu_backend() {
  static CpuBackend* backend = new CpuBackend;  // leaked: used until the process ends
  return *backend;
}

}  // namespace anyzero
