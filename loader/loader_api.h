// The loader's own functions beside the API. They are not in the specification, so this file is not generated.
#pragma once

#include <atomic>

#include "ze_api.h"

extern "C" {

typedef struct _zel_tracer_handle_t* zel_tracer_handle_t;
typedef uint32_t zel_tracer_reg_t;
enum : uint32_t { ZEL_REGISTER_PROLOGUE = 0, ZEL_REGISTER_EPILOGUE = 1 };
typedef void (*zel_callback_t)(void);
typedef void (*zel_loader_teardown_callback_t)(void);
typedef void (*zel_application_teardown_callback_t)(uint32_t);

typedef struct _zel_tracer_desc_t {
  uint32_t stype;
  const void* pNext;
  void* pUserData;
} zel_tracer_desc_t;

typedef struct _zel_version {
  int major;
  int minor;
  int patch;
} zel_version_t;

typedef struct zel_component_version {
  char component_name[64];
  ze_api_version_t spec_version;
  zel_version_t component_lib_version;
} zel_component_version_t;

// The kinds of handles, as numbers from 0: driver, device, context, queue, list, fence, event pool, event, image, module,
// build log, kernel, sampler, physical memory.
typedef uint32_t zel_handle_type_t;
enum { kHandleTypes = 14 };

typedef struct _zel_tracer_dditable_t {
  ze_result_t (*pfnCreate)(const zel_tracer_desc_t*, zel_tracer_handle_t*);
  ze_result_t (*pfnDestroy)(zel_tracer_handle_t);
  ze_result_t (*pfnSetPrologues)(zel_tracer_handle_t, ze_callbacks_t*);
  ze_result_t (*pfnSetEpilogues)(zel_tracer_handle_t, ze_callbacks_t*);
  ze_result_t (*pfnSetEnabled)(zel_tracer_handle_t, ze_bool_t);
} zel_tracer_dditable_t;

}  // extern "C"
