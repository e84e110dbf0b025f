#include "line_table.h"

#include <cstring>

#include "../layouts/bytes.h"

namespace anyzero {

bool LineTable::read(std::string_view bytes) {
  *this = {};
  if (bytes.empty()) return true;
  ByteReader reader(bytes);
  const auto head = reader.record<LineTableHead>();
  const std::string_view rows = reader.take(uint64_t{head.rows} * sizeof(LineRow));
  const std::string_view places = reader.take(uint64_t{head.places} * sizeof(LinePlace));
  const std::string_view texts = reader.take(head.text_bytes);
  if (!reader.good() || !reader.at_end() || texts.empty() || texts.front() != '\0' || texts.back() != '\0') return false;
  LineTable table;
  table.head_ = head;
  table.bytes_ = bytes;
  table.rows_ = rows;
  table.places_ = places;
  table.texts_ = texts;
  for (uint32_t i = 0; i < head.rows; ++i)
    if (table.row(i).place > head.places || (i && table.row(i).offset <= table.row(i - 1).offset)) return false;
  for (uint32_t i = 1; i <= head.places; ++i) {
    const LinePlace place = table.place(i);
    for (uint32_t text : {place.function, place.file, place.source})
      if (text >= texts.size()) return false;
    if (place.caller >= i) return false;
  }
  *this = table;
  return true;
}

LineRow LineTable::row(uint32_t index) const {
  LineRow found;
  std::memcpy(&found, rows_.data() + uint64_t{index} * sizeof found, sizeof found);
  return found;
}

LinePlace LineTable::place(uint32_t number) const {
  LinePlace found;
  std::memcpy(&found, places_.data() + uint64_t{number - 1} * sizeof found, sizeof found);
  return found;
}

uint32_t LineTable::place_of(uint64_t offset) const {
  uint32_t first = 0, last = head_.rows;
  while (first < last) {
    const uint32_t middle = first + (last - first) / 2;
    if (row(middle).offset <= offset) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first ? row(first - 1).place : 0;
}

}  // namespace anyzero
