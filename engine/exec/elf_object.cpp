#include "elf_object.h"

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <vector>

namespace anyzero {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLargestSection = uint64_t{1} << 30;
constexpr uint64_t kStub = 16;
constexpr int64_t kUnloaded = -1;

// Thrown inside this file only.
struct Refusal {
  std::string reason;
};

[[noreturn]] void refuse(std::string reason) { throw Refusal{std::move(reason)}; }

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// The target of a relocation.
enum class Wants { Nothing, Address, Stub, GotEntry, GotBase };

struct Shape {
  Wants wants;
  unsigned width;
  bool relative;  // to the relocated place (PC-relative)
  bool to_got;    // to the symbol's entry in the GOT
  bool is_signed;
};

Shape shape_of(uint32_t type) {
  switch (type) {
    case R_X86_64_NONE:
      return {Wants::Nothing, 0, false, false, false};
    case R_X86_64_64:
      return {Wants::Address, 8, false, false, false};
    case R_X86_64_PC64:
      return {Wants::Address, 8, true, false, true};
    case R_X86_64_PC32:
      return {Wants::Address, 4, true, false, true};
    case R_X86_64_PLT32:
      return {Wants::Stub, 4, true, false, true};
    case R_X86_64_32:
      return {Wants::Address, 4, false, false, false};
    case R_X86_64_32S:
      return {Wants::Address, 4, false, false, true};
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
      return {Wants::GotEntry, 4, true, false, true};
    case R_X86_64_GOTPCREL64:
      return {Wants::GotEntry, 8, true, false, true};
    case R_X86_64_GOT64:
      return {Wants::GotEntry, 8, false, true, true};
    case R_X86_64_GOTOFF64:
      return {Wants::Address, 8, false, true, true};
    case R_X86_64_PLTOFF64:
      return {Wants::Stub, 8, false, true, true};
    case R_X86_64_GOTPC32:
      return {Wants::GotBase, 4, true, false, true};
    case R_X86_64_GOTPC64:
      return {Wants::GotBase, 8, true, false, true};
    default:
      refuse("relocation type " + std::to_string(type) + " is not supported");
  }
}

}  // namespace

class ObjectLoader {
 public:
  ObjectLoader(std::string_view object, const Resolve& resolve) : object_(object), resolve_(resolve) {}

  std::unique_ptr<LoadedObject> load(const std::vector<std::string>& functions) {
    read_sections();
    read_symbols();
    read_relocations();
    lay_out();
    std::unique_ptr<LoadedObject> loaded(new LoadedObject);
    map(*loaded);
    for (const Relocation& relocation : relocations_) apply(relocation);
    for (const std::string& name : functions) loaded->functions_.push_back(find_function(name));
    protect();
    loaded->symbols_ = symbols_for_debuggers();
    return loaded;
  }

 private:
  enum Segment { kText, kReadOnly, kData, kSegments };

  struct Section {
    Elf64_Shdr header;
    std::string name;
    int64_t offset = kUnloaded;  // in the mapping
    Segment segment = kText;
  };

  struct Relocation {
    Elf64_Rela record;
    size_t section;  // the one that is changed
    uint32_t type() const { return static_cast<uint32_t>(ELF64_R_TYPE(record.r_info)); }
    size_t symbol() const { return ELF64_R_SYM(record.r_info); }
  };

  template <class T>
  T read(uint64_t offset) const {
    T value;
    if (offset > object_.size() || object_.size() - offset < sizeof value) refuse("the object is truncated");
    std::memcpy(&value, object_.data() + offset, sizeof value);
    return value;
  }

  std::string_view contents(const Elf64_Shdr& header) const {
    if (header.sh_offset > object_.size() || object_.size() - header.sh_offset < header.sh_size) refuse("the object is truncated");
    return object_.substr(header.sh_offset, header.sh_size);
  }

  static std::string text_at(std::string_view table, uint64_t offset) {
    if (offset >= table.size()) refuse("a name lies outside its table");
    size_t end = table.find('\0', offset);
    if (end == std::string_view::npos) refuse("a name has no end");
    return std::string(table.substr(offset, end - offset));
  }

  std::string_view strings(uint64_t index) const {
    if (index >= sections_.size() || sections_[index].header.sh_type != SHT_STRTAB) refuse("a table of names is missing");
    return contents(sections_[index].header);
  }

  void read_sections() {
    auto header = read<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) refuse("the code is not an ELF object");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_X86_64)
      refuse("the object is for another machine");
    if (header.e_type != ET_REL) refuse("the object is not relocatable");
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0) refuse("the object has no sections");
    for (uint64_t i = 0; i < header.e_shnum; ++i) {
      uint64_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
      if (at < header.e_shoff) refuse("the object is truncated");
      sections_.push_back({read<Elf64_Shdr>(at), {}, kUnloaded, kText});
    }
    std::string_view names = strings(header.e_shstrndx);
    for (Section& section : sections_) section.name = text_at(names, section.header.sh_name);
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (Section& section : sections_) {
      choose(section);
      if (section.offset == kUnloaded || section.header.sh_type == SHT_NOBITS || section.header.sh_size == 0) continue;
      contents(section.header);
      ranges.emplace_back(section.header.sh_offset, section.header.sh_offset + section.header.sh_size);
    }
    std::sort(ranges.begin(), ranges.end());
    for (size_t i = 1; i < ranges.size(); ++i)
      if (ranges[i].first < ranges[i - 1].second) refuse("sections of the object overlap");
  }

  // Decides whether a section is loaded, and with which permissions. Nothing unwinds through kernels, so unwind tables are not
  // loaded.
  static void choose(Section& section) {
    const Elf64_Shdr& header = section.header;
    if (!(header.sh_flags & SHF_ALLOC) || header.sh_type == SHT_NOTE || header.sh_type == SHT_X86_64_UNWIND ||
        section.name == ".eh_frame")
      return;
    if (header.sh_type != SHT_PROGBITS && header.sh_type != SHT_NOBITS && header.sh_type != SHT_INIT_ARRAY &&
        header.sh_type != SHT_FINI_ARRAY)
      refuse("section " + section.name + " is of an unknown type");
    if (header.sh_flags & (SHF_TLS | SHF_COMPRESSED)) refuse("section " + section.name + " has unsupported flags");
    if ((header.sh_flags & SHF_WRITE) && (header.sh_flags & SHF_EXECINSTR))
      refuse("section " + section.name + " is both writable and executable");
    if (header.sh_size > kLargestSection) refuse("section " + section.name + " is too large");
    if (header.sh_addralign > kPage || (header.sh_addralign & (header.sh_addralign - 1)))
      refuse("section " + section.name + " has an unsupported alignment");
    section.segment = header.sh_flags & SHF_EXECINSTR ? kText : header.sh_flags & SHF_WRITE ? kData : kReadOnly;
    section.offset = 0;
  }

  void read_symbols() {
    const Section* table = nullptr;
    for (const Section& section : sections_) {
      if (section.header.sh_type != SHT_SYMTAB) continue;
      if (table) refuse("the object has two symbol tables");
      table = &section;
    }
    if (!table) refuse("the object has no symbols");
    std::string_view bytes = contents(table->header), names = strings(table->header.sh_link);
    if (table->header.sh_entsize != sizeof(Elf64_Sym) || bytes.size() % sizeof(Elf64_Sym)) refuse("the symbol table is damaged");
    symbols_.resize(bytes.size() / sizeof(Elf64_Sym));
    for (size_t i = 0; i < symbols_.size(); ++i) {
      std::memcpy(&symbols_[i], bytes.data() + i * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
      names_.push_back(text_at(names, symbols_[i].st_name));
    }
  }

  void read_relocations() {
    for (const Section& section : sections_) {
      const Elf64_Shdr& header = section.header;
      if (header.sh_type != SHT_RELA && header.sh_type != SHT_REL) continue;
      if (header.sh_info >= sections_.size()) refuse("relocations of a missing section");
      if (sections_[header.sh_info].offset == kUnloaded) continue;
      if (header.sh_type == SHT_REL) refuse("relocations without addends are not supported");
      std::string_view bytes = contents(header);
      if (header.sh_entsize != sizeof(Elf64_Rela) || bytes.size() % sizeof(Elf64_Rela)) refuse("a relocation table is damaged");
      for (size_t at = 0; at < bytes.size(); at += sizeof(Elf64_Rela)) {
        Relocation relocation{{}, header.sh_info};
        std::memcpy(&relocation.record, bytes.data() + at, sizeof(Elf64_Rela));
        note(relocation);
        relocations_.push_back(relocation);
      }
    }
  }

  void note(const Relocation& relocation) {
    const Shape shape = shape_of(relocation.type());
    const Elf64_Shdr& target = sections_[relocation.section].header;
    if (shape.wants == Wants::Nothing) return;
    if (target.sh_type == SHT_NOBITS || relocation.record.r_offset > target.sh_size ||
        target.sh_size - relocation.record.r_offset < shape.width)
      refuse("a relocation lies outside its section");
    const size_t index = relocation.symbol();
    if (index >= symbols_.size()) refuse("a relocation names a missing symbol");
    if (!shape.relative && !shape.to_got && shape.width == 4) low_addresses_ = true;
    // A call of an undefined symbol: the callee may be too far away for 32 bits.
    const bool open = symbols_[index].st_shndx == SHN_UNDEF && index != 0;
    const bool stub = open && is_call(relocation);
    if (stub) stubs_.emplace(index, 0);
    if (stub || shape.wants == Wants::GotEntry) got_.emplace(index, 0);
  }

  // True if the place is the operand of a call or a jump.
  bool is_call(const Relocation& relocation) const {
    if (shape_of(relocation.type()).wants == Wants::Stub) return true;
    if (relocation.type() != R_X86_64_PC32) return false;
    std::string_view code = contents(sections_[relocation.section].header);
    const uint64_t at = relocation.record.r_offset;
    auto byte = [&](uint64_t back) { return static_cast<unsigned char>(code[at - back]); };
    if (at >= 1 && (byte(1) == 0xE8 || byte(1) == 0xE9)) return true;
    return at >= 2 && byte(2) == 0x0F && (byte(1) & 0xF0) == 0x80;
  }

  void lay_out() {
    uint64_t at = 0;
    for (int segment = 0; segment < kSegments; ++segment) {
      begin_[segment] = at = round_up(at, kPage);
      for (Section& section : sections_) {
        if (section.offset == kUnloaded || section.segment != segment) continue;
        at = round_up(at, std::max<uint64_t>(section.header.sh_addralign, 1));
        section.offset = static_cast<int64_t>(at);
        at += section.header.sh_size;
        if (at > kLargestSection) refuse("the object is too large");
      }
      if (segment == kText) {
        at = round_up(at, kStub);
        for (auto& [symbol, offset] : stubs_) {
          offset = at;
          at += kStub;
        }
      } else if (segment == kReadOnly) {
        got_begin_ = at = round_up(at, 8);
        for (auto& [symbol, offset] : got_) {
          offset = at;
          at += 8;
        }
      } else {
        at = lay_out_commons(at);
      }
      if (at > kLargestSection) refuse("the object is too large");
      end_[segment] = at;
    }
    bytes_ = std::max(round_up(at, kPage), kPage);
  }

  // Allocates common symbols (C's tentative definitions).
  uint64_t lay_out_commons(uint64_t at) {
    for (size_t i = 0; i < symbols_.size(); ++i) {
      const Elf64_Sym& symbol = symbols_[i];
      if (symbol.st_shndx != SHN_COMMON) continue;
      if (symbol.st_size > kLargestSection || symbol.st_value > kPage || (symbol.st_value & (symbol.st_value - 1)))
        refuse("symbol " + names_[i] + " has an unsupported size or alignment");
      at = round_up(at, std::max<uint64_t>(symbol.st_value, 1));
      commons_.emplace(i, at);
      at += symbol.st_size;
      if (at > kLargestSection) refuse("the object is too large");
    }
    return at;
  }

  void map(LoadedObject& loaded) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (low_addresses_ ? MAP_32BIT : 0);
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) refuse("there is no memory for the code");
    base_ = static_cast<unsigned char*>(memory);
    loaded.base_ = reinterpret_cast<uintptr_t>(memory);
    loaded.bytes_ = bytes_;
    loaded.text_bytes_ = end_[kText];
    for (const Section& section : sections_) {
      if (section.offset == kUnloaded || section.header.sh_type == SHT_NOBITS || section.header.sh_size == 0) continue;
      std::string_view from = contents(section.header);
      std::memcpy(base_ + section.offset, from.data(), from.size());
    }
    for (auto [symbol, offset] : got_) {
      uintptr_t address = address_of(symbol);
      std::memcpy(base_ + offset, &address, sizeof address);
    }
    for (auto [symbol, offset] : stubs_) {
      // jmp *entry(%rip)
      unsigned char stub[kStub] = {0xFF, 0x25, 0, 0, 0, 0, 0xCC, 0xCC, 0xCC, 0xCC, 0xCC, 0xCC, 0xCC, 0xCC, 0xCC, 0xCC};
      auto distance = static_cast<int32_t>(static_cast<int64_t>(got_.at(symbol)) - static_cast<int64_t>(offset + 6));
      std::memcpy(stub + 2, &distance, sizeof distance);
      std::memcpy(base_ + offset, stub, kStub);
    }
  }

  uintptr_t in_memory(uint64_t offset) const { return reinterpret_cast<uintptr_t>(base_) + offset; }

  uintptr_t address_of(size_t index) const {
    if (index == 0) return 0;
    const Elf64_Sym& symbol = symbols_[index];
    const std::string& name = names_[index];
    if (ELF64_ST_TYPE(symbol.st_info) == STT_TLS || ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC)
      refuse("symbol " + name + " is of an unsupported kind");
    if (symbol.st_shndx == SHN_UNDEF) {
      uintptr_t address = 0;
      if (name == "_GLOBAL_OFFSET_TABLE_") return in_memory(got_begin_);
      if (resolve_(name, &address) || ELF64_ST_BIND(symbol.st_info) == STB_WEAK) return address;
      refuse("the code needs " + (name.empty() ? "a symbol without a name" : name) + ", which the engine does not provide");
    }
    if (symbol.st_shndx == SHN_ABS) return symbol.st_value;
    if (symbol.st_shndx == SHN_COMMON) return in_memory(commons_.at(index));
    if (symbol.st_shndx >= sections_.size()) refuse("symbol " + name + " lies in a missing section");
    const Section& section = sections_[symbol.st_shndx];
    if (section.offset == kUnloaded) refuse("the code refers to section " + section.name + ", which is not loaded");
    if (symbol.st_value > section.header.sh_size) refuse("symbol " + name + " lies outside its section");
    return in_memory(static_cast<uint64_t>(section.offset) + symbol.st_value);
  }

  void apply(const Relocation& relocation) {
    const Shape shape = shape_of(relocation.type());
    if (shape.wants == Wants::Nothing) return;
    const uint64_t offset = static_cast<uint64_t>(sections_[relocation.section].offset) + relocation.record.r_offset;
    const size_t index = relocation.symbol();
    uint64_t value = 0;
    if (shape.wants == Wants::GotBase) {
      value = in_memory(got_begin_);
    } else if (shape.wants == Wants::GotEntry) {
      value = in_memory(got_.at(index));
    } else if (auto stub = stubs_.find(index); stub != stubs_.end() && is_call(relocation)) {
      value = in_memory(stub->second);
    } else {
      value = address_of(index);
    }
    value += static_cast<uint64_t>(relocation.record.r_addend);
    if (shape.relative) value -= in_memory(offset);
    if (shape.to_got) value -= in_memory(got_begin_);
    if (shape.width == 8) {
      std::memcpy(base_ + offset, &value, 8);
      return;
    }
    const bool fits = shape.is_signed ? static_cast<int64_t>(value) == static_cast<int32_t>(value) : value <= UINT32_MAX;
    if (!fits) refuse("the reference to " + (names_[index].empty() ? "a section" : names_[index]) + " is out of range");
    auto narrow = static_cast<uint32_t>(value);
    std::memcpy(base_ + offset, &narrow, 4);
  }

  uintptr_t find_function(const std::string& name) const {
    for (size_t i = 1; i < symbols_.size(); ++i) {
      const Elf64_Sym& symbol = symbols_[i];
      if (names_[i] != name || symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections_.size()) continue;
      const Section& section = sections_[symbol.st_shndx];
      if (section.offset == kUnloaded || section.segment != kText || symbol.st_value >= section.header.sh_size) continue;
      return address_of(i);
    }
    refuse("the object has no function called " + name);
  }

  // Nothing is ever writable and executable at once.
  void protect() {
    constexpr int kRights[kSegments] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
    for (int segment = 0; segment < kSegments; ++segment) {
      const uint64_t size = round_up(end_[segment], kPage) - begin_[segment];
      if (size && mprotect(base_ + begin_[segment], size, kRights[segment]) != 0)
        refuse("the system does not let this process make memory executable");
    }
  }

  // A debugger relocates the rest itself, by the addresses of sections.
  std::string symbols_for_debuggers() const {
    // Without .debug_info, line numbers are indices of the container's line table.
    const auto is_info = [](const Section& section) { return section.name == ".debug_info"; };
    if (std::none_of(sections_.begin(), sections_.end(), is_info)) return {};
    std::string made(object_);
    const auto headers = read<Elf64_Ehdr>(0).e_shoff;
    for (size_t i = 0; i < sections_.size(); ++i) {
      if (sections_[i].offset == kUnloaded) continue;
      const uint64_t address = in_memory(static_cast<uint64_t>(sections_[i].offset));
      std::memcpy(made.data() + headers + i * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_addr), &address, sizeof address);
    }
    return made;
  }

  std::string_view object_;
  const Resolve& resolve_;
  std::vector<Section> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::vector<std::string> names_;
  std::vector<Relocation> relocations_;
  // By symbol: the offset of its stub, of its GOT entry, or of the common symbol itself.
  std::map<size_t, uint64_t> stubs_, got_, commons_;
  uint64_t begin_[kSegments] = {}, end_[kSegments] = {}, bytes_ = 0, got_begin_ = 0;
  bool low_addresses_ = false;
  unsigned char* base_ = nullptr;
};

std::unique_ptr<LoadedObject> LoadedObject::load(std::string_view object, const std::vector<std::string>& functions,
                                                 const Resolve& resolve, std::string* reason) {
  try {
    return ObjectLoader(object, resolve).load(functions);
  } catch (const Refusal& refusal) {
    *reason = refusal.reason;
    return nullptr;
  }
}

LoadedObject::~LoadedObject() {
  if (bytes_) munmap(reinterpret_cast<void*>(base_), bytes_);
}

}  // namespace anyzero
