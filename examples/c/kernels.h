// Shared code of the examples with kernels. saxpy.cpp does all of it explicitly.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>

#include "check.h"

using Bytes = std::vector<uint8_t>;

inline Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) prove(false, "%s can be read", path.c_str());
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

// The SPIR-V of examples/kernels/NAME.cl.
inline Bytes spirv(const char* name) {
  std::filesystem::path here = std::filesystem::absolute(__FILE__).parent_path();
  return read_file(here.parent_path() / "kernels" / (std::string(name) + ".spv"));
}

inline ze_module_desc_t spirv_desc(const Bytes& code) {
  return {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
          .format = ZE_MODULE_FORMAT_IL_SPIRV,
          .inputSize = code.size(),
          .pInputModule = code.data()};
}

// For one device, by default the first.
inline ze_module_handle_t make_module(const Setup& s, const ze_module_desc_t& desc, ze_device_handle_t where = nullptr) {
  ze_module_handle_t module = nullptr;
  CHECK(zeModuleCreate(s.context, where ? where : s.device, &desc, &module, nullptr));
  return module;
}

inline ze_module_handle_t make_module(const Setup& s, const char* name, ze_device_handle_t where = nullptr) {
  return make_module(s, spirv_desc(spirv(name)), where);
}

inline ze_kernel_handle_t make_kernel(ze_module_handle_t module, const char* name) {
  ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
  ze_kernel_handle_t kernel = nullptr;
  CHECK(zeKernelCreate(module, &desc, &kernel));
  return kernel;
}

// Sets all arguments in order, each as the bytes of its C++ value: pointers, numbers, structures, images and samplers.
template <class... Values>
void set_arguments(ze_kernel_handle_t kernel, const Values&... values) {
  uint32_t index = 0;
  (CHECK(zeKernelSetArgumentValue(kernel, index++, sizeof(Values), &values)), ...);
}

// Runs the kernel of that name over `items` work-items in groups of `group`, and waits.
template <class... Values>
void run_kernel(const Setup& s, ze_kernel_handle_t kernel, uint32_t items, uint32_t group, const Values&... values) {
  set_arguments(kernel, values...);
  CHECK(zeKernelSetGroupSize(kernel, group, 1, 1));
  ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
  ze_command_list_handle_t list = nullptr;
  CHECK(zeCommandListCreateImmediate(s.context, s.device, &desc, &list));
  ze_group_count_t groups = {items / group, 1, 1};
  CHECK(zeCommandListAppendLaunchKernel(list, kernel, &groups, nullptr, 0, nullptr));
  CHECK(zeCommandListDestroy(list));
}
