// Group sizes and group counts, offsets, and the properties of a kernel.
#include <cstring>
#include <string>

#include "kernels.h"

namespace {

struct Item {
  int32_t x, y, local, group;
};

}  // namespace

int main() {
  Setup s;
  ze_module_handle_t module = make_module(s, "kernel_launch");
  uint32_t count = 0;
  CHECK(zeModuleGetKernelNames(module, &count, nullptr));
  std::vector<const char*> names(count);
  CHECK(zeModuleGetKernelNames(module, &count, names.data()));
  prove(count == 2, "the module has the kernels %s and %s", names[0], names[1]);

  ze_kernel_handle_t places = make_kernel(module, "places"), tiles = make_kernel(module, "tiles");
  size_t size = 0;
  CHECK(zeKernelGetName(places, &size, nullptr));
  std::string name(size, '\0');
  CHECK(zeKernelGetName(places, &size, name.data()));
  ze_kernel_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
  CHECK(zeKernelGetProperties(places, &properties));
  prove(properties.numKernelArgs == 1, "%s takes one argument; a sub-group of it has up to %u work-items", name.c_str(),
        properties.maxSubgroupSize);

  Item* items = s.host<Item>(6 * 8);
  set_arguments(places, items);
  ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
  ze_command_list_handle_t list = nullptr;
  CHECK(zeCommandListCreateImmediate(s.context, s.device, &desc, &list));

  // 2 x 3 groups of 4 x 2 work-items are 8 columns and 6 rows.
  CHECK(zeKernelSetGroupSize(places, 4, 2, 1));
  ze_group_count_t groups = {2, 3, 1};
  CHECK(zeCommandListAppendLaunchKernel(list, places, &groups, nullptr, 0, nullptr));
  bool good = true;
  for (int y = 0; y < 6; ++y)
    for (int x = 0; x < 8; ++x) {
      Item item = items[8 * y + x];
      good &= item.x == x && item.y == y && item.local == x % 4 && item.group == x / 4;
    }
  prove(good, "8 x 6 work-items in groups of 4 x 2 have the right ids");

  uint32_t width = 0, height = 0, depth = 0;
  CHECK(zeKernelSuggestGroupSize(places, 8, 6, 1, &width, &height, &depth));
  prove(8 % width == 0 && 6 % height == 0 && depth == 1, "for the same size the driver suggests groups of %u x %u", width, height);

  CHECK(zeKernelSetGroupSize(places, 8, 1, 1));
  CHECK(zeKernelSetGlobalOffsetExp(places, 100, 0, 0));
  groups = {1, 1, 1};
  CHECK(zeCommandListAppendLaunchKernel(list, places, &groups, nullptr, 0, nullptr));
  prove(items[0].x == 100 && items[7].x == 107, "with an offset of 100 the first id is 100");

  // A kernel's source may require a group size.
  CHECK(zeKernelGetProperties(tiles, &properties));
  prove(properties.requiredGroupSizeX == 8 && properties.requiredGroupSizeY == 4 && properties.requiredGroupSizeZ == 1,
        "tiles requires groups of 8 x 4");
  prove(zeKernelSetGroupSize(tiles, 16, 1, 1) == ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, "and refuses others");
  int32_t* sizes = s.host<int32_t>(2 * 8 * 2 * 4);
  set_arguments(tiles, sizes);
  CHECK(zeKernelSetGroupSize(tiles, 8, 4, 1));
  groups = {2, 2, 1};
  CHECK(zeCommandListAppendLaunchKernel(list, tiles, &groups, nullptr, 0, nullptr));
  for (int i = 0; i < 2 * 8 * 2 * 4; ++i) good &= sizes[i] == 84;
  prove(good, "its work-items see that size");

  // Attributes: from the source, from the compiler, and set by the program.
  uint32_t length = 0;
  CHECK(zeKernelGetSourceAttributes(tiles, &length, nullptr));
  std::string attributes(length, '\0');
  char* text = attributes.data();
  CHECK(zeKernelGetSourceAttributes(tiles, &length, &text));
  prove(std::strcmp(text, "reqd_work_group_size(8,4,1)") == 0, "the source of tiles says %s", text);
  CHECK(zeKernelGetProperties(places, &properties));
  prove(properties.privateMemSize == 0, "a work-item of places has no private memory, and %u bytes of spilled registers",
        properties.spillMemSize);
  constexpr ze_kernel_indirect_access_flags_t kReached =
      ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE | ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED;
  CHECK(zeKernelSetIndirectAccess(places, kReached));
  ze_kernel_indirect_access_flags_t reached = 0;
  CHECK(zeKernelGetIndirectAccess(places, &reached));
  prove(reached == kReached, "it may now follow pointers to device and shared memory");

  CHECK(zeCommandListDestroy(list));
  CHECK(zeMemFree(s.context, items));
  CHECK(zeMemFree(s.context, sizes));
  for (ze_kernel_handle_t kernel : {places, tiles}) CHECK(zeKernelDestroy(kernel));
  CHECK(zeModuleDestroy(module));
}
