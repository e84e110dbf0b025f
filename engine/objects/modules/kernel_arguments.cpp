// Arguments and group sizes, for kernels and for recorded launches.
#include <algorithm>
#include <cstring>
#include <string>

#include "../../abi/error.h"
#include "../../system/settings.h"
#include "kernel.h"

namespace anyzero {

namespace {

constexpr uint64_t kLocalAlignment = 128;
constexpr size_t kLargestLocal = size_t{1} << 30;

uint64_t round_up(uint64_t bytes) { return (bytes + kLocalAlignment - 1) / kLocalAlignment * kLocalAlignment; }

const ze_device_compute_properties_t& limits_of(const Device& device) {
  static const ze_device_compute_properties_t none{};
  auto* found = device.properties().get<ze_device_compute_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES);
  return found ? *found : none;
}

// The object of a handle that may be null; the specified error if it is not alive.
template <class T>
ze_result_t read_handle(const char* what, uint32_t index, const void* value, T** object) {
  void* handle = nullptr;
  if (value) std::memcpy(&handle, value, sizeof handle);
  *object = handle ? checked<T>(handle) : nullptr;
  if (handle && !*object) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "argument %u: %p is not a live %s", index, handle, what);
  return ZE_RESULT_SUCCESS;
}

// " (float x)" for texts; compilers need not keep names and types, so either or both may be missing.
std::string in_brackets(const Argument& argument) {
  std::string declaration = argument.name;
  if (!declaration.empty() && declaration.back() == ' ') declaration.pop_back();
  return declaration.empty() ? declaration : " (" + declaration + ")";
}

}  // namespace

uint32_t most_items(const KernelFacts& facts, const Device& device) {
  const uint32_t most = limits_of(device).maxTotalGroupSize;
  return facts.max_group_items ? std::min(facts.max_group_items, most) : most;
}

ze_result_t check_group_size(const KernelFacts& facts, const Device& device, uint32_t x, uint32_t y, uint32_t z) {
  const ze_device_compute_properties_t& limits = limits_of(device);
  const uint64_t items = uint64_t{x} * y;
  const uint32_t most = most_items(facts, device);
  if (x == 0 || y == 0 || z == 0 || x > limits.maxGroupSizeX || y > limits.maxGroupSizeY || z > limits.maxGroupSizeZ ||
      items > most || items * z > most)
    return fail(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, "a group of %u x %u x %u: this kernel allows 1 to %u work-items", x,
                y, z, most);
  const uint32_t* required = facts.required_group;
  if (required[0] && (x != required[0] || y != required[1] || z != required[2]))
    return fail(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, "a group of %u x %u x %u: this kernel requires %u x %u x %u", x, y, z,
                required[0], required[1], required[2]);
  return ZE_RESULT_SUCCESS;
}

ze_result_t check_argument(const KernelFacts& facts, uint32_t index, size_t size) {
  if (index >= facts.arguments.size())
    return fail(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX, "argument %u: kernel %s has %zu arguments", index,
                facts.name.c_str(), facts.arguments.size());
  const Argument& argument = facts.arguments[index];
  if (argument.kind == ArgumentKind::Local) {
    if (size <= kLargestLocal) return ZE_RESULT_SUCCESS;
    return fail(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
                "argument %u%s of kernel %s: %zu bytes of local memory, and no device has more than %zu", index,
                in_brackets(argument).c_str(), facts.name.c_str(), size, kLargestLocal);
  }
  // Clients pass 8 bytes for an int and 4 for a size_t, and hardware drivers copy as many as the argument has.
  const bool fits = size == argument.size || !settings.strict;
  if (!fits)
    return fail(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE, "argument %u%s of kernel %s: %zu bytes given, %u expected", index,
                in_brackets(argument).c_str(), facts.name.c_str(), size, argument.size);
  return ZE_RESULT_SUCCESS;
}

void write_argument(const Argument& argument, size_t size, const void* value, unsigned char* args) {
  // A pointer is always read whole, whatever size was given.
  const size_t given = !value ? 0 : argument.pointer() ? argument.size : std::min<size_t>(size, argument.size);
  if (given) std::memcpy(args + argument.offset, value, given);
  if (given < argument.size) std::memset(args + argument.offset + given, 0, argument.size - given);
}

ze_result_t write_image(uint32_t index, const Argument& argument, const void* value, unsigned char* args, Image** image) {
  if (ze_result_t r = read_handle("image", index, value, image)) return r;
  const ImageView* view = *image ? &(*image)->view() : nullptr;
  std::memcpy(args + argument.offset, &view, sizeof view);
  return ZE_RESULT_SUCCESS;
}

ze_result_t write_sampler(uint32_t index, const Argument& argument, const void* value, unsigned char* args, Sampler** sampler) {
  if (ze_result_t r = read_handle("sampler", index, value, sampler)) return r;
  const SamplerState* state = *sampler ? &(*sampler)->state() : nullptr;
  std::memcpy(args + argument.offset, &state, sizeof state);
  return ZE_RESULT_SUCCESS;
}

uint64_t place_locals(const KernelFacts& facts, const uint32_t* sizes, unsigned char* args) {
  uint64_t at = facts.local_bytes;
  for (size_t i = 0; i < facts.arguments.size(); ++i) {
    if (facts.arguments[i].kind != ArgumentKind::Local) continue;
    at = round_up(at);
    // Kernels that check their accesses find the size in the upper half.
    const uint64_t word = facts.flags & KernelFlag::kChecked ? at | uint64_t{sizes[i]} << 32 : at;
    if (args) std::memcpy(args + facts.arguments[i].offset, &word, sizeof word);
    at += round_up(sizes[i]);
  }
  return at;
}

}  // namespace anyzero
