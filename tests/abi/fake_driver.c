/* A minimal driver library with one driver and one device. Macros configure it:
   MARK          the API version that its driver reports, which identifies the driver in a test
   TABLES        the handles lead to tables, of this version
   NEWEST        the newest version of tables that it fills
   INIT          what zeInit returns
   INIT_DRIVERS  there is zeInitDrivers
   SICK          one of its tables cannot be had */
#include <string.h>

#include "ze_api.h"

#ifndef NEWEST
#define NEWEST ZE_API_VERSION_CURRENT
#endif
#ifndef INIT
#define INIT ZE_RESULT_SUCCESS
#endif
#ifndef TABLES
#define TABLES 0
#endif

static void called_by_mistake(void) { __builtin_trap(); }

static struct object {
  ze_handle_t tables;
  int kind;
} the_driver, the_device;

static ze_result_t init(ze_init_flags_t flags) { return flags == ZE_INIT_FLAG_VPU_ONLY ? ZE_RESULT_ERROR_UNINITIALIZED : INIT; }

static ze_result_t list(uint32_t* count, void** handles, struct object* object) {
  if (handles && *count) handles[0] = object;
  *count = 1;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t drivers(uint32_t* count, ze_driver_handle_t* handles) { return list(count, (void**)handles, &the_driver); }

static ze_result_t init_drivers(uint32_t* count, ze_driver_handle_t* handles, ze_init_driver_type_desc_t* desc) {
  if (desc->flags & ZE_INIT_DRIVER_TYPE_FLAG_GPU) return drivers(count, handles);
  *count = 0;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t devices(ze_driver_handle_t driver, uint32_t* count, ze_device_handle_t* handles) {
  if ((void*)driver != &the_driver) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  return list(count, (void**)handles, &the_device);
}

static ze_result_t version(ze_driver_handle_t driver, ze_api_version_t* filled) {
  if ((void*)driver != &the_driver) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  *filled = (ze_api_version_t)MARK;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t properties(ze_driver_handle_t driver, ze_driver_properties_t* filled) {
  (void)driver;
  for (ze_base_properties_t* next = filled->pNext; next; next = next->pNext)
    if (next->stype == ZE_STRUCTURE_TYPE_DRIVER_DDI_HANDLES_EXT_PROPERTIES)
      ((ze_driver_ddi_handles_ext_properties_t*)next)->flags = TABLES ? ZE_DRIVER_DDI_HANDLE_EXT_FLAG_DDI_HANDLE_EXT_SUPPORTED : 0;
  return ZE_RESULT_SUCCESS;
}

static ze_driver_dditable_t driver_table = {
    .pfnGet = drivers,
    .pfnGetApiVersion = version,
    .pfnGetProperties = properties,
};
static ze_device_dditable_t device_table = {
    .pfnGet = devices,
    /* Lies behind the end of a table of version 1.13. */
    .pfnSynchronize = (ze_pfnDeviceSynchronize_t)called_by_mistake,
};
static ze_dditable_driver_t core = {.version = (ze_api_version_t)TABLES, .isValidFlag = 1, .Driver = &driver_table, .Device = &device_table};

__attribute__((constructor)) static void lay_out(void) {
  if (TABLES) the_driver.tables.pCore = the_device.tables.pCore = &core;
}

#define GETTER(name, type)                                                              \
  __attribute__((visibility("default"))) ze_result_t name(ze_api_version_t asked, type* filled)

GETTER(zeGetGlobalProcAddrTable, ze_global_dditable_t) {
  if (asked > NEWEST) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
  filled->pfnInit = init;
#ifdef INIT_DRIVERS
  filled->pfnInitDrivers = init_drivers;
#else
  (void)init_drivers;
#endif
  return ZE_RESULT_SUCCESS;
}

GETTER(zeGetDriverProcAddrTable, ze_driver_dditable_t) {
  if (asked > NEWEST) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
  *filled = driver_table;
  return ZE_RESULT_SUCCESS;
}

GETTER(zeGetDeviceProcAddrTable, ze_device_dditable_t) {
  if (asked > NEWEST) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
  filled->pfnGet = devices;
  return ZE_RESULT_SUCCESS;
}

#ifdef SICK
GETTER(zeGetContextProcAddrTable, ze_context_dditable_t) {
  (void)asked;
  memset(filled, 0xff, sizeof *filled);
  return ZE_RESULT_ERROR_UNKNOWN;
}
#endif
