// Source lines of a kernel's machine code, as its container holds them.
#pragma once

#include <cstdint>
#include <string_view>

#include "../layouts/gen/container.h"

namespace anyzero {

// Threading: immutable. A view of bytes that belong to the container.
class LineTable {
 public:
  // False for bytes that are no valid table: they may come from a file. No bytes at all are the table of code without lines.
  bool read(std::string_view bytes);

  // The number of the source place of the instruction at this offset; 0 if unknown.
  uint32_t place_of(uint64_t offset) const;
  LinePlace place(uint32_t number) const;
  // Texts of a place; they end with a zero byte.
  const char* text(uint32_t offset) const { return texts_.data() + offset; }

  // The whole table, as it was read.
  std::string_view bytes() const { return bytes_; }

  // Ranges of code, in their order; each ends where the next begins.
  uint32_t rows() const { return head_.rows; }
  LineRow row(uint32_t index) const;

 private:
  LineTableHead head_{};
  std::string_view bytes_, rows_, places_, texts_;
};

}  // namespace anyzero
