// An OpenCL platform for one purpose: oneMKL's FFT compiles OpenCL C at run time. It looks for an OpenCL device of type GPU with
// the vendor id and the clock rate of its Level Zero device, builds programs for it and passes their binaries to Level Zero. OpenCL
// itself cannot run anything here, so programs without that library see no device, and without SYCL's runtime no platform.
#include <algorithm>
#include <cstring>

#include "objects.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace anyzero::opencl {

namespace {

Status refused() { return kInvalidOperation; }
void* nothing() { return nullptr; }

Status platform_ids(uint32_t room, Platform** to, uint32_t* count) {
  if (!is_loaded("libsycl.so")) return kPlatformNotFound;
  if (to && room) *to = &platform;
  if (count) *count = 1;
  return kSuccess;
}

Status get_platform_info(Platform*, uint32_t what, size_t size, void* to, size_t* needed) {
  using namespace platform_info;
  switch (what) {
    case kProfile:
      return answer(std::string("FULL_PROFILE"), size, to, needed);
    case kVersion:
      return answer(std::string("OpenCL 1.2 anyzero"), size, to, needed);
    case kName:
      return answer(std::string("anyzero, a compiler for oneMKL's FFT"), size, to, needed);
    case kVendor:
      return answer(std::string("anyzero"), size, to, needed);
    case kExtensions:
      return answer(std::string("cl_khr_icd"), size, to, needed);
    case kSuffix:
      return answer(std::string("AZ"), size, to, needed);
    default:
      return kInvalidValue;
  }
}

Status get_device_ids(Platform*, uint64_t type, uint32_t room, Device** to, uint32_t* count) {
  // oneMKL queries GPUs with an output array at once. SYCL's runtime, which would list any device it finds, queries the count
  // first.
  const bool asked = type == kTypeGpu && room && to && is_loaded("libmkl_sycl_dft.so");
  if (!asked || devices().empty()) return kDeviceNotFound;
  const auto all = static_cast<uint32_t>(devices().size());
  for (uint32_t i = 0; i < std::min(room, all); ++i) to[i] = devices()[i].get();
  if (count) *count = all;
  return kSuccess;
}

Status get_device_info(Device* device, uint32_t what, size_t size, void* to, size_t* needed) {
  using namespace device_info;
  const ze_device_properties_t& p = device->properties;
  switch (what) {
    case kType:
      return answer(kTypeGpu, size, to, needed);
    case kVendorId:
      return answer(p.vendorId, size, to, needed);
    case kComputeUnits:
      return answer(p.numSlices * p.numSubslicesPerSlice * p.numEUsPerSubslice, size, to, needed);
    case kClock:
      return answer(p.coreClockRate, size, to, needed);
    case kAvailable:
      return answer(uint32_t{0}, size, to, needed);
    case kCompilerAvailable:
      return answer(uint32_t{1}, size, to, needed);
    case kName:
      return answer(std::string(p.name), size, to, needed);
    case kVendor:
      return answer(std::string("anyzero"), size, to, needed);
    case kDriverVersion:
      return answer(std::string("1.2"), size, to, needed);
    case kProfile:
      return answer(std::string("FULL_PROFILE"), size, to, needed);
    case kVersion:
      return answer(std::string("OpenCL 1.2 anyzero"), size, to, needed);
    case kExtensions:
      return answer(std::string("cl_khr_fp64 cl_intel_subgroups"), size, to, needed);
    case kPlatform:
      return answer(&platform, size, to, needed);
    case kLanguageVersion:
      return answer(std::string("OpenCL C 2.0"), size, to, needed);
    default:
      return kInvalidValue;
  }
}

Status keep(Device*) { return kSuccess; }

template <class F>
Function plain(F* function) {
  return reinterpret_cast<Function>(function);
}

void fill(Function* table) {
  std::fill(table, table + kPlaces, plain(refused));
  for (size_t creator : kCreators) table[creator] = plain(nothing);
  table[GetPlatformIds] = plain(platform_ids);
  table[GetPlatformInfo] = plain(get_platform_info);
  table[GetDeviceIds] = plain(get_device_ids);
  table[GetDeviceInfo] = plain(get_device_info);
  table[RetainDevice] = table[ReleaseDevice] = plain(keep);
  fill_programs(table);
}

}  // namespace

Function dispatch[kPlaces];
Platform platform;

Status answer(const void* value, size_t length, size_t size, void* to, size_t* needed) {
  if (needed) *needed = length;
  if (!to) return kSuccess;
  if (size < length) return kInvalidValue;
  std::memcpy(to, value, length);
  return kSuccess;
}

Status answer(const std::string& text, size_t size, void* to, size_t* needed) {
  return answer(text.c_str(), text.size() + 1, size, to, needed);
}

}  // namespace anyzero::opencl

using namespace anyzero::opencl;

// Entry points that the ICD loader calls in every platform.
EXPORTED Status clIcdGetPlatformIDsKHR(uint32_t room, Platform** to, uint32_t* count) {
  static const bool filled = (fill(dispatch), true);
  return filled ? platform_ids(room, to, count) : kPlatformNotFound;
}

EXPORTED Status clGetPlatformInfo(Platform* which, uint32_t what, size_t size, void* to, size_t* needed) {
  return get_platform_info(which, what, size, to, needed);
}

EXPORTED void* clGetExtensionFunctionAddress(const char* name) {
  if (!std::strcmp(name, "clIcdGetPlatformIDsKHR")) return reinterpret_cast<void*>(clIcdGetPlatformIDsKHR);
  return !std::strcmp(name, "clGetPlatformInfo") ? reinterpret_cast<void*>(clGetPlatformInfo) : nullptr;
}
