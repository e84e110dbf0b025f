// A module as a native binary, cached in a file: the next run needs no compiler.
#include <unistd.h>

#include <functional>
#include <string_view>

#include "kernels.h"

namespace {

namespace fs = std::filesystem;

// The cache file for this code; other code has another file.
fs::path entry_of(const Bytes& code, const fs::path& folder) {
  std::string_view bytes(reinterpret_cast<const char*>(code.data()), code.size());
  return folder / (std::to_string(std::hash<std::string_view>()(bytes)) + ".native");
}

// Loads the module from the cache, or builds and caches it.
ze_module_handle_t cached_module(const Setup& s, const char* name, const fs::path& folder, bool* from_cache) {
  *from_cache = false;
  Bytes code = spirv(name);
  fs::path entry = entry_of(code, folder);
  if (fs::exists(entry)) {
    Bytes native = read_file(entry);
    ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                             .format = ZE_MODULE_FORMAT_NATIVE,
                             .inputSize = native.size(),
                             .pInputModule = native.data()};
    ze_module_handle_t module = nullptr;
    // Of another version, or damaged: a cache miss.
    if (zeModuleCreate(s.context, s.device, &desc, &module, nullptr) == ZE_RESULT_SUCCESS) {
      *from_cache = true;
      return module;
    }
  }
  ze_module_handle_t module = make_module(s, spirv_desc(code));
  size_t size = 0;
  CHECK(zeModuleGetNativeBinary(module, &size, nullptr));
  Bytes native(size);
  CHECK(zeModuleGetNativeBinary(module, &size, native.data()));
  std::ofstream(entry, std::ios::binary).write(reinterpret_cast<const char*>(native.data()), static_cast<std::streamsize>(size));
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
  fs::path folder = fs::temp_directory_path() / ("native." + std::to_string(getpid()));
  fs::create_directory(folder);
  bool from_cache = true;
  prove(works(s, cached_module(s, "saxpy", folder, &from_cache)) && !from_cache, "the module was compiled, and its kernel works");
  prove(works(s, cached_module(s, "saxpy", folder, &from_cache)) && from_cache, "the module was read, and its kernel works");
  CHECK(zeModuleDestroy(cached_module(s, "sampler", folder, &from_cache)));
  prove(!from_cache, "other code has a separate cache entry");

  fs::path entry = entry_of(spirv("saxpy"), folder);
  fs::resize_file(entry, fs::file_size(entry) - 100);
  prove(works(s, cached_module(s, "saxpy", folder, &from_cache)) && !from_cache, "a damaged file is detected and rebuilt");
  fs::remove_all(folder);
}
