#include "line_symbols.h"

#include <elf.h>

#include <cstring>
#include <map>
#include <string_view>
#include <vector>

namespace anyzero {

namespace {

// Numbers of DWARF 4 that are used here.
enum : unsigned char {
  kCopy = 1,
  kAdvancePc = 2,
  kAdvanceLine = 3,
  kSetFile = 4,
  kExtended = 0,
  kEndSequence = 1,
  kSetAddress = 2,
  kCompileUnit = 0x11,
  kSubprogram = 0x2e,
  kName = 0x03,
  kStatements = 0x10,
  kLowPc = 0x11,
  kHighPc = 0x12,
  kLanguage = 0x13,
  kAddress = 0x01,
  kData2 = 0x05,
  kData8 = 0x07,
  kString = 0x08,
  kOffset = 0x17,
};
constexpr uint16_t kVersion = 4;
constexpr uint16_t kC99 = 0x0c;  // debuggers know how to show it

class Bytes {
 public:
  template <class T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) { (bytes_ += value) += '\0'; }
  void variable(uint64_t value) {
    do {
      const auto low = static_cast<unsigned char>(value & 0x7f);
      value >>= 7;
      number(static_cast<unsigned char>(value ? low | 0x80 : low));
    } while (value);
  }
  void variable_signed(int64_t value) {
    for (;;) {
      const auto low = static_cast<unsigned char>(value & 0x7f);
      value >>= 7;
      const bool last = (value == 0 && !(low & 0x40)) || (value == -1 && (low & 0x40));
      number(static_cast<unsigned char>(last ? low : low | 0x80));
      if (last) return;
    }
  }
  // Writes a block with its size in front.
  std::string with_size() && {
    const auto size = static_cast<uint32_t>(bytes_.size());
    return std::string(reinterpret_cast<const char*>(&size), sizeof size) + bytes_;
  }
  std::string done() && { return std::move(bytes_); }
  void raw(std::string_view value) { bytes_ += value; }

 private:
  std::string bytes_;
};

std::string abbreviations() {
  Bytes out;
  const auto entry = [&](unsigned char number, unsigned char tag, bool children, std::vector<unsigned char> attributes) {
    out.variable(number);
    out.variable(tag);
    out.number(static_cast<unsigned char>(children));
    for (unsigned char each : attributes) out.number(each);
    out.number(uint16_t{0});
  };
  entry(1, kCompileUnit, true, {kLanguage, kData2, kName, kString, kStatements, kOffset, kLowPc, kAddress, kHighPc, kData8});
  entry(2, kSubprogram, false, {kName, kString, kLowPc, kAddress, kHighPc, kData8});
  out.number(char{0});
  return std::move(out).done();
}

std::string unit(std::string_view file, const std::string& kernel, uint64_t text, uint64_t bytes) {
  Bytes out;
  out.number(kVersion);
  out.number(uint32_t{0});  // where the abbreviations begin
  out.number(char{sizeof text});
  out.variable(1);
  out.number(kC99);
  out.text(file);
  out.number(uint32_t{0});  // where the lines begin
  out.number(text);
  out.number(bytes);
  out.variable(2);
  out.text(kernel);
  out.number(text);
  out.number(bytes);
  out.number(char{0});
  return std::move(out).with_size();
}

std::string program(const LineTable& lines, const std::map<uint32_t, uint64_t>& files, uint64_t text, uint64_t bytes) {
  Bytes out;
  out.raw({"\0\x09\x02", 3});
  out.number(text);
  uint64_t at = 0, file = 1;
  int64_t line = 1;
  for (uint32_t i = 0; i < lines.rows(); ++i) {
    const LineRow row = lines.row(i);
    if (row.offset >= bytes) break;
    const LinePlace place = row.place ? lines.place(row.place) : LinePlace{};
    const uint64_t of = row.place ? files.at(place.file) : file;
    if (of != file) {
      out.number(kSetFile);
      out.variable(file = of);
    }
    out.number(kAdvancePc);
    out.variable(row.offset - at);
    at = row.offset;
    out.number(kAdvanceLine);
    out.variable_signed(place.line - line);
    line = place.line;
    out.number(kCopy);
  }
  out.number(kAdvancePc);
  out.variable(bytes - at);
  out.raw({"\0\x01\x01", 3});
  return std::move(out).done();
}

std::string line_section(const LineTable& lines, uint64_t text, uint64_t bytes, std::string_view* first) {
  std::map<uint32_t, uint64_t> files;
  Bytes header;
  header.raw({"\x01\x01\x01\xfb\x0e\x0d", 6});  // sizes of instructions, and how special opcodes count, of which none is used
  header.raw({"\0\x01\x01\x01\x01\0\0\0\x01\0\0\x01", 12});
  header.number(char{0});  // no folders: files have their whole path
  for (uint32_t i = 0; i < lines.rows(); ++i) {
    const LineRow row = lines.row(i);
    if (!row.place) continue;
    const uint32_t file = lines.place(row.place).file;
    if (!files.emplace(file, files.size() + 1).second) continue;
    if (first->empty()) *first = lines.text(file);
    header.text(lines.text(file));
    header.raw({"\0\0\0", 3});
  }
  header.number(char{0});
  Bytes out;
  out.number(kVersion);
  out.raw(std::move(header).with_size());
  out.raw(program(lines, files, text, bytes));
  return std::move(out).with_size();
}

struct Part {
  std::string_view name;
  uint32_t type;
  std::string bytes;
  uint64_t flags = 0, address = 0, size = 0;  // of code, which is not in the file
  uint32_t link = 0, info = 0;
  uint64_t entry = 0;
};

// The file: header, contents of the parts, section headers.
std::string elf(std::vector<Part> parts) {
  std::string names(1, '\0'), contents;
  std::vector<Elf64_Shdr> headers(1, Elf64_Shdr{});
  parts.push_back({".shstrtab", SHT_STRTAB, {}});
  for (const Part& part : parts) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<uint32_t>(names.size());
    (names += part.name) += '\0';
    header.sh_type = part.type;
    header.sh_flags = part.flags;
    header.sh_addr = part.address;
    header.sh_link = part.link;
    header.sh_info = part.info;
    header.sh_entsize = part.entry;
    header.sh_addralign = 1;
    const std::string& bytes = part.name == ".shstrtab" ? names : part.bytes;
    header.sh_offset = sizeof(Elf64_Ehdr) + contents.size();
    header.sh_size = part.type == SHT_NOBITS ? part.size : bytes.size();
    if (part.type != SHT_NOBITS) contents += bytes;
    headers.push_back(header);
  }
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_ident[EI_VERSION] = EV_CURRENT;
  head.e_type = ET_EXEC;
  head.e_machine = EM_X86_64;
  head.e_version = EV_CURRENT;
  head.e_ehsize = sizeof head;
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = static_cast<uint16_t>(headers.size());
  head.e_shstrndx = static_cast<uint16_t>(headers.size() - 1);
  head.e_shoff = sizeof head + contents.size();
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + contents +
         std::string(reinterpret_cast<const char*>(headers.data()), headers.size() * sizeof(Elf64_Shdr));
}

}  // namespace

std::string line_symbols(const LineTable& lines, const std::string& kernel, uint64_t text, uint64_t bytes) {
  if (!lines.rows()) return {};
  std::string_view file;
  std::string statements = line_section(lines, text, bytes, &file);
  Elf64_Sym symbols[2] = {};
  symbols[1].st_name = 1;
  symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbols[1].st_shndx = 1;
  symbols[1].st_value = text;
  symbols[1].st_size = bytes;
  std::vector<Part> parts;
  parts.push_back({".text", SHT_NOBITS, {}, SHF_ALLOC | SHF_EXECINSTR, text, bytes});
  parts.push_back({".symtab", SHT_SYMTAB, std::string(reinterpret_cast<const char*>(symbols), sizeof symbols), 0, 0, 0, 3, 1,
                   sizeof(Elf64_Sym)});
  parts.push_back({".strtab", SHT_STRTAB, std::string(1, '\0') + kernel + '\0'});
  parts.push_back({".debug_abbrev", SHT_PROGBITS, abbreviations()});
  parts.push_back({".debug_info", SHT_PROGBITS, unit(file, kernel, text, bytes)});
  parts.push_back({".debug_line", SHT_PROGBITS, std::move(statements)});
  return elf(std::move(parts));
}

}  // namespace anyzero
