// Machine code for the tests of the engine: an object compiled with them, packed as the planner would.
#pragma once

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>

#include "exec/code.h"
#include "layouts/bytes.h"
#include "objects/modules/kernel.h"
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
  uint32_t flags = anyzero::KernelFlag::kConstantTurns;
  uint32_t lanes = 8;
};

// Makes the header agree with what lies behind it.
inline void seal(Bytes& container) {
  constexpr size_t kCovered = offsetof(anyzero::ContainerHead, checksum) + sizeof(uint64_t);
  uint64_t size = container.size();
  uint32_t rest = UINT32_MAX;
  for (size_t i = kCovered; i < container.size(); ++i) {
    rest ^= container[i];
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? 0xEDB88320 : 0);
  }
  const uint64_t checksum = ~rest;
  std::memcpy(container.data() + offsetof(anyzero::ContainerHead, total_bytes), &size, 8);
  std::memcpy(container.data() + offsetof(anyzero::ContainerHead, checksum), &checksum, 8);
}

inline Bytes container(const Facts& facts, const Bytes& object = object_file()) {
  using namespace anyzero;
  ByteWriter rows, names, links, to;
  auto put_text = [](ByteWriter& at, const std::string& text) { at.raw({text.c_str(), text.size() + 1}); };
  uint32_t offset = 0;
  for (const Parameter& parameter : facts.parameters) {
    offset = (offset + parameter.alignment - 1) / parameter.alignment * parameter.alignment;
    rows.record(ContainerArgument{static_cast<uint32_t>(parameter.kind), parameter.size, offset, parameter.alignment,
                                  parameter.access, 0, 1});
    put_text(names, "a");
    offset += parameter.size;
  }
  for (uint64_t link : facts.links) links.u64(link);
  ContainerHead head{};
  kContainerMagic.copy(head.magic, sizeof head.magic);
  head.lanes = facts.lanes;
  head.flags = facts.flags;
  head.n_args = static_cast<uint32_t>(facts.parameters.size());
  head.args_bytes = offset;
  head.local_bytes = facts.local_bytes;
  head.scratch_fixed = facts.scratch_fixed;
  head.scratch_per_vector = facts.scratch_per_vector;
  head.n_links = static_cast<uint32_t>(facts.links.size());
  std::copy_n(facts.required_group, 3, head.required_group);
  std::fill_n(head.kernel_uuid, 16, 7);
  std::fill_n(head.module_uuid, 16, 7);
  head.name_bytes = head.entry_bytes = static_cast<uint32_t>(facts.name.size());
  head.object_bytes = static_cast<uint32_t>(object.size());
  to.record(head);
  for (const ByteWriter* part : {&rows, &names, &links}) to.raw(part->bytes());
  for (const std::string& text : {facts.name, facts.name, std::string()}) put_text(to, text);
  to.raw({reinterpret_cast<const char*>(object.data()), object.size()});
  Bytes sealed(to.bytes().begin(), to.bytes().end());
  seal(sealed);
  return sealed;
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
