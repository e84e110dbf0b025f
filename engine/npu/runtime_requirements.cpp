// Requirements of a module or a graph on a device that can run its native binary, as a line of text for the program to store.
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "../abi/error.h"
#include "../objects/devices/device.h"
#include "../objects/devices/driver.h"
#include "../objects/modules/module.h"
#include "../objects/modules/text.h"
#include "blob.h"
#include "inference_graph.h"

namespace anyzero {

namespace {

// The prefix of a requirements string, which identifies the driver.
const char* key_of(const Device& device) { return device.driver().kind() == DriverKind::Npu ? "ANYZERO.L0.NPU" : "ANYZERO.L0.CPU"; }

// append() instead of operator+: GCC 12 warns of the sum of a string and a literal under -fsanitize=thread.
std::string blob_text(std::string_view key, uint32_t version) {
  std::string text(key);
  text += ";blob=";
  text += std::to_string(version);
  return text;
}

// Blobs contain the model itself, so any processor runs them with a driver that knows the format.
std::string requirements_of_graphs(const Device& device) { return blob_text(key_of(device), kBlobVersion); }

// Native binaries of one kind run on devices of the same kind.
std::string requirements_of_modules(const Device& device) {
  std::string text(key_of(device));
  text += ";native=";
  auto* module = device.properties().get<ze_device_module_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES);
  for (size_t i = 0; module && i < sizeof module->nativeKernelSupported.id; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", module->nativeKernelSupported.id[i]);
    text += digits;
  }
  return text;
}

bool met(const Device& device, const char* requirements) {
  const std::string_view text = requirements, key = key_of(device);
  if (text == key) return true;
  if (device.driver().kind() != DriverKind::Npu) return text == requirements_of_modules(device);
  for (uint32_t version = kOldestBlobVersion; version <= kBlobVersion; ++version)
    if (text == blob_text(key, version)) return true;
  return false;
}

}  // namespace

ze_result_t Device::getRuntimeRequirements(const void* object, size_t* size, char* requirements) {
  std::string text;
  const auto* of_module = static_cast<const ze_runtime_requirements_module_desc_t*>(object);
  const auto* of_graph = static_cast<const ze_runtime_requirements_graph_desc_t*>(object);
  if (of_module->stype == ZE_STRUCTURE_TYPE_RUNTIME_REQUIREMENTS_MODULE_DESC && checked<Module>(of_module->requirementsSrc))
    text = requirements_of_modules(*this);
  if (of_graph->stype == ZE_STRUCTURE_TYPE_RUNTIME_REQUIREMENTS_GRAPH_DESC && checked<InferenceGraph>(of_graph->requirementsSrc))
    text = requirements_of_graphs(*this);
  if (text.empty())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "runtime requirements exist for modules, and for graphs of an NPU");
  if (requirements && *size < text.size() + 1)
    return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "the requirements take %zu bytes", text.size() + 1);
  if (requirements) std::memcpy(requirements, text.c_str(), text.size() + 1);
  *size = text.size() + 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::getRuntimeRequirementsKey(const char** key) {
  *key = key_of(*this);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Device::validateRuntimeRequirements(const char* requirements, ze_validate_runtime_requirements_output_t* result) {
  if (!std::string_view(requirements).starts_with(key_of(*this))) {
    result->result = ZE_VALIDATE_RUNTIME_REQUIREMENTS_RESULT_NOT_APPLICABLE;
  } else if (met(*this, requirements)) {
    result->result = ZE_VALIDATE_RUNTIME_REQUIREMENTS_RESULT_REQUIREMENTS_MET;
  } else {
    result->result = ZE_VALIDATE_RUNTIME_REQUIREMENTS_RESULT_REQUIREMENTS_NOT_MET;
  }
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
