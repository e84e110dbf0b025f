// A module: programs for a device, built by the planner, with their variables.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../../abi/handle.h"
#include "../../system/mutex.h"
#include "../devices/context.h"
#include "../devices/device.h"
#include "build.h"
#include "plan.h"

namespace anyzero {

// Threading: any thread. Code is compiled on first use, and kept.
class Module : public Object<Module, Kind::Module> {
 public:
  static ze_result_t create(Context& context, Device& device, const ze_module_desc_t* desc, ze_module_handle_t* handle,
                            ze_module_build_log_handle_t* log);
  ze_result_t destroy();
  static ze_result_t dynamicLink(uint32_t count, Module* const* modules, ze_module_build_log_handle_t* log);
  static ze_result_t inspectLinkageExt(ze_linkage_inspection_ext_desc_t* desc, uint32_t count, Module* const* modules,
                                       ze_module_build_log_handle_t* log);
  ze_result_t getNativeBinary(size_t* size, uint8_t* binary);
  ze_result_t getGlobalPointer(const char* name, size_t* size, void** pointer);
  ze_result_t getKernelNames(uint32_t* count, const char** names);
  ze_result_t getProperties(ze_module_properties_t* properties);
  ze_result_t getFunctionPointer(const char* name, void** function);

  // DWARF of the kernels that were built with -g, in one ELF file; no bytes where there are none.
  ze_result_t debug_info(size_t* size, uint8_t* elf);

  Context& context() const { return *context_; }
  Device& device() const { return device_; }
  uintptr_t variables() const { return build_->plan->variables(); }

  using CodeKind = anyzero::CodeKind;
  // The code of a kernel or a callable function; the module holds it as long as it lives.
  ze_result_t code(const std::string& name, CodeKind kind, Code** code);
  // Waits for the final code of a kernel.
  void complete(Code& code);

  Module(Context& context, Device& device, std::shared_ptr<Build> build)
      : context_(&context), device_(device), build_(std::move(build)) {}

 private:
  // `soon` allows first-stage code.
  ze_result_t compile(const std::string& name, CodeKind kind, bool soon, Code** code);
  // The plans whose variables its code may use: its own, and those of modules that it is linked with, directly or indirectly.
  std::vector<std::shared_ptr<Plan>> reach();

  Ref<Context> context_;
  Device& device_;
  std::shared_ptr<Build> build_;  // may be shared with other modules

  Mutex links_mutex_;
  std::vector<std::shared_ptr<Plan>> links_;  // also those that its links had when it was linked; none before

  // Requests another form of the module from the planner, which the program gets in two calls: first the size, then the bytes.
  ze_result_t whole(const char* what, Guarded<std::string>& kept, size_t* size, uint8_t* to);

  Guarded<std::string> native_, debug_info_;  // between those two calls; they never change
};

// Queries of tools.
struct ToolsModule {
  static ze_result_t getDebugInfo(Module& module, zet_module_debug_info_format_t format, size_t* size, uint8_t* elf);
};

}  // namespace anyzero
