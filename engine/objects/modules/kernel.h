// A kernel: code with the arguments, group size and flags of its next launch.
#pragma once

#include <vector>

#include "../../abi/handle.h"
#include "../../exec/packet.h"
#include "../images/image.h"
#include "../images/sampler.h"
#include "module.h"

namespace anyzero {

// Threading: queries from any thread; changes from one thread at a time. An append copies its state.
class Kernel : public Object<Kernel, Kind::Kernel> {
 public:
  static ze_result_t create(Module& module, const ze_kernel_desc_t* desc, ze_kernel_handle_t* handle);
  ze_result_t destroy();
  ze_result_t setCacheConfig(ze_cache_config_flags_t flags);
  ze_result_t setGroupSize(uint32_t x, uint32_t y, uint32_t z);
  ze_result_t suggestGroupSize(uint32_t global_x, uint32_t global_y, uint32_t global_z, uint32_t* x, uint32_t* y, uint32_t* z);
  ze_result_t suggestMaxCooperativeGroupCount(uint32_t* groups);
  ze_result_t setArgumentValue(uint32_t index, size_t size, const void* value);
  ze_result_t setIndirectAccess(ze_kernel_indirect_access_flags_t flags);
  ze_result_t getIndirectAccess(ze_kernel_indirect_access_flags_t* flags);
  ze_result_t getSourceAttributes(uint32_t* size, char** text);
  ze_result_t getProperties(ze_kernel_properties_t* properties);
  ze_result_t getName(size_t* size, char* name);
  ze_result_t setGlobalOffsetExp(uint32_t x, uint32_t y, uint32_t z);
  ze_result_t schedulingHintExp(ze_scheduling_hint_exp_desc_t* hint);
  ze_result_t getBinaryExp(size_t* size, uint8_t* binary);
  ze_result_t getAllocationPropertiesExp(uint32_t* count, ze_kernel_allocation_exp_properties_t* properties);

  // Queries of arguments that Intel's drivers have beyond the specification; found by name.
  static void* beyond_the_specification(const char* name);
  ze_result_t argument_size(uint32_t index, uint32_t* size) const;
  ze_result_t argument_type(uint32_t index, uint32_t* size, char* text) const;

  Module& module() const { return *module_; }
  Code& code() const { return *code_; }
  ze_kernel_flags_t flags() const { return flags_; }
  // Does it prefer more local memory to more cache for other data?
  bool large_local() const { return cache_config_ & ZE_CACHE_CONFIG_FLAG_LARGE_SLM; }
  uint32_t indirect() const { return indirect_; }
  const uint32_t* group_size() const { return group_size_; }
  const uint32_t* global_offset() const { return global_offset_; }

  // The size of a launch of this kernel in a packet, and the function that writes it there. Acquires nothing.
  size_t launch_bytes() const;
  void write_launch(Launch* to, const ze_group_count_t& count, uint32_t flags) const;
  // Local memory of one group: the code's own, and that of its arguments.
  uint64_t local_bytes() const { return local_bytes_; }
  // The current arguments: the block, and the images and samplers.
  const unsigned char* args() const { return args_.data(); }
  const std::vector<Ref<Image>>& images() const { return images_; }
  const std::vector<Ref<Sampler>>& samplers() const { return samplers_; }
  // For check mode: commands of the module's context may use the memory of the current arguments, as the allocations are at that
  // version (`allocation_changes`).
  void note_allowed(uint64_t version) { allowed_.store(version, std::memory_order_relaxed); }
  bool is_allowed(uint64_t version) const { return allowed_.load(std::memory_order_relaxed) == version; }

  Kernel(Module& module, Code& code, ze_kernel_flags_t flags);
  ~Kernel() { code_->release(); }

 private:
  Ref<Module> module_;
  Code* code_;
  ze_kernel_flags_t flags_;
  uint32_t indirect_ = 0;
  ze_cache_config_flags_t cache_config_ = 0;
  uint32_t group_size_[3] = {1, 1, 1};
  uint32_t global_offset_[3] = {};
  uint64_t local_bytes_;
  std::atomic<uint64_t> allowed_{0};
  std::vector<unsigned char> args_;
  std::vector<uint32_t> local_sizes_;  // by argument; 0 where it is not local memory
  std::vector<Ref<Image>> images_;     // by the argument's place among those of its kind
  std::vector<Ref<Sampler>> samplers_;
};

// Functions for kernels and for recorded launches alike.

// The specified error if a group of that size cannot run the code on the device.
ze_result_t check_group_size(const KernelFacts& facts, const Device& device, uint32_t x, uint32_t y, uint32_t z);
// The most work-items a group may have.
uint32_t most_items(const KernelFacts& facts, const Device& device);
// The specified error if there is no such argument, or if it has another size and `settings.strict` is set.
ze_result_t check_argument(const KernelFacts& facts, uint32_t index, size_t size);
// Copies a value or an address into a block of arguments: the low bytes of a larger value, a smaller one followed by zeros. Null
// means zeros.
void write_argument(const Argument& argument, size_t size, const void* value, unsigned char* args);
// Writes the address of a handle's object; the specified error if the handle is neither null nor alive.
ze_result_t write_image(uint32_t index, const Argument& argument, const void* value, unsigned char* args, Image** image);
ze_result_t write_sampler(uint32_t index, const Argument& argument, const void* value, unsigned char* args, Sampler** sampler);
// Assigns every local argument its offset behind the code's own local memory, and returns the total size. Without a block it only
// computes the size.
uint64_t place_locals(const KernelFacts& facts, const uint32_t* sizes, unsigned char* args);

}  // namespace anyzero
