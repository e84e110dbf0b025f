#include "compiled_form.h"

#include <cpuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace anyzero {

namespace {

// A form also contains the weights, in the processor's layout. Above this size, loading it takes as long as recompiling.
constexpr off_t kMostBytes = off_t{256} << 20;

// Environment variables that restrict the library's instruction set or precision.
constexpr std::array kVariables = {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_CPU_ISA_HINTS", "DNNL_CPU_ISA_HINTS",
                                   "ONEDNN_DEFAULT_FPMATH_MODE"};

uint64_t enabled_state() {
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

std::string describe_processor() {
  std::string text;
  for (uint32_t leaf : {0u, 1u, 7u, 0x14u, 0x1eu, 0x80000001u, 0x80000008u}) {
    for (uint32_t sub : {0u, 1u}) {
      std::array<uint32_t, 4> found{};
      if (!__get_cpuid_count(leaf, sub, &found[0], &found[1], &found[2], &found[3])) continue;
      // Masks the APIC id of the processor that runs this thread.
      if (leaf == 1) found[1] &= 0x0000ffffu;
      text.append(reinterpret_cast<const char*>(found.data()), sizeof found);
    }
  }
  uint32_t a = 0, b = 0, c = 0, d = 0;
  const bool saves_state = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE);
  const uint64_t state = saves_state ? enabled_state() : 0;
  text.append(reinterpret_cast<const char*>(&state), sizeof state);
  for (const char* name : kVariables)
    if (const char* value = getenv(name)) text.append(name).append("=").append(value).append("\n");
  return text;
}

}  // namespace

ContentHash processor_identity() {
  static const ContentHash identity = content_hash({as_bytes(describe_processor())});
  return identity;
}

ContentHash form_identity(const OpenVino& openvino) {
  return content_hash({as_bytes(processor_identity().hex()), as_bytes(openvino.version())});
}

bool has_form(const std::vector<std::pair<std::string, std::string>>& properties) {
  return std::all_of(properties.begin(), properties.end(), [](const auto& property) {
    return property.first == "PERFORMANCE_HINT" && property.second == "LATENCY";  // the default
  });
}

std::shared_ptr<const Mapping> export_form(const OpenVino& openvino, const OpenVino::Compiled* compiled) {
  const int file = memfd_create("anyzero compiled form", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  std::shared_ptr<const Mapping> form;
  int status = -1;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  struct stat about;
  if (OpenVinoCall::survived([&] { status = openvino.export_model(compiled, path.c_str()); }) && status == 0 &&
      fstat(file, &about) == 0 && about.st_size > 0 && about.st_size <= kMostBytes) {
    const auto size = static_cast<size_t>(about.st_size);
    form = Mapping::of(mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0), size);
  }
  close(file);
  return form;
}

}  // namespace anyzero
