// Machine code for the tests of the engine: an object compiled with them, packed as the planner would.
#pragma once

#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>

#include "exec/code.h"
#include "objects/kernel.h"
#include "scene.h"

namespace kernels {

using Bytes = std::vector<unsigned char>;

inline Bytes object_file() {
  std::ifstream file(KERNEL_OBJECT, std::ios::binary);
  assert(file);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

struct Parameter {
  anyzero::ArgumentKind kind;
  uint32_t size;
  uint32_t alignment = 8;
  uint32_t access = 0;
};
inline constexpr Parameter kPointer{anyzero::ArgumentKind::Global, 8}, kLocal{anyzero::ArgumentKind::Local, 8},
    kU32{anyzero::ArgumentKind::Value, 4}, kU64{anyzero::ArgumentKind::Value, 8};

struct Facts {
  std::string name;
  std::vector<Parameter> parameters = {};
  uint32_t local_bytes = 0;
  uint32_t scratch_fixed = 0;
  uint32_t scratch_per_vector = 0;
  uint32_t required_group[3] = {};
  std::vector<uint64_t> links = {};
  uint32_t flags = anyzero::KernelFacts::kConstantTurns;
};

inline void put32(Bytes& to, uint32_t value) {
  to.insert(to.end(), reinterpret_cast<unsigned char*>(&value), reinterpret_cast<unsigned char*>(&value) + 4);
}
inline void put64(Bytes& to, uint64_t value) {
  to.insert(to.end(), reinterpret_cast<unsigned char*>(&value), reinterpret_cast<unsigned char*>(&value) + 8);
}
inline void put_text(Bytes& to, const std::string& text) { to.insert(to.end(), text.c_str(), text.c_str() + text.size() + 1); }

// Makes the header agree with what lies behind it.
inline void seal(Bytes& container) {
  uint64_t size = container.size();
  uint32_t rest = UINT32_MAX;
  for (size_t i = 24; i < container.size(); ++i) {
    rest ^= container[i];
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? 0xEDB88320 : 0);
  }
  const uint64_t checksum = ~rest;
  std::memcpy(container.data() + 8, &size, 8);
  std::memcpy(container.data() + 16, &checksum, 8);
}

inline Bytes container(const Facts& facts, const Bytes& object = object_file()) {
  Bytes rows, names, to;
  uint32_t offset = 0;
  for (const Parameter& parameter : facts.parameters) {
    offset = (offset + parameter.alignment - 1) / parameter.alignment * parameter.alignment;
    for (uint32_t value :
         {static_cast<uint32_t>(parameter.kind), parameter.size, offset, parameter.alignment, parameter.access, 1u})
      put32(rows, value);
    put_text(names, "a");
    offset += parameter.size;
  }
  const char magic[] = "AZKERN03";
  to.insert(to.end(), magic, magic + 8);
  put64(to, 0);
  put64(to, 0);
  for (uint32_t value : {8u, facts.flags, static_cast<uint32_t>(facts.parameters.size()), offset, facts.local_bytes, 0u, 0u,
                         facts.scratch_fixed, facts.scratch_per_vector, static_cast<uint32_t>(facts.links.size()),
                         facts.required_group[0], facts.required_group[1], facts.required_group[2], 0u, 0u, 0u})
    put32(to, value);
  to.insert(to.end(), 32, 7);
  for (size_t length : {facts.name.size(), facts.name.size(), size_t{0}, object.size()}) put32(to, static_cast<uint32_t>(length));
  to.insert(to.end(), rows.begin(), rows.end());
  to.insert(to.end(), names.begin(), names.end());
  for (uint64_t link : facts.links) put64(to, link);
  put_text(to, facts.name);
  put_text(to, facts.name);
  put_text(to, "");
  to.insert(to.end(), object.begin(), object.end());
  seal(to);
  return to;
}

inline anyzero::Code* load(const Facts& facts, const anyzero::GlobalBlock& globals = {}) {
  std::string reason;
  anyzero::Code* code =
      anyzero::Code::load(container(facts), globals, [](uint64_t, anyzero::GlobalBlock*) { return false; }, &reason);
  if (!code) std::fprintf(stderr, "%s: %s\n", facts.name.c_str(), reason.c_str());
  assert(code);
  return code;
}

// A kernel of the scene's context and device, without any planner.
struct KernelHandle {
  ze_kernel_handle_t handle;

  KernelHandle(const scene::Scene& scene, const Facts& facts) {
    using namespace anyzero;
    auto* context = checked<Context>(scene.context);
    auto* device = checked<Device>(scene.device);
    Code* code = load(facts);
    auto build = std::make_shared<Build>();
    build->plan = std::make_shared<Plan>(0);
    Module* module = Module::make(*context, *device, std::move(build));
    handle = handle_of<ze_kernel_handle_t>(Kernel::make(*module, *code, 0u));
    module->retire();  // the kernel keeps it
    code->release();
  }
  ~KernelHandle() { OK(zeKernelDestroy(handle)); }
  KernelHandle(const KernelHandle&) = delete;
  KernelHandle& operator=(const KernelHandle&) = delete;
  operator ze_kernel_handle_t() const { return handle; }

  template <class T>
  const KernelHandle& set(uint32_t index, T value) const {
    OK(zeKernelSetArgumentValue(handle, index, sizeof value, &value));
    return *this;
  }
  const KernelHandle& local(uint32_t index, size_t bytes) const {
    OK(zeKernelSetArgumentValue(handle, index, bytes, nullptr));
    return *this;
  }
  const KernelHandle& group(uint32_t x, uint32_t y = 1, uint32_t z = 1) const {
    OK(zeKernelSetGroupSize(handle, x, y, z));
    return *this;
  }
};

inline void launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel, uint32_t x, uint32_t y = 1, uint32_t z = 1,
                   ze_event_handle_t signal = nullptr) {
  ze_group_count_t count{x, y, z};
  OK(zeCommandListAppendLaunchKernel(list, kernel, &count, signal, 0, nullptr));
}

}  // namespace kernels
