#include "driver.h"

#include <atomic>

#include "../../abi/error.h"
#include "../../exec/trap.h"
#include "../../planning/planner.h"
#include "../../system/mutex.h"
#include "../../system/thread.h"
#include "../modules/kernel.h"
#include "context.h"
#include "description.h"
#include "device.h"
#include "extension_tables.h"
#include "visibility.h"

namespace anyzero {

namespace {

// Start-up happens once per process. A failed attempt may be repeated, for instance after the environment was fixed.
Mutex start_mutex;
std::atomic<const std::vector<Driver*>*> all_drivers{nullptr};

ze_result_t start() {
  notice_fork();
  if (all_drivers.load(std::memory_order_acquire)) return ZE_RESULT_SUCCESS;
  std::vector<unsigned char> bytes;
  std::string reason;
  // The planner may need the GIL, so it is called before our lock is taken.
  if (!describe_machine(&bytes, &reason)) return fail(ZE_RESULT_ERROR_UNINITIALIZED, "%s", reason.c_str());
  std::lock_guard lock(start_mutex);
  if (all_drivers.load(std::memory_order_relaxed)) return ZE_RESULT_SUCCESS;
  auto drivers = std::make_unique<std::vector<Driver*>>();
  if (!Description(bytes).build(drivers.get(), &reason)) return fail(ZE_RESULT_ERROR_UNINITIALIZED, "%s", reason.c_str());
  install_traps();
  all_drivers.store(drivers.release(), std::memory_order_release);
  return ZE_RESULT_SUCCESS;
}

const std::vector<Driver*>& drivers() {
  static const auto* none = new std::vector<Driver*>;  // leaked: programs call from exit handlers
  const auto* all = all_drivers.load(std::memory_order_acquire);
  return all ? *all : *none;
}

// The driver types that the program has asked for so far; 0 until the first zeInit, whose flags decide what zeDriverGet lists.
std::atomic<uint32_t> wanted_by_init{0};
constexpr uint32_t kAllTypes = static_cast<uint32_t>(DriverKind::Gpu) | static_cast<uint32_t>(DriverKind::Npu);

ze_result_t list_types(uint32_t types, uint32_t* count, ze_driver_handle_t* handles) {
  std::vector<Driver*> listed;
  for (Driver* driver : drivers())
    if ((types & static_cast<uint32_t>(driver->kind())) && !driver->devices().empty()) listed.push_back(driver);
  return list_handles(listed, count, handles);
}

}  // namespace

ze_result_t Global::list_all(uint32_t* count, ze_driver_handle_t* handles) {
  if (ze_result_t r = start()) return r;
  return list_handles(drivers(), count, handles);
}

ze_result_t Global::init(ze_init_flags_t flags) {
  if (ze_result_t r = start()) return r;
  // GPU_ONLY and VPU_ONLY are numbered as the driver types; 0 means all of them.
  uint32_t types = flags == 0 ? kAllTypes : flags & kAllTypes;
  wanted_by_init.fetch_or(types, std::memory_order_acq_rel);
  uint32_t count = 0;
  list_types(types, &count, nullptr);
  if (count) return ZE_RESULT_SUCCESS;
  const std::string reason = why_nothing_is_shown();
  return fail(ZE_RESULT_ERROR_UNINITIALIZED, "no driver of the requested kind is present (zeInit flags %#x)%s%s", flags,
              reason.empty() ? "" : ": ", reason.c_str());
}

ze_result_t Global::initDrivers(uint32_t* count, ze_driver_handle_t* handles, ze_init_driver_type_desc_t* desc) {
  if (!(desc->flags & kAllTypes))
    return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "ze_init_driver_type_desc_t.flags names no driver type");
  if (ze_result_t r = start()) return r;
  return list_types(desc->flags, count, handles);
}

ze_result_t Driver::get(uint32_t* count, ze_driver_handle_t* handles) {
  uint32_t types = wanted_by_init.load(std::memory_order_acquire);
  if (types == 0) {
    if (!all_drivers.load(std::memory_order_acquire))
      return fail(ZE_RESULT_ERROR_UNINITIALIZED, "call zeInit or zeInitDrivers first");
    types = kAllTypes;
  }
  return list_types(types, count, handles);
}

ze_result_t Driver::getApiVersion(ze_api_version_t* version) {
  *version = ZE_API_VERSION_CURRENT;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Driver::getProperties(ze_driver_properties_t* properties) {
  properties_.fill(properties, ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Driver::getIpcProperties(ze_driver_ipc_properties_t* properties) {
  properties_.fill(properties, ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Driver::getExtensionProperties(uint32_t* count, ze_driver_extension_properties_t* properties) {
  uint32_t available = static_cast<uint32_t>(extensions_.size());
  if (properties && *count) {
    *count = std::min(*count, available);
    std::copy_n(extensions_.begin(), *count, properties);
  } else {
    *count = available;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t Driver::getExtensionFunctionAddress(const char* name, void** address) {
  *address = find_function(name);
  if (!*address) *address = Kernel::beyond_the_specification(name);
  if (!*address && kind_ == DriverKind::Npu) *address = npu_extension(name);
  return *address ? ZE_RESULT_SUCCESS : fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no function is called %s", name);
}

ze_result_t Driver::getLastErrorDescription(const char** text) {
  *text = last_error();
  return ZE_RESULT_SUCCESS;
}

ze_result_t RuntimeGlobal::getLastErrorDescription(const char** text) {
  *text = last_error();
  return ZE_RESULT_SUCCESS;
}

uint32_t RuntimeGlobal::translateDeviceHandleToIdentifier(Device& device) { return device.identifier(); }

ze_device_handle_t RuntimeGlobal::translateIdentifierToDeviceHandle(uint32_t identifier) {
  for (Driver* driver : identifier == Device::kHidden ? std::vector<Driver*>() : drivers())
    for (Device* card : driver->cards()) {
      if (card->identifier() == identifier) return handle_of<ze_device_handle_t>(card);
      for (Device* tile : card->tiles())
        if (tile->identifier() == identifier) return handle_of<ze_device_handle_t>(tile);
    }
  fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "no device has the identifier %u", identifier);
  return nullptr;
}

ze_context_handle_t RuntimeGlobal::getDefaultContext() {
  for (Driver* driver : drivers())
    if (!driver->devices().empty()) return driver->getDefaultContext();
  fail(ZE_RESULT_ERROR_UNINITIALIZED, "call zeInit or zeInitDrivers first");
  return nullptr;
}

ze_context_handle_t Driver::getDefaultContext() { return handle_of<ze_context_handle_t>(default_context_); }

}  // namespace anyzero
