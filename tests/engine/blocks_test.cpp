// The order of groups: strips of columns, in which rows follow each other.
#include "exec/blocks.h"

#include <cassert>
#include <cstdio>

namespace {

uint64_t strip(uint64_t columns, uint64_t rows, uint64_t width) {
  anyzero::Grid grid{{columns, rows, 1}, {width, 4, 1}, {}, {columns * width, rows * 4, 1}, 2, 0, 0, 0, 0};
  anyzero::choose_strip(grid);
  return grid.strip;
}

}  // namespace

int main() {
  assert(strip(1'000'000, 1, 16) == 1'000'000);  // a single row stays one
  assert(strip(64, 64, 16) == 16);
  assert(strip(512, 64, 8) == 32);  // small groups: more of them
  assert(strip(64, 64, 256) == 16);
  assert(strip(17, 64, 16) == 9);  // no narrow one at the end
  assert(strip(5, 64, 16) == 5);
  assert(strip(1, 64, 1) == 1);
  for (uint64_t columns = 1; columns < 100; ++columns)
    for (uint64_t width : {1, 7, 16, 100, 1024}) {
      const uint64_t found = strip(columns, 3, width);
      assert(found >= 1 && found <= columns);
      assert(found <= 256);
    }
  std::puts("blocks_test: ok");
  return 0;
}
