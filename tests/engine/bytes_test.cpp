// The reader of bytes from outside: whatever they are, it reads nothing beside them, and says when they were not enough.
#include "layouts/bytes.h"

#include <cassert>
#include <cstdio>
#include <memory>

#include "layouts/gen/graph.h"
#include "layouts/gen/module_requests.h"

using namespace anyzero;

namespace {

// On the heap, where the address sanitizer sees a byte too much.
struct Exact {
  std::unique_ptr<char[]> bytes;
  size_t size;

  explicit Exact(std::string_view from) : bytes(new char[from.size()]), size(from.size()) { from.copy(bytes.get(), size); }
  std::string_view view() const { return {bytes.get(), size}; }
};

std::string written(const BuildReply& reply) {
  ByteWriter bytes;
  encode(bytes, reply);
  return bytes.done();
}

BuildReply sample() {
  BuildReply reply;
  reply.plan = 7;
  reply.kernels = {"saxpy", ""};
  reply.variables = {{"table", 16, 8}};
  reply.block_size = 24;
  reply.block_alignment = 8;
  reply.block = std::string_view("a\0b", 3);
  reply.relocations = {{0, 16}, {8, 0}};
  reply.imports = {"far"};
  reply.shareable = 1;
  return reply;
}

void messages_come_back() {
  const std::string bytes = written(sample());
  ByteReader reader(bytes);
  BuildReply found;
  decode(reader, found);
  assert(reader.good() && reader.at_end());
  assert(found.plan == 7 && found.kernels.size() == 2 && found.kernels[0] == "saxpy" && found.kernels[1].empty());
  assert(found.functions.empty() && found.variables.size() == 1 && found.variables[0].name == "table");
  assert(found.variables[0].offset == 16 && found.variables[0].size == 8);
  assert(found.block_size == 24 && found.block_alignment == 8 && found.block == std::string_view("a\0b", 3));
  assert(found.relocations.size() == 2 && found.relocations[1].offset == 8 && found.relocations[0].target == 16);
  assert(found.imports.size() == 1 && found.property_flags == 0 && found.shareable == 1);
}

void every_cut_is_noticed() {
  const std::string bytes = written(sample());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Exact cut(std::string_view(bytes).substr(0, size));
    ByteReader reader(cut.view());
    BuildReply found;
    decode(reader, found);
    assert(!reader.good() && reader.at_end());
    // From then on everything is zero.
    assert(reader.u64() == 0 && reader.blob().empty() && reader.count(1) == 0);
  }
}

void every_wrong_byte_is_survived() {
  const std::string bytes = written(sample());
  for (size_t at = 0; at < bytes.size(); ++at)
    for (int value : {0, 1, 0x7F, 0xFF}) {
      Exact bad(bytes);
      bad.bytes[at] = static_cast<char>(value);
      ByteReader reader(bad.view());
      BuildReply found;
      decode(reader, found);
      assert(found.relocations.size() <= bytes.size());
    }
}

void texts_have_no_zero_byte() {
  ByteWriter bytes;
  bytes.blob(std::string_view("a\0b", 3));
  ByteReader as_blob(bytes.bytes()), as_text(bytes.bytes());
  assert(as_blob.blob().size() == 3 && as_blob.good());
  assert(as_text.text().empty() && !as_text.good());
}

void c_strings_end_where_they_say() {
  const std::string_view bytes("name\0rest", 9);
  ByteReader right(bytes), shorter(bytes), longer(bytes), beyond(bytes);
  assert(right.c_string(4) == "name" && right.rest() == "rest");
  assert(shorter.c_string(3).empty() && !shorter.good());
  assert(longer.c_string(6).empty() && !longer.good());
  assert(beyond.c_string(UINT32_MAX).empty() && !beyond.good());
}

// A count that the bytes left cannot hold makes nobody allocate.
void counts_are_not_believed() {
  ByteWriter bytes;
  bytes.u32(UINT32_MAX);
  bytes.u64(0);
  ByteReader reader(bytes.bytes());
  std::vector<uint64_t> numbers;
  reader.numbers(numbers);
  assert(numbers.empty() && !reader.good());
  ByteReader list(bytes.bytes());
  GraphReply found;
  decode(list, found);
  assert(found.pieces.empty() && !list.good());
}

}  // namespace

int main() {
  messages_come_back();
  every_cut_is_noticed();
  every_wrong_byte_is_survived();
  texts_have_no_zero_byte();
  c_strings_end_where_they_say();
  counts_are_not_believed();
  std::puts("bytes_test: ok");
  return 0;
}
