// The platform's objects. Each begins with the ICD dispatch table.
#pragma once

#include <ze_api.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "api.h"

namespace anyzero::opencl {

using Function = void (*)();
extern Function dispatch[kPlaces];

struct Platform {
  const Function* table = dispatch;
};

// A compute device of the driver in this library's folder.
struct Device {
  const Function* table = dispatch;
  ze_device_handle_t level_zero = nullptr;
  ze_device_properties_t properties = {};
};

struct Context {
  const Function* table = dispatch;
  std::atomic<uint32_t> references{1};
  Device* device = nullptr;
};

struct Program {
  const Function* table = dispatch;
  std::atomic<uint32_t> references{1};
  Context* context = nullptr;
  std::string source, options, log;
  std::vector<uint8_t> binary;
  Status status = build_info::kNone;
};

extern Platform platform;

// The driver's functions; nullptr if it cannot be loaded.
struct Driver;
const Driver* driver();
std::vector<std::unique_ptr<Device>>& devices();

// Whether this process has loaded a library whose file name begins with `name`; `folder` receives its folder.
bool is_loaded(const char* name, std::string* folder = nullptr);

// Compiles OpenCL C to SPIR-V.
bool compile(const std::string& source, const std::string& options, std::string* spirv, std::string* log);

// Compiles SPIR-V to a native binary of the driver.
bool translate(const Device& device, const std::string& spirv, std::vector<uint8_t>* binary, std::string* log);

// Returns a value from a query, for all queries.
Status answer(const void* value, size_t length, size_t size, void* to, size_t* needed);
Status answer(const std::string& text, size_t size, void* to, size_t* needed);
template <class T>
Status answer(const T& value, size_t size, void* to, size_t* needed) {
  return answer(&value, sizeof value, size, to, needed);
}

void fill_programs(Function* table);

}  // namespace anyzero::opencl
