// What a module needs of the device that is to run its native binary, as a line of text that a program can keep.
#include <cstdio>
#include <cstring>
#include <string>

#include "../abi/error.h"
#include "device.h"
#include "module.h"
#include "text.h"

namespace anyzero {

namespace {

// Who made a requirements string; every string we make begins with it.
constexpr char kKey[] = "ANYZERO.L0.CPU";

// Native binaries of one kind run on devices of the same kind.
std::string requirements_of(const Device& device) {
  std::string text = std::string(kKey) + ";native=";
  auto* module = device.properties().get<ze_device_module_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES);
  for (size_t i = 0; module && i < sizeof module->nativeKernelSupported.id; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", module->nativeKernelSupported.id[i]);
    text += digits;
  }
  return text;
}

}  // namespace

ze_result_t Device::getRuntimeRequirements(const void* object, size_t* size, char* requirements) {
  auto* desc = static_cast<const ze_runtime_requirements_module_desc_t*>(object);
  if (desc->stype != ZE_STRUCTURE_TYPE_RUNTIME_REQUIREMENTS_MODULE_DESC || !checked<Module>(desc->requirementsSrc))
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "runtime requirements are kept for modules only");
  const std::string text = requirements_of(*this);
  if (requirements && *size < text.size() + 1)
    return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "the requirements take %zu bytes", text.size() + 1);
  if (requirements) std::memcpy(requirements, text.c_str(), text.size() + 1);
  *size = text.size() + 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::getRuntimeRequirementsKey(const char** key) {
  *key = kKey;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::validateRuntimeRequirements(const char* requirements, ze_validate_runtime_requirements_output_t* result) {
  if (std::strncmp(requirements, kKey, sizeof kKey - 1) != 0) {
    result->result = ZE_VALIDATE_RUNTIME_REQUIREMENTS_RESULT_NOT_APPLICABLE;
  } else if (requirements == requirements_of(*this) || requirements[sizeof kKey - 1] == 0) {
    result->result = ZE_VALIDATE_RUNTIME_REQUIREMENTS_RESULT_REQUIREMENTS_MET;
  } else {
    result->result = ZE_VALIDATE_RUNTIME_REQUIREMENTS_RESULT_REQUIREMENTS_NOT_MET;
  }
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
