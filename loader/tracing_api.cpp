// The API of the tracing layer: tracers, and the switch of the layer.
#include <dlfcn.h>

#include "tracer.h"
#include "tracing_layer.h"

namespace anyzero::loader {

extern "C" {

// A static loader resolves the functions of this file in the library that it gets here: this one.
ZE_APIEXPORT void* ZE_APICALL zeLoaderGetTracingHandle() {
  Dl_info self{};
  if (!dladdr(reinterpret_cast<const void*>(&zeLoaderGetTracingHandle), &self) || !self.dli_fname) return nullptr;
  // This library is never unloaded, so an additional reference does no harm.
  return dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

// A static loader has a switch of its own, and calls through these tables while it is on.
ZE_APIEXPORT ze_result_t ZE_APICALL zelLoaderTracingLayerInit(std::atomic<ze_dditable_t*>* table) {
  if (!table) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  table->store(&traced_tables().ze);
  return ZE_RESULT_SUCCESS;
}

ZE_APIEXPORT ze_result_t ZE_APICALL zelLoaderZerTracingLayerInit(std::atomic<zer_dditable_t*>* table) {
  if (!table) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  table->store(&traced_tables().zer);
  return ZE_RESULT_SUCCESS;
}

ZE_APIEXPORT ze_result_t ZE_APICALL zelEnableTracingLayer() {
  switch_on(&traced);
  return ZE_RESULT_SUCCESS;
}

ZE_APIEXPORT ze_result_t ZE_APICALL zelDisableTracingLayer() {
  switch_off();
  return ZE_RESULT_SUCCESS;
}

ZE_APIEXPORT ze_result_t ZE_APICALL zelGetTracingLayerState(bool* enabled) {
  if (!enabled) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *enabled = is_layer_on();
  return ZE_RESULT_SUCCESS;
}

ZE_APIEXPORT ze_result_t ZE_APICALL zelTracerCreate(const zel_tracer_desc_t* desc, zel_tracer_handle_t* tracer) {
  if (!desc) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  return create_tracer(desc->pUserData, tracer);
}

ZE_APIEXPORT ze_result_t ZE_APICALL zelTracerDestroy(zel_tracer_handle_t tracer) { return destroy_tracer(tracer); }

ZE_APIEXPORT ze_result_t ZE_APICALL zelTracerSetPrologues(zel_tracer_handle_t tracer, ze_callbacks_t* callbacks) {
  return set_callbacks(tracer, ZEL_REGISTER_PROLOGUE, callbacks);
}

ZE_APIEXPORT ze_result_t ZE_APICALL zelTracerSetEpilogues(zel_tracer_handle_t tracer, ze_callbacks_t* callbacks) {
  return set_callbacks(tracer, ZEL_REGISTER_EPILOGUE, callbacks);
}

ZE_APIEXPORT ze_result_t ZE_APICALL zelTracerSetEnabled(zel_tracer_handle_t tracer, ze_bool_t enabled) {
  return enable_tracer(tracer, enabled);
}

ZE_APIEXPORT ze_result_t ZE_APICALL zelTracerResetAllCallbacks(zel_tracer_handle_t tracer) { return reset_callbacks(tracer); }

ZE_APIEXPORT ze_result_t ZE_APICALL zelGetTracerApiProcAddrTable(ze_api_version_t version, zel_tracer_dditable_t* table) {
  if (!table) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (!speaks(version)) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
  *table = {zelTracerCreate, zelTracerDestroy, zelTracerSetPrologues, zelTracerSetEpilogues, zelTracerSetEnabled};
  return ZE_RESULT_SUCCESS;
}

}  // extern "C"

}  // namespace anyzero::loader
