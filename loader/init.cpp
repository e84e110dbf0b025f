// The calls that bring the drivers about.
#include "libraries.h"
#include "teardown.h"

namespace anyzero::loader {

namespace {

// nullptr when there is nothing to initialize, or no longer.
const Libraries* libraries() { return torn_down() ? nullptr : Libraries::load(); }

}  // namespace

extern "C" {

ZE_APIEXPORT ze_result_t ZE_APICALL zeInit(ze_init_flags_t flags) try {
  const Libraries* all = libraries();
  return all ? all->init(flags) : ZE_RESULT_ERROR_UNINITIALIZED;
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ZE_APIEXPORT ze_result_t ZE_APICALL zeInitDrivers(uint32_t* pCount, ze_driver_handle_t* phDrivers,
                                                  ze_init_driver_type_desc_t* desc) try {
  const Libraries* all = libraries();
  return all ? all->init_drivers(pCount, phDrivers, desc) : ZE_RESULT_ERROR_UNINITIALIZED;
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ZE_APIEXPORT ze_result_t ZE_APICALL zesInit(zes_init_flags_t flags) try {
  const Libraries* all = libraries();
  return all ? all->init_sysman(flags) : ZE_RESULT_ERROR_UNINITIALIZED;
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

}  // extern "C"

}  // namespace anyzero::loader
