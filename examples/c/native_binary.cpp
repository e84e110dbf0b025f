// A module in the device's own code, kept in a file: the next run needs no compiler.
#include <unistd.h>

#include "kernels.h"

namespace {

namespace fs = std::filesystem;

// From the cache, or from its source and then in the cache.
ze_module_handle_t cached_module(const Setup& s, const char* name, const fs::path& cache, bool* from_cache) {
  *from_cache = false;
  if (fs::exists(cache)) {
    Bytes native = read_file(cache);
    ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                             .format = ZE_MODULE_FORMAT_NATIVE,
                             .inputSize = native.size(),
                             .pInputModule = native.data()};
    ze_module_handle_t module = nullptr;
    // Of another version, or damaged: as good as none.
    if (zeModuleCreate(s.context, s.device, &desc, &module, nullptr) == ZE_RESULT_SUCCESS) {
      *from_cache = true;
      return module;
    }
  }
  ze_module_handle_t module = make_module(s, name);
  size_t size = 0;
  CHECK(zeModuleGetNativeBinary(module, &size, nullptr));
  Bytes native(size);
  CHECK(zeModuleGetNativeBinary(module, &size, native.data()));
  std::ofstream(cache, std::ios::binary).write(reinterpret_cast<const char*>(native.data()), static_cast<std::streamsize>(size));
  return module;
}

bool works(const Setup& s, ze_module_handle_t module) {
  ze_kernel_handle_t saxpy = make_kernel(module, "saxpy");
  float* memory = s.host<float>(2);
  memory[0] = 0, memory[1] = 3;
  run_kernel(s, saxpy, 1, 1, memory, memory + 1, 2.0f);
  bool good = memory[0] == 6;
  CHECK(zeMemFree(s.context, memory));
  CHECK(zeKernelDestroy(saxpy));
  CHECK(zeModuleDestroy(module));
  return good;
}

}  // namespace

int main() {
  Setup s;
  fs::path cache = fs::temp_directory_path() / ("saxpy." + std::to_string(getpid()) + ".native");
  bool from_cache = true;
  prove(works(s, cached_module(s, "saxpy", cache, &from_cache)) && !from_cache, "the module was compiled, and its kernel works");
  prove(works(s, cached_module(s, "saxpy", cache, &from_cache)) && from_cache, "the module was read, and its kernel works");

  fs::resize_file(cache, fs::file_size(cache) - 100);
  prove(works(s, cached_module(s, "saxpy", cache, &from_cache)) && !from_cache, "a damaged file is noticed, and made anew");
  fs::remove(cache);
}
