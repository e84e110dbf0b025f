#include "context.h"

#include <algorithm>

#include "../../abi/error.h"
#include "../memory/memory.h"
#include "device.h"
#include "driver.h"
#include "visibility.h"

namespace anyzero {

ze_result_t Context::create(Driver& driver, const ze_context_desc_t* desc, ze_context_handle_t* handle) {
  return createEx(driver, desc, 0, nullptr, handle);
}

ze_result_t Context::createEx(Driver& driver, const ze_context_desc_t*, uint32_t count, Device* const* devices,
                              ze_context_handle_t* handle) {
  for (uint32_t i = 0; i < count; ++i)
    if (&devices[i]->driver() != &driver)
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "device %u of the list belongs to another driver", i);
  std::vector<Device*> chosen = count ? std::vector<Device*>(devices, devices + count) : driver.devices();
  if (chosen.empty())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the driver shows no device: %s", why_nothing_is_shown().c_str());
  *handle = handle_of<ze_context_handle_t>(make(driver, std::move(chosen)));
  return ZE_RESULT_SUCCESS;
}

ze_result_t Context::destroy() {
  if (this == driver_.default_context())
    return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the driver's default context lives as long as the driver");
  Ref<Context> alive(this);
  if (retire()) free_all(*this);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Context::getStatus() {
  if (lost_.load(std::memory_order_acquire))
    return fail(ZE_RESULT_ERROR_DEVICE_LOST, "a queue of this context is lost: %s", loss_report().c_str());
  return ZE_RESULT_SUCCESS;
}

void Context::mark_lost(const std::string& report) {
  *loss_report_.open() = report;
  lost_.store(true, std::memory_order_release);
}

std::string Context::loss_report() { return *loss_report_.open(); }

ze_result_t Context::systemBarrier(Device& device) {
  if (ze_result_t r = require(device)) return r;
  std::atomic<bool> full_fence{false};
  full_fence.exchange(true, std::memory_order_seq_cst);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Context::require(const Device& device) const {
  for (const Device* own : devices_)
    if (device.is_or_is_tile_of(*own) || own->is_or_is_tile_of(device)) return ZE_RESULT_SUCCESS;
  return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the device is not one of this context's devices");
}

}  // namespace anyzero
