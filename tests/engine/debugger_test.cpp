// What debuggers read: the list of registered code, and symbols that are made from a line table.
#include "../../engine/exec/debugger.h"

#include <elf.h>

#include <cassert>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "../../engine/exec/line_symbols.h"

namespace {

struct Entry {
  Entry *next, *previous;
  const char* symbols;
  uint64_t size;
};

struct Descriptor {
  uint32_t version, action;
  Entry *relevant, *first;
};

extern "C" Descriptor __jit_debug_descriptor;

std::string listed() {
  std::string found;
  const Entry* before = nullptr;
  for (Entry* entry = __jit_debug_descriptor.first; entry; before = entry, entry = entry->next) {
    assert(entry->previous == before);
    found += std::string(entry->symbols, entry->size) + " ";
  }
  return found;
}

void entries_come_and_go_in_any_order() {
  using anyzero::DebuggerEntry;
  assert(listed().empty());
  auto one = std::make_unique<DebuggerEntry>("one"), two = std::make_unique<DebuggerEntry>("two"),
       three = std::make_unique<DebuggerEntry>("three");
  assert(listed() == "three two one ");
  assert(__jit_debug_descriptor.action == 1);
  two.reset();
  assert(listed() == "three one ");
  assert(__jit_debug_descriptor.action == 2);
  three.reset();
  assert(listed() == "one ");
  one.reset();
  assert(listed().empty());
  assert(!anyzero::is_debugger_attached());
}

// Two places of one file, code between them that belongs to no line, and a row behind the end of the code.
std::string table() {
  const std::string_view texts("\0kernel\0/nowhere/a.cl\0", 22);
  anyzero::LineTableHead head{};
  head.rows = 4;
  head.places = 2;
  head.text_bytes = static_cast<uint32_t>(texts.size());
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  for (const auto& [offset, place] : {std::pair{0u, 1u}, {16u, 0u}, {20u, 2u}, {4000u, 1u}}) {
    anyzero::LineRow row{};
    row.offset = offset;
    row.place = place;
    bytes.append(reinterpret_cast<const char*>(&row), sizeof row);
  }
  for (uint32_t line : {100u, 7u}) {
    anyzero::LinePlace place{};
    place.function = 1;
    place.file = 8;
    place.line = line;
    bytes.append(reinterpret_cast<const char*>(&place), sizeof place);
  }
  return bytes.append(texts);
}

void symbols_of_a_table_are_a_whole_elf_file() {
  anyzero::LineTable lines;
  assert(anyzero::line_symbols(lines, "kernel", 0x1000, 64).empty());
  const std::string bytes = table();
  assert(lines.read(bytes));
  const std::string made = anyzero::line_symbols(lines, "kernel", 0x1000, 64);
  Elf64_Ehdr head;
  assert(made.size() > sizeof head);
  std::memcpy(&head, made.data(), sizeof head);
  assert(std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0);
  assert(head.e_shoff + head.e_shnum * sizeof(Elf64_Shdr) == made.size());
  bool has_text = false;
  for (uint16_t i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, made.data() + head.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS) assert(section.sh_offset + section.sh_size <= head.e_shoff);
    has_text |= section.sh_addr == 0x1000 && section.sh_size == 64;
  }
  assert(has_text);
  assert(made.find("/nowhere/a.cl") != made.npos);
}

// Reads everything that reports, debuggers and profiles read of a table.
void use(const anyzero::LineTable& lines) {
  for (uint64_t offset : {uint64_t{0}, uint64_t{15}, uint64_t{17}, uint64_t{4001}, UINT64_MAX}) {
    size_t texts = 0;
    for (uint32_t number = lines.place_of(offset); number; number = lines.place(number).caller) {
      const anyzero::LinePlace place = lines.place(number);
      for (uint32_t text : {place.function, place.file, place.source}) texts += std::strlen(lines.text(text));
    }
    assert(texts < 10'000);
  }
  anyzero::line_symbols(lines, "kernel", 0x1000, 64);
}

// The bytes may come from a file: any that are no whole table are refused, and all others can be used.
void damaged_tables_are_refused_or_harmless() {
  const std::string whole = table();
  anyzero::LineTable lines;
  for (size_t size = 1; size < whole.size(); ++size) {
    const auto cut = std::make_unique<char[]>(size);  // of its own, so that a sanitizer sees a read past its end
    std::memcpy(cut.get(), whole.data(), size);
    assert(!lines.read({cut.get(), size}));
    use(lines);
  }
  size_t refused = 0;
  for (size_t at = 0; at < whole.size(); ++at)
    for (int value : {0, 1, 2, 7, 127, 128, 255}) {
      const auto bytes = std::make_unique<char[]>(whole.size());
      std::memcpy(bytes.get(), whole.data(), whole.size());
      bytes[at] = static_cast<char>(value);
      refused += !lines.read({bytes.get(), whole.size()});
      use(lines);
    }
  assert(refused > 100);
}

}  // namespace

int main() {
  entries_come_and_go_in_any_order();
  symbols_of_a_table_are_a_whole_elf_file();
  damaged_tables_are_refused_or_harmless();
  std::puts("debugger: ok");
  return 0;
}
