#include "loader_api.h"

#include <algorithm>
#include <cstring>

#include "gen/release.h"
#include "layers.h"
#include "libraries.h"
#include "teardown.h"

namespace anyzero::loader {

namespace {

zel_component_version_t component(const char* name, zel_version_t version) {
  zel_component_version_t made{};
  std::strncpy(made.component_name, name, sizeof made.component_name - 1);
  made.spec_version = ZE_API_VERSION_CURRENT;
  made.component_lib_version = version;
  return made;
}

// Programs look for the component "loader" and use its version as that of the API. The second component identifies this loader.
const zel_component_version_t components[] = {
    component("loader", {kRelease[0], kRelease[1], kRelease[2]}),
    component("anyzero", {ANYZERO_VERSION}),
};

ze_result_t versions(size_t* count, zel_component_version_t* filled) {
  if (!count) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *count = filled ? std::min(*count, std::size(components)) : std::size(components);
  if (filled) std::copy_n(components, *count, filled);
  return ZE_RESULT_SUCCESS;
}

ze_result_t version_of_loader(zel_component_version_t* version) {
  if (!version) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *version = components[0];
  return ZE_RESULT_SUCCESS;
}

// Handles are never wrapped, so each is its own translation.
ze_result_t translate(zel_handle_type_t type, void* handle, void** translated) {
  if (!translated) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (type >= kHandleTypes) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  *translated = handle;
  return ZE_RESULT_SUCCESS;
}

}  // namespace

extern "C" {

// Versions and handles

ZE_APIEXPORT ze_result_t ZE_APICALL zelLoaderGetVersions(size_t* num_elems, zel_component_version_t* filled) {
  return versions(num_elems, filled);
}

ZE_APIEXPORT ze_result_t ZE_APICALL zelLoaderGetVersionsInternal(size_t* num_elems, zel_component_version_t* filled) {
  return versions(num_elems, filled);
}

ZE_APIEXPORT ze_result_t ZE_APICALL zelGetLoaderVersion(zel_component_version_t* version) { return version_of_loader(version); }

ZE_APIEXPORT ze_result_t ZE_APICALL zelLoaderGetVersion(zel_component_version_t* version) { return version_of_loader(version); }

ZE_APIEXPORT ze_result_t ZE_APICALL zelLoaderTranslateHandle(zel_handle_type_t type, void* handle, void** translated) {
  return translate(type, handle, translated);
}

ZE_APIEXPORT ze_result_t ZE_APICALL zelLoaderTranslateHandleInternal(zel_handle_type_t type, void* handle, void** translated) {
  return translate(type, handle, translated);
}

// Queries of a static loader in a program, before it calls zeInit

ZE_APIEXPORT ze_result_t ZE_APICALL zeLoaderInit() try {
  switch_layers_on_as_told();
  return !torn_down() && Libraries::load() ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNINITIALIZED;
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ZE_APIEXPORT ze_result_t ZE_APICALL zelLoaderDriverCheck(ze_init_flags_t flags, ze_init_driver_type_desc_t* desc,
                                                         ze_global_dditable_t*, zes_global_dditable_t*, bool* tables_changed,
                                                         bool sysman_only) {
  if (tables_changed) *tables_changed = false;
  if (sysman_only) return zeLoaderInit();
  uint32_t count = 0;
  return desc ? zeInitDrivers(&count, nullptr, desc) : zeInit(flags);
}

// A C++ object whose layout is private to the upstream loader.
ZE_APIEXPORT void* ZE_APICALL zelLoaderGetContext() { return nullptr; }

// Teardown

ZE_APIEXPORT ze_result_t ZE_APICALL zelSetDriverTeardown() try {
  tear_down();
  return ZE_RESULT_SUCCESS;
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ZE_APIEXPORT bool ZE_APICALL zelCheckIsLoaderInTearDown() { return torn_down(); }

ZE_APIEXPORT ze_result_t ZE_APICALL zelRegisterTeardownCallback(zel_loader_teardown_callback_t callback,
                                                                zel_application_teardown_callback_t* forget, uint32_t* index) try {
  if (!callback) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (!forget || !index) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *index = call_at_teardown(callback);
  *forget = forget_callback;
  return ZE_RESULT_SUCCESS;
} catch (const std::bad_alloc&) {
  return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

// Both are for a static loader; a shared one lives as long as the process.
ZE_APIEXPORT void ZE_APICALL zelSetDelayLoaderContextTeardown() {}
ZE_APIEXPORT void ZE_APICALL zelLoaderContextTeardown() {}

}  // extern "C"

}  // namespace anyzero::loader
