// Loading machine code: what a good object does, and that no bad one is followed anywhere.
#include <elf.h>

#include "kernels.h"
#include "thorough.h"

using namespace kernels;
using anyzero::Code;
using anyzero::GlobalBlock;

namespace {

const Facts kSections{.name = "sections", .parameters = {kPointer, kU32}};

anyzero::Code* try_load(const Bytes& container, std::string* reason) {
  return Code::load(container, {}, [](uint64_t, GlobalBlock*) { return false; }, reason);
}

bool refused(const Bytes& container, const char* because) {
  std::string reason;
  Code* code = try_load(container, &reason);
  if (code) code->release();
  if (code || reason.find(because) == std::string::npos)
    std::fprintf(stderr, "refused for '%s', not '%s'\n", reason.c_str(), because);
  return !code && reason.find(because) != std::string::npos;
}

void every_section_works() {
  unsigned char variables[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  Code* code = load(kSections, {reinterpret_cast<uintptr_t>(variables), nullptr});
  anyzero::Grid grid{{1, 1, 1}, {1, 1, 1}, {}, {1, 1, 1}, 1, 1, 0, 0, 0};
  anyzero::Worker worker{};
  const uint32_t chosen[] = {10, 27, 31, 44, 59, 63, 99};
  for (uint32_t which = 0; which < 7; ++which) {
    uint32_t result[7] = {};
    struct {
      uint32_t* to;
      uint32_t which;
    } args{result, which};
    code->entry()(&args, &grid, 0, 1, &worker);
    assert(result[0] == (which & 1 ? 1u : 9u));
    assert(result[1] == 41 + which && result[2] == 0);
    assert(result[3] == (which & 1 ? 49u : 14u));
    assert(result[4] == chosen[which]);
    uint32_t expected;
    std::memcpy(&expected, variables + which, 4);
    assert(result[5] == expected);
    assert(result[6] == static_cast<uint32_t>(((static_cast<unsigned __int128>(which + 1) << 70) / (which + 3)) >> 64));
  }
  size_t offset;
  assert(code->offset_of(code->address(), &offset) && !code->offset_of(reinterpret_cast<uintptr_t>(&grid), &offset));
  code->release();
}

// Every load has data of its own.
void loads_are_apart() {
  Code *a = load(kSections), *b = load(kSections);
  assert(a->address() != b->address());
  a->release();
  b->release();
}

void containers_are_checked() {
  const Bytes good = container(kSections);
  std::string reason;
  for (size_t size = 0; size < good.size(); size += size < 400 ? 1 : 97) {
    Bytes cut(good.begin(), good.begin() + static_cast<ptrdiff_t>(size));
    assert(refused(cut, "damaged"));
    if (size < 24) continue;
    seal(cut);  // whoever truncates it may also repair the header
    assert(refused(cut, "damaged"));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    Bytes bad = good;
    bad[random() % bad.size()] ^= static_cast<unsigned char>(1 + random() % 255);
    assert(refused(bad, "damaged"));
  }
  // A header that lies, with a checksum that agrees.
  for (uint32_t i = 0; i < examples(1000, 3000); ++i) {
    Bytes bad = good;
    const size_t at = 24 + random() % 200;
    bad[at] = static_cast<unsigned char>(random());
    seal(bad);
    if (Code* code = try_load(bad, &reason)) code->release();
  }
  Facts far = kSections;
  far.parameters[1].alignment = 3;
  assert(refused(container(far), "argument"));
}

template <class T>
void put(Bytes& object, size_t at, T value) {
  std::memcpy(object.data() + at, &value, sizeof value);
}

Elf64_Shdr section(const Bytes& object, const char* name, size_t* at) {
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof header);
  Elf64_Shdr names, found;
  std::memcpy(&names, object.data() + header.e_shoff + header.e_shstrndx * sizeof names, sizeof names);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    *at = header.e_shoff + i * sizeof found;
    std::memcpy(&found, object.data() + *at, sizeof found);
    if (std::strcmp(reinterpret_cast<const char*>(object.data() + names.sh_offset + found.sh_name), name) == 0) return found;
  }
  std::fprintf(stderr, "no section %s\n", name);
  std::abort();
}

void objects_are_checked() {
  const Bytes good = object_file();
  auto bad = [&](auto&& change, const char* because) {
    Bytes object = good;
    change(object);
    assert(refused(container(kSections, object), because));
  };
  bad([](Bytes& o) { o.resize(10); }, "truncated");
  bad([](Bytes& o) { o[0] = 'x'; }, "not an ELF");
  bad([](Bytes& o) { o[EI_CLASS] = ELFCLASS32; }, "another machine");
  bad([](Bytes& o) { put<Elf64_Half>(o, offsetof(Elf64_Ehdr, e_machine), EM_AARCH64); }, "another machine");
  bad([](Bytes& o) { put<Elf64_Half>(o, offsetof(Elf64_Ehdr, e_type), ET_DYN); }, "not relocatable");
  bad([](Bytes& o) { put<Elf64_Off>(o, offsetof(Elf64_Ehdr, e_shoff), UINT64_MAX - 10); }, "truncated");
  size_t at;
  section(good, ".text", &at);
  bad([&](Bytes& o) { put<Elf64_Xword>(o, at + offsetof(Elf64_Shdr, sh_size), 1u << 20); }, "truncated");
  bad([&](Bytes& o) { put<Elf64_Xword>(o, at + offsetof(Elf64_Shdr, sh_addralign), 3); }, "alignment");
  bad([&](Bytes& o) { put<Elf64_Xword>(o, at + offsetof(Elf64_Shdr, sh_flags), SHF_ALLOC | SHF_EXECINSTR | SHF_WRITE); },
      "writable and executable");
  const Elf64_Off text = section(good, ".text", &at).sh_offset;
  section(good, ".data", &at);
  bad([&](Bytes& o) { put<Elf64_Off>(o, at + offsetof(Elf64_Shdr, sh_offset), text + 4); }, "overlap");
  const Elf64_Shdr relocations = section(good, ".rela.text", &at);
  const size_t info = relocations.sh_offset + offsetof(Elf64_Rela, r_info);
  bad([&](Bytes& o) { put<Elf64_Xword>(o, info, ELF64_R_INFO(1, R_X86_64_TLSGD)); }, "relocation type 19");
  bad([&](Bytes& o) { put<Elf64_Xword>(o, info, ELF64_R_INFO(1u << 20, R_X86_64_PC32)); }, "missing symbol");
  bad([&](Bytes& o) { put<Elf64_Addr>(o, relocations.sh_offset, 1u << 30); }, "outside its section");
  Facts missing = kSections;
  missing.name = "nowhere";
  assert(refused(container(missing, good), "no function called nowhere"));
  // A name that nobody offers.
  Bytes renamed = good;
  for (size_t i = 0; i + 9 < renamed.size(); ++i)
    if (std::memcmp(&renamed[i], "az_printf", 10) == 0) renamed[i] = 'q';
  assert(refused(container(kSections, renamed), "qz_printf"));
}

// Random damage: refused or loaded, never followed out of bounds. The sanitizers are the judges.
void fuzz() {
  const Bytes good = object_file();
  std::mt19937 random(7);
  const Elf64_Off sections = [&] {
    Elf64_Ehdr header;
    std::memcpy(&header, good.data(), sizeof header);
    return header.e_shoff;
  }();
  const uint32_t damaged = examples(2000, 6000);
  uint32_t loaded = 0;
  for (uint32_t i = 0; i < damaged; ++i) {
    Bytes bad = good;
    for (unsigned n = 1 + random() % 4; n > 0; --n) {
      const size_t from = random() % 2 ? sections : 0;
      bad[from + random() % (bad.size() - from)] = static_cast<unsigned char>(random() % 3 ? random() : 0xFF);
    }
    if (random() % 8 == 0) bad.resize(random() % bad.size());
    std::string reason;
    auto resolve = [](const std::string&, uintptr_t* address) {
      *address = 0x1000;
      return true;
    };
    auto object =
        anyzero::LoadedObject::load({reinterpret_cast<const char*>(bad.data()), bad.size()}, {"sections"}, resolve, &reason);
    assert(object || !reason.empty());
    loaded += object != nullptr;
  }
  assert(loaded > damaged / 60 && loaded < damaged - damaged / 60);
}

}  // namespace

int main() {
  every_section_works();
  loads_are_apart();
  containers_are_checked();
  objects_are_checked();
  fuzz();
  std::puts("code_test: ok");
  return 0;
}
