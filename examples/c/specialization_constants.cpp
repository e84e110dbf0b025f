// Specialization constants: values set at module creation that the compiler treats as literals.
#include "kernels.h"

namespace {

constexpr uint32_t kTerms = 0, kCoefficient = 1;  // their ids in specialization_constants.cl

bool computes(const Setup& s, const ze_module_constants_t* constants, std::vector<float> expected) {
  Bytes code = spirv("specialization_constants");
  ze_module_desc_t desc = spirv_desc(code);
  desc.pConstants = constants;
  ze_module_handle_t module = make_module(s, desc);
  ze_kernel_handle_t polynomial = make_kernel(module, "polynomial");
  float* x = s.host<float>(4);
  float* y = s.host<float>(4);
  for (int i = 0; i < 4; ++i) x[i] = static_cast<float>(i);
  run_kernel(s, polynomial, 4, 4, y, x);
  bool good = std::vector<float>(y, y + 4) == expected;
  CHECK(zeMemFree(s.context, x));
  CHECK(zeMemFree(s.context, y));
  CHECK(zeKernelDestroy(polynomial));
  CHECK(zeModuleDestroy(module));
  return good;
}

// Work-items write the group's number of work-items, and its size in each dimension.
struct Seen {
  int32_t items, x, y, z;
};

bool has_groups_of(const Setup& s, const ze_module_constants_t* constants, uint32_t width, uint32_t height) {
  Bytes code = spirv("specialization_constants");
  ze_module_desc_t desc = spirv_desc(code);
  desc.pConstants = constants;
  ze_module_handle_t module = make_module(s, desc);
  ze_kernel_handle_t groups = make_kernel(module, "groups");
  ze_kernel_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
  CHECK(zeKernelGetProperties(groups, &properties));
  bool good = properties.requiredGroupSizeX == width && properties.requiredGroupSizeY == height;
  if (good) {
    Seen* seen = s.host<Seen>(16 * 8);
    set_arguments(groups, seen);
    CHECK(zeKernelSetGroupSize(groups, width, height, 1));
    ze_command_queue_handle_t queue = s.queue();
    ze_command_list_handle_t list = s.list();
    ze_group_count_t count = {16 / width, 8 / height, 1};
    CHECK(zeCommandListAppendLaunchKernel(list, groups, &count, nullptr, 0, nullptr));
    s.run(queue, list);
    auto x = static_cast<int32_t>(width), y = static_cast<int32_t>(height);
    for (int i = 0; i < 16 * 8; ++i) good &= seen[i].items == x * y && seen[i].x == x && seen[i].y == y && seen[i].z == 1;
    CHECK(zeCommandListDestroy(list));
    CHECK(zeCommandQueueDestroy(queue));
    CHECK(zeMemFree(s.context, seen));
  }
  CHECK(zeKernelDestroy(groups));
  CHECK(zeModuleDestroy(module));
  return good;
}

}  // namespace

int main() {
  Setup s;
  prove(computes(s, nullptr, {1, 2, 3, 4}), "with the default values it is x + 1");

  // The driver reads the size of the constant's type from each address.
  uint32_t numbers[] = {kTerms, kCoefficient};
  int32_t terms = 3;
  float coefficient = 0.5f;
  const void* values[] = {&terms, &coefficient};
  ze_module_constants_t constants = {.numConstants = 2, .pConstantIds = numbers, .pConstantValues = values};
  prove(computes(s, &constants, {0.5f, 1.5f, 3.5f, 6.5f}), "with others it is (x^2 + x + 1) / 2");

  // The group size of a kernel may be specialization constants, too.
  prove(has_groups_of(s, nullptr, 8, 4), "groups have the default 8 x 4 work-items");
  uint32_t ids[] = {2, 3, 4};
  int32_t width = 16, height = 2, depth = 1;
  const void* size[] = {&width, &height, &depth};
  ze_module_constants_t group_size = {.numConstants = 3, .pConstantIds = ids, .pConstantValues = size};
  prove(has_groups_of(s, &group_size, 16, 2), "or 16 x 2, set by the constants");
}
