// Queries of a kernel's arguments, which the specification lacks and Intel's drivers have as extensions; and of the stage of its
// code.
#include <cstring>
#include <string>

#include "../../abi/error.h"
#include "kernel.h"

namespace anyzero {

namespace {

ze_result_t bad_kernel(const char* function, const void* handle) {
  return bad_handle(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, function, "hKernel", handle);
}

ze_result_t get_argument_size(ze_kernel_handle_t handle, uint32_t index, uint32_t* size) {
  Kernel* kernel = checked<Kernel>(handle);
  if (!kernel) return bad_kernel("zexKernelGetArgumentSize", handle);
  if (!size) return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "zexKernelGetArgumentSize: pArgSize is NULL");
  return kernel->argument_size(index, size);
}

ze_result_t get_argument_type(ze_kernel_handle_t handle, uint32_t index, uint32_t* size, char* text) {
  Kernel* kernel = checked<Kernel>(handle);
  if (!kernel) return bad_kernel("zexKernelGetArgumentType", handle);
  if (!size) return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "zexKernelGetArgumentType: pSize is NULL");
  return kernel->argument_type(index, size, text);
}

// For launches with the kernel's group size. 0: the code is final; 1: better code may follow; 2: better code has replaced it.
ze_result_t get_stage(ze_kernel_handle_t handle, uint32_t* stage) {
  Kernel* kernel = checked<Kernel>(handle);
  if (!kernel) return bad_kernel("zexKernelGetStage", handle);
  if (!stage) return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "zexKernelGetStage: pStage is NULL");
  Code& code = kernel->code();
  const Improvements* better = code.improvements();
  const bool first = better && better->provisional && &code.current() == &code;
  *stage = !better ? 0 : first || (better->fits && !better->fitting(kernel->group_size())) ? 1 : 2;
  return ZE_RESULT_SUCCESS;
}

ze_result_t no_such_argument(uint32_t index, size_t count) {
  return fail(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX, "the kernel has %zu arguments; there is none with index %u", count,
              index);
}

}  // namespace

void* Kernel::beyond_the_specification(const char* name) {
  if (std::strcmp(name, "zexKernelGetArgumentSize") == 0) return reinterpret_cast<void*>(get_argument_size);
  if (std::strcmp(name, "zexKernelGetArgumentType") == 0) return reinterpret_cast<void*>(get_argument_type);
  if (std::strcmp(name, "zexKernelGetStage") == 0) return reinterpret_cast<void*>(get_stage);
  return nullptr;
}

ze_result_t Kernel::argument_size(uint32_t index, uint32_t* size) const {
  const auto& arguments = code_->facts().arguments;
  if (index >= arguments.size()) return no_such_argument(index, arguments.size());
  *size = arguments[index].size;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Kernel::argument_type(uint32_t index, uint32_t* size, char* text) const {
  const auto& arguments = code_->facts().arguments;
  if (index >= arguments.size()) return no_such_argument(index, arguments.size());
  const std::string& declaration = arguments[index].name;
  const size_t blank = declaration.rfind(' ');
  const std::string type = blank == std::string::npos ? std::string() : declaration.substr(0, blank);
  const uint32_t whole = static_cast<uint32_t>(type.size()) + 1;
  if (text && *size >= whole) std::memcpy(text, type.c_str(), whole);
  *size = whole;
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
