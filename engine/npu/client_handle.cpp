#include "client_handle.h"

#include <dlfcn.h>

namespace anyzero {

void* unwrapped(void* handle, LoaderKind kind) {
  using Translate = uint32_t (*)(uint32_t kind, void* in, void** out);
  // Looked up on every call: this is only reached if a loader wraps handles, so the cost is low otherwise.
  void* loader = dlopen("libze_loader.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!loader) return handle;
  auto translate = reinterpret_cast<Translate>(dlsym(loader, "zelLoaderTranslateHandle"));
  void* found = nullptr;
  const bool good = translate && translate(static_cast<uint32_t>(kind), handle, &found) == ZE_RESULT_SUCCESS;
  dlclose(loader);
  return good ? found : handle;
}

}  // namespace anyzero
