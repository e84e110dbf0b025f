// The part of OpenCL's binary interface that this platform uses: constants, and slots of the ICD dispatch table.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anyzero::opencl {

using Status = int32_t;
constexpr Status kSuccess = 0, kDeviceNotFound = -1, kOutOfHostMemory = -6, kBuildFailure = -11, kInvalidValue = -30,
                 kInvalidDevice = -33, kInvalidContext = -34, kInvalidOperation = -59, kPlatformNotFound = -1001;

constexpr uint64_t kTypeGpu = 4;

namespace platform_info {
constexpr uint32_t kProfile = 0x900, kVersion = 0x901, kName = 0x902, kVendor = 0x903, kExtensions = 0x904, kSuffix = 0x920;
}
namespace device_info {
constexpr uint32_t kType = 0x1000, kVendorId = 0x1001, kComputeUnits = 0x1002, kClock = 0x100C, kAvailable = 0x1027,
                   kCompilerAvailable = 0x1028, kName = 0x102B, kVendor = 0x102C, kDriverVersion = 0x102D, kProfile = 0x102E,
                   kVersion = 0x102F, kExtensions = 0x1030, kPlatform = 0x1031, kLanguageVersion = 0x103D;
}
namespace context_info {
constexpr uint32_t kReferences = 0x1080, kDevices = 0x1081, kDeviceCount = 0x1083;
}
namespace program_info {
constexpr uint32_t kReferences = 0x1160, kContext = 0x1161, kDeviceCount = 0x1162, kDevices = 0x1163, kSource = 0x1164,
                   kBinarySizes = 0x1165, kBinaries = 0x1166;
}
namespace build_info {
constexpr uint32_t kStatus = 0x1181, kOptions = 0x1182, kLog = 0x1183;
constexpr Status kDone = 0, kNone = -1, kFailed = -2;
}  // namespace build_info

// Slots of the dispatch table.
enum Place : size_t {
  GetPlatformIds = 0,
  GetPlatformInfo = 1,
  GetDeviceIds = 2,
  GetDeviceInfo = 3,
  CreateContext = 4,
  RetainContext = 6,
  ReleaseContext = 7,
  GetContextInfo = 8,
  CreateProgramWithSource = 26,
  RetainProgram = 28,
  ReleaseProgram = 29,
  BuildProgram = 30,
  GetProgramInfo = 32,
  GetProgramBuildInfo = 33,
  RetainDevice = 94,
  ReleaseDevice = 95,
  kPlaces = 192,
};

// Slots of functions that return an object instead of a status.
constexpr size_t kCreators[] = {4,  5,  9,  14, 15, 16, 22, 26, 27, 34, 56, 57, 65, 66,
                                67, 68, 69, 76, 77, 78, 82, 84, 92, 96, 97, 99, 107};

}  // namespace anyzero::opencl
