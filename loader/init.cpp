// The calls that initialize the drivers.
#include "init.h"

#include "layers.h"
#include "libraries.h"
#include "teardown.h"
#include "tracing_layer.h"

namespace anyzero::loader {

namespace {

// nullptr if there is nothing to initialize, or after teardown.
const Libraries* libraries() { return torn_down() ? nullptr : Libraries::load(); }

}  // namespace

ze_result_t init(ze_init_flags_t flags) try {
  const Libraries* all = libraries();
  return all ? all->init(flags) : ZE_RESULT_ERROR_UNINITIALIZED;
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t init_drivers(uint32_t* count, ze_driver_handle_t* drivers, ze_init_driver_type_desc_t* desc) try {
  const Libraries* all = libraries();
  return all ? all->init_drivers(count, drivers, desc) : ZE_RESULT_ERROR_UNINITIALIZED;
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t init_sysman(zes_init_flags_t flags) try {
  const Libraries* all = libraries();
  return all ? all->init_sysman(flags) : ZE_RESULT_ERROR_UNINITIALIZED;
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

extern "C" {

ZE_APIEXPORT ze_result_t ZE_APICALL zeInit(ze_init_flags_t flags) {
  switch_layers_on_as_told();
  return is_layer_on() ? traced.zeInit(flags) : init(flags);
}

ZE_APIEXPORT ze_result_t ZE_APICALL zeInitDrivers(uint32_t* pCount, ze_driver_handle_t* phDrivers,
                                                  ze_init_driver_type_desc_t* desc) {
  switch_layers_on_as_told();
  return is_layer_on() ? traced.zeInitDrivers(pCount, phDrivers, desc) : init_drivers(pCount, phDrivers, desc);
}

ZE_APIEXPORT ze_result_t ZE_APICALL zesInit(zes_init_flags_t flags) {
  switch_layers_on_as_told();
  return init_sysman(flags);
}

}  // extern "C"

}  // namespace anyzero::loader
