/* The functions of the loader itself. The specification does not have them. */
#ifndef _ZE_LOADER_H
#define _ZE_LOADER_H

#include "../ze_api.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* The components: the loader, and with component_name "anyzero" the package. Call with NULL for their number. */
ZE_APIEXPORT ze_result_t ZE_APICALL zelLoaderGetVersions(size_t* num_elems, zel_component_version_t* versions);
ZE_APIEXPORT ze_result_t ZE_APICALL zelGetLoaderVersion(zel_component_version_t* version);

/* Load the drivers without initializing them. */
ZE_APIEXPORT ze_result_t ZE_APICALL zeLoaderInit(void);

/* The tracing layer of layers/zel_tracing_api.h. Each zelEnableTracingLayer needs a zelDisableTracingLayer. */
ZE_APIEXPORT ze_result_t ZE_APICALL zelEnableTracingLayer(void);
ZE_APIEXPORT ze_result_t ZE_APICALL zelDisableTracingLayer(void);
ZE_APIEXPORT ze_result_t ZE_APICALL zelGetTracingLayerState(bool* enabled);

/* Whether calls still work, for destructors that run late. */
ZE_APIEXPORT bool ZE_APICALL zelCheckIsLoaderInTearDown(void);

#ifdef __cplusplus
}
#endif

#endif
