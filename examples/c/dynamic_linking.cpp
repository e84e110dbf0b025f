// Dynamic linking: a kernel calls a function of another module.
#include "kernels.h"

namespace {

std::vector<float> applied(const Setup& s, ze_module_handle_t module, std::vector<float> values) {
  ze_kernel_handle_t apply = make_kernel(module, "apply");
  float* memory = s.host<float>(values.size());
  std::copy(values.begin(), values.end(), memory);
  run_kernel(s, apply, static_cast<uint32_t>(values.size()), 1, memory);
  values.assign(memory, memory + values.size());
  CHECK(zeMemFree(s.context, memory));
  CHECK(zeKernelDestroy(apply));
  return values;
}

}  // namespace

int main() {
  Setup s;
  ze_module_handle_t user = make_module(s, "dynamic_linking");
  ze_module_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_MODULE_PROPERTIES};
  CHECK(zeModuleGetProperties(user, &properties));
  prove(properties.flags & ZE_MODULE_PROPERTY_FLAG_IMPORTS, "the module reports an import");
  ze_kernel_desc_t kernel_desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "apply"};
  ze_kernel_handle_t early = nullptr;
  prove(zeKernelCreate(user, &kernel_desc, &early) == ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED,
        "before linking, the kernel cannot be created");

  ze_module_handle_t square = make_module(s, "dynamic_linking_square");
  ze_module_handle_t modules[] = {user, square};
  ze_module_build_log_handle_t log = nullptr;
  CHECK(zeModuleDynamicLink(2, modules, &log));
  CHECK(zeModuleBuildLogDestroy(log));
  prove(applied(s, user, {1, 2, 3}) == std::vector<float>{1, 4, 9}, "the kernel calls the function of the other module");

  // Or both are built as one program.
  Bytes caller = spirv("dynamic_linking"), half = spirv("dynamic_linking_half");
  size_t sizes[] = {caller.size(), half.size()};
  const uint8_t* inputs[] = {caller.data(), half.data()};
  ze_module_program_exp_desc_t program = {
      .stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC, .count = 2, .inputSizes = sizes, .pInputModules = inputs};
  // The modules are in the list; a validation layer requires one here as well.
  ze_module_desc_t desc = spirv_desc(caller);
  desc.pNext = &program;
  ze_module_handle_t both = make_module(s, desc);
  prove(applied(s, both, {1, 2, 3}) == std::vector<float>{0.5f, 1, 1.5f}, "and a program of several modules needs no linking");

  for (ze_module_handle_t module : {user, square, both}) CHECK(zeModuleDestroy(module));
}
